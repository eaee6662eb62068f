// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/field_reader.h"
#include "server/body_preparation.h"
#include "server/route_context.h"
#include "server/transaction.h"

namespace plumb {

/// Gives the memory of an idle model back to the system, and takes it again.
/// Thread: the server's loop, but for construction.
class MemoryRoutes {
 public:
  MemoryRoutes(const RouteContext& context, BodyPreparation& bodies)
      : context_(context), bodies_(bodies) {}

  void add_routes();

 private:
  void release(FieldReader& fields, Transaction transaction);
  void resume(FieldReader& fields, Transaction transaction);
  using Change = Result<MemoryTags> (ModelControl::*)(const MemoryTags& tags);
  void change(FieldReader& fields, Transaction transaction, Change how, const char* done);

  const RouteContext& context_;
  BodyPreparation& bodies_;
};

}  // namespace plumb
