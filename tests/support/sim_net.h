// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "net/io_context.h"
#include "net/transport.h"
#include "support/fake_clock.h"

namespace plumb {

struct SimNetOptions {
  std::chrono::nanoseconds min_latency = std::chrono::microseconds(50);
  std::chrono::nanoseconds max_latency = std::chrono::microseconds(200);
  double reset_probability = 0;               ///< of each piece of data, for its connection
  std::int64_t window_bytes = 256 << 10;      ///< sent but unread bytes above which writes wait
  std::int64_t max_segment_bytes = 16 << 10;  ///< data is cut into random pieces of at most this
};

/// A network inside one process and one thread, driven by a fake clock.
///
/// Data arrives in order after a random latency, cut at random places; all randomness comes from
/// the seed, so a run repeats exactly. A host cut off by partition() receives and sends nothing
/// until healed; its data then arrives, as with TCP. Addresses are names: connect() reaches what
/// listens on the same host and port, or on the port at "0.0.0.0".
/// Requires all parties use loop(); the net outlives clients and servers.
class SimNet final : public Transport {
 public:
  explicit SimNet(std::uint64_t seed, SimNetOptions options = {})
      : options_(options),
        rng_(seed),
        loop_(IoContext::create_manual(clock_).value()),
        state_(std::make_shared<State>()) {}

  ~SimNet() override {
    for (const std::weak_ptr<Link>& weak : links_) {
      if (const std::shared_ptr<Link> link = weak.lock()) {
        for (End& end : link->ends) {  // callbacks own streams, which own links
          const auto reader = std::move(end.reader);
          const auto writer = std::move(end.writer);
          const auto waiter = std::move(end.reset_waiter);
          end.reader = nullptr;
          end.writer = nullptr;
          end.reset_waiter = nullptr;
        }
      }
    }
  }

  SimNet(const SimNet&) = delete;
  SimNet& operator=(const SimNet&) = delete;

  IoContext& loop() { return *loop_; }

  FakeClock& clock() { return clock_; }

  /// Runs everything up to a time from now, timer by timer.
  void run_for(std::chrono::nanoseconds duration) {
    run_until([] { return false; }, duration);
  }

  /// Runs until the condition holds; false if it does not within the given simulated time.
  bool run_until(const std::function<bool()>& condition,
                 std::chrono::nanoseconds limit = std::chrono::hours(1)) {
    const Clock::TimePoint end = clock_.now() + limit;
    for (;;) {
      loop_->poll();
      if (condition()) {
        return true;
      }
      const std::optional<Clock::TimePoint> next = loop_->next_deadline();
      if (!next || *next > end) {
        clock_.advance(end - clock_.now());
        loop_->poll();
        return condition();
      }
      clock_.advance(*next - clock_.now());
    }
  }

  void partition(const std::string& host) { partitioned_.push_back(host); }

  void heal(const std::string& host) {
    std::erase(partitioned_, host);
    for (const std::weak_ptr<Link>& weak : links_) {
      if (const std::shared_ptr<Link> link = weak.lock()) {
        arrive(link, 0);
        arrive(link, 1);
      }
    }
  }

  /// Resets every connection to or from a host.
  void reset_connections(const std::string& host) {
    for (const std::weak_ptr<Link>& weak : links_) {
      const std::shared_ptr<Link> link = weak.lock();
      if (link && (link->ends[0].host == host || link->ends[1].host == host)) {
        break_link(link);
      }
    }
  }

  Result<std::unique_ptr<Listener>> listen(IoContext&, ListenOptions options) override {
    const int port = options.port != 0 ? options.port : next_port_++;
    const std::string key = normal(options.address) + ":" + std::to_string(port);
    if (options.tls) {
      return Status(Code::kUnsupported, "the simulated network has no TLS");
    }
    if (state_->listeners.contains(key)) {
      return Status(Code::kUnavailable, "cannot listen on " + key + ": the port is taken");
    }
    auto listener = std::make_unique<SimListener>(state_, key, port);
    state_->listeners[key] = listener.get();
    return std::unique_ptr<Listener>(std::move(listener));
  }

  void connect(IoContext&, ConnectOptions options, ConnectCallback done) override {
    connect_from("127.0.0.1", std::move(options), std::move(done));
  }

  /// As connect(), from a named host.
  void connect_from(std::string from, ConnectOptions options, ConnectCallback done) {
    // Shared by the attempt and its timeout, of which one ends it.
    auto shared = std::make_shared<ConnectCallback>(std::move(done));
    loop_->run_after(options.timeout, [shared] {
      end_connect(shared, Status(Code::kDeadlineExceeded, "connect timed out"));
    });
    loop_->run_after(latency() * 2, [this, from = std::move(from), options = std::move(options),
                                     shared] { try_connect(from, options, shared); });
  }

