// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler_options.h"

#include "scheduler/fair_share.h"

namespace plumb {

Status validate(const SchedulerOptions& options) {
  return parse_tenant_weights(options.tenant_weights).status();
}

}  // namespace plumb
