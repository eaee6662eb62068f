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

#include "api/ids.h"
#include "api/messages_request.h"
#include "api/ollama_embed.h"
#include "api/ollama_request.h"
#include "api/ollama_response.h"
#include "api/responses_request.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/seal.h"
#include "base/thread_pool.h"
#include "base/turn_pool.h"
#include "frontend/embedding_service.h"
#include "frontend/model_control.h"
#include "frontend/text_service.h"
#include "net/http_server.h"
#include "net/io_context.h"
#include "net/tcp_transport.h"
#include "server/auth.h"
#include "server/background_run.h"
#include "server/call.h"
#include "server/event_log.h"
#include "server/health_probe.h"
#include "server/kv_event_feed.h"
#include "server/load_report.h"
#include "server/metrics_dialect.h"
#include "server/response_store.h"
#include "server/response_turn.h"
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
  ModelControl* control = nullptr;         ///< null: memory and weights stay as they are
};

/// The HTTP server: routes, keys, calls in flight.
///
/// One loop thread owns connections and calls; large bodies are prepared on a worker, those that
/// may name stored responses on threads that may wait. Thread: create(), drain(), stop(): any but
/// the loop's.
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
  void add_messages_routes();
  void add_ollama_routes();
  void add_generate_routes();
  void add_llamacpp_routes();
  void add_operation_routes();
  void add_memory_routes();
  void add_weights_routes();
  void add_web_routes();
  std::string_view route_path(const HttpRequest& request) const;
  std::optional<ApiError> access_error(const HttpRequest& request, const Route& route,
                                       Principal* principal);
  ApiError route_error(const HttpRequest& request, const RouteMatch& match) const;
  Dialect dialect_of(const HttpRequest& request, const Route* route) const;
  bool answer_preflight(Transaction* transaction);
  void add_cors_headers(Transaction* transaction) const;

  /// What a handler makes of a body: the rest of the work, to be done on the loop, or an error.
  using Prepared = std::variant<std::function<void(Server&, Transaction)>, ApiError>;

  /// Who asks, while a body is prepared.
  struct Asker {
    const std::atomic<bool>& is_unwanted;  ///< nobody waits any more: any result will do
    Principal principal;
  };

  using Prepare = Prepared (Server::*)(const Json& body, const Asker& asker) const;
  /// Whether preparing that body may wait for something, so that it is not done on the loop.
  using MayWait = bool (*)(std::string_view body);
  /// Parses and prepares on the loop (small bodies) or on the worker (large ones, and those that
  /// may wait), then goes on on the loop.
  void post_route(std::string path, Prepare prepare, Dialect dialect = Dialect::kOpenAi,
                  MayWait may_wait = nullptr);
  using Operation = void (Server::*)(FieldReader& fields, Transaction transaction);
  /// A route whose small body is read on the loop, also while the server drains.
  void operation_route(std::string path, RouteClass access, Operation handler);
  /// Whether an operation may go on with what it has read; otherwise the error is sent. Unknown
  /// fields are named in a header, or an error.
  bool are_fields_fine(FieldReader& fields, Transaction* transaction) const;
  void prepare_and_run(Transaction transaction, Prepare prepare, MayWait may_wait = nullptr);
  /// Work that takes its time, or waits.
  using Work = std::function<Prepared(const Asker& asker)>;
  /// Does it on one of the workers, then goes on on the loop.
  void work_off_loop(Transaction transaction, Work work, ThreadPool& workers);
  void end_preparation(std::uint64_t id, Prepared prepared);
  void finish_preparation(Transaction transaction, Prepared prepared);
  struct Preparation;
  void abandon(Preparation* preparation, const ApiError& error);
  void abandon_preparations();
  static ApiError shutting_down();
  /// Sends an object that is written out here, not on the loop, or passes the error on; `ignored`
  /// are fields that the header names.
  static Prepared answer_with(const std::variant<Json, ApiError>& result,
                              std::vector<std::string> ignored = {});
  /// Sends a text that is JSON.
  static Prepared answer_with_text(std::string json, std::vector<std::string> ignored = {});
  Prepared prepare_body(const std::string& body, Prepare prepare, const Asker& asker) const;

  /// Makes the response of a checked conversation, once its prompt is there.
  using MakeChatFormat = std::function<std::unique_ptr<ResponseFormat>(
      ResponseEnvelope envelope, const ChatRequest& request,
      const std::vector<ChoiceRequest>& choices)>;
  /// How a call goes on once its grammar is there.
  using Launch = std::function<void(
      Server& server, Transaction transaction, std::unique_ptr<ResponseFormat> format,
      const GenerationParams& params, std::vector<ChoiceRequest> choices)>;
  /// What every dialect does with a conversation. `id` makes the id of the response. Without
  /// `launch` it becomes a call.
  Prepared prepare_conversation(ChatRequest request, std::string (*id)(),
                                MakeChatFormat make_format, Launch launch = {}) const;
  Prepared prepare_chat(const Json& body, const Asker& asker) const;
  Prepared prepare_completion(const Json& body, const Asker& asker) const;
  Prepared prepare_messages(const Json& body, const Asker& asker) const;
  Prepared prepare_count_tokens(const Json& body, const Asker& asker) const;
  std::variant<MessagesRequest, ApiError> read_messages(const Json& body, bool is_count) const;
  /// Makes the response of a checked text completion, once its prompts are there.
  using MakeTextFormat = std::function<std::unique_ptr<ResponseFormat>(
      ResponseEnvelope envelope, const CompletionRequest& request)>;
  /// What every dialect does with a text completion.
  Prepared prepare_text(CompletionRequest request, const Asker& asker,
                        MakeTextFormat make_format) const;
  Prepared prepare_generate(const Json& body, const Asker& asker) const;
  Prepared prepare_llamacpp(const Json& body, const Asker& asker) const;
  Prepared prepare_ollama(OllamaRequest request, OllamaRoute route, const Asker& asker) const;
  Prepared prepare_ollama_chat(const Json& body, const Asker& asker) const;
  Prepared prepare_ollama_generate(const Json& body, const Asker& asker) const;
  Prepared prepare_ollama_show(const Json& body, const Asker& asker) const;
  Prepared prepare_ollama_pull(const Json& body, const Asker& asker) const;
  static Prepared answer_load(const OllamaRequest& request, OllamaRoute route);
  /// Why an Ollama path is none here, where more can be said than that.
  static std::optional<ApiError> ollama_route_error(std::string_view path);
  std::optional<ApiError> check_ollama_model(const std::string& model) const;
  void note_keep_alive(std::optional<std::chrono::nanoseconds> keep_alive);
  void ollama_tags(Transaction transaction);
  void ollama_ps(Transaction transaction);
  void ollama_version(Transaction transaction);
  Prepared prepare_tokenize(const Json& body, const Asker& asker) const;
  Prepared prepare_detokenize(const Json& body, const Asker& asker) const;
  Prepared prepare_template(const Json& body, const Asker& asker) const;
  Prepared prepare_separate_reasoning(const Json& body, const Asker& asker) const;
  Prepared prepare_parse_function_call(const Json& body, const Asker& asker) const;
  std::optional<ApiError> check_tokenize_bytes(const char* param, std::size_t num_bytes) const;
  std::variant<Json, ApiError> tokenize_content(FieldReader& fields) const;
  std::variant<Json, ApiError> tokenize_prompt(FieldReader& fields) const;
  std::variant<Json, ApiError> tokenize_messages(const Json& body, FieldReader& fields) const;

  // Vectors and their cosines.
  using EmbeddingVectors = std::vector<std::vector<float>>;
  /// Makes the body of an answer of the vectors of a job, as they were pooled.
  using EmbeddingAnswer = std::function<Json(const Server& server, const Transaction& transaction,
                                             EmbeddingVectors vectors)>;
  /// Makes it of vectors that are as the request wants them.
  using VectorAnswer =
      std::function<Json(const Server& server, const Transaction& transaction,
                         const EmbeddingVectors& vectors, std::int64_t num_tokens)>;

  struct TextField {
    const char* name;
    const std::vector<std::string>& texts;
  };

  void add_embedding_routes();
  Prepared prepare_vectors(EmbeddingRequest request, const char* param, const Asker& asker,
                           VectorAnswer answer) const;
  Prepared prepare_embeddings(const Json& body, const Asker& asker) const;
  Prepared prepare_ollama_vectors(OllamaEmbedRequest request, const char* param, const Asker& asker,
                                  VectorAnswer answer) const;
  Prepared prepare_ollama_embed(const Json& body, const Asker& asker) const;
  Prepared prepare_ollama_embeddings(const Json& body, const Asker& asker) const;
  std::variant<EmbeddingJob, ApiError> pair_job(const TextField& first, const TextField& second,
                                                const EmbeddingParams& params,
                                                const Asker& asker) const;
  Prepared prepare_score(const Json& body, const Asker& asker) const;
  Prepared prepare_rerank(const Json& body, const Asker& asker) const;
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
                  const GenerationParams& params, std::vector<ChoiceRequest> choices,
                  Launch launch = {});
  void go_on(WaitingCall waiting);
  void compile_then_launch(const std::shared_ptr<WaitingCall>& waiting);
  void launch_call(Transaction transaction, std::unique_ptr<ResponseFormat> format,
                   const GenerationParams& params, std::vector<ChoiceRequest> choices);
  /// Says of each choice whose it is and how long it may take. False: the request is answered with
  /// an error.
  bool address_choices(Transaction* transaction, const GenerationParams& params,
                       std::vector<ChoiceRequest>* choices) const;
  static Call::Setup call_setup(const GenerationParams& params, std::size_t num_choices);
  void run_call(std::uint64_t id, Transaction transaction, std::unique_ptr<ResponseFormat> format,
                const Call::Setup& setup, const GenerationParams& params,
                std::vector<ChoiceRequest> choices, std::function<void()> on_forgotten = {});

  // The Responses API.
  struct ResponsePlan;
  Status open_response_store();
  void add_response_routes();
  HostedRules hosted_rules() const;
  std::variant<ResponsePlan, ApiError> plan_response(const Json& body, const Asker& asker) const;
  std::optional<ApiError> load_history(const std::string& owner, const Asker& asker,
                                       ResponsePlan* plan) const;
  std::optional<ApiError> resolve_references(const std::string& owner, const Asker& asker,
                                             ResponsePlan* plan) const;
  std::optional<ApiError> fit_conversation(ResponsePlan* plan, const Unseal& unseal) const;
  Prepared prepare_response(const Json& body, const Asker& asker) const;
  Prepared prepare_input_tokens(const Json& body, const Asker& asker) const;
  void launch_response(const std::shared_ptr<ResponseTurn>& turn, Transaction transaction,
                       std::unique_ptr<ResponseFormat> format, const GenerationParams& params,
                       std::vector<ChoiceRequest> choices);
  void run_in_background(const std::shared_ptr<ResponseTurn>& turn, Transaction transaction,
                         std::unique_ptr<ResponseFormat> format, const GenerationParams& params,
                         std::vector<ChoiceRequest> choices);
  void answer_from_background(const std::string& id, Transaction transaction,
                              const std::string& queued, const Status& kept);
  BackgroundRun* find_run(const std::string& owner, const std::string& id) const;
  /// Without a log the store has them.
  void read_events(const std::string& id, Transaction transaction,
                   std::shared_ptr<const EventLog> log, std::int64_t first);
  void fetch_events(const std::string& owner, const std::string& id, std::uint64_t reader,
                    std::int64_t event);
  void pump_readers(const std::string& id);
  /// What a kept response is read for, on a thread that may wait.
  using ReadStored = std::function<Prepared(StoredResponse)>;
  /// Answers a request about a kept response, or 404.
  void with_response(Transaction transaction, const std::string& id, const ReadStored& read);
  void get_response(Transaction transaction, const std::string& id);
  void stream_response(Transaction transaction, const std::string& id);
  void delete_response(Transaction transaction, const std::string& id);
  void cancel_response(Transaction transaction, const std::string& id);
  void list_input_items(Transaction transaction, const std::string& id);
  void count_call(std::int64_t change);
  void forget(std::uint64_t call);
  void flush_cache(Transaction transaction, int tries_left);
  void kv_events(Transaction transaction);
  LoadFacts load_facts();
  Json internal_states();
  void health_generate(Transaction transaction);
  void model_info(Transaction transaction);
  void props(Transaction transaction);
  void server_load(Transaction transaction);
  void rank_load(Transaction transaction);
  void loads(Transaction transaction);

  /// What is to be ended, and for whom.
  struct AbortTarget {
    bool is_all = false;
    std::string id;           ///< of a request or choice, or of a response in the background
    bool is_anyones = false;  ///< not only of the principal
    Principal principal;

    bool may_end_those_of(const Principal& other) const;
  };

  void abort_request(FieldReader& fields, Transaction transaction);
  void abort_preparations(const AbortTarget& target);
  /// Calls, also those that wait for their grammar, and responses in the background.
  void abort_calls(const AbortTarget& target);
  void start_drain(FieldReader& fields, Transaction transaction);
  void wait_for_drain(Transaction transaction, Clock::TimePoint deadline);
  void set_internal_state(FieldReader& fields, Transaction transaction);
  void add_control_routes();
  void pause_generation(FieldReader& fields, Transaction transaction);
  void wait_for_pause(Transaction transaction, Json answer);
  void continue_generation(FieldReader& fields, Transaction transaction);
  void release_memory(FieldReader& fields, Transaction transaction);
  void resume_memory(FieldReader& fields, Transaction transaction);
  void update_weights(FieldReader& fields, Transaction transaction);
  void start_profile(FieldReader& fields, Transaction transaction);
  void stop_profile(FieldReader& fields, Transaction transaction);
  void watch_profile(std::uint64_t number);
  /// Writes the trace of what was recorded, off the loop; `told` hears of its path, on the loop.
  void save_profile(std::function<void(Result<std::string> path)> told);
  void models(Transaction transaction) const;
  void one_model(Transaction transaction, const std::string& id) const;
  void health(Transaction transaction, bool is_readiness) const;
  void server_info(Transaction transaction);
  Json model_row() const;
  ResponseEnvelope envelope(std::string id, const GenerationParams& params) const;

  ServerOptions options_;
  ServerParts parts_;
  ApiLimits limits_;
  ServerMetrics metrics_;
  std::vector<std::unique_ptr<MetricsDialect>> dialects_;  // loop thread
  const std::string signature_key_ = random_hex(64);       // of blocks of thinking
  KeySet keys_;
  JsonArray catalog_;  // of --models-catalog
  FailureLimiter failures_;
  Router router_;
  std::unique_ptr<IoContext> loop_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<IoContext> trace_loop_;
  std::unique_ptr<TraceExporter> tracer_;  // null without a collector; on a loop of its own
  // Prepares large bodies: one thread, since that is work for a processor.
  std::unique_ptr<ThreadPool> workers_;
  // The same for what waits for the store meanwhile: four, so that it holds up neither those
  // bodies nor each other.
  std::unique_ptr<ThreadPool> lookups_;
  std::unique_ptr<TurnPool> compilers_;  // of grammars
  std::atomic<bool> is_stopping_{false};
  std::map<std::uint64_t, std::unique_ptr<Call>> calls_;          // loop thread
  std::map<std::uint64_t, std::unique_ptr<HealthProbe>> probes_;  // loop thread
  ThroughputMeter throughput_;                                    // loop thread
  std::unique_ptr<Seal> seal_;                                    // of reasoning that clients keep
  LiveResponses live_responses_;
  std::map<std::string, std::uint64_t> response_calls_;         // by response id; loop thread
  std::map<std::string, std::unique_ptr<BackgroundRun>> runs_;  // by response id; loop thread
  std::map<std::string, std::map<std::uint64_t, std::unique_ptr<EventReader>>>
      readers_;  // of responses, by their ids; loop thread

  // A request whose body the worker prepares.
  struct Preparation {
    Transaction transaction;
    std::shared_ptr<std::atomic<bool>> is_unwanted;  // set by the loop, read by the worker
    std::vector<AbortTarget> aborts{};               // that may mean it, once it is read
  };

  std::map<std::uint64_t, Preparation> preparations_;                    // loop thread
  std::map<std::uint64_t, std::shared_ptr<WaitingCall>> waiting_calls_;  // loop thread

  // A request whose vectors are being computed.
  struct EmbeddingCall {
    Transaction transaction;
    Embedder::JobId job = 0;
    EmbeddingAnswer answer;
  };

  std::map<std::uint64_t, EmbeddingCall> embedding_calls_;  // loop thread
  std::uint64_t next_call_ = 0;
  std::uint64_t profile_number_ = 0;  // of the recording that runs, or of the last; loop thread
  std::string profile_folder_;        // of its trace
  // When Ollama would unload the model; loop thread, absent until somebody used it.
  std::optional<std::chrono::system_clock::time_point> expires_at_;
  std::unique_ptr<KvEventFeed> kv_feed_;          // loop thread; null without events
  std::unique_ptr<KvEventFrames> kv_frames_;      // null without a port for them
  std::unique_ptr<FramePublisher> kv_publisher_;  // loop thread; as kv_frames_
  Mutex drain_mutex_;
  CondVar call_ended_;
  std::int64_t num_calls_ PLUMB_GUARDED_BY(drain_mutex_) = 0;
  std::atomic<bool> is_draining_{false};
  std::unique_ptr<ResponseStore> store_;  // null without one; its callbacks post to the loop
  std::unique_ptr<HttpServer> http_;
};

}  // namespace plumb
