// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/kernel_table.h"
#include "ops/weight.h"

namespace plumb::cpu {

/// A product that a kernel is wanted for.
struct LinearDesc {
  DType dtype = DType::kF32;             ///< of the weight
  std::int64_t m = 1;                    ///< rows of x
  std::int64_t n = 0;                    ///< rows of the weight
  std::int64_t k = 0;                    ///< columns of the weight
  const WeightLayout* layout = nullptr;  ///< that the weight lies in; null = it is to be packed
  int num_threads = 1;
};

/// One way to compute the products of one output.
struct LinearKernel {
  std::string name;               ///< "linear.avx512.Q4_K"
  CpuTier tier = CpuTier::kAuto;  ///< kAuto: code for every processor, in both tiers
  PanelType type = kTypeF32;      ///< where it reads panels
  int panel_rows = 0;             ///< of the panels that it reads; 0 = any layout, row by row
  int tile_rows = 1;              ///< rows of x that share a loaded weight, at most
  double product_rate = 0;        ///< multiply-adds of one thread a microsecond at most
  bool (*supports)(const LinearKernel& kernel, const LinearDesc& desc) = nullptr;  ///< pure
  double (*cost)(const LinearKernel& kernel, const LinearDesc& desc) = nullptr;    ///< pure
  void (*product)(const PanelProduct&) = nullptr;  ///< null: rows are expanded one by one
};

/// The cheapest kernel and the next one. Costs are predicted microseconds.
struct LinearChoice {
  const LinearKernel* kernel = nullptr;  ///< null: none supports it
  double cost = 0;
  const LinearKernel* next = nullptr;  ///< null: no other one supports it
  double next_cost = 0;
};

/// The CPU kernels of `linear` under one tier, as data: what packing, each call and `plumb doctor
/// --kernels` choose from.
///
/// A cost ranks kernels; it comes from a model with the rates of one machine, not from this one.
/// Where kernels differ in the bits of a row, their ranking must not change with m: a row's result
/// does not depend on its company.
/// Thread  any, once made.
class LinearRegistry {
 public:
  /// Requires the processor has the tier, which is not kAuto; `table` is of that tier.
  LinearRegistry(CpuTier tier, const KernelTable& table);

  LinearRegistry(const LinearRegistry&) = delete;
  LinearRegistry& operator=(const LinearRegistry&) = delete;

  CpuTier tier() const { return tier_; }

  std::span<const LinearKernel> kernels() const { return kernels_; }

  /// Of the kernels that support it the cheapest; ties by order.
  /// Cost  no allocation; as many predictions as kernels read the type (two).
  LinearChoice choose(const LinearDesc& desc) const;

 private:
  CpuTier tier_;
  std::vector<LinearKernel> kernels_;
  std::array<std::vector<const LinearKernel*>, kNumDTypes> readers_;  ///< by type of the weight
};

/// The tier that `wanted` means on this processor. Errors as make_cpu_backend().
Result<CpuTier> resolve_tier(CpuTier wanted);
/// "avx2", "avx512".
std::string_view to_text(CpuTier tier);
/// The kernels of a tier. Requires the processor has it.
KernelTable kernel_table_of(CpuTier tier);

}  // namespace plumb::cpu
