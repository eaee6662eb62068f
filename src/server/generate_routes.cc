// SPDX-License-Identifier: Apache-2.0
#include "server/generate_routes.h"

#include <functional>
#include <utility>
#include <variant>

#include "api/generate_request.h"
#include "frontend/generate_format.h"

namespace plumb {
namespace {

// What is told of each choice; those without an id of their own are named after the request.
GenerateFormatOptions format_options(const GenerateRequest& request, const std::string& request_id,
                                     bool is_incremental) {
  GenerateFormatOptions out;
  out.is_batch = request.is_batch;
  out.is_incremental = request.is_incremental.value_or(is_incremental);
  for (const GenerateItem& item : request.items) {
    const SamplingParams& sampling = item.completion.generation.sampling;
    for (std::int64_t i = 0; i < item.completion.best_of; ++i) {
      GenerateSetup& setup = out.setups.emplace_back();
      const std::string own =
          request.is_batch ? request_id + "_" + std::to_string(out.setups.size() - 1) : request_id;
      setup.rid = item.rid.empty() ? own : item.rid;
      setup.include_logprobs = sampling.logprobs;
      setup.include_top = sampling.top_logprobs > 0;
      setup.text_in_logprobs = request.text_in_logprobs;
      setup.logprob_start = item.logprob_start;
      setup.is_empty = item.is_empty;
    }
  }
  return out;
}

}  // namespace

void GenerateRoutes::add_routes(BodyPreparation& bodies) const {
  const Prepare prepare = std::bind_front(&GenerateRoutes::prepare_generate, this);
  bodies.post_route("/generate", prepare);
  context_.router.add({"PUT", "/generate", RouteClass::kNormal,
                       [&bodies, prepare](Transaction x, const std::string&) {
                         bodies.prepare_and_run(std::move(x), prepare);
                       }});
}

Prepared GenerateRoutes::prepare_generate(const Json& body, const Asker& asker) const {
  auto read = read_generate_request(body, context_.limits);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  GenerateRequest& request = std::get<GenerateRequest>(read);
  const GenerationParams& common = request.items.front().completion.generation;
  if (std::optional<ApiError> error = texts_.check(common, &request.ignored_fields)) {
    return *std::move(error);
  }
  std::vector<ChoiceRequest> choices;
  for (const GenerateItem& item : request.items) {
    auto made = context_.model().completion_choices(item.completion, "", &asker.is_unwanted);
    if (auto* error = std::get_if<ApiError>(&made)) {
      return std::move(*error);
    }
    for (ChoiceRequest& choice : std::get<std::vector<ChoiceRequest>>(made)) {
      choices.push_back(std::move(choice));
    }
  }
  return [this, request = std::move(request),
          ready = std::move(choices)](Transaction transaction) mutable {
    transaction.add_ignored_fields(request.ignored_fields);
    if (!request.rid.empty()) {
      transaction.request_id = request.rid;
    }
    GenerateFormatOptions options = format_options(request, transaction.request_id,
                                                   context_.options.incremental_streaming_output);
    options.received = transaction.received;
    const std::string weight_version = context_.model().weights().version;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      options.setups[i].weight_version = weight_version;
      ready[i].request.id = options.setups[i].rid;
      options.setups[i].prompt_tokens = std::ssize(ready[i].request.prompt);
    }
    const GenerationParams params = request.items.front().completion.generation;
    calls_.start_call(std::move(transaction),
                      make_generate_format(std::move(options), context_.parts.clock), params,
                      std::move(ready));
  };
}

}  // namespace plumb
