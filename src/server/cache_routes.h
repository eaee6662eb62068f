// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "net/frame_publisher.h"
#include "net/transport.h"
#include "server/kv_event_feed.h"
#include "server/route_context.h"
#include "server/transaction.h"

namespace plumb {

/// The prefix cache: emptied, and its events, as server-sent events and as frames on a port.
/// Thread: the server's loop, but for construction and listen().
class CacheRoutes {
 public:
  explicit CacheRoutes(const RouteContext& context);

  void add_routes();
  /// Opens the port for the events, if there is to be one; before the server listens. The transport
  /// outlives the routes. Errors: the port is taken.
  Status listen(Transport& transport);

  /// Of the publisher of events; -1 without one.
  int port() const { return publisher_ != nullptr ? publisher_->port() : -1; }

  /// Ends all streams of events: the server ends.
  void close();

 private:
  void flush_cache(Transaction transaction, int tries_left);
  void kv_events(Transaction transaction);

  const RouteContext& context_;
  std::unique_ptr<KvEventFeed> feed_;          // null without events
  std::unique_ptr<KvEventFrames> frames_;      // null without a port for them
  std::unique_ptr<FramePublisher> publisher_;  // as frames_
};

}  // namespace plumb
