// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "api/generation_params.h"
#include "base/clock.h"
#include "base/status.h"
#include "frontend/generation.h"
#include "net/io_context.h"
#include "net/transport.h"
#include "server/server_options.h"
#include "server/server_parts.h"
#include "server/trace_exporter.h"
#include "server/transaction.h"

namespace plumb {

/// The traces of requests and their way to the collector, if there is one.
/// Thread: begin() the server's loop; the rest any but the loops'.
class Traces {
 public:
  Traces(const ServerOptions& options, const ServerParts& parts)
      : options_(options), parts_(parts) {}

  /// The transport outlives it. Errors: the collector's URL; out of descriptors.
  Status start(Transport& transport);
  /// Begins the trace of a request that is about to be submitted, unless its caller records none.
  void begin(const GenerationParams& params, Transaction* transaction,
             std::vector<ChoiceRequest>* choices) const;
  /// Sends what is there, until the deadline.
  void flush(Clock::TimePoint deadline);
  /// Ends its loop; nothing is begun or counted any more.
  void stop();

 private:
  const ServerOptions& options_;
  const ServerParts& parts_;
  std::unique_ptr<IoContext> loop_;
  std::unique_ptr<TraceExporter> exporter_;  // null without a collector; on that loop
};

}  // namespace plumb
