// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "api/responses_request.h"
#include "base/json.h"
#include "base/seal.h"
#include "server/body_preparation.h"
#include "server/response_runs.h"
#include "server/response_store.h"
#include "server/route_context.h"
#include "server/text_requests.h"

namespace plumb {

/// From a body of the Responses API to a conversation, which may begin with kept responses, so that
/// a thread that prepares it may wait for the store.
/// Thread: any.
class ResponsePreparation {
 public:
  /// Without a store (null) nothing is kept, and nothing goes on from a response.
  ResponsePreparation(const RouteContext& context, const TextRequests& texts, ResponseRuns& runs,
                      ResponseStore* store, const Seal& seal)
      : context_(context), texts_(texts), runs_(runs), store_(store), seal_(seal) {}

  Prepared prepare_response(const Json& body, const Asker& asker) const;
  Prepared prepare_input_tokens(const Json& body, const Asker& asker) const;

 private:
  struct ResponsePlan;

  HostedRules hosted_rules() const;
  bool is_given_up(const Asker& asker) const;
  std::variant<ResponsePlan, ApiError> plan_response(const Json& body, const Asker& asker) const;
  std::optional<ApiError> load_history(const std::string& owner, const Asker& asker,
                                       ResponsePlan* plan) const;
  std::optional<ApiError> resolve_references(const std::string& owner, const Asker& asker,
                                             ResponsePlan* plan) const;
  std::optional<ApiError> fit_conversation(ResponsePlan* plan, const Unseal& unseal) const;

  const RouteContext& context_;
  const TextRequests& texts_;
  ResponseRuns& runs_;
  ResponseStore* const store_;
  const Seal& seal_;
};

}  // namespace plumb
