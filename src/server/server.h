// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/thread_pool.h"
#include "base/turn_pool.h"
#include "frontend/embedding_service.h"
#include "frontend/text_service.h"
#include "net/http_server.h"
#include "net/io_context.h"
#include "net/tcp_transport.h"
#include "server/auth.h"
#include "server/call.h"
#include "server/kv_event_feed.h"
#include "server/metrics_dialect.h"
#include "server/router.h"
#include "server/server_metrics.h"
#include "server/server_options.h"
#include "server/trace_exporter.h"

namespace plumb {

/// What the server serves; all of it outlives the server.
struct ServerParts {
  TextService& service;
  Metrics& metrics;
  const Clock& clock;
  /// The whole configuration for /server_info, without secrets.
  std::function<Json()> describe;
  std::string version;
  StepMetrics* steps = nullptr;            ///< observes the engine; may be null
  EmbeddingService* embeddings = nullptr;  ///< null: the model gives no vectors
};

/// The HTTP server: routes, keys, calls in flight.
///
/// One loop thread owns connections and calls; long prompts are prepared on a worker.
/// Thread: create(), drain(), stop(): any but the loop's.
class Server final : public HttpHandler {
 public:
  /// What create() would say about keys, certificates and addresses, before there is anything to
  /// serve.
  static Status check(const ServerOptions& options);
  /// The keys that the options name. Errors as create().
  static Result<KeySet> read_keys(const ServerOptions& options);
  /// Errors kInvalidArgument: key files, a public address without keys; kUnavailable: port taken.
  static Result<std::unique_ptr<Server>> create(const ServerOptions& options,
                                                const ServerParts& parts);
  ~Server() override;

  int port() const { return http_->port(); }

  /// Of the publisher of cache events; -1 without one.
  int kv_events_port() const { return kv_publisher_ != nullptr ? kv_publisher_->port() : -1; }

  /// "http://127.0.0.1:8000"
  std::string url() const;
  /// Refuses new work (503, also on /ready), lets running calls and bodies in preparation end for
  /// at most the drain time-out, then closes the port and ends what is left.
  void drain();

  /// Reads the key files again; running requests go on. On an error the old keys stay.
  Status reload_keys();

  void handle(HttpRequest request, ResponseWriter writer) override;
  /// Who may not use a route hears it before the body is read.
  std::optional<HttpResponse> refuse(const HttpRequest& head) override;

 private:
  Server(const ServerOptions& options, const ServerParts& parts);
  Status listen();
  Status listen_for_kv_events();
  Status start_traces();
  void end_traces();
  void metrics(Transaction transaction);
  void trace(const GenerationParams& params, Transaction* transaction,
             std::vector<ChoiceRequest>* choices);
  void end_on_loop();
  void add_routes();
  void add_cache_routes();
  void add_web_routes();
  std::string_view route_path(const HttpRequest& request) const;
  std::optional<ApiError> access_error(const HttpRequest& request, const Route& route,
                                       Principal* principal);
  ApiError route_error(const HttpRequest& request, const RouteMatch& match) const;
  bool answer_preflight(Transaction* transaction);
  void add_cors_headers(Transaction* transaction) const;

  /// What a handler makes of a body: the rest of the work, to be done on the loop, or an error.
  using Prepared = std::variant<std::function<void(Server&, Transaction)>, ApiError>;
  /// May stop with any result once nobody wants it.
  using Prepare = Prepared (Server::*)(const Json& body,
                                       const std::atomic<bool>& is_unwanted) const;
  /// Parses and prepares on the loop (small bodies) or on the worker (large ones), then goes on on
  /// the loop.
  void post_route(std::string path, Prepare prepare);
  void prepare_and_run(Transaction transaction, Prepare prepare);
  void prepare_on_worker(Transaction transaction, Prepare prepare);
  void end_preparation(std::uint64_t id, Prepared prepared);
  void finish_preparation(Transaction transaction, Prepared prepared);
  void abandon_preparations();
  static ApiError shutting_down();
  Prepared prepare_body(const std::string& body, Prepare prepare,
                        const std::atomic<bool>& is_unwanted) const;

  Prepared prepare_chat(const Json& body, const std::atomic<bool>& is_unwanted) const;
  Prepared prepare_completion(const Json& body, const std::atomic<bool>& is_unwanted) const;
  Prepared prepare_tokenize(const Json& body, const std::atomic<bool>& is_unwanted) const;
  Prepared prepare_detokenize(const Json& body, const std::atomic<bool>& is_unwanted) const;
  Prepared prepare_template(const Json& body, const std::atomic<bool>& is_unwanted) const;
  Prepared prepare_separate_reasoning(const Json& body, const std::atomic<bool>& is_unwanted) const;
  Prepared prepare_parse_function_call(const Json& body,
                                       const std::atomic<bool>& is_unwanted) const;
  std::optional<ApiError> check_tokenize_bytes(const char* param, std::size_t num_bytes) const;
  std::variant<Json, ApiError> tokenize_content(FieldReader& fields) const;
  std::variant<Json, ApiError> tokenize_prompt(FieldReader& fields) const;
  std::variant<Json, ApiError> tokenize_messages(const Json& body, FieldReader& fields) const;

