// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/json.h"
#include "server/route_context.h"
#include "server/transaction.h"

namespace plumb {

/// The list of models, with its one. Thread: the server's loop, but for construction.
class ModelRoutes {
 public:
  /// `catalog`: what --models-catalog adds.
  ModelRoutes(const RouteContext& context, JsonArray catalog)
      : context_(context), catalog_(std::move(catalog)) {}

  void add_routes() const;

 private:
  void models(Transaction transaction) const;
  void one_model(Transaction transaction, const std::string& id) const;
  Json model_row() const;

  const RouteContext& context_;
  const JsonArray catalog_;
};

}  // namespace plumb
