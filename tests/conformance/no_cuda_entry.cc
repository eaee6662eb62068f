// SPDX-License-Identifier: Apache-2.0
#include "backends.h"

namespace plumb {

void add_cuda_entries(std::vector<BackendEntry>*) {}

}  // namespace plumb