  using EmbeddingVectors = std::vector<std::vector<float>>;
  /// Makes the body of an answer of the vectors of a job.
  using EmbeddingAnswer = std::function<Json(const Server& server, EmbeddingVectors vectors)>;
  void add_embedding_routes();
  Prepared prepare_embeddings(const Json& body, const std::atomic<bool>& is_unwanted) const;
  Prepared prepare_score(const Json& body, const std::atomic<bool>& is_unwanted) const;
  Prepared prepare_rerank(const Json& body, const std::atomic<bool>& is_unwanted) const;
  Prepared embedding_answer(const EmbeddingParams& params, EmbeddingJob job,
                            EmbeddingAnswer answer) const;
  std::optional<ApiError> check_embeds(const EmbeddingParams& params) const;
  std::optional<ApiError> check_generates() const;
  void start_embedding(Transaction transaction, EmbeddingJob job, EmbeddingAnswer answer);
  void end_embedding(std::uint64_t id, EmbeddingOutcome outcome);
  void drop_embedding(std::uint64_t id);
  void abandon_embeddings();
  const std::string& served_name() const;
  std::int64_t unix_seconds() const;

  std::optional<ApiError> check_model(const std::string& model) const;
  std::optional<ApiError> check_fields(const std::vector<std::string>& ignored) const;
  std::optional<ApiError> ignore_priority(const GenerationParams& params,
                                          std::vector<std::string>* ignored) const;
  std::string namespace_of(const Transaction& transaction, const GenerationParams& params) const;
  struct WaitingCall;
  /// Starts a call at once, or after its grammar has been compiled on a worker.
  void start_call(Transaction transaction, std::unique_ptr<ResponseFormat> format,
                  const GenerationParams& params, std::vector<ChoiceRequest> choices);
  void compile_then_launch(const std::shared_ptr<WaitingCall>& waiting);
  void launch_call(Transaction transaction, std::unique_ptr<ResponseFormat> format,
                   const GenerationParams& params, std::vector<ChoiceRequest> choices);
  void count_call(std::int64_t change);
  void forget(std::uint64_t call);
  void flush_cache(Transaction transaction, int tries_left);
  void kv_events(Transaction transaction);
  void models(Transaction transaction) const;
  void one_model(Transaction transaction, const std::string& id) const;
  void health(Transaction transaction, bool is_readiness) const;
  void server_info(Transaction transaction) const;
  Json model_row() const;
  ResponseEnvelope envelope(std::string id, const GenerationParams& params) const;

  ServerOptions options_;
  ServerParts parts_;
  ApiLimits limits_;
  ServerMetrics metrics_;
  std::vector<std::unique_ptr<MetricsDialect>> dialects_;  // loop thread
  KeySet keys_;
  FailureLimiter failures_;
  Router router_;
  std::unique_ptr<IoContext> loop_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<IoContext> trace_loop_;
  std::unique_ptr<TraceExporter> tracer_;  // null without a collector; on a loop of its own
  std::unique_ptr<ThreadPool> workers_;
  std::unique_ptr<TurnPool> compilers_;  // of grammars
  std::atomic<bool> is_stopping_{false};
  std::map<std::uint64_t, std::unique_ptr<Call>> calls_;  // loop thread

  // A request whose body the worker prepares.
  struct Preparation {
    Transaction transaction;
    std::shared_ptr<std::atomic<bool>> is_unwanted;  // set by the loop, read by the worker
  };

  std::map<std::uint64_t, Preparation> preparations_;  // loop thread

  // A request whose vectors are being computed.
  struct EmbeddingCall {
    Transaction transaction;
    Embedder::JobId job = 0;
    EmbeddingAnswer answer;
  };

  std::map<std::uint64_t, EmbeddingCall> embedding_calls_;  // loop thread
  std::uint64_t next_call_ = 0;
  std::unique_ptr<KvEventFeed> kv_feed_;          // loop thread; null without events
  std::unique_ptr<KvEventFrames> kv_frames_;      // null without a port for them
  std::unique_ptr<FramePublisher> kv_publisher_;  // loop thread; as kv_frames_
  Mutex drain_mutex_;
  CondVar call_ended_;
  std::int64_t num_calls_ PLUMB_GUARDED_BY(drain_mutex_) = 0;
  std::atomic<bool> is_draining_{false};
  std::unique_ptr<HttpServer> http_;
};

}  // namespace plumb
