// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_model.h"

#include <stop_token>
#include <utility>

#include "api/chat_request.h"
#include "base/bounded_queue.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/thread.h"
#include "net/http_client.h"
#include "net/sse.h"
#include "net/tcp_transport.h"

namespace plumb {
namespace {

using Task = std::function<void()>;
constexpr std::chrono::milliseconds kStopPoll{50};
constexpr std::size_t kMaxShownBody = 512;
constexpr std::chrono::seconds kConnectTimeout{10};

double seconds_between(Clock::TimePoint begin, Clock::TimePoint end) {
  return std::chrono::duration<double>(end - begin).count();
}

// What a person at the terminal can do about an error of the API.
std::string remedy_of(const std::string& code) {
  const bool is_length =
      code == "context_length_exceeded" || code == "request_too_large_for_kv_pool";
  return is_length ? "; /reset forgets the conversation, --max-tokens asks for shorter answers"
                   : "";
}

Status chat_error(const ApiError& error) {
  return {Code::kInvalidArgument, error.message + remedy_of(error.code)};
}

// The message of {"error":{"message","code"}}, or what came instead.
std::string error_text(const Json& body) {
  const Json* error = body.find("error");
  const Json* message = error == nullptr ? nullptr : error->find("message");
  const Json* code = error == nullptr ? nullptr : error->find("code");
  if (message == nullptr || !message->is_string()) {
    return to_text(body).substr(0, kMaxShownBody);
  }
  return message->as_string().substr(0, kMaxShownBody) +
         remedy_of(code != nullptr && code->is_string() ? code->as_string() : "");
}

Status http_error(const std::string& server, const HttpResponse& response) {
  if (response.status == 401 || response.status == 403) {
    return {
        Code::kInvalidArgument,
        server + " asks for a key that it accepts: name a file that holds it with --api-key-file"};
  }
  const Result<Json> body = parse_json(response.body);
  return {Code::kUnavailable,
          server + " answered " + std::to_string(response.status) + ": " +
              (body.ok() ? error_text(body.value()) : response.body.substr(0, kMaxShownBody))};
}

// Runs one generation on the calling thread: the engine's events arrive through a queue.
class LocalAnswer final : public GenerationListener {
 public:
  LocalAnswer(const std::function<void(std::string_view)>& on_text, const Clock& clock)
      : on_text_(on_text), clock_(clock), start_(clock.now()) {}

  Result<ChatStats> run(TextService& service, std::vector<ChoiceRequest> choices,
                        const std::atomic<bool>& stop) {
    BoundedQueue<Task> events(1 << 16);
    const std::shared_ptr<Generation> generation =
        service.new_generation(*this, [&events](Task task) {
          const Status pushed = events.push(std::move(task), Clock::TimePoint::max());
          PLUMB_CHECK(pushed.ok() || pushed.code() == Code::kUnavailable, pushed.message());
        });
    stats_.usage.prompt_tokens = static_cast<std::int64_t>(choices.front().request.prompt.size());
    PLUMB_RETURN_IF_ERROR(generation->start(std::move(choices)));
    while (!is_done_) {
      Task task;
      if (events.pop(&task, clock_.now() + kStopPoll) == Pop::kItem) {
        task();
      }
      if (stop.load() && !is_done_) {
        events.close();  // before cancel(), which waits for an event that waits for a place
        generation->cancel();
        break;
      }
    }
    if (!status_.ok()) {
      return status_;
    }
    stats_.seconds = seconds_between(start_, clock_.now());
    stats_.usage.completion_tokens = std::max(stats_.usage.completion_tokens, num_tokens_);
    return stats_;
  }

  void on_prompt(std::int64_t, std::vector<TokenText>) override {}

  void on_delta(ChoiceDelta delta) override {
    if (num_tokens_ == 0) {
      stats_.seconds_to_first = seconds_between(start_, clock_.now());
    }
    num_tokens_ += static_cast<std::int64_t>(delta.tokens.size());
    on_text_(delta.text);
  }

  void on_end(ChoiceEnd end) override {
    stats_.usage = end.usage;
    is_done_ = true;
  }

