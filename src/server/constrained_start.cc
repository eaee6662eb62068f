// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <utility>

#include "base/thread_priority.h"
#include "server/server.h"

namespace plumb {

// A call whose grammar is being compiled.
struct Server::WaitingCall {
  Transaction transaction;
  std::unique_ptr<ResponseFormat> format;
  GenerationParams params;
  std::vector<ChoiceRequest> choices;
  Launch launch;  // empty: it becomes a call
};

namespace {

void attach(const ConstraintCompiler::Grammar& grammar, Transaction* transaction,
            std::vector<ChoiceRequest>* choices) {
  transaction->add_names("x-plumb-ignored-keywords", grammar->ignored(), "_-. #/~$%");
  attach_grammar(grammar, choices);
}

}  // namespace

void Server::start_call(Transaction transaction, std::unique_ptr<ResponseFormat> format,
                        const GenerationParams& params, std::vector<ChoiceRequest> choices,
                        Launch launch) {
  ConstraintCompiler& compiler = parts_.service.constraints();
  WaitingCall call{std::move(transaction), std::move(format), params, std::move(choices),
                   std::move(launch)};
  const ConstraintSpec& constraint = call.choices.front().constraint;
  if (constraint.is_none()) {
    go_on(std::move(call));
  } else if (auto grammar = compiler.find(constraint)) {
    attach(grammar, &call.transaction, &call.choices);
    go_on(std::move(call));
  } else {
    // Shared because a queued task must be copyable; there is one user at a time.
    compile_then_launch(std::make_shared<WaitingCall>(std::move(call)));
  }
}

void Server::go_on(WaitingCall waiting) {
  if (waiting.launch) {
    waiting.launch(*this, std::move(waiting.transaction), std::move(waiting.format), waiting.params,
                   std::move(waiting.choices));
  } else {
    launch_call(std::move(waiting.transaction), std::move(waiting.format), waiting.params,
                std::move(waiting.choices));
  }
}

void Server::compile_then_launch(const std::shared_ptr<WaitingCall>& waiting) {
  // Set by the loop, read by the worker: nobody waits for this grammar any more.
  const auto has_left = std::make_shared<std::atomic<bool>>(false);
  waiting->transaction.writer.on_disconnect(
      [has_left](DisconnectReason) { has_left->store(true); });
  count_call(1);
  const Clock::TimePoint queued = parts_.clock.now();
  const TurnPool* pool = compilers_.get();  // outlives its tasks, unlike the member
  const auto run = [this, pool, waiting, has_left, queued](TurnPool::Turn& turn) {
    yield_to_other_threads();
    ConstraintCompiler& compiler = parts_.service.constraints();
    const auto compile = [&]() -> ConstraintCompiler::Outcome {
      const Clock::TimePoint begin = parts_.clock.now();
      if (begin - queued > compiler.options().compile_timeout) {
        return ApiError::overloaded("too many grammars wait to be compiled", 1);
      }
      ConstraintCompiler::Outcome outcome =
          compiler.compile(waiting->choices.front().constraint, [this, &has_left, &turn] {
            turn.offer();
            return has_left->load() || is_stopping_.load();
          });
      return outcome;
    };
    const auto outcome = std::make_shared<ConstraintCompiler::Outcome>(compile());
    // A copy: the call takes the grammar while its masks are warmed.
    const auto* compiled = std::get_if<ConstraintCompiler::Grammar>(outcome.get());
    const ConstraintCompiler::Grammar grammar = compiled == nullptr ? nullptr : *compiled;
    loop_->post([this, waiting, outcome, has_left] {
      if (has_left->load()) {
        waiting->transaction.count(kClientLeft);
      } else if (is_stopping_.load()) {
        waiting->transaction.send_error(shutting_down());
      } else if (const auto* error = std::get_if<ApiError>(outcome.get())) {
        waiting->transaction.send_error(*error);
      } else {
        attach(std::get<0>(*outcome), &waiting->transaction, &waiting->choices);
        go_on(std::move(*waiting));
      }
      count_call(-1);
    });
    if (grammar != nullptr) {
      compiler.warm(*grammar,
                    [this, pool] { return is_stopping_.load() || pool->num_waiting() > 0; });
    }
  };
  const Status status = compilers_->submit(waiting->transaction.principal.name, run);
  if (!status.ok()) {
    count_call(-1);
    waiting->transaction.send_error(
        ApiError::overloaded("too many grammars wait to be compiled", 1));
  }
}

}  // namespace plumb
