// SPDX-License-Identifier: Apache-2.0
#include "net/tcp_transport.h"

#include <array>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <future>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "base/text.h"
#include "net/tls.h"

namespace plumb {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<tcp, Executor>;
using Acceptor = asio::basic_socket_acceptor<tcp, Executor>;
using Resolver = asio::ip::basic_resolver<tcp, Executor>;

constexpr std::size_t kMaxParts = 8;
constexpr std::chrono::milliseconds kAcceptPause{100};

Status to_status(const error_code& error) {
  if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) {
    return Status(Code::kCancelled, "stream closed");
  }
  if (error == asio::error::timed_out) {
    return Status(Code::kDeadlineExceeded, "connection timed out");
  }
  return Status(Code::kUnavailable, to_lower_ascii(error.message()));
}

void set_socket_options(Socket& socket) {
  error_code ignored;  // a socket that is already dead reports that on its first use
  socket.non_blocking(true, ignored);
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
}

class TcpStream final : public ByteStream {
 public:
  TcpStream(IoContext& loop, Socket socket) : loop_(loop), socket_(std::move(socket)) {
    set_socket_options(socket_);
    error_code error;
    const tcp::endpoint peer = socket_.remote_endpoint(error);
    if (!error) {
      peer_ = peer.address();
    }
  }

  // Waits for readiness before it takes a buffer, so that an idle connection holds none.
  void read(ReadCallback done) override {
    socket_.async_wait(Socket::wait_read,
                       [this, done = std::move(done)](const error_code& error) mutable {
                         if (error) {
                           done(to_status(error));
                         } else {
                           receive(std::move(done));
                         }
                       });
  }

  std::optional<Status> write(std::span<const std::string_view> parts,
                              WriteCallback done) override {
    PLUMB_DCHECK(parts.size() <= kMaxParts, "a write has at most 8 parts");
    num_parts_ = 0;
    for (std::string_view part : parts) {
      if (!part.empty()) {
        parts_[num_parts_++] = asio::const_buffer(part.data(), part.size());
      }
    }
    std::optional<Status> outcome = send();
    if (!outcome) {
      wait_to_send(std::move(done));
    }
    return outcome;
  }

  void wait_reset(UniqueFunction<void()> lost) override {
    socket_.async_wait(Socket::wait_error,
                       [lost = std::move(lost)](const error_code&) mutable { lost(); });
  }

  void shutdown_write(UniqueFunction<void()> done) override {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    loop_.post(std::move(done));
  }

  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

  void reset() override {
    error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    socket_.close(ignored);
  }

  bool is_alive() override {
    char byte = 0;
    error_code error;
    socket_.receive(asio::buffer(&byte, 1), Socket::message_peek, error);
    return error == asio::error::would_block;
  }

  std::string peer_address() const override {
    return peer_.is_v6() && peer_.to_v6().is_v4_mapped()
               ? asio::ip::make_address_v4(asio::ip::v4_mapped, peer_.to_v6()).to_string()
               : peer_.to_string();
  }

 private:
  void receive(ReadCallback done) {
    const std::span<char> scratch = loop_.scratch();
    error_code error;
    const std::size_t num_bytes =
        socket_.read_some(asio::buffer(scratch.data(), scratch.size()), error);
    if (error == asio::error::would_block || error == asio::error::interrupted) {
      read(std::move(done));
    } else if (error == asio::error::eof) {
      done(std::string_view());
    } else if (error) {
      done(to_status(error));
    } else {
      done(std::string_view(scratch.data(), num_bytes));
    }
  }

  // Sends what the socket takes; a value once all is sent or the stream failed.
  std::optional<Status> send() {
    while (num_parts_ > 0) {
      error_code error;
      std::size_t sent =
          socket_.write_some(std::span<const asio::const_buffer>(parts_.data(), num_parts_), error);
      if (error == asio::error::would_block) {
        return std::nullopt;
      }
      if (error && error != asio::error::interrupted) {
        return to_status(error);
      }
      drop_sent(sent);
    }
    return Status();
  }

  void drop_sent(std::size_t sent) {
    std::size_t first = 0;
    while (first < num_parts_ && sent >= parts_[first].size()) {
      sent -= parts_[first].size();
      ++first;
    }
    if (first < num_parts_) {
      parts_[first] += sent;
    }
    std::move(parts_.begin() + static_cast<std::ptrdiff_t>(first),
              parts_.begin() + static_cast<std::ptrdiff_t>(num_parts_), parts_.begin());
    num_parts_ -= first;
  }

  void wait_to_send(WriteCallback done) {
    socket_.async_wait(Socket::wait_write,
                       [this, done = std::move(done)](const error_code& error) mutable {
                         if (error) {
                           done(to_status(error));
                         } else if (std::optional<Status> outcome = send()) {
                           done(std::move(*outcome));
                         } else {
                           wait_to_send(std::move(done));
                         }
                       });
  }

