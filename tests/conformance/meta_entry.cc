// SPDX-License-Identifier: Apache-2.0
#include "backends.h"
#include "kernels/meta/meta_backend.h"

namespace plumb {

void add_meta_entries(std::vector<BackendEntry>* entries) {
  entries->push_back({"meta", [] { return make_meta_backend(); }, false});
}

}  // namespace plumb
