// SPDX-License-Identifier: Apache-2.0
// The native route: texts or token ids in, texts and token ids out.
#include <utility>

#include "api/generate_request.h"
#include "frontend/generate_format.h"
#include "server/server.h"

namespace plumb {
namespace {

// What is told of each choice; those without a client's id are named after the request.
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

void Server::add_generate_routes() {
  post_route("/generate", &Server::prepare_generate);
  router_.add({"PUT", "/generate", RouteClass::kNormal, [this](Transaction x, const std::string&) {
                 prepare_and_run(std::move(x), &Server::prepare_generate);
               }});
}

Server::Prepared Server::prepare_generate(const Json& body, const Asker& asker) const {
  auto read = read_generate_request(body, limits_);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  GenerateRequest& request = std::get<GenerateRequest>(read);
  if (std::optional<ApiError> error = check_generates()) {
    return *std::move(error);
  }
  const GenerationParams& common = request.items.front().completion.generation;
  if (std::optional<ApiError> error = check_model(common.model)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_fields(request.ignored_fields)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = ignore_priority(common, &request.ignored_fields)) {
    return *std::move(error);
  }
  std::vector<ChoiceRequest> choices;
  for (const GenerateItem& item : request.items) {
    auto made = parts_.service.model().completion_choices(item.completion, "", &asker.is_unwanted);
    if (auto* error = std::get_if<ApiError>(&made)) {
      return std::move(*error);
    }
    for (ChoiceRequest& choice : std::get<std::vector<ChoiceRequest>>(made)) {
      choices.push_back(std::move(choice));
    }
  }
  return [request = std::move(request), ready = std::move(choices)](
             Server& server, Transaction transaction) mutable {
    transaction.add_ignored_fields(request.ignored_fields);
    const std::string& only = request.items.front().rid;
    if (request.items.size() == 1 && !only.empty()) {
      transaction.request_id = only;
    }
    GenerateFormatOptions options = format_options(request, transaction.request_id,
                                                   server.options_.incremental_streaming_output);
    options.received = transaction.received;
    const std::string weight_version = server.parts_.service.model().weights().version;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      options.setups[i].weight_version = weight_version;
      ready[i].request.id = options.setups[i].rid;
      options.setups[i].prompt_tokens = std::ssize(ready[i].request.prompt);
    }
    const GenerationParams params = request.items.front().completion.generation;
    server.start_call(std::move(transaction),
                      make_generate_format(std::move(options), server.parts_.clock), params,
                      std::move(ready));
  };
}

}  // namespace plumb