  IoContext& loop_;
  Socket socket_;
  asio::ip::address peer_;
  std::array<asio::const_buffer, kMaxParts> parts_;
  std::size_t num_parts_ = 0;
};

class TcpListener final : public Listener {
 public:
  TcpListener(IoContext& loop, std::unique_ptr<TlsContext> tls)
      : state_(std::make_shared<State>(loop, std::move(tls))) {}

  ~TcpListener() override { close(); }

  Status open(const ListenOptions& options) {
    const std::string name = options.address + ":" + std::to_string(options.port);
    error_code error;
    const asio::ip::address address = asio::ip::make_address(
        options.address == "localhost" ? std::string("127.0.0.1") : options.address, error);
    if (error) {
      return Status(Code::kInvalidArgument,
                    "cannot listen on " + name + ": the address is not numeric");
    }
    if (options.port < 0 || options.port > 65535) {
      return Status(Code::kInvalidArgument,
                    "cannot listen on " + name + ": the port is not in 0..65535");
    }
    open_port(tcp::endpoint(address, static_cast<std::uint16_t>(options.port)), options, &error);
    if (error == asio::error::address_in_use) {
      return Status(Code::kUnavailable, "cannot listen on " + name +
                                            ": the port is taken; choose another port or stop "
                                            "the process that holds it");
    }
    if (error) {
      return Status(Code::kInvalidArgument,
                    "cannot listen on " + name + ": " + to_lower_ascii(error.message()));
    }
    return Status();
  }

  int port() const override { return port_; }

  void start(PickLoop pick, AcceptCallback on_accept) override {
    state_->pick = std::move(pick);
    state_->on_accept = std::move(on_accept);
    state_->loop.post([state = state_] { accept_next(state); });
  }

  void close() override {
    if (state_->loop.in_loop_thread()) {
      state_->shut();
      return;
    }
    auto closed = std::make_shared<std::promise<void>>();  // the loop may outlive the wait
    std::future<void> done = closed->get_future();
    state_->loop.post([state = state_, closed] {
      state->shut();
      closed->set_value();
    });
    done.wait();
  }

 private:
  // Shared with the accept operation, which may complete after the listener has gone.
  struct State {
    State(IoContext& loop_in, std::unique_ptr<TlsContext> tls_in)
        : loop(loop_in), tls(std::move(tls_in)), acceptor(loop_in.native()) {}

    void shut() {
      error_code ignored;
      acceptor.close(ignored);
      closed = true;
    }

    IoContext& loop;
    std::unique_ptr<TlsContext> tls;
    Acceptor acceptor;
    PickLoop pick;
    AcceptCallback on_accept;
    bool closed = false;
  };

  void open_port(const tcp::endpoint& endpoint, const ListenOptions& options, error_code* error) {
    Acceptor& acceptor = state_->acceptor;
    acceptor.open(endpoint.protocol(), *error);
    if (!*error) {
      acceptor.set_option(asio::socket_base::reuse_address(options.reuse_address), *error);
    }
    if (!*error && endpoint.address().is_v6()) {
      acceptor.set_option(asio::ip::v6_only(false), *error);
    }
    if (!*error) {
      acceptor.bind(endpoint, *error);
    }
    if (!*error) {
      acceptor.listen(asio::socket_base::max_listen_connections, *error);
    }
    if (!*error) {
      port_ = acceptor.local_endpoint(*error).port();
    }
  }

  static void accept_next(const std::shared_ptr<State>& state) {
    if (state->closed) {
      return;
    }
    IoContext& target = state->pick();
    state->acceptor.async_accept(
        target.native().get_executor(), [state, &target](const error_code& error, Socket socket) {
          if (state->closed) {
            return;
          }
          if (error == asio::error::operation_aborted) {
            return;
          }
          if (error) {  // out of descriptors, or the peer left: go on after a pause
            state->loop.run_after(kAcceptPause, [state] { accept_next(state); });
            return;
          }
          hand_over(state, target, std::move(socket));
          accept_next(state);
        });
  }

  static void hand_over(const std::shared_ptr<State>& state, IoContext& target, Socket socket) {
    std::unique_ptr<ByteStream> stream = std::make_unique<TcpStream>(target, std::move(socket));
    if (state->tls) {
      stream = state->tls->wrap_server(target, std::move(stream));
    }
    if (target.in_loop_thread()) {
      state->on_accept(target, std::move(stream));
      return;
    }
    target.post([on_accept = state->on_accept, &target, stream = std::move(stream)]() mutable {
      on_accept(target, std::move(stream));
    });
  }

  std::shared_ptr<State> state_;
  int port_ = 0;
};

/// One attempt to reach a host. Kept alive by its pending operation.
class Connecting : public std::enable_shared_from_this<Connecting> {
 public:
  Connecting(IoContext& loop, ConnectOptions options, TlsContext* tls,
             Transport::ConnectCallback done)
      : loop_(loop),
        options_(std::move(options)),
        tls_(tls),
        done_(std::move(done)),
        resolver_(loop.native()),
        socket_(loop.native()) {}

