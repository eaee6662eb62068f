// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "api/field_reader.h"
#include "base/status.h"
#include "server/body_preparation.h"
#include "server/route_context.h"
#include "server/transaction.h"

namespace plumb {

/// Recordings of the engine's steps. Thread: the server's loop, but for construction.
class ProfileRoutes {
 public:
  /// Traces are written on the worker that prepares bodies.
  ProfileRoutes(const RouteContext& context, BodyPreparation& bodies)
      : context_(context), bodies_(bodies) {}

  void add_routes();

 private:
  void start_profile(FieldReader& fields, Transaction transaction);
  void stop_profile(FieldReader& fields, Transaction transaction);
  void watch_profile(std::uint64_t number);
  /// Writes the trace of what was recorded, off the loop; `told` hears of its path, on the loop.
  void save_profile(const std::function<void(const Result<std::string>& path)>& told);

  const RouteContext& context_;
  BodyPreparation& bodies_;
  std::uint64_t number_ = 0;  // of the recording that runs, or of the last
  std::string folder_;        // of its trace
};

}  // namespace plumb
