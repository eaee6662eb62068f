// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <variant>

#include "api/field_reader.h"
#include "base/json.h"
#include "server/body_preparation.h"
#include "server/route_context.h"

namespace plumb {

/// Between texts, conversations and token ids, in the forms of several servers.
/// Thread: prepare_*(): any; the rest: construction.
class TokenRoutes {
 public:
  explicit TokenRoutes(const RouteContext& context) : context_(context) {}

  void add_routes(BodyPreparation& bodies) const;

 private:
  Prepared prepare_tokenize(const Json& body, const Asker& asker) const;
  Prepared prepare_detokenize(const Json& body, const Asker& asker) const;
  Prepared prepare_template(const Json& body, const Asker& asker) const;
  std::optional<ApiError> check_tokenize_bytes(const char* param, std::size_t num_bytes) const;
  std::optional<ApiError> check_takes_conversations() const;
  std::variant<Json, ApiError> tokenize_content(FieldReader& fields) const;
  std::variant<Json, ApiError> tokenize_prompt(FieldReader& fields) const;
  std::variant<Json, ApiError> tokenize_messages(const Json& body, FieldReader& fields) const;

  const RouteContext& context_;
};

}  // namespace plumb
