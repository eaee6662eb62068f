// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "server/health_probe.h"
#include "server/route_context.h"
#include "server/transaction.h"

namespace plumb {

/// Whether the server lives, takes work, and generates.
/// Thread: the server's loop, but for construction.
class HealthRoutes {
 public:
  explicit HealthRoutes(const RouteContext& context) : context_(context) {}

  void add_routes();
  /// Ends the probes: the server ends.
  void end_all();

 private:
  void health(Transaction transaction, bool is_readiness) const;
  void health_generate(Transaction transaction);

  const RouteContext& context_;
  std::uint64_t next_id_ = 0;
  std::map<std::uint64_t, std::unique_ptr<HealthProbe>> probes_;
};

}  // namespace plumb
