// SPDX-License-Identifier: Apache-2.0
#include "backends.h"
#include "kernels/ref/ref_backend.h"

namespace plumb {

void add_ref_entries(std::vector<BackendEntry>* entries) {
  entries->push_back({"ref", [] { return make_ref_backend(); }});
}

}  // namespace plumb
