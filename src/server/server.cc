// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <algorithm>
#include <future>
#include <utility>

#include "api/ids.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "net/tls.h"
#include "server/models_catalog.h"
#include "server/request_timeout.h"
#include "server/route_hint.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxQueuedBodies = 256;  // of each pool that prepares
constexpr int kNumLookups = 4;
constexpr std::int64_t kMaxQueuedGrammars = 256;
constexpr int kMaxGrammars = 6;                         // compiled in turns
constexpr std::chrono::milliseconds kGrammarSlice{50};  // most need no second one
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
      failures_(parts.clock) {
  limits_.max_n = options.max_n;
  const ServedModelFacts& facts = parts.service.model().facts();
  parts.service.constraints().set_on_compiled([this](std::chrono::nanoseconds time) {
    metrics_.measures.compile_time.observe(std::chrono::duration<double>(time).count());
  });
  dialects_ = make_metrics_dialects(options.metrics_compat, {parts.metrics, metrics_, parts.steps,
                                                             facts.served_name, facts.context_len});
}

Server::~Server() {
  is_stopping_.store(true);
  if (loop_ != nullptr) {
    end_on_loop();
  }
  http_.reset();
  workers_.reset();
  lookups_.reset();
  compilers_.reset();
  if (loop_ != nullptr) {
    loop_->stop();
  }
  store_.reset();  // keeps what it has accepted
  calls_.clear();  // their timers are the loop's
  probes_.clear();
  readers_.clear();
  runs_.clear();
  preparations_.clear();
  waiting_calls_.clear();
  embedding_calls_.clear();
  end_traces();
  kv_feed_.reset();
  loop_.reset();
}

Result<std::unique_ptr<Server>> Server::create(const ServerOptions& options,
                                               const ServerParts& parts) {
  PLUMB_RETURN_IF_ERROR(check_metrics_dialects(options.metrics_compat));
  std::unique_ptr<Server> server(new Server(options, parts));
  PLUMB_RETURN_IF_ERROR(load_keys(options, &server->keys_));
  PLUMB_ASSIGN(server->catalog_, read_models_catalog(options.models_catalog));
  PLUMB_RETURN_IF_ERROR(server->open_response_store());
  server->add_routes();
  PLUMB_RETURN_IF_ERROR(server->listen());
  return server;
}

Status Server::check(const ServerOptions& options) {
  KeySet keys;
  PLUMB_RETURN_IF_ERROR(load_keys(options, &keys));
  PLUMB_RETURN_IF_ERROR(read_models_catalog(options.models_catalog).status());
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
  PLUMB_ASSIGN(loop_, IoContext::create("http", parts_.clock));
  transport_ = make_tcp_transport();
  PLUMB_RETURN_IF_ERROR(start_traces());
  workers_ = std::make_unique<ThreadPool>("prepare", 1, kMaxQueuedBodies);
  lookups_ = std::make_unique<ThreadPool>("lookup", kNumLookups, kMaxQueuedBodies);
  compilers_ = std::make_unique<TurnPool>(
      "grammar",
      TurnPool::Options{.num_threads = kMaxGrammars,
                        .num_running = std::clamp(num_usable_cores() / 4, 1, kMaxGrammars),
                        .max_queued = kMaxQueuedGrammars,
                        .slice = kGrammarSlice},
      parts_.clock);
  HttpServerOptions http;
  http.address = options_.host;
  http.port = static_cast<int>(options_.port);
  http.tls_cert_file = options_.tls_cert_file;
  http.tls_key_file = options_.tls_key_file;
  http.limits.max_body_bytes = options_.max_body_bytes;
  http.max_connections = options_.max_connections;
  http.error_body = [this, limits = http.limits](int status, const HttpRequest* head) {
    const Dialect dialect =
        head == nullptr ? Dialect::kOpenAi
                        : dialect_of(*head, router_.match(head->method, route_path(*head)).route);
    const std::string id = new_request_id();
    const ApiError error = ApiError::for_http(status, transport_error(status, limits));
    return ErrorBody{"application/json", to_text(error_body(error, dialect, id)),
                     id_headers(id, dialect)};
  };
  PLUMB_ASSIGN(http_, HttpServer::create_on(std::move(http), *this, *transport_, {loop_.get()}));
  return listen_for_kv_events();
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
  is_draining_.store(true);
  const Clock::TimePoint deadline = parts_.clock.now() + options_.drain_timeout;
  {
    MutexLock lock(drain_mutex_);
    while (num_calls_ > 0 && call_ended_.wait_until(lock, deadline)) {
    }
  }
  is_stopping_.store(true);  // grammars that are still being compiled are given up
  end_on_loop();
  http_->shutdown(std::max<Clock::TimePoint::duration>(deadline - parts_.clock.now(), kLastWords));
  if (tracer_ != nullptr) {
    tracer_->flush(parts_.clock.now() + kTraceFlushTime);
  }
}

