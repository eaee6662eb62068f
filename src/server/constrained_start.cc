// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <utility>

#include "base/thread_priority.h"
#include "server/server.h"
#include "server/waiting_call.h"

namespace plumb {

namespace {

void attach(const ConstraintCompiler::Grammar& grammar, Transaction* transaction,
            std::vector<ChoiceRequest>* choices) {
  transaction->add_names("x-plumb-ignored-keywords", grammar->ignored(), "_-. #/~$%");
  attach_grammar(grammar, choices);
}

}  // namespace

bool Server::WaitingCall::has_id(std::string_view id) const {
  return transaction.request_id == id || params.request_id == id ||
         std::any_of(choices.begin(), choices.end(),
                     [&](const ChoiceRequest& choice) { return choice.request.id == id; });
}

void Server::WaitingCall::answer(const ApiError& error) {
  if (!std::exchange(is_answered, true)) {
    is_unwanted->store(true);
    transaction.send_error(error);
  }
}

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
  const auto is_unwanted = waiting->is_unwanted;
  waiting->transaction.writer.on_disconnect(
      [is_unwanted](DisconnectReason) { is_unwanted->store(true); });
  const std::uint64_t id = next_call_++;
  waiting_calls_.emplace(id, waiting);
  count_call(1);
  const Clock::TimePoint queued = parts_.clock.now();
  const TurnPool* pool = compilers_.get();  // outlives its tasks, unlike the member
  const auto run = [this, pool, id, waiting, is_unwanted, queued](TurnPool::Turn& turn) {
    yield_to_other_threads();
    ConstraintCompiler& compiler = parts_.service.constraints();
    const auto compile = [&]() -> ConstraintCompiler::Outcome {
      const Clock::TimePoint begin = parts_.clock.now();
      if (begin - queued > compiler.options().compile_timeout) {
        return ApiError::overloaded("too many grammars wait to be compiled", 1);
      }
      ConstraintCompiler::Outcome outcome =
          compiler.compile(waiting->choices.front().constraint, [this, &is_unwanted, &turn] {
            turn.offer();
            return is_unwanted->load() || is_stopping_.load();
          });
      return outcome;
    };
    const auto outcome = std::make_shared<ConstraintCompiler::Outcome>(compile());
    // A copy: the call takes the grammar while its masks are warmed.
    const auto* compiled = std::get_if<ConstraintCompiler::Grammar>(outcome.get());
    const ConstraintCompiler::Grammar grammar = compiled == nullptr ? nullptr : *compiled;
    loop_->post([this, id, waiting, outcome] {
      waiting_calls_.erase(id);
      if (waiting->is_answered) {
        // That was all.
      } else if (waiting->is_unwanted->load()) {
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
    waiting_calls_.erase(id);
    waiting->answer(ApiError::overloaded("too many grammars wait to be compiled", 1));
    count_call(-1);
  }
}

}  // namespace plumb
