// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/option_field.h"
#include "base/status.h"
#include "kernels/cpu/cpu_backend.h"
#include "ops/backend.h"

namespace plumb {

/// Which back end computes, and which ops another one takes over.
struct BackendOptions {
  std::string backend = "cpu";
  std::int64_t threads = 0;
  CpuTier cpu_tier = CpuTier::kAuto;
  std::vector<std::string> op;

  static constexpr auto fields() {
    using S = BackendOptions;
    return std::tuple{
        field(&S::backend, "backend", "cpu, or ref: plain loops that define what is right"),
        field(&S::threads, "threads", "compute threads; 0 = the cores that this process may use", 0,
              1024),
        choice_field(&S::cpu_tier, "cpu-tier", "instruction level of the CPU kernels",
                     std::array{Choice<CpuTier>{"auto", CpuTier::kAuto},
                                Choice<CpuTier>{"avx2", CpuTier::kAvx2},
                                Choice<CpuTier>{"avx512", CpuTier::kAvx512}}),
        field(&S::op, "op",
              "NAME=BACKEND: let another back end compute one op, for example linear=ref"),
    };
  }
};

/// Unknown back ends and ops: appends a status for each.
void append_violations(const BackendOptions& options, std::vector<Status>* violations);

/// The chosen back end with the ops in force, and the one that only measures.
struct BackendSet {
  std::unique_ptr<Backend> main;
  std::unique_ptr<Backend> meta;
  std::vector<std::unique_ptr<Backend>> others;  ///< behind replaced ops
  OpTable ops;
};

/// Errors kInvalidArgument: unknown back end or op; kUnsupported: this processor lacks the tier.
Result<BackendSet> make_backends(const BackendOptions& options);
/// One back end by its name.
Result<std::unique_ptr<Backend>> make_backend(const std::string& name,
                                              const BackendOptions& options);
std::vector<std::string> backend_names();

}  // namespace plumb
