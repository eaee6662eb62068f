// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/linear_registry.h"

#include <algorithm>
#include <optional>

#include "kernels/cpu/cpu_features.h"
#include "kernels/cpu/panel_layout.h"
#include "tensor/dtype.h"

namespace plumb::cpu {
namespace {

// What one thread reaches with kernels_cpu_bench on a Xeon with AVX-512 VNNI, in units of a
// microsecond: bytes of weights from memory, and multiply-adds by class of format with full tiles.
constexpr double kReadBytes = 13'000;
constexpr double kExpandedElements = 300;  // of a row that is unpacked
constexpr double kExpandedProducts = 1'000;

struct LinearRates {
  double floats;
  double plain;     ///< 8-bit products of codes up to 6 bits, scales for 32 elements
  double halves;    ///< scales for 16 elements
  double signed_8;  ///< codes that take all 8 bits
  double rounded;   ///< Q13
};

constexpr LinearRates kRatesAvx2{28'000, 62'000, 42'000, 42'000, 60'000};
constexpr LinearRates kRatesAvx512{60'000, 130'000, 110'000, 155'000, 140'000};

double rate_of(PanelType type, const LinearRates& rates) {
  switch (type) {
    case kTypeF32:
    case kTypeF16:
    case kTypeBF16:
      return rates.floats;
    case kTypeQ2_K:
    case kTypeQ3_K:
    case kTypeQ6_K:
      return rates.halves;
    case kTypeQ8_0:
    case kTypeIQ4_NL:
    case kTypeIQ4_XS:
      return rates.signed_8;
    case kTypeQ13:
      return rates.rounded;
    default:
      return rates.plain;
  }
}

bool panels_support(const LinearKernel& kernel, const LinearDesc& desc) {
  return panel_type(desc.dtype) == kernel.type && desc.k % traits(desc.dtype).block_elems == 0 &&
         (desc.layout == nullptr || panel_rows(desc.layout) == kernel.panel_rows);
}

/// Weights are read once for as many rows as the second cache holds, so that reading and computing
/// bound the time each by itself.
double panels_cost(const LinearKernel& kernel, const LinearDesc& desc) {
  const std::int64_t num_panels = (desc.n + kernel.panel_rows - 1) / kernel.panel_rows;
  const auto bytes =
      static_cast<double>(num_panels * panel_bytes(kernel.type, kernel.panel_rows, desc.k));
  const double products = static_cast<double>(desc.m) * static_cast<double>(desc.n * desc.k);
  return std::max(bytes / kReadBytes, products / kernel.product_rate) / desc.num_threads;
}

bool rows_support(const LinearKernel&, const LinearDesc& desc) {
  return desc.layout != nullptr;
}

/// Rows are handed out as if they lay in panels. Dearer than any panels by each term, so that m
/// does not decide between the two.
double rows_cost(const LinearKernel& kernel, const LinearDesc& desc) {
  constexpr std::int64_t kMostPanelRows = 16;
  const std::int64_t rows = (desc.n + kMostPanelRows - 1) / kMostPanelRows * kMostPanelRows;
  const auto elements = static_cast<double>(rows * desc.k);
  return (elements / kExpandedElements +
          static_cast<double>(desc.m) * elements / kernel.product_rate) /
         desc.num_threads;
}

}  // namespace

LinearRegistry::LinearRegistry(CpuTier tier, const KernelTable& table) : tier_(tier) {
  const LinearRates& rates = tier == CpuTier::kAvx512 ? kRatesAvx512 : kRatesAvx2;
  kernels_.reserve(kNumPanelTypes + 1);  // readers_ refers to them
  const auto add = [&](LinearKernel kernel, std::optional<DType> dtype) {
    kernels_.push_back(std::move(kernel));
    for (int i = 0; i < kNumDTypes; ++i) {
      if (!dtype.has_value() || static_cast<DType>(i) == *dtype) {
        readers_[static_cast<std::size_t>(i)].push_back(&kernels_.back());
      }
    }
  };
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::optional<PanelType> type = panel_type(dtype);
    if (!type.has_value() || table.product[*type] == nullptr) {
      continue;
    }
    add({.name = "linear." + std::string(to_text(tier)) + "." + std::string(traits(dtype).name),
         .tier = tier,
         .type = *type,
         .panel_rows = table.panel_rows,
         .tile_rows = table.tile_rows,
         .product_rate = rate_of(*type, rates),
         .supports = panels_support,
         .cost = panels_cost,
         .product = table.product[*type]},
        dtype);
  }
  add({.name = "linear.unpacked_rows",
       .product_rate = kExpandedProducts,
       .supports = rows_support,
       .cost = rows_cost},
      std::nullopt);
}

LinearChoice LinearRegistry::choose(const LinearDesc& desc) const {
  LinearChoice choice;
  for (const LinearKernel* kernel : readers_[static_cast<std::size_t>(desc.dtype)]) {
    if (!kernel->supports(*kernel, desc)) {
      continue;
    }
    const double cost = kernel->cost(*kernel, desc);
    if (choice.kernel == nullptr || cost < choice.cost) {
      choice.next = choice.kernel;
      choice.next_cost = choice.cost;
      choice.kernel = kernel;
      choice.cost = cost;
    } else if (choice.next == nullptr || cost < choice.next_cost) {
      choice.next = kernel;
      choice.next_cost = cost;
    }
  }
  return choice;
}

Result<CpuTier> resolve_tier(CpuTier wanted) {
  if (!has_avx2()) {
    return Status{Code::kUnsupported, "this processor lacks AVX2, FMA or F16C"};
  }
  const bool has_wide = has_avx512();
  if (wanted == CpuTier::kAvx512 && !has_wide) {
    return Status{Code::kUnsupported,
                  "this processor lacks AVX-512 with VNNI; choose the tier avx2 or auto"};
  }
  return has_wide && wanted != CpuTier::kAvx2 ? CpuTier::kAvx512 : CpuTier::kAvx2;
}

std::string_view to_text(CpuTier tier) {
  return tier == CpuTier::kAvx512 ? "avx512" : tier == CpuTier::kAvx2 ? "avx2" : "auto";
}

KernelTable kernel_table_of(CpuTier tier) {
  return tier == CpuTier::kAvx512 ? cpu_avx512::kernel_table() : cpu_avx2::kernel_table();
}

}  // namespace plumb::cpu
