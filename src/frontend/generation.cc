// SPDX-License-Identifier: Apache-2.0
#include "frontend/generation.h"

#include <algorithm>
#include <utility>

namespace plumb {

// Hands the engine's events over to the executor; lives as long as the generation, which every
// event keeps alive.
class Generation::Sink final : public EventSink {
 public:
  explicit Sink(std::size_t index) : index_(index) {}

  void hold(std::shared_ptr<Generation> self) { self_ = std::move(self); }

  void let_go() { self_.reset(); }

  void on_event(StreamEvent event) override {
    const bool is_last = event.finish != FinishReason::kNone;
    const std::shared_ptr<Generation> self = is_last ? std::move(self_) : self_;
    self->post([self, index = index_, event = std::move(event)] { self->on_event(index, event); });
  }

 private:
  std::size_t index_;
  std::shared_ptr<Generation> self_;  // until the last event
};

Generation::Choice::Choice(std::size_t index, const Tokenizer& tokenizer,
                           const ChoiceRequest& request)
    : sink(std::make_unique<Sink>(index)),
      stream(tokenizer, request.text),
      stream_interval(request.stream_interval) {
  waiting.index = static_cast<std::int64_t>(index);
}

Generation::Generation(Engine& engine, const Tokenizer& tokenizer, GenerationListener& listener,
                       Executor executor)
    : engine_(engine),
      tokenizer_(tokenizer),
      listener_(&listener),
      executor_(std::move(executor)) {}

std::shared_ptr<Generation> Generation::create(Engine& engine, const Tokenizer& tokenizer,
                                               GenerationListener& listener, Executor executor) {
  return std::shared_ptr<Generation>(
      new Generation(engine, tokenizer, listener, std::move(executor)));
}

Status Generation::start(std::vector<ChoiceRequest> choices) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    choices_.emplace_back(i, tokenizer_, choices[i]);
  }
  for (std::size_t i = 0; i < choices.size(); ++i) {
    choices_[i].sink->hold(shared_from_this());
    Result<SeqId> seq = engine_.submit(std::move(choices[i].request), *choices_[i].sink);
    if (!seq.ok()) {
      choices_[i].sink->let_go();
      close();
      for (std::size_t k = 0; k < i; ++k) {
        engine_.abort(choices_[k].seq);
      }
      return seq.status();
    }
    choices_[i].seq = seq.value();
  }
  return {};
}

void Generation::close() {
  listener_ = nullptr;
  const MutexLock lock(mutex_);
  executor_ = nullptr;
}

void Generation::post(std::function<void()> event) {
  const MutexLock lock(mutex_);
  if (executor_ != nullptr) {
    executor_(std::move(event));
  }
}

void Generation::cancel() {
  close();
  for (const Choice& choice : choices_) {
    if (!choice.has_ended) {
      engine_.abort(choice.seq);
    }
  }
}

void Generation::report_prompt(std::size_t index, const StreamEvent& event) {
  std::vector<TokenText> tokens;
  for (const EmittedToken& token : event.prompt_logprobs) {
    TokenText out{token.token,
                  std::string(tokenizer_.token_bytes(token.token)),
                  token.logprob,
                  {},
                  token.rank};
    for (const TokenLogprob& top : token.top_logprobs) {
      out.top.push_back(
          {top.token, std::string(tokenizer_.token_bytes(top.token)), top.logprob, {}});
    }
    tokens.push_back(std::move(out));
  }
  listener_->on_prompt(static_cast<std::int64_t>(index), std::move(tokens));
}

void Generation::on_event(std::size_t index, const StreamEvent& event) {
  Choice& choice = choices_[index];
  if (listener_ == nullptr || choice.has_ended) {
    return;
  }
  if (event.finish != FinishReason::kAbort && !std::exchange(choice.has_begun, true)) {
    listener_->on_begin(static_cast<std::int64_t>(index), event.usage);
  }
  if (listener_ != nullptr && !event.prompt_logprobs.empty()) {
    report_prompt(index, event);
  }
  if (listener_ == nullptr) {  // it may cancel from within each call
    return;
  }
  const bool was_over = choice.stream.is_over();
  std::vector<ChoiceDelta> deltas = choice.stream.consume(event);
  const bool is_over = choice.stream.is_over();
  for (ChoiceDelta& delta : deltas) {
    delta.index = static_cast<std::int64_t>(index);
    report_delta(choice, std::move(delta));
  }
  if (is_over || event.finish != FinishReason::kNone) {
    speak(choice);
  }
  if (listener_ == nullptr) {
    return;
  }
  if (!choice.stream.status().ok()) {
    fail(choice.stream.status());
    return;
  }
  if (const std::optional<ApiError>& invalid = choice.stream.invalid_call()) {
    end_all()->on_invalid_call(*invalid);
    return;
  }
  if (is_over && !was_over && event.finish == FinishReason::kNone) {
    engine_.abort(choice.seq);  // its last event brings the usage
  }
  if (event.finish != FinishReason::kNone) {
    finish(index, event);
  }
}

void Generation::report_delta(Choice& choice, ChoiceDelta delta) {
  ChoiceDelta& waiting = choice.waiting;
  if (!merge_delta(&waiting, &delta)) {
    speak(choice);
    waiting = std::move(delta);
  }
  if (!choice.has_spoken || std::ssize(waiting.tokens) >= choice.stream_interval) {
    speak(choice);
  }
}

void Generation::speak(Choice& choice) {
  ChoiceDelta& waiting = choice.waiting;
  if (listener_ == nullptr || (!waiting.has_pieces() && waiting.tokens.empty())) {
    return;
  }
  choice.has_spoken = true;
  const std::int64_t index = waiting.index;
  listener_->on_delta(std::exchange(waiting, {index, "", {}}));
}

// Ends the other sequences too: one error answers for all choices. Gives the listener, for a last
// word.
GenerationListener* Generation::end_all() {
  GenerationListener* listener = listener_;
  close();
  for (const Choice& choice : choices_) {
    if (!choice.has_ended) {
      engine_.abort(choice.seq);
    }
  }
  return listener;
}

void Generation::fail(Status status) {
  end_all()->on_error(std::move(status));
}

void Generation::finish(std::size_t index, const StreamEvent& event) {
  Choice& choice = choices_[index];
  choice.has_ended = true;
  ChoiceEnd end;
  end.index = static_cast<std::int64_t>(index);
  end.usage = event.usage;
  end.timings = event.timings;
  end.usage.reasoning_tokens = choice.stream.num_reasoning_tokens();
  end.malformed_call = choice.stream.malformed_call();
  end.last_token = choice.stream.last_token();
  if (choice.stream.is_over()) {
    end.reason = FinishReason::kStop;
    end.matched_stop = choice.stream.matched_stop().value_or("");
    end.usage.completion_tokens = choice.stream.num_tokens();
    end.cut_tokens = choice.stream.cut_tokens();
  } else if (event.finish == FinishReason::kAbort) {
    fail({event.status, event.status_message});
    return;
  } else {
    end.reason = event.finish;
    end.matched_token = event.matched_token;
  }
  if (end.reason != FinishReason::kLength && choice.stream.num_complete_calls() > 0) {
    end.reason = FinishReason::kToolCalls;
  }
  listener_->on_end(std::move(end));
}

}  // namespace plumb
