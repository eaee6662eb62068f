// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace plumb {

/// A TCP client that says exactly what a test tells it to; reads give up after ten seconds.
class RawClient {
 public:
  explicit RawClient(int port, int receive_buffer_bytes = 0) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer_bytes > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    const timeval limit{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  ~RawClient() { close(); }

  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }

  /// False if the peer does not take all of it.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// Reads until the text has arrived, the peer ends, or time is up; returns all since the last
  /// call that returned it, up to and including the text.
  std::string read_until(std::string_view text) {
    for (;;) {
      const std::size_t at = in_.find(text);
      if (at != std::string::npos) {
        std::string out = in_.substr(0, at + text.size());
        in_.erase(0, at + text.size());
        return out;
      }
      if (!receive()) {
        return std::exchange(in_, {});
      }
    }
  }

  /// Everything up to the end of the connection.
  std::string read_all() {
    while (receive()) {
    }
    return std::exchange(in_, {});
  }

  /// True if the last read met an orderly end (not a reset, not a time-out).
  bool ended_in_order() const { return last_ == 0; }

  void shutdown_write() { ::shutdown(fd_, SHUT_WR); }

  void close() {
    if (fd_ >= 0) {
      ::close(fd_);
      fd_ = -1;
    }
  }

  /// Closes with a reset.
  void reset() {
    const linger off{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &off, sizeof off);
    close();
  }

 private:
  bool receive() {
    std::array<char, 16384> buffer;
    last_ = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (last_ > 0) {
      in_.append(buffer.data(), static_cast<std::size_t>(last_));
    }
    return last_ > 0;
  }

  int fd_ = -1;
  bool connected_ = false;
  ssize_t last_ = -1;
  std::string in_;
};

}  // namespace plumb
