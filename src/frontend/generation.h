// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/choice.h"
#include "api/constraint.h"
#include "api/error.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/engine.h"
#include "frontend/text_stream.h"
#include "request/request.h"
#include "tokenizer/tokenizer.h"

namespace plumb {

/// Receives what a generation says, in order per choice, on the executor given to it.
class GenerationListener {
 public:
  virtual ~GenerationListener() = default;

  /// A choice is under way: the tokens of its prompt, and those of them that the cache held. Before
  /// all else of the choice.
  virtual void on_begin(std::int64_t /*index*/, const Usage& /*prompt*/) {}

  /// The prompt's tokens with log probabilities, before the first delta, when they were asked for.
  virtual void on_prompt(std::int64_t index, std::vector<TokenText> tokens) = 0;
  /// A delta may be empty of text (held back) but then has tokens.
  virtual void on_delta(ChoiceDelta delta) = 0;
  virtual void on_end(ChoiceEnd end) = 0;
  /// The whole generation failed; nothing follows.
  virtual void on_error(Status status) = 0;

  /// As on_error(): a call that the model made is not what its tool asks for. The call was told,
  /// and counts as cut.
  virtual void on_invalid_call(const ApiError& error) {
    on_error({Code::kInvalidArgument, error.message});
  }
};

/// One sequence to generate: a choice of a response.
struct ChoiceRequest {
  Request request;
  ConstraintSpec constraint;  ///< of all choices, in the first one; to be compiled for the request
  TextStreamOptions text;
  std::int64_t stream_interval = 1;  ///< tokens of a delta, except the first one and the last
};

/// Runs the choices of one response on an engine and turns their events into text.
///
/// Ownership shared between its starter and the engine's events in flight (a client may leave
///           before the engine has ended its sequences).
/// Thread    start(), cancel(): the executor's; the listener is called on it only and may cancel.
class Generation : public std::enable_shared_from_this<Generation> {
 public:
  /// Runs a function later on one thread, in order; never inline. What it refers to lives until
  /// the last end, an error or cancel(): afterwards it is not called.
  using Executor = std::function<void(std::function<void()>)>;

  /// Engine, tokenizer and listener outlive every event (the listener: until the last end, error or
  /// cancel).
  static std::shared_ptr<Generation> create(Engine& engine, const Tokenizer& tokenizer,
                                            GenerationListener& listener, Executor executor);

  /// Submits all choices. Errors: the engine's refusal (queue full, too long); then none of them
  /// runs.
  Status start(std::vector<ChoiceRequest> choices);
  /// Ends all sequences; neither listener nor executor hear anything more.
  void cancel();

 private:
  class Sink;

  struct Choice {
    Choice(std::size_t index, const Tokenizer& tokenizer, const ChoiceRequest& request);

    std::unique_ptr<Sink> sink;
    TextStream stream;
    std::int64_t stream_interval = 1;
    ChoiceDelta waiting;  // until there are stream_interval tokens
    bool has_begun = false;
    bool has_spoken = false;
    SeqId seq{};
    bool has_ended = false;
  };

  Generation(Engine& engine, const Tokenizer& tokenizer, GenerationListener& listener,
             Executor executor);
  void close();
  void post(std::function<void()> event);
  void on_event(std::size_t index, const StreamEvent& event);
  void report_delta(Choice& choice, ChoiceDelta delta);
  void speak(Choice& choice);
  void finish(std::size_t index, const StreamEvent& event);
  GenerationListener* end_all();
  void fail(Status status);
  void report_prompt(std::size_t index, const StreamEvent& event);

  Engine& engine_;
  const Tokenizer& tokenizer_;
  GenerationListener* listener_;  // null once cancelled or failed; touched on the executor only
  std::vector<Choice> choices_;
  Mutex mutex_;  // held while the executor takes an event, so that close() ends its use
  Executor executor_ PLUMB_GUARDED_BY(mutex_);  // empty once closed
};

}  // namespace plumb