  void start() {
    timer_ = loop_.run_after(options_.timeout, [weak = weak_from_this()] {
      if (auto self = weak.lock()) {
        self->fail(Status(Code::kDeadlineExceeded, "connect timed out"));
      }
    });
    stop_.emplace(options_.stop, StopHook{this});
    error_code error;
    const asio::ip::address address = asio::ip::make_address(
        options_.host == "localhost" ? std::string("127.0.0.1") : options_.host, error);
    if (!error) {  // a numeric address needs no resolver thread
      socket_.async_connect(
          tcp::endpoint(address, static_cast<std::uint16_t>(options_.port)),
          [self = shared_from_this()](const error_code& failed) { self->on_connected(failed); });
      return;
    }
    resolver_.async_resolve(
        options_.host, std::to_string(options_.port),
        [self = shared_from_this()](const error_code& failed, const Resolver::results_type& found) {
          self->on_resolved(failed, found);
        });
  }

 private:
  struct StopHook {
    Connecting* self;

    void operator()() const {
      self->loop_.post([weak = self->weak_from_this()] {
        if (auto locked = weak.lock()) {
          locked->fail(Status(Code::kCancelled, "connect cancelled"));
        }
      });
    }
  };

  std::string name() const { return options_.host + ":" + std::to_string(options_.port); }

  void on_resolved(const error_code& error, const Resolver::results_type& found) {
    if (error) {
      fail(Status(Code::kUnavailable, to_lower_ascii(error.message())));
      return;
    }
    if (!done_) {
      return;
    }
    asio::async_connect(socket_, found,
                        [self = shared_from_this()](const error_code& failed, const auto&) {
                          self->on_connected(failed);
                        });
  }

  void on_connected(const error_code& error) {
    if (error) {
      fail(to_status(error));
      return;
    }
    if (!done_) {
      return;
    }
    std::unique_ptr<ByteStream> stream = std::make_unique<TcpStream>(loop_, std::move(socket_));
    if (tls_ == nullptr) {
      finish(std::move(stream));
      return;
    }
    handshaking_ = stream.get();
    tls_->connect(loop_, std::move(stream), options_.host,
                  [self = shared_from_this()](Result<std::unique_ptr<ByteStream>> secured) {
                    self->handshaking_ = nullptr;
                    if (secured.ok()) {
                      self->finish(std::move(secured).value());
                    } else {
                      self->fail(secured.status());
                    }
                  });
  }

  void finish(std::unique_ptr<ByteStream> stream) {
    if (done_) {
      end(std::move(stream));
    }
  }

  void fail(Status status) {
    if (!done_) {
      return;
    }
    error_code ignored;
    socket_.close(ignored);
    resolver_.cancel();
    if (handshaking_ != nullptr) {
      handshaking_->close();
    }
    end(std::move(status).with("connect to " + name()));
  }

  void end(Result<std::unique_ptr<ByteStream>> outcome) {
    loop_.cancel(timer_);
    stop_.reset();
    Transport::ConnectCallback done = std::move(done_);
    done_ = nullptr;
    done(std::move(outcome));
  }

  IoContext& loop_;
  ConnectOptions options_;
  TlsContext* tls_;
  Transport::ConnectCallback done_;
  Resolver resolver_;
  Socket socket_;
  ByteStream* handshaking_ = nullptr;
  TimerId timer_;
  std::optional<std::stop_callback<StopHook>> stop_;
};

class TcpTransport final : public Transport {
 public:
  Result<std::unique_ptr<Listener>> listen(IoContext& loop, ListenOptions options) override {
    std::unique_ptr<TlsContext> tls;
    if (options.tls) {
      PLUMB_ASSIGN(tls, TlsContext::server(*options.tls));
    }
    auto listener = std::make_unique<TcpListener>(loop, std::move(tls));
    PLUMB_RETURN_IF_ERROR(listener->open(options));
    return std::unique_ptr<Listener>(std::move(listener));
  }

  void connect(IoContext& loop, ConnectOptions options, ConnectCallback done) override {
    TlsContext* tls = nullptr;
    if (options.tls) {
      Result<TlsContext*> found = client_context(*options.tls);
      if (!found.ok()) {
        loop.post([done = std::move(done), status = found.status()]() mutable { done(status); });
        return;
      }
      tls = found.value();
    }
    std::make_shared<Connecting>(loop, std::move(options), tls, std::move(done))->start();
  }

 private:
  Result<TlsContext*> client_context(const TlsClientOptions& options) {
    const MutexLock lock(mutex_);
    std::unique_ptr<TlsContext>& context = contexts_[{options.verify, options.ca_file}];
    if (!context) {
      PLUMB_ASSIGN(context, TlsContext::client(options));
    }
    return context.get();
  }

  Mutex mutex_;
  std::map<std::pair<bool, std::string>, std::unique_ptr<TlsContext>> contexts_
      PLUMB_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport() {
  return std::make_unique<TcpTransport>();
}

}  // namespace plumb
