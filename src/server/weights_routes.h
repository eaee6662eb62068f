// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/field_reader.h"
#include "server/body_preparation.h"
#include "server/route_context.h"
#include "server/transaction.h"

namespace plumb {

/// Replaces the weights of the served model.
/// Thread: the server's loop, but for construction.
class WeightsRoutes {
 public:
  WeightsRoutes(const RouteContext& context, BodyPreparation& bodies)
      : context_(context), bodies_(bodies) {}

  void add_routes();

 private:
  void update(FieldReader& fields, Transaction transaction);

  const RouteContext& context_;
  BodyPreparation& bodies_;
};

}  // namespace plumb
