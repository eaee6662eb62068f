// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

#include "api/ids.h"
#include "api/messages_request.h"
#include "base/json.h"
#include "server/body_preparation.h"
#include "server/route_context.h"
#include "server/text_requests.h"

namespace plumb {

/// Anthropic's Messages API. Thread: prepare_*(): any; the rest: construction.
class MessagesRoutes {
 public:
  MessagesRoutes(const RouteContext& context, const TextRequests& texts)
      : context_(context), texts_(texts) {}

  void add_routes(BodyPreparation& bodies) const;

 private:
  Prepared prepare_messages(const Json& body, const Asker& asker) const;
  Prepared prepare_count_tokens(const Json& body, const Asker& asker) const;
  std::variant<MessagesRequest, ApiError> read_messages(const Json& body, bool is_count) const;

  const RouteContext& context_;
  const TextRequests& texts_;
  const std::string signature_key_ = random_hex(64);  // of blocks of thinking
};

}  // namespace plumb
