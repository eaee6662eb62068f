// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "server/body_preparation.h"
#include "server/route_context.h"

namespace plumb {

/// The parsers of a model's output, for texts that clients bring.
/// Thread: prepare_*(): any; the rest: construction.
class ParseRoutes {
 public:
  explicit ParseRoutes(const RouteContext& context) : context_(context) {}

  void add_routes(BodyPreparation& bodies) const;

 private:
  Prepared prepare_separate_reasoning(const Json& body, const Asker& asker) const;
  Prepared prepare_parse_function_call(const Json& body, const Asker& asker) const;

  const RouteContext& context_;
};

}  // namespace plumb