// Ends, on their thread, the calls and streams that are left.
void Server::end_on_loop() {
  const auto all_ended = std::make_shared<std::promise<void>>();
  loop_->post([this, all_ended] {
    for (auto& [id, call] : calls_) {
      call->fail(ApiError::from_status({Code::kCancelled, "the server is shutting down"}));
    }
    for (auto& [id, probe] : probes_) {
      probe->fail(shutting_down());
    }
    for (auto& [id, run] : runs_) {
      run->fail(ApiError::from_status({Code::kCancelled, "the server is shutting down"}));
    }
    abandon_preparations();
    abandon_embeddings();
    if (kv_feed_ != nullptr) {
      kv_feed_->close();
    }
    kv_publisher_.reset();
    all_ended->set_value();
  });
  all_ended->get_future().wait();
}

void Server::forget(std::uint64_t call) {
  calls_.erase(call);
  count_call(-1);
}

void Server::count_call(std::int64_t change) {
  {
    const MutexLock lock(drain_mutex_);
    num_calls_ += change;
  }
  call_ended_.notify_all();
}

void Server::add_cors_headers(Transaction* transaction) const {
  const std::optional<std::string_view> origin = transaction->request.headers.find("origin");
  if (options_.cors_origins.empty() || !origin.has_value()) {
    return;
  }
  const std::vector<std::string_view> allowed = split(options_.cors_origins, ',');
  for (const std::string_view entry : allowed) {
    if (trim(entry) == "*" || trim(entry) == *origin) {
      transaction->extra_headers.push_back(
          {"access-control-allow-origin", trim(entry) == "*" ? "*" : std::string(*origin)});
      transaction->extra_headers.push_back(
          {"access-control-expose-headers", "x-request-id, retry-after"});
      return;
    }
  }
}