  void on_error(Status status) override {
    status_ = std::move(status);
    is_done_ = true;
  }

 private:
  const std::function<void(std::string_view)>& on_text_;
  const Clock& clock_;
  Clock::TimePoint start_;
  ChatStats stats_;
  Status status_;
  std::int64_t num_tokens_ = 0;
  bool is_done_ = false;
};

class LocalChatModel final : public ChatModel {
 public:
  explicit LocalChatModel(std::unique_ptr<Serving> serving) : serving_(std::move(serving)) {}

  std::string name() const override { return serving_->service().model().facts().served_name; }

  Result<ChatStats> answer(const JsonArray& messages, const ChatSampling& sampling,
                           const std::function<void(std::string_view)>& on_text,
                           const std::atomic<bool>& stop) override {
    const ServedModel& model = serving_->service().model();
    const auto read =
        read_chat_request(chat_body(messages, sampling), model.facts().defaults, ApiLimits());
    if (const auto* error = std::get_if<ApiError>(&read)) {
      return chat_error(*error);
    }
    auto request = std::get<ChatRequest>(read);
    request.reasoning.separate = false;  // a person reads it where it was written
    auto choices = model.chat_choices(request, "chat");
    if (const auto* error = std::get_if<ApiError>(&choices)) {
      return chat_error(*error);
    }
    LocalAnswer run(on_text, system_clock());
    return run.run(serving_->service(), std::get<std::vector<ChoiceRequest>>(std::move(choices)),
                   stop);
  }

 private:
  std::unique_ptr<Serving> serving_;
};

// Passes a stop flag on while a request waits for its server.
class StopWatch {
 public:
  StopWatch(const std::atomic<bool>& stop, std::stop_source& cancel)
      : thread_("chat-stop", [this, &stop, &cancel] {
          bool item = false;
          while (ended_.pop(&item, system_clock().now() + kStopPoll) == Pop::kTimeout) {
            if (stop.load()) {
              cancel.request_stop();
            }
          }
        }) {}

  ~StopWatch() { ended_.close(); }

  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

 private:
  BoundedQueue<bool> ended_{1};
  Thread thread_;
};

class RemoteChatModel final : public ChatModel {
 public:
  RemoteChatModel(std::string base, std::string key, std::unique_ptr<IoContext> loop)
      : base_(std::move(base)),
        key_(std::move(key)),
        loop_(std::move(loop)),
        transport_(make_tcp_transport()),
        client_(*loop_, *transport_) {}

  std::string name() const override { return base_; }

  // Whether a server is there and takes the key, before a person has typed anything.
  Status connect() {
    ClientRequest request;
    request.url = base_ + "/models";
    request.timeout = kConnectTimeout;
    add_key(&request);
    PLUMB_ASSIGN(const HttpResponse response, client_.request_blocking(std::move(request)));
    return response.status == 200 ? Status() : http_error(base_, response);
  }

  Result<ChatStats> answer(const JsonArray& messages, const ChatSampling& sampling,
                           const std::function<void(std::string_view)>& on_text,
                           const std::atomic<bool>& stop) override {
    Json body = chat_body(messages, sampling);
    body.as_object().set("stream", true);
    body.as_object().set("stream_options", JsonObject{{"include_usage", true}});
    ClientRequest request;
    request.method = "POST";
    request.url = base_ + "/chat/completions";
    request.headers.add("content-type", "application/json");
    add_key(&request);
    request.body = to_text(body);
    std::stop_source cancel;
    request.stop = cancel.get_token();
    const StopWatch watch(stop, cancel);
    ChatStats stats;
    SseParser parser;
    const Clock::TimePoint start = system_clock().now();
    const Result<HttpResponse> response =
        client_.stream_blocking(std::move(request), [&](std::string_view bytes) -> Status {
          std::vector<SseEvent> events;
          PLUMB_RETURN_IF_ERROR(parser.feed(bytes, &events));
          for (const SseEvent& event : events) {
            PLUMB_RETURN_IF_ERROR(take(event, start, on_text, &stats));
          }
          return stop.load() ? Status{Code::kCancelled, "stopped"} : Status();
        });
    stats.seconds = seconds_between(start, system_clock().now());
    if (!response.ok()) {
      return stop.load() ? Result<ChatStats>(stats) : Result<ChatStats>(response.status());
    }
    if (response.value().status != 200) {
      return http_error(base_, response.value());
    }
    return stats;
  }

