// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "net/io_context.h"
#include "net/transport.h"

namespace plumb {

/// One message of a publisher.
struct Frame {
  std::uint64_t seq = 0;
  std::string payload;
};

/// Messages from a number on.
struct FramePage {
  std::vector<Frame> frames;
  std::uint64_t next_seq = 0;  ///< to ask for next
};

/// What a publisher publishes, and to whom. Thread: the publisher's loop; must not block.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  /// Whether who shows that key may subscribe.
  virtual bool admits(std::string_view key) = 0;
  virtual std::uint64_t next_seq() const = 0;
  virtual FramePage read(std::uint64_t from, std::int64_t max_bytes) = 0;
};

/// What a subscriber says first: where to begin, and its key.
struct FrameHello {
  std::uint64_t from = 0;  ///< kFrameNow = what comes from now on
  std::string key;         ///< at most kMaxFrameKey bytes
};

inline constexpr std::uint64_t kFrameNow = ~std::uint64_t{0};
inline constexpr std::size_t kMaxFrameKey = 1024;

/// Reads a hello from the bytes that have arrived: u64 number, u16 length of the key, key, numbers
/// big-endian. Empty while bytes are missing. Errors kInvalidArgument: the key is too long, or more
/// bytes follow.
Result<std::optional<FrameHello>> parse_frame_hello(std::string_view bytes);
std::string encode_frame_hello(const FrameHello& hello);

/// Appends topic, number (u64 big-endian) and payload, each with its length (u32 big-endian) before
/// it.
void append_frame(std::string_view topic, const Frame& frame, std::string* out);

struct FramePublisherOptions {
  ListenOptions listen;
  std::string topic;
  std::int64_t max_subscribers = 16;  ///< above: one without a key goes, else the newcomer
  std::chrono::nanoseconds poll_interval = std::chrono::milliseconds(20);  ///< between looks
  std::chrono::nanoseconds hello_timeout = std::chrono::seconds(10);
  std::int64_t page_bytes = 256 << 10;  ///< asked of the source at a time
};

/// Sends the messages of a source to everybody who connects, over TCP.
///
/// A subscriber says hello, gets what the source has from there on, then a frame with the number
/// 2^64 - 1 and an empty payload, then what comes. The next page is read when the last one was
/// sent, so a slow subscriber holds one page and no memory more.
/// Requires  loop, transport and source outlive it.
/// Thread    the loop's, except create(); it ends on the loop, while that runs.
class FramePublisher {
 public:
  /// Errors: see Transport::listen().
  static Result<std::unique_ptr<FramePublisher>> create(IoContext& loop, Transport& transport,
                                                        FrameSource& source,
                                                        FramePublisherOptions options);
  ~FramePublisher();
  FramePublisher(const FramePublisher&) = delete;
  FramePublisher& operator=(const FramePublisher&) = delete;

  int port() const { return listener_->port(); }

  std::int64_t num_subscribers() const { return std::ssize(subscribers_); }

 private:
  class Subscriber;

  FramePublisher(IoContext& loop, FrameSource& source, FramePublisherOptions options);
  void on_accept(std::unique_ptr<ByteStream> stream);
  void forget(const Subscriber* subscriber);
  void look_later();
  void tick();

  IoContext& loop_;
  FrameSource& source_;
  FramePublisherOptions options_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::shared_ptr<Subscriber>> subscribers_;  // shared with their pending callbacks
  TimerId timer_;
  bool has_timer_ = false;
};

}  // namespace plumb
