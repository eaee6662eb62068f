// SPDX-License-Identifier: Apache-2.0
#include "cli/backends.h"

#include <algorithm>

#include "base/text.h"
#include "kernels/meta/meta_backend.h"
#include "kernels/ref/ref_backend.h"

namespace plumb {

std::vector<std::string> backend_names() {
  return {"cpu", "ref", "meta"};
}

Result<std::unique_ptr<Backend>> make_backend(const std::string& name,
                                              const BackendOptions& options) {
  if (name == "cpu") {
    return make_cpu_backend({static_cast<int>(options.threads), options.cpu_tier});
  }
  if (name == "ref") {
    return make_ref_backend();
  }
  if (name == "meta") {
    return std::unique_ptr<Backend>(make_meta_backend());
  }
  return Status{Code::kInvalidArgument,
                "unknown back end '" + name + "', expected one of " + join(backend_names(), ", ")};
}

void append_violations(const BackendOptions& options, std::vector<Status>* violations) {
  const std::vector<std::string> known{"cpu", "ref"};  // meta computes nothing
  const auto check_name = [&](const std::string& flag, const std::string& name) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      violations->emplace_back(
          Code::kInvalidArgument,
          flag + ": unknown back end '" + name + "', expected one of " + join(known, ", "));
    }
  };
  check_name("--backend", options.backend);
  const std::vector<std::string_view> ops = op_names();
  for (const std::string& choice : options.op) {
    const std::size_t equals = choice.find('=');
    if (equals == std::string::npos) {
      violations->emplace_back(Code::kInvalidArgument,
                               "--op: '" + choice + "', expected NAME=BACKEND, as in linear=ref");
      continue;
    }
    const std::string name = choice.substr(0, equals);
    if (std::find(ops.begin(), ops.end(), name) == ops.end()) {
      violations->emplace_back(Code::kInvalidArgument, "--op: unknown op '" + name +
                                                           "', expected one of " +
                                                           join({ops.begin(), ops.end()}, ", "));
    }
    const std::string backend = choice.substr(equals + 1);
    check_name("--op", backend);
    if (backend == "cpu" && options.backend != "cpu") {
      violations->emplace_back(
          Code::kInvalidArgument,
          "--op: '" + choice + "', but ops of the back end cpu run with --backend cpu only");
    }
  }
}

Result<BackendSet> make_backends(const BackendOptions& options) {
  BackendSet set;
  PLUMB_ASSIGN(set.main, make_backend(options.backend, options));
  set.meta = make_meta_backend();
  set.ops = set.main->ops();
  for (const std::string& choice : options.op) {
    const std::size_t equals = choice.find('=');
    if (equals == std::string::npos) {
      return Status{Code::kInvalidArgument,
                    "--op '" + choice + "', expected NAME=BACKEND, for example linear=ref"};
    }
    PLUMB_ASSIGN(std::unique_ptr<Backend> other, make_backend(choice.substr(equals + 1), options));
    PLUMB_RETURN_IF_ERROR(replace_op(&set.ops, choice.substr(0, equals), other->ops()));
    set.others.push_back(std::move(other));
  }
  return set;
}

}  // namespace plumb
