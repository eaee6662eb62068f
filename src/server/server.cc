// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <system_error>
#include <utility>

#include "api/ids.h"
#include "base/text.h"
#include "net/tcp_transport.h"
#include "net/tls.h"
#include "server/compat.h"
#include "server/cors.h"
#include "server/metrics_dialect.h"
#include "server/models_catalog.h"
#include "server/route_groups.h"

namespace plumb {
namespace {

constexpr std::chrono::seconds kLastWords{1};  // for answers on their way when the drain ends
constexpr std::chrono::seconds kTraceFlushTime{3};

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

std::string request_id_of(const HttpRequest& request) {
  const std::optional<std::string_view> given = request.headers.find("x-request-id");
  return given.has_value() && is_request_id(*given) ? std::string(*given) : new_request_id();
}

// What the transport refuses by itself, in words.
std::string transport_error(int http_status, const HttpLimits& limits) {
  switch (http_status) {
    case 408:
      return "the request was not complete in time";
    case 413:
      return "the body is larger than " + std::to_string(limits.max_body_bytes) +
             " bytes (--max-body-bytes)";
    case 415:
      return "the content encoding is not supported; send gzip, zstd or none";
    case 414:
      return "the URL is longer than " + std::to_string(limits.max_url_bytes) + " bytes";
    case 431:
      return "the headers are larger than " + std::to_string(limits.max_header_bytes) + " bytes";
    case 400:
      return "malformed HTTP: request line, a header, Host, Content-Length, a chunk or the "
             "compressed body";
    case 501:
      return "this transfer encoding is not supported; use chunked";
    default:
      return to_lower_ascii(std::string(reason_phrase(http_status)));
  }
}

Status load_keys(const ServerOptions& options, KeySet* keys) {
  if (!options.api_key_file.empty()) {
    PLUMB_RETURN_IF_ERROR(
        keys->load_file(options.api_key_file, KeyRole::kNormal).with("--api-key-file"));
  }
  if (!options.api_key.empty()) {
    PLUMB_RETURN_IF_ERROR(
        keys->add(options.api_key, "api-key", KeyRole::kNormal).with("--api-key"));
  }
  if (!options.admin_key_file.empty()) {
    PLUMB_RETURN_IF_ERROR(
        keys->load_file(options.admin_key_file, KeyRole::kAdmin).with("--admin-key-file"));
  }
  if (keys->empty() && !is_loopback(options.host) && !options.insecure_no_auth) {
    return {Code::kInvalidArgument,
            "--host " + options.host +
                " is reachable from other machines and no key is configured; give "
                "--api-key-file FILE, or --insecure-no-auth to serve everyone"};
  }
  return {};
}

}  // namespace

Server::Server(const ServerOptions& options, const ServerParts& parts)
    : options_(options),
      parts_(parts),
      metrics_(parts.metrics, parts.service.model().facts().context_len),
      failures_(parts.clock),
      routing_(router_, options_),
      traces_(options_, parts_) {
  limits_.max_n = options.max_n;
  parts.service.constraints().set_on_compiled([this](std::chrono::nanoseconds time) {
    metrics_.measures.compile_time.observe(std::chrono::duration<double>(time).count());
  });
}

// Calls and streams have timers on the loop: they go once it has stopped, and before it goes.
Server::~Server() {
  life_.stop();
  if (groups_ != nullptr) {
    end_on_loop();
  }
  http_.reset();
  if (groups_ != nullptr) {
    groups_->join();
  }
  if (loop_ != nullptr) {
    loop_->stop();
  }
  groups_.reset();
  traces_.stop();
  loop_.reset();
}

Result<std::unique_ptr<Server>> Server::create(const ServerOptions& options,
                                               const ServerParts& parts) {
  PLUMB_RETURN_IF_ERROR(check_metrics_dialects(options.metrics_compat));
  PLUMB_RETURN_IF_ERROR(check_compat(options.compat));
  std::unique_ptr<Server> server(new Server(options, parts));
  PLUMB_RETURN_IF_ERROR(load_keys(options, &server->keys_));
  PLUMB_RETURN_IF_ERROR(server->start());
  return server;
}

// Everything that routes need is there before the port opens.
Status Server::start() {
  PLUMB_ASSIGN(access_log_, AccessLog::open(options_.access.access_log));
  PLUMB_ASSIGN(loop_, IoContext::create("http", parts_.clock));
  const RouteContext context{options_, parts_, limits_, keys_, metrics_, life_, router_, *loop_};
  PLUMB_ASSIGN(groups_, RouteGroups::create(context, routing_, traces_));
  transport_ = make_tcp_transport();
  PLUMB_RETURN_IF_ERROR(traces_.start(*transport_));
  PLUMB_RETURN_IF_ERROR(groups_->listen(*transport_));
  return listen();
}

Status Server::check(const ServerOptions& options) {
  KeySet keys;
  PLUMB_RETURN_IF_ERROR(load_keys(options, &keys));
  PLUMB_RETURN_IF_ERROR(read_models_catalog(options.models_catalog).status());
  std::error_code error;
  if (const std::string& root = options.weights_root;
      !root.empty() && !std::filesystem::is_directory(root, error)) {
    return {Code::kInvalidArgument, "--weights-root: " + root + " is not a folder" +
                                        (error ? " (" + error.message() + ")" : "")};
  }
  return options.tls_cert_file.empty()
             ? Status()
             : TlsContext::server({options.tls_cert_file, options.tls_key_file}).status();
}

Result<KeySet> Server::read_keys(const ServerOptions& options) {
  KeySet keys;
  PLUMB_RETURN_IF_ERROR(load_keys(options, &keys));
  return keys;
}

Status Server::listen() {
  HttpServerOptions http;
  http.address = options_.host;
  http.port = static_cast<int>(options_.port);
  http.tls_cert_file = options_.tls_cert_file;
  http.tls_key_file = options_.tls_key_file;
  http.limits.max_body_bytes = options_.max_body_bytes;
  http.max_connections = options_.max_connections;
  http.error_body = [this, limits = http.limits](int status, const HttpRequest* head) {
    const Dialect dialect = head == nullptr
                                ? Dialect::kOpenAi
                                : routing_.dialect_of(*head, routing_.match(*head).route);
    const std::string id = new_request_id();
    const ApiError error = ApiError::for_http(status, transport_error(status, limits));
    if (head != nullptr) {
      note_refusal(*head, id, nullptr, error);
    }
    return ErrorBody{"application/json", to_text(error_body(error, dialect, id)),
                     id_headers(id, dialect)};
  };
  PLUMB_ASSIGN(http_, HttpServer::create_on(std::move(http), *this, *transport_, {loop_.get()}));
  return {};
}

int Server::kv_events_port() const {
  return groups_->kv_events_port();
}

std::string Server::url() const {
  const char* scheme = options_.tls_cert_file.empty() ? "http://" : "https://";
  const bool is_v6 = options_.host.find(':') != std::string::npos;
  return scheme + (is_v6 ? "[" + options_.host + "]" : options_.host) + ":" +
         std::to_string(port());
}

Status Server::reload_keys() {
  KeySet keys;
  PLUMB_RETURN_IF_ERROR(load_keys(options_, &keys));
  // The loop owns the keys; shared because a posted function must be copyable.
  const auto fresh = std::make_shared<KeySet>(std::move(keys));
  loop_->post([this, fresh] { keys_ = std::move(*fresh); });
  return {};
}

void Server::drain() {
  life_.drain();
  const Clock::TimePoint deadline = parts_.clock.now() + options_.drain_timeout;
  life_.wait_for_calls(deadline);
  life_.stop();  // grammars that are still being compiled are given up
  end_on_loop();
  http_->shutdown(std::max<Clock::TimePoint::duration>(deadline - parts_.clock.now(), kLastWords));
  traces_.flush(parts_.clock.now() + kTraceFlushTime);
}

// Ends, on their thread, the calls and streams that are left.
void Server::end_on_loop() {
  const auto all_ended = std::make_shared<std::promise<void>>();
  loop_->post([this, all_ended] {
    groups_->end_on_loop();
    all_ended->set_value();
  });
  all_ended->get_future().wait();
}

std::optional<ApiError> Server::access_error(const HttpRequest& request, const Route& route,
                                             Principal* principal) {
  const Headers& headers = request.headers;
  const AuthAnswer answer =
      check_access(keys_, route.access, headers.find("authorization").value_or(""),
                   headers.find("x-api-key").value_or(""));
  if (answer.verdict == AuthVerdict::kAllowed) {
    *principal = answer.principal;
    return std::nullopt;
  }
  if (answer.verdict == AuthVerdict::kForbidden) {
    return ApiError::for_http(
        403, keys_.has_admin() ? "this key may not use this route"
                               : "this route needs an admin key and none is configured; give "
                                 "--admin-key-file FILE");
  }
  if (failures_.is_blocked(request.peer_address)) {
    return ApiError::for_http(429, "too many failed keys from this address");
  }
  failures_.record_failure(request.peer_address);
  return ApiError::for_http(401,
                            "a valid API key is required; send 'Authorization: Bearer KEY' or "
                            "'x-api-key: KEY'");
}

std::optional<HttpResponse> Server::refuse(const HttpRequest& head) {
  const RouteMatch match = routing_.match(head);
  Principal principal;
  const std::optional<ApiError> error = match.route != nullptr
                                            ? access_error(head, *match.route, &principal)
                                            : std::optional(routing_.error(head, match));
  if (!error.has_value() || head.method == "OPTIONS") {
    return std::nullopt;
  }
  metrics_.count_request(match.route != nullptr ? match.route->path : "unknown", error->http_status,
                         0);
  const Dialect dialect = routing_.dialect_of(head, match.route);
  const std::string id = request_id_of(head);
  note_refusal(head, id, match.route, *error);
  Headers headers = id_headers(id, dialect);
  headers.add("content-type", "application/json");
  if (error->http_status == 405) {
    headers.add("allow", join(match.allowed, ", "));
  }
  return error_response(*error, dialect, std::move(headers));
}

void Server::note_refusal(const HttpRequest& head, const std::string& id, const Route* route,
                          const ApiError& error) {
  if (access_log_ == nullptr) {
    return;
  }
  AccessEntry entry(head, parts_.clock.wall_now());
  entry.request_id = id;
  entry.error_code = error.code;
  if (route != nullptr) {
    entry.route = route->path;
  }
  const Clock::TimePoint now = parts_.clock.now();
  access_log_->write(access_line(entry, error.http_status, now, now));
}

void Server::handle(HttpRequest request, ResponseWriter writer) {
  std::string id = request_id_of(request);
  Transaction transaction{std::move(request), std::move(writer), std::move(id), "unknown", {},
                          parts_.clock,       metrics_};
  if (access_log_ != nullptr) {
    transaction.access_log = access_log_.get();
    transaction.access =
        std::make_unique<AccessEntry>(transaction.request, parts_.clock.wall_now());
  }
  add_cors_headers(options_.cors_origins, &transaction);
  if (answer_preflight(&transaction)) {
    return;
  }
  RouteMatch match = routing_.match(transaction.request);
  transaction.dialect = routing_.dialect_of(transaction.request, match.route);
  if (match.route == nullptr) {
    const ApiError error = routing_.error(transaction.request, match);
    if (error.http_status == 405) {
      transaction.extra_headers.push_back({"allow", join(match.allowed, ", ")});
    }
    transaction.send_error(error);
    return;
  }
  transaction.route = match.route->path;
  if (const std::optional<ApiError> error =
          access_error(transaction.request, *match.route, &transaction.principal)) {
    transaction.send_error(*error);
    return;
  }
  match.route->handler(std::move(transaction), match.parameter);
}

}  // namespace plumb
