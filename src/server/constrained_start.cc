// SPDX-License-Identifier: Apache-2.0
// The calls that start once their grammar has been compiled.
#include <algorithm>
#include <atomic>
#include <utility>

#include "base/thread_priority.h"
#include "server/call_table.h"
#include "server/waiting_call.h"

namespace plumb {

namespace {

void attach(const ConstraintCompiler::Grammar& grammar, Transaction* transaction,
            std::vector<ChoiceRequest>* choices) {
  transaction->add_names("x-plumb-ignored-keywords", grammar->ignored(), "_-. #/~$%:[]");
  attach_grammar(grammar, choices);
}

}  // namespace

bool WaitingCall::has_id(std::string_view id) const {
  return transaction.request_id == id || params.request_id == id ||
         std::any_of(choices.begin(), choices.end(),
                     [&](const ChoiceRequest& choice) { return choice.request.id == id; });
}

void WaitingCall::answer(const ApiError& error) {
  if (!std::exchange(is_answered, true)) {
    is_unwanted->store(true);
    transaction.send_error(error);
  }
}

void CallTable::start_call(Transaction transaction, std::unique_ptr<ResponseFormat> format,
                           const GenerationParams& params, std::vector<ChoiceRequest> choices,
                           Launch launch) {
  ConstraintCompiler& compiler = context_.parts.service.constraints();
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

void CallTable::go_on(WaitingCall waiting) {
  if (waiting.launch) {
    waiting.launch(std::move(waiting.transaction), std::move(waiting.format), waiting.params,
                   std::move(waiting.choices));
  } else {
    launch_call(std::move(waiting.transaction), std::move(waiting.format), waiting.params,
                std::move(waiting.choices));
  }
}

void CallTable::compile_then_launch(const std::shared_ptr<WaitingCall>& waiting) {
  const auto is_unwanted = waiting->is_unwanted;
  waiting->transaction.writer.on_disconnect(
      [is_unwanted](DisconnectReason) { is_unwanted->store(true); });
  const std::uint64_t id = new_id();
  waiting_.emplace(id, waiting);
  context_.life.count_call(1);
  const Clock::TimePoint queued = context_.parts.clock.now();
  const TurnPool* pool = compilers_.get();  // outlives its tasks, unlike the member
  const auto run = [this, pool, id, waiting, is_unwanted, queued](TurnPool::Turn& turn) {
    yield_to_other_threads();
    ConstraintCompiler& compiler = context_.parts.service.constraints();
    const auto compile = [&]() -> ConstraintCompiler::Outcome {
      const Clock::TimePoint begin = context_.parts.clock.now();
      if (begin - queued > compiler.options().compile_timeout) {
        return ApiError::overloaded("too many grammars wait to be compiled", 1);
      }
      ConstraintCompiler::Outcome outcome =
          compiler.compile(waiting->choices.front().constraint, [this, &is_unwanted, &turn] {
            turn.offer();
            return is_unwanted->load() || context_.life.is_stopping();
          });
      return outcome;
    };
    const auto outcome = std::make_shared<ConstraintCompiler::Outcome>(compile());
    // A copy: the call takes the grammar while its masks are warmed.
    const auto* compiled = std::get_if<ConstraintCompiler::Grammar>(outcome.get());
    const ConstraintCompiler::Grammar grammar = compiled == nullptr ? nullptr : *compiled;
    context_.loop.post([this, id, waiting, outcome] { end_compilation(id, waiting, *outcome); });
    if (grammar != nullptr) {
      compiler.warm(*grammar, [this, pool] {
        return context_.life.is_stopping() || pool->num_waiting() > 0;
      });
    }
  };
  const Status status = compilers_->submit(waiting->transaction.principal.name, run);
  if (!status.ok()) {
    waiting_.erase(id);
    waiting->answer(ApiError::overloaded("too many grammars wait to be compiled", 1));
    context_.life.count_call(-1);
  }
}

void CallTable::end_compilation(std::uint64_t id, const std::shared_ptr<WaitingCall>& waiting,
                                const ConstraintCompiler::Outcome& outcome) {
  waiting_.erase(id);
  if (waiting->is_answered) {
    // That was all.
  } else if (waiting->is_unwanted->load()) {
    waiting->transaction.count(kClientLeft);
  } else if (context_.life.is_stopping()) {
    waiting->transaction.send_error(shutting_down());
  } else if (const auto* error = std::get_if<ApiError>(&outcome)) {
    waiting->transaction.send_error(*error);
  } else {
    attach(std::get<0>(outcome), &waiting->transaction, &waiting->choices);
    go_on(std::move(*waiting));
  }
  context_.life.count_call(-1);
}

}  // namespace plumb
