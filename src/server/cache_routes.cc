// SPDX-License-Identifier: Apache-2.0
#include "server/cache_routes.h"

#include <functional>
#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

// A flush right after an answer finds the engine still putting its last step away.
constexpr int kFlushTries = 20;
constexpr std::chrono::milliseconds kFlushPause{5};

}  // namespace

CacheRoutes::CacheRoutes(const RouteContext& context) : context_(context) {
  if (context.parts.service.has_kv_events()) {
    feed_ = std::make_unique<KvEventFeed>(context.loop, context.parts.service, context.options);
  }
}

void CacheRoutes::add_routes() {
  context_.router.add(
      {"POST", "/flush_cache", RouteClass::kAdminOptional,
       [this](Transaction x, const std::string&) { flush_cache(std::move(x), kFlushTries); }});
  context_.get_route("/kv_events", RouteClass::kAdminForced,
                     std::bind_front(&CacheRoutes::kv_events, this));
}

void CacheRoutes::flush_cache(Transaction transaction, int tries_left) {
  if (const std::optional<ApiError> error = context_.check_generates()) {
    transaction.send_error(*error);
    return;
  }
  const Status status = context_.parts.service.flush_cache();
  if (status.ok()) {
    transaction.send_json(JsonObject{{"success", true}, {"message", "the prefix cache is empty"}});
  } else if (tries_left > 1) {
    context_.loop.run_after(kFlushPause, [this, x = std::move(transaction), tries_left]() mutable {
      flush_cache(std::move(x), tries_left - 1);
    });
  } else {
    transaction.send_error(ApiError::for_http(409, status.message()));
  }
}

// Where a client goes on: behind the last event that it names, else at ?from=, else with what
// comes.
void CacheRoutes::kv_events(Transaction transaction) {
  if (feed_ == nullptr) {
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
                                  ? context_.parts.service.next_kv_event()
                                  : static_cast<std::uint64_t>(number) + (last.empty() ? 0 : 1);
  feed_->add(std::move(transaction), begin);
}

Status CacheRoutes::listen(Transport& transport) {
  if (feed_ == nullptr || context_.options.kv_events_port < 0) {
    return {};
  }
  frames_ = std::make_unique<KvEventFrames>(context_.parts.service, context_.keys);
  FramePublisherOptions options;
  options.topic = "kv-events";
  options.listen.address = context_.options.host;
  options.listen.port = static_cast<int>(context_.options.kv_events_port);
  if (!context_.options.tls_cert_file.empty()) {
    options.listen.tls =
        TlsServerOptions{context_.options.tls_cert_file, context_.options.tls_key_file};
  }
  Result<std::unique_ptr<FramePublisher>> publisher =
      FramePublisher::create(context_.loop, transport, *frames_, std::move(options));
  if (!publisher.ok()) {
    return publisher.status().with("kv-events-port");
  }
  publisher_ = std::move(publisher).value();
  return {};
}

void CacheRoutes::close() {
  if (feed_ != nullptr) {
    feed_->close();
  }
  publisher_.reset();
}

}  // namespace plumb
