// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/math.h"

namespace plumb::PLUMB_ISA {
namespace {

constexpr std::int64_t kBlock = 1024;

struct Largest {
  float value;
  bool has_nan;
};

/// Largest of up to kBlock values.
inline Largest block_largest(const float* x, std::int64_t n) {
  F best = f_set(-kInfinity);
  F nan = f_zero();
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const F v = n - i >= kLanes
                    ? f_load(x + i)
                    : f_select(mask_first(n - i), f_load_first(x + i, n - i), f_set(-kInfinity));
    nan = f_select(f_is_nan(v), f_set(1.0F), nan);
    best = f_max(v, best);  // a NaN in v gives best
  }
  return {f_largest(best), f_largest(nan) > 0.0F};
}

inline std::int64_t block_length(std::int64_t begin, std::int64_t n) {
  return n - begin < kBlock ? n - begin : kBlock;
}

std::int32_t argmax(const float* x, std::int64_t n, float* best) {
  *best = -kInfinity;
  std::int64_t block = 0;
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const Largest largest = block_largest(x + i, block_length(i, n));
    if (largest.has_nan) {
      *best = __builtin_nanf("");
      return -1;
    }
    if (largest.value > *best) {
      *best = largest.value;
      block = i;
    }
  }
  while (x[block] != *best) {
    ++block;
  }
  return static_cast<std::int32_t>(block);
}

float log_sum_exp(const float* x, std::int64_t n) {
  float best = -kInfinity;
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const Largest largest = block_largest(x + i, block_length(i, n));
    if (largest.has_nan) {
      return __builtin_nanf("");
    }
    best = largest.value > best ? largest.value : best;
  }
  if (best - best != 0.0F) {  // +-infinity
    return best;
  }
  double sum = 0.0;
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t end = i + block_length(i, n);
    F part = f_zero();
    for (std::int64_t j = i; j < end; j += kLanes) {
      const F v = f_select(mask_first(end - j), f_load_first(x + j, end - j), f_set(-kInfinity));
      part = f_add(part, exp_approx(f_sub(v, f_set(best))));
    }
    sum += static_cast<double>(f_sum(part));
  }
  return static_cast<float>(static_cast<double>(best) + __builtin_log(sum));
}

}  // namespace

void add_row_reductions(cpu::KernelTable* table) {
  table->argmax = argmax;
  table->log_sum_exp = log_sum_exp;
}

}  // namespace plumb::PLUMB_ISA