bool Server::answer_preflight(Transaction* transaction) {
  if (transaction->request.method != "OPTIONS") {
    return false;
  }
  Headers headers = transaction->headers("text/plain");
  headers.add("access-control-allow-methods", "GET, POST, DELETE, OPTIONS");
  if (const auto asked = transaction->request.headers.find("access-control-request-headers")) {
    headers.add("access-control-allow-headers", std::string(*asked));
  }
  headers.add("access-control-max-age", "600");
  transaction->writer.send({204, std::move(headers), ""});
  return true;
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

// The path below the root path; empty if it is not below.
std::string_view Server::route_path(const HttpRequest& request) const {
  std::string_view path = request.path;
  if (!path.starts_with(options_.root_path)) {
    return {};
  }
  path.remove_prefix(options_.root_path.size());
  return path.empty() ? "/" : path;
}

std::optional<HttpResponse> Server::refuse(const HttpRequest& head) {
  const RouteMatch match = router_.match(head.method, route_path(head));
  Principal principal;
  const std::optional<ApiError> error = match.route != nullptr
                                            ? access_error(head, *match.route, &principal)
                                            : std::optional(route_error(head, match));
  if (!error.has_value() || head.method == "OPTIONS") {
    return std::nullopt;
  }
  metrics_.count_request(match.route != nullptr ? match.route->path : "unknown", error->http_status,
                         0);
  const Dialect dialect = dialect_of(head, match.route);
  Headers headers = id_headers(request_id_of(head), dialect);
  headers.add("content-type", "application/json");
  if (error->http_status == 405) {
    headers.add("allow", join(match.allowed, ", "));
  }
  return error_response(*error, dialect, std::move(headers));
}

// Clients of Anthropic say so in a header, and understand nothing else.
Dialect Server::dialect_of(const HttpRequest& request, const Route* route) const {
  if (request.headers.find("anthropic-version").has_value()) {
    return Dialect::kAnthropic;
  }
  if (route != nullptr) {
    return route->dialect;
  }
  const std::string_view path = route_path(request);
  if (path.starts_with("/v1/messages")) {
    return Dialect::kAnthropic;
  }
  return path.starts_with("/api/") ? Dialect::kOllama : Dialect::kOpenAi;
}

// Why there is no handler: the path is unknown, or the method is none of the path's.
ApiError Server::route_error(const HttpRequest& request, const RouteMatch& match) const {
  if (!match.allowed.empty()) {
    return ApiError::for_http(405, "method " + request.method.substr(0, 16) +
                                       " is not allowed here, expected " +
                                       join(match.allowed, ", "));
  }
  if (std::optional<ApiError> error = ollama_route_error(route_path(request))) {
    return *std::move(error);
  }
  return ApiError::not_found(
      unknown_route(request.method, request.path, options_.root_path, router_.paths()));
}

void Server::handle(HttpRequest request, ResponseWriter writer) {
  std::string id = request_id_of(request);
  Transaction transaction{std::move(request), std::move(writer), std::move(id), "unknown", {},
                          parts_.clock,       metrics_};
  add_cors_headers(&transaction);
  if (answer_preflight(&transaction)) {
    return;
  }
  const std::string_view path = route_path(transaction.request);
  RouteMatch match = router_.match(transaction.request.method, path);
  transaction.dialect = dialect_of(transaction.request, match.route);
  if (match.route == nullptr) {
    const ApiError error = route_error(transaction.request, match);
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

std::optional<ApiError> Server::check_model(const std::string& model) const {
  const std::string& served = parts_.service.model().facts().served_name;
  if (model.empty() || model == served) {
    return std::nullopt;
  }
  return ApiError::model_not_found(model, served);
}

std::optional<ApiError> Server::check_fields(const std::vector<std::string>& ignored) const {
  if (ignored.empty() || !options_.strict_fields) {
    return std::nullopt;
  }
  const std::string param = ignored.front().substr(0, 128);
  return ApiError::invalid("unknown_parameter", param, "unknown parameter: '" + param + "'");
}

// Where in the prefix cache a request looks and stores. The salt of the key is the server's: a salt
// that clients choose keeps nobody out who can guess it.
std::string Server::namespace_of(const Transaction& transaction,
                                 const GenerationParams& params) const {
  CacheScope scope;
  scope.salt = params.cache_salt;
  if (options_.prefix_scope == PrefixScope::kPrincipal) {
    scope.principal = transaction.principal.cache_salt;
  } else if (options_.prefix_scope == PrefixScope::kNone) {
    scope.request = random_hex(32);
  }
  return parts_.service.model().namespace_of(scope);
}

bool Server::address_choices(Transaction* transaction, const GenerationParams& params,
                             std::vector<ChoiceRequest>* choices) const {
  const auto given_timeout = request_timeout(transaction->request);
  if (const auto* error = std::get_if<ApiError>(&given_timeout)) {
    transaction->send_error(*error);
    return false;
  }
  const std::optional<std::chrono::milliseconds> timeout = std::get<0>(given_timeout);
  if (std::ssize(*choices) > parts_.service.max_choices()) {
    transaction->send_error(ApiError::invalid(
        "invalid_value", "n",
        "the request asks for " + std::to_string(choices->size()) + " choices, the queue holds " +
            std::to_string(parts_.service.max_choices()) +
            "; send fewer or raise --max-queued-requests"));
    return false;
  }
  if (!params.request_id.empty()) {
    transaction->request_id = params.request_id;
  }
  const std::string cache_namespace = namespace_of(*transaction, params);
  for (ChoiceRequest& choice : *choices) {
    choice.request.cache_namespace = cache_namespace;
    if (choice.request.id.empty()) {
      choice.request.id = transaction->request_id;
    }
    choice.request.tenant = transaction->principal.name;
    if (timeout.has_value()) {
      choice.request.timeout = std::min(*timeout, choice.request.timeout.value_or(*timeout));
    }
  }
  return true;
}

Call::Setup Server::call_setup(const GenerationParams& params, std::size_t num_choices) {
  return {params.stream, params.include_usage && params.continuous_usage, num_choices, params.n,
          params.sampling.max_tokens};
}

void Server::launch_call(Transaction transaction, std::unique_ptr<ResponseFormat> format,
                         const GenerationParams& params, std::vector<ChoiceRequest> choices) {
  if (address_choices(&transaction, params, &choices)) {
    const Call::Setup setup = call_setup(params, choices.size());
    run_call(next_call_++, std::move(transaction), std::move(format), setup, params,
             std::move(choices));
  }
}

void Server::run_call(std::uint64_t id, Transaction transaction,
                      std::unique_ptr<ResponseFormat> format, const Call::Setup& setup,
                      const GenerationParams& params, std::vector<ChoiceRequest> choices,
                      std::function<void()> on_forgotten) {
  trace(params, &transaction, &choices);
  auto call =
      std::make_unique<Call>(*loop_, options_, metrics_, std::move(transaction), std::move(format),
                             setup, [this, id, on_forgotten = std::move(on_forgotten)] {
                               if (on_forgotten) {
                                 on_forgotten();
                               }
                               forget(id);
                             });
  count_call(1);
  Call& started = *calls_.emplace(id, std::move(call)).first->second;
  started.start(parts_.service, std::move(choices));
}

}  // namespace plumb
