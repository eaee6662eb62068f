// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/text.h"
#include "server/server.h"

namespace plumb {
namespace {

// A flush right after an answer finds the engine still putting its last step away.
constexpr int kFlushTries = 20;
constexpr std::chrono::milliseconds kFlushPause{5};

}  // namespace

void Server::add_cache_routes() {
  router_.add(
      {"POST", "/flush_cache", RouteClass::kAdminOptional,
       [this](Transaction x, const std::string&) { flush_cache(std::move(x), kFlushTries); }});
  router_.add({"GET", "/kv_events", RouteClass::kAdminForced,
               [this](Transaction x, const std::string&) { kv_events(std::move(x)); }});
}

void Server::flush_cache(Transaction transaction, int tries_left) {
  const Status status = parts_.service.flush_cache();
  if (status.ok()) {
    transaction.send_json(JsonObject{{"success", true}, {"message", "the prefix cache is empty"}});
  } else if (tries_left > 1) {
    loop_->run_after(kFlushPause, [this, x = std::move(transaction), tries_left]() mutable {
      flush_cache(std::move(x), tries_left - 1);
    });
  } else {
    transaction.send_error(ApiError::for_http(409, status.message()));
  }
}

// Where a client goes on: behind the last event that it names, else at ?from=, else with what
// comes.
void Server::kv_events(Transaction transaction) {
  if (kv_feed_ == nullptr) {
    transaction.send_error(ApiError::not_found("no events are kept; start with --kv-events"));
    return;
  }
  const std::string_view last = transaction.request.headers.find("last-event-id").value_or("");
  const std::string from = query_value(transaction.request.query, "from");
  const std::string_view given = last.empty() ? std::string_view(from) : last;
  std::int64_t number = 0;
  if (!given.empty() && (!parse_int64(given, &number) || number < 0)) {
    transaction.send_error(ApiError::invalid(
        "invalid_value", last.empty() ? "from" : "last-event-id",
        "'" + std::string(given.substr(0, 32)) + "' is no number of a batch of events"));
    return;
  }
  const std::uint64_t begin = given.empty()
                                  ? parts_.service.next_kv_event()
                                  : static_cast<std::uint64_t>(number) + (last.empty() ? 0 : 1);
  kv_feed_->add(std::move(transaction), begin);
}

Status Server::listen_for_kv_events() {
  if (!parts_.service.has_kv_events()) {
    return {};
  }
  kv_feed_ = std::make_unique<KvEventFeed>(*loop_, parts_.service, options_);
  if (options_.kv_events_port < 0) {
    return {};
  }
  kv_frames_ = std::make_unique<KvEventFrames>(parts_.service, keys_);
  FramePublisherOptions options;
  options.topic = "kv-events";
  options.listen.address = options_.host;
  options.listen.port = static_cast<int>(options_.kv_events_port);
  if (!options_.tls_cert_file.empty()) {
    options.listen.tls = TlsServerOptions{options_.tls_cert_file, options_.tls_key_file};
  }
  Result<std::unique_ptr<FramePublisher>> publisher =
      FramePublisher::create(*loop_, *transport_, *kv_frames_, std::move(options));
  if (!publisher.ok()) {
    return publisher.status().with("kv-events-port");
  }
  kv_publisher_ = std::move(publisher).value();
  return {};
}

}  // namespace plumb
