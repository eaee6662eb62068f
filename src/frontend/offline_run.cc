// SPDX-License-Identifier: Apache-2.0
#include "frontend/offline_run.h"

#include <map>
#include <memory>
#include <utility>

#include "api/ids.h"
#include "base/bounded_queue.h"
#include "frontend/response_format.h"

namespace plumb {
namespace {

using Event = std::function<void()>;
using Choices = std::variant<std::vector<ChoiceRequest>, ApiError>;
constexpr std::chrono::milliseconds kStopPoll{50};
constexpr std::int64_t kMaxEvents = 1
                                    << 16;  // more would mean a stalled disk: the engine then waits

Json success_record(const OfflineItem& item, Json body) {
  if (item.format == OfflineFormat::kOpenAiBatch) {
    return JsonObject{{"id", "batch_" + random_hex(24)},
                      {"custom_id", item.id},
                      {"response", JsonObject{{"status_code", 200},
                                              {"request_id", new_request_id()},
                                              {"body", std::move(body)}}},
                      {"error", nullptr}};
  }
  return JsonObject{{"id", item.id}, {"response", std::move(body)}, {"error", nullptr}};
}

Json error_record(const OfflineItem& item, const ApiError& error) {
  if (item.format == OfflineFormat::kOpenAiBatch) {
    return JsonObject{{"id", "batch_" + random_hex(24)},
                      {"custom_id", item.id},
                      {"response", JsonObject{{"status_code", error.http_status},
                                              {"request_id", new_request_id()},
                                              {"body", to_json(error)}}},
                      {"error", nullptr}};
  }
  return JsonObject{
      {"id", item.id}, {"response", nullptr}, {"error", *to_json(error).find("error")}};
}

void describe(const GenerationParams& params,
              const std::variant<std::vector<ChoiceRequest>, ApiError>& choices,
              std::int64_t choices_per_prompt, ResponseEnvelope* envelope) {
  if (const auto* ready = std::get_if<std::vector<ChoiceRequest>>(&choices)) {
    describe_choices(params, *ready, static_cast<std::size_t>(choices_per_prompt), envelope);
  }
}

// One item on its way: collects its choices and reports the record.
class OfflineCall final : public GenerationListener {
 public:
  using Done = std::function<void(const OfflineItem& item, Json record, std::int64_t tokens)>;

  OfflineCall(const OfflineItem& item, std::unique_ptr<ResponseFormat> format,
              std::size_t num_choices, Done done)
      : item_(item), format_(std::move(format)), choices_(num_choices), done_(std::move(done)) {}

  Status start(TextService& service, const Generation::Executor& executor,
               std::vector<ChoiceRequest> choices) {
    generation_ = service.new_generation(*this, executor);
    return generation_->start(std::move(choices));
  }

  void cancel() { generation_->cancel(); }

  void on_prompt(std::int64_t index, std::vector<TokenText> tokens) override {
    choices_[static_cast<std::size_t>(index)].prompt = std::move(tokens);
  }

  void on_delta(ChoiceDelta delta) override {
    ChoiceRecord& choice = choices_[static_cast<std::size_t>(delta.index)];
    choice.append(std::move(delta));
  }

  void on_end(ChoiceEnd end) override {
    num_tokens_ += end.usage.completion_tokens;
    choices_[static_cast<std::size_t>(end.index)].end = std::move(end);
    if (++num_ended_ == choices_.size()) {
      done_(item_, success_record(item_, format_->complete(std::move(choices_))), num_tokens_);
    }
  }

  void on_error(Status status) override {
    done_(item_, error_record(item_, ApiError::from_status(status)), num_tokens_);
  }

  void on_invalid_call(const ApiError& error) override {
    done_(item_, error_record(item_, error), num_tokens_);
  }

 private:
  const OfflineItem& item_;
  std::unique_ptr<ResponseFormat> format_;
  std::vector<ChoiceRecord> choices_;
  Done done_;
  std::shared_ptr<Generation> generation_;  // shared with the engine's events in flight
  std::size_t num_ended_ = 0;
  std::int64_t num_tokens_ = 0;
};

class OfflineRun {
 public:
  OfflineRun(TextService& service, OfflineOutput& output, const Clock& clock)
      : service_(service), output_(output), clock_(clock), events_(kMaxEvents) {}

  Result<OfflineProgress> run(const std::vector<OfflineItem>& items, const OfflineOptions& options,
                              const std::atomic<bool>& stop,
                              const std::function<void(const OfflineProgress&)>& on_progress) {
    stop_ = &stop;
    progress_.num_items = static_cast<std::int64_t>(items.size());
    std::size_t next = 0;
    while (!stop.load() && failure_.ok()) {
      while (next < items.size() &&
             static_cast<std::int64_t>(calls_.size()) < options.max_in_flight &&
             start(items[next])) {
        ++next;
      }
      if (calls_.empty() && next == items.size()) {
        break;
      }
      wait_for_events();
      commit();
      on_progress(progress());
    }
    events_.close();  // before cancel(), which waits for an event that waits for a place
    for (auto& [id, call] : calls_) {
      call->cancel();
    }
    commit();
    PLUMB_RETURN_IF_ERROR(failure_);
    return progress();
  }

 private:
  const OfflineProgress& progress() {
    progress_.num_done = output_.num_done();
    progress_.num_failed = output_.num_failed();
    return progress_;
  }