 private:
  struct End {
    std::string host;
    std::deque<std::pair<Clock::TimePoint, std::string>> inbound;  // empty piece = end of stream
    bool was_reset = false;
    bool closed = false;
    bool sent_end = false;
    ByteStream::ReadCallback reader;
    std::string unsent;
    ByteStream::WriteCallback writer;
    UniqueFunction<void()> reset_waiter;
  };

  struct Link {
    std::array<End, 2> ends;
  };

  class SimListener;

  struct State {
    std::map<std::string, SimListener*> listeners;
  };

  class SimListener final : public Listener {
   public:
    SimListener(std::shared_ptr<State> state, std::string key, int port)
        : state_(std::move(state)), key_(std::move(key)), port_(port) {}

    ~SimListener() override { close(); }

    int port() const override { return port_; }

    void start(PickLoop pick, AcceptCallback on_accept) override {
      pick_ = std::move(pick);
      on_accept_ = std::move(on_accept);
    }

    void close() override {
      const auto found = state_->listeners.find(key_);
      if (found != state_->listeners.end() && found->second == this) {
        state_->listeners.erase(found);
      }
    }

    void accept(std::unique_ptr<ByteStream> stream) { on_accept_(pick_(), std::move(stream)); }

   private:
    std::shared_ptr<State> state_;
    std::string key_;
    int port_;
    PickLoop pick_;
    AcceptCallback on_accept_;
  };

  class SimStream final : public ByteStream {
   public:
    SimStream(SimNet* net, std::shared_ptr<Link> link, int side)
        : net_(net), link_(std::move(link)), side_(side) {}

    ~SimStream() override { close(); }

    void read(ReadCallback done) override {
      me().reader = std::move(done);
      net_->arrive_later(link_, side_);
    }

    std::optional<Status> write(std::span<const std::string_view> parts,
                                WriteCallback done) override {
      if (me().was_reset) {
        return Status(Code::kUnavailable, "connection reset by peer");
      }
      for (std::string_view part : parts) {
        me().unsent += part;
      }
      net_->send(link_, side_);
      if (me().unsent.empty()) {
        return Status();
      }
      me().writer = std::move(done);
      return std::nullopt;
    }

    void wait_reset(UniqueFunction<void()> lost) override {
      me().reset_waiter = std::move(lost);
      if (me().was_reset) {
        net_->fail_callbacks(me(), Status(Code::kUnavailable, "connection reset by peer"));
      }
    }

    void shutdown_write(UniqueFunction<void()> done) override {
      net_->send_end(link_, side_);
      net_->loop().post(std::move(done));
    }

    void close() override {
      if (!std::exchange(me().closed, true)) {
        net_->send_end(link_, side_);
        net_->fail_callbacks(me(), Status(Code::kCancelled, "stream closed"));
      }
    }

    void reset() override {
      if (!me().closed) {
        me().closed = true;
        net_->break_end(link_, 1 - side_);
        net_->fail_callbacks(me(), Status(Code::kCancelled, "stream closed"));
      }
    }

    bool is_alive() override { return !me().was_reset && me().inbound.empty(); }

    std::string peer_address() const override {
      return link_->ends[static_cast<std::size_t>(1 - side_)].host;
    }

   private:
    End& me() { return link_->ends[static_cast<std::size_t>(side_)]; }

    SimNet* net_;
    std::shared_ptr<Link> link_;
    int side_;
  };

  static std::string normal(const std::string& host) {
    return host == "localhost" ? "127.0.0.1" : host;
  }

  static void end_connect(const std::shared_ptr<ConnectCallback>& shared,
                          Result<std::unique_ptr<ByteStream>> outcome) {
    if (*shared) {
      ConnectCallback done = std::move(*shared);
      *shared = nullptr;
      done(std::move(outcome));
    }
  }

  std::chrono::nanoseconds latency() {
    const std::int64_t spread = (options_.max_latency - options_.min_latency).count();
    return options_.min_latency + std::chrono::nanoseconds(rng_.below(spread + 1));
  }

  bool is_partitioned(const Link& link) const {
    return std::any_of(partitioned_.begin(), partitioned_.end(), [&](const std::string& host) {
      return link.ends[0].host == host || link.ends[1].host == host;
    });
  }

  void try_connect(const std::string& from, const ConnectOptions& options,
                   const std::shared_ptr<ConnectCallback>& shared) {
    auto link = std::make_shared<Link>();
    link->ends[0].host = from;
    link->ends[1].host = normal(options.host);
    if (!*shared || is_partitioned(*link)) {
      return;  // nothing arrives; the timeout ends it
    }
    const std::string port = ":" + std::to_string(options.port);
    auto found = state_->listeners.find(link->ends[1].host + port);
    if (found == state_->listeners.end()) {
      found = state_->listeners.find("0.0.0.0" + port);
    }
    if (found == state_->listeners.end()) {
      end_connect(shared, Status(Code::kUnavailable,
                                 "connect to " + options.host + port + ": connection refused"));
      return;
    }
    links_.push_back(link);
    found->second->accept(std::make_unique<SimStream>(this, link, 1));
    end_connect(shared, std::unique_ptr<ByteStream>(std::make_unique<SimStream>(this, link, 0)));
  }