 private:
  void add_key(ClientRequest* request) const {
    if (!key_.empty()) {
      request->headers.add("authorization", "Bearer " + key_);
    }
  }

  static Status take(const SseEvent& event, Clock::TimePoint start,
                     const std::function<void(std::string_view)>& on_text, ChatStats* stats) {
    if (event.data == "[DONE]") {
      return {};
    }
    PLUMB_ASSIGN(const Json chunk, parse_json(event.data));
    if (chunk.find("error") != nullptr) {
      return {Code::kUnavailable, "the server reports: " + error_text(chunk)};
    }
    if (const Json* usage = chunk.find("usage"); usage != nullptr && usage->is_object()) {
      const auto count = [&](const char* name) {
        std::int64_t value = 0;
        const Json* field = usage->find(name);
        return field != nullptr && field->to_int64(&value) ? value : 0;
      };
      stats->usage.prompt_tokens = count("prompt_tokens");
      stats->usage.completion_tokens = count("completion_tokens");
    }
    const Json* choices = chunk.find("choices");
    if (choices == nullptr || !choices->is_array() || choices->as_array().empty()) {
      return {};
    }
    const Json* delta = choices->as_array().front().find("delta");
    for (const char* member : {"reasoning_content", "content"}) {
      const Json* text = delta == nullptr ? nullptr : delta->find(member);
      if (text == nullptr || !text->is_string() || text->as_string().empty()) {
        continue;
      }
      if (stats->seconds_to_first == 0) {
        stats->seconds_to_first = seconds_between(start, system_clock().now());
      }
      on_text(text->as_string());
    }
    return {};
  }

  std::string base_;
  std::string key_;
  std::unique_ptr<IoContext> loop_;
  std::unique_ptr<Transport> transport_;
  HttpClient client_;
};

}  // namespace

Json chat_body(const JsonArray& messages, const ChatSampling& sampling) {
  JsonObject body{{"messages", messages}};
  if (sampling.temperature.has_value()) {
    body.append("temperature", *sampling.temperature);
  }
  if (sampling.top_p.has_value()) {
    body.append("top_p", *sampling.top_p);
  }
  if (sampling.seed.has_value()) {
    body.append("seed", *sampling.seed);
  }
  if (sampling.max_tokens > 0) {
    body.append("max_tokens", sampling.max_tokens);
  }
  return body;
}

Result<std::unique_ptr<ChatModel>> load_chat_model(const ServingOptions& options) {
  PLUMB_ASSIGN(std::unique_ptr<Serving> serving, Serving::create(options, system_clock()));
  const ServedModel& model = serving->service().model();
  if (!model.has_chat_template()) {
    return Status{Code::kInvalidArgument,
                  model.facts().served_name +
                      ": has no chat template, so it continues texts and holds no conversation: "
                      "use `plumb generate`, or `plumb serve` and /v1/completions"};
  }
  return std::unique_ptr<ChatModel>(std::make_unique<LocalChatModel>(std::move(serving)));
}

Result<std::unique_ptr<ChatModel>> connect_chat_model(const std::string& url,
                                                      const std::string& api_key_file) {
  std::string key;
  if (!api_key_file.empty()) {
    PLUMB_RETURN_IF_ERROR(check_private_file(api_key_file));
    PLUMB_ASSIGN(const std::string content, read_file(api_key_file, 4096));
    key = trim(content);
  }
  std::string base = url;
  while (!base.empty() && base.back() == '/') {
    base.pop_back();
  }
  if (!base.ends_with("/v1")) {
    base += "/v1";
  }
  PLUMB_ASSIGN(std::unique_ptr<IoContext> loop, IoContext::create("chat-http"));
  auto model = std::make_unique<RemoteChatModel>(std::move(base), std::move(key), std::move(loop));
  PLUMB_RETURN_IF_ERROR(model->connect());
  return std::unique_ptr<ChatModel>(std::move(model));
}

}  // namespace plumb