  // An item that asks for another model has no choices here, as on the server.
  Choices choices_of(const std::string& model, const std::function<Choices()>& make) const {
    const std::string& served = service_.model().facts().served_name;
    const bool is_other = !model.empty() && model != served;
    return is_other ? Choices(ApiError::model_not_found(model, served)) : make();
  }

  // False when the engine is full for now: the item is tried again later.
  bool start(const OfflineItem& item) {
    if (output_.is_done(item.id)) {
      return true;
    }
    ResponseEnvelope envelope;
    envelope.created =
        std::chrono::duration_cast<std::chrono::seconds>(clock_.wall_now().time_since_epoch())
            .count();
    const ServedModelFacts& facts = service_.model().facts();
    envelope.model = facts.served_name;
    envelope.system_fingerprint = facts.fingerprint;
    Choices choices;
    std::unique_ptr<ResponseFormat> format;
    if (const auto* chat = std::get_if<ChatRequest>(&item.request)) {
      envelope.id = new_chat_id();
      choices = choices_of(chat->generation.model,
                           [&] { return service_.model().chat_choices(*chat, item.id); });
      describe(chat->generation, choices, chat->generation.n, &envelope);
      format = make_chat_format(std::move(envelope), *chat);
    } else if (const auto* completion = std::get_if<CompletionRequest>(&item.request)) {
      envelope.id = new_completion_id();
      choices = choices_of(completion->generation.model, [&] {
        return service_.model().completion_choices(*completion, item.id);
      });
      describe(completion->generation, choices, completion->best_of, &envelope);
      format = make_completion_format(std::move(envelope), *completion,
                                      service_.model().prompt_texts(*completion));
    } else {
      choices = std::get<ApiError>(item.request);
    }
    if (constrain(&choices) && stop_->load()) {  // the outcome may be that of an interruption
      return false;
    }
    if (const auto* error = std::get_if<ApiError>(&choices)) {
      finish(item, error_record(item, *error), 0);
      return true;
    }
    auto ready = std::get<std::vector<ChoiceRequest>>(std::move(choices));
    const ConstraintCompiler::Grammar grammar = ready.front().request.grammar;
    const bool is_taken = submit(item, std::move(format), std::move(ready));
    if (is_taken && grammar != nullptr) {
      for (const std::string& keyword : grammar->ignored()) {
        ++progress_.ignored_keywords[keyword];
      }
    }
    return is_taken;
  }

  // On this thread: a file has few constraints, and nobody waits for anything else. False without
  // one.
  bool constrain(std::variant<std::vector<ChoiceRequest>, ApiError>* choices) {
    auto* ready = std::get_if<std::vector<ChoiceRequest>>(choices);
    if (ready == nullptr || ready->front().constraint.is_none()) {
      return false;
    }
    ConstraintCompiler::Outcome outcome =
        service_.constraints().compile(ready->front().constraint, [this] { return stop_->load(); });
    if (auto* error = std::get_if<ApiError>(&outcome)) {
      *choices = std::move(*error);
    } else {
      attach_grammar(std::get<0>(outcome), ready);
    }
    return true;
  }

  bool submit(const OfflineItem& item, std::unique_ptr<ResponseFormat> format,
              std::vector<ChoiceRequest> choices) {
    auto call = std::make_unique<OfflineCall>(
        item, std::move(format), choices.size(),
        [this](const OfflineItem& done, const Json& record, std::int64_t tokens) {
          finish(done, record, tokens);
          ended_.push_back(done.id);
        });
    const Status status = call->start(
        service_,
        [this](Event event) {
          const Status pushed = events_.push(std::move(event), Clock::TimePoint::max());
          PLUMB_CHECK(pushed.ok() || pushed.code() == Code::kUnavailable, pushed.message());
        },
        std::move(choices));
    if (status.code() == Code::kResourceExhausted && !calls_.empty()) {
      return false;
    }
    if (!status.ok()) {
      finish(item, error_record(item, ApiError::from_status(status)), 0);
      return true;
    }
    calls_.emplace(item.id, std::move(call));
    return true;
  }

  void finish(const OfflineItem& item, const Json& record, std::int64_t tokens) {
    progress_.completion_tokens += tokens;
    note(output_.append(item.id, record));
  }

  void commit() { note(output_.commit()); }

  // The first failure of the output ends the run.
  void note(const Status& status) {
    if (!status.ok() && failure_.ok()) {
      failure_ = status;
    }
  }

  // Takes what is there, waiting a little for the first event.
  void wait_for_events() {
    Event event;
    if (!calls_.empty() && events_.pop(&event, clock_.now() + kStopPoll) == Pop::kItem) {
      event();
      while (events_.try_pop(&event)) {
        event();
      }
    }
    for (const std::string& id : ended_) {
      calls_.erase(id);
    }
    ended_.clear();
  }

  TextService& service_;
  OfflineOutput& output_;
  const Clock& clock_;
  BoundedQueue<Event> events_;
  std::map<std::string, std::unique_ptr<OfflineCall>> calls_;
  std::vector<std::string> ended_;
  const std::atomic<bool>* stop_ = nullptr;
  OfflineProgress progress_;
  Status failure_;
};

}  // namespace

Result<OfflineProgress> run_offline(
    TextService& service, const std::vector<OfflineItem>& items, OfflineOutput& output,
    const OfflineOptions& options, const Clock& clock, const std::atomic<bool>& stop,
    const std::function<void(const OfflineProgress&)>& on_progress) {
  OfflineRun run(service, output, clock);
  return run.run(items, options, stop, on_progress);
}

}  // namespace plumb