  static std::int64_t unread_bytes(const End& end) {
    std::int64_t sum = 0;
    for (const auto& [at, piece] : end.inbound) {
      sum += static_cast<std::int64_t>(piece.size());
    }
    return sum;
  }

  // Puts on the wire what the window allows.
  void send(const std::shared_ptr<Link>& link, int side) {
    End& from = link->ends[static_cast<std::size_t>(side)];
    End& to = link->ends[static_cast<std::size_t>(1 - side)];
    if (to.closed && !from.unsent.empty()) {  // data to a closed socket is answered by a reset
      from.unsent.clear();
      loop_->run_after(latency(), [this, link, side] { break_end(link, side); });
      return;
    }
    while (!from.unsent.empty() && unread_bytes(to) < options_.window_bytes) {
      if (options_.reset_probability > 0 && rng_.uniform() < options_.reset_probability) {
        break_link(link);
        return;
      }
      const std::int64_t most =
          std::min(static_cast<std::int64_t>(from.unsent.size()), options_.max_segment_bytes);
      const auto size = static_cast<std::size_t>(1 + rng_.below(most));
      put(link, 1 - side, from.unsent.substr(0, size));
      from.unsent.erase(0, size);
    }
  }

  void put(const std::shared_ptr<Link>& link, int side, std::string piece) {
    End& to = link->ends[static_cast<std::size_t>(side)];
    Clock::TimePoint at = clock_.now() + latency();
    if (!to.inbound.empty()) {
      at = std::max(at, to.inbound.back().first);
    }
    to.inbound.emplace_back(at, std::move(piece));
    loop_->run_at(at, [this, link, side] { arrive(link, side); });
  }

  void send_end(const std::shared_ptr<Link>& link, int side) {
    if (!std::exchange(link->ends[static_cast<std::size_t>(side)].sent_end, true)) {
      put(link, 1 - side, "");
    }
  }

  void arrive_later(const std::shared_ptr<Link>& link, int side) {
    loop_->post([this, link, side] { arrive(link, side); });
  }

  // Hands over the first piece that is due, then lets the sender go on.
  void arrive(const std::shared_ptr<Link>& link, int side) {
    End& end = link->ends[static_cast<std::size_t>(side)];
    if (!end.reader || is_partitioned(*link)) {
      return;
    }
    if (end.was_reset) {
      fail_callbacks(end, Status(Code::kUnavailable, "connection reset by peer"));
      return;
    }
    if (end.inbound.empty() || end.inbound.front().first > clock_.now()) {
      return;
    }
    const std::string piece = end.inbound.front().second;
    if (!piece.empty()) {
      end.inbound.pop_front();
    }
    ByteStream::ReadCallback reader = std::move(end.reader);
    end.reader = nullptr;
    reader(std::string_view(piece));
    End& sender = link->ends[static_cast<std::size_t>(1 - side)];
    if (sender.writer) {
      send(link, 1 - side);
      if (sender.unsent.empty() && sender.writer) {
        ByteStream::WriteCallback writer = std::move(sender.writer);
        sender.writer = nullptr;
        writer(Status());
      }
    }
  }

  void break_link(const std::shared_ptr<Link>& link) {
    break_end(link, 0);
    break_end(link, 1);
  }

  void break_end(const std::shared_ptr<Link>& link, int side) {
    End& end = link->ends[static_cast<std::size_t>(side)];
    end.was_reset = true;
    end.unsent.clear();
    fail_callbacks(end, Status(Code::kUnavailable, "connection reset by peer"));
  }

  void fail_callbacks(End& end, const Status& status) {
    if (end.reader) {
      loop_->post([reader = std::move(end.reader), status]() mutable { reader(status); });
      end.reader = nullptr;
    }
    if (end.writer) {
      loop_->post([writer = std::move(end.writer), status]() mutable { writer(status); });
      end.writer = nullptr;
    }
    if (end.reset_waiter) {
      loop_->post(std::move(end.reset_waiter));
      end.reset_waiter = nullptr;
    }
  }

  SimNetOptions options_;
  Rng rng_;
  FakeClock clock_;
  std::unique_ptr<IoContext> loop_;
  std::shared_ptr<State> state_;  // shared with listeners, which may end later
  std::vector<std::weak_ptr<Link>> links_;
  std::vector<std::string> partitioned_;
  int next_port_ = 40000;
};

}  // namespace plumb
