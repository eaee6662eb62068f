// SPDX-License-Identifier: Apache-2.0
#include "server/call_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/ids.h"
#include "base/thread.h"
#include "server/request_timeout.h"
#include "server/waiting_call.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxQueuedGrammars = 256;
constexpr int kMaxGrammars = 6;                         // compiled in turns
constexpr std::chrono::milliseconds kGrammarSlice{50};  // most need no second one

}  // namespace

CallTable::CallTable(const RouteContext& context, const Traces& traces)
    : context_(context),
      traces_(traces),
      compilers_(std::make_unique<TurnPool>(
          "grammar",
          TurnPool::Options{.num_threads = kMaxGrammars,
                            .num_running = std::clamp(num_usable_cores() / 4, 1, kMaxGrammars),
                            .max_queued = kMaxQueuedGrammars,
                            .slice = kGrammarSlice},
          context.parts.clock)) {}

CallTable::~CallTable() = default;

void CallTable::join() {
  compilers_.reset();
}

// Where in the prefix cache a request looks and stores. The salt of the key is the server's: a salt
// that clients choose keeps nobody out who can guess it.
std::string CallTable::namespace_of(const Transaction& transaction,
                                    const GenerationParams& params) const {
  CacheScope scope;
  scope.salt = params.cache_salt;
  if (context_.options.prefix_scope == PrefixScope::kPrincipal) {
    scope.principal = transaction.principal.cache_salt;
  } else if (context_.options.prefix_scope == PrefixScope::kNone) {
    scope.request = random_hex(32);
  }
  return context_.model().namespace_of(scope);
}

bool CallTable::address_choices(Transaction* transaction, const GenerationParams& params,
                                std::vector<ChoiceRequest>* choices) const {
  const auto given_timeout = request_timeout(transaction->request);
  if (const auto* error = std::get_if<ApiError>(&given_timeout)) {
    transaction->send_error(*error);
    return false;
  }
  const std::optional<std::chrono::milliseconds> timeout = std::get<0>(given_timeout);
  const std::int64_t max_choices = context_.parts.service.max_choices();
  if (std::ssize(*choices) > max_choices) {
    const bool has_prompts = std::ssize(*choices) > params.choices_per_prompt;
    const std::string field = has_prompts ? params.prompt_field : "n";
    transaction->send_error(ApiError::invalid(
        "invalid_value", field,
        "'" + field + "' asks for " + std::to_string(choices->size()) +
            " choices, those that run and wait are at most " + std::to_string(max_choices) +
            " (--max-num-seqs + --max-queued-requests); send fewer or raise them"));
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

Call::Setup CallTable::call_setup(const GenerationParams& params, std::size_t num_choices) {
  return {params.stream, params.include_usage && params.continuous_usage, num_choices, params.n,
          params.sampling.max_tokens};
}

void CallTable::launch_call(Transaction transaction, std::unique_ptr<ResponseFormat> format,
                            const GenerationParams& params, std::vector<ChoiceRequest> choices) {
  if (address_choices(&transaction, params, &choices)) {
    const Call::Setup setup = call_setup(params, choices.size());
    run_call(new_id(), std::move(transaction), std::move(format), setup, params,
             std::move(choices));
  }
}

void CallTable::run_call(std::uint64_t id, Transaction transaction,
                         std::unique_ptr<ResponseFormat> format, const Call::Setup& setup,
                         const GenerationParams& params, std::vector<ChoiceRequest> choices,
                         std::function<void()> on_forgotten) {
  if (transaction.access != nullptr) {
    transaction.access->model = context_.served_name();
    transaction.access->is_stream = params.stream;
    transaction.access->choices_per_prompt = params.choices_per_prompt;
  }
  traces_.begin(params, &transaction, &choices);
  auto call = std::make_unique<Call>(context_.loop, context_.options, context_.metrics,
                                     std::move(transaction), std::move(format), setup,
                                     [this, id, on_forgotten = std::move(on_forgotten)] {
                                       if (on_forgotten) {
                                         on_forgotten();
                                       }
                                       forget(id);
                                     });
  context_.life.count_call(1);
  Call& started = *calls_.emplace(id, std::move(call)).first->second;
  started.start(context_.parts.service, std::move(choices));
}

Call* CallTable::find(std::uint64_t id) const {
  const auto found = calls_.find(id);
  return found != calls_.end() ? found->second.get() : nullptr;
}

void CallTable::forget(std::uint64_t call) {
  calls_.erase(call);
  context_.life.count_call(-1);
}

void CallTable::abort(const AbortTarget& target) {
  for (auto& [id, waiting] : waiting_) {
    if (target.may_end_those_of(waiting->transaction.principal) &&
        (target.is_all || waiting->has_id(target.id))) {
      waiting->answer(request_aborted());
    }
  }
  for (auto& [id, call] : calls_) {
    if (target.is_all ||
        (call->has_id(target.id) && (target.is_anyones || call->is_of(target.principal)))) {
      call->fail(request_aborted());
    }
  }
}

void CallTable::end_all() {
  for (auto& [id, call] : calls_) {
    call->fail(ApiError::from_status({Code::kCancelled, "the server is shutting down"}));
  }
}

}  // namespace plumb
