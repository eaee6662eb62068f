// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <string_view>

#include "frontend/text_service.h"
#include "net/frame_publisher.h"
#include "net/io_context.h"
#include "server/server_options.h"
#include "server/transaction.h"

namespace plumb {

/// Streams the events of the prefix cache to HTTP clients: for each batch an event whose id is the
/// batch's number.
///
/// It looks for new batches at an interval and reads the engine's log; the engine never waits. A
/// client that reads slowly is left out until it catches up, and is told of what it missed.
/// Requires  the service keeps events.
/// Thread    the server's loop.
class KvEventFeed {
 public:
  KvEventFeed(IoContext& loop, const TextService& service, const ServerOptions& options)
      : loop_(loop), service_(service), options_(options) {}

  ~KvEventFeed();
  KvEventFeed(const KvEventFeed&) = delete;
  KvEventFeed& operator=(const KvEventFeed&) = delete;

  /// Answers with the batches from a number on, and goes on until the client leaves. 503 when too
  /// many clients read already.
  void add(Transaction transaction, std::uint64_t from);
  /// Ends all streams.
  void close();

 private:
  struct Reader {
    Transaction transaction;
    std::uint64_t next = 0;
  };

  void look_later();
  void tick();
  void send_news(Reader* reader);

  IoContext& loop_;
  const TextService& service_;
  const ServerOptions& options_;
  std::list<Reader> readers_;
  TimerId timer_;
  bool has_timer_ = false;
};

/// The same events as the messages of a frame publisher, for holders of an admin key.
class KvEventFrames final : public FrameSource {
 public:
  /// All of it outlives the source. Requires the service keeps events.
  KvEventFrames(const TextService& service, const KeySet& keys) : service_(service), keys_(keys) {}

  bool admits(std::string_view key) override;

  std::uint64_t next_seq() const override { return service_.next_kv_event(); }

  FramePage read(std::uint64_t from, std::int64_t max_bytes) override;

 private:
  const TextService& service_;
  const KeySet& keys_;
};

}  // namespace plumb
