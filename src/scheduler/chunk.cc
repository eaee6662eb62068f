// SPDX-License-Identifier: Apache-2.0
#include "scheduler/chunk.h"

#include <algorithm>

namespace plumb {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// The largest chunk of at most `limit` tokens that ends at a multiple of the block size.
std::int64_t aligned(std::int64_t num_computed, std::int64_t limit, std::int64_t block_size) {
  const std::int64_t whole = limit / block_size * block_size;
  return (num_computed + whole) / block_size * block_size - num_computed;
}

}  // namespace

std::int64_t chunk_tokens(const SeqSnapshot& seq, const Budget& budget) {
  const std::int64_t rest = seq.num_uncached();
  std::int64_t limit = budget.num_tokens;
  if (limit <= 0) {
    return 0;
  }
  if (seq.needs_all_logits) {
    limit = std::min(limit, budget.num_logits_tokens);
    return rest <= limit ? rest : std::max<std::int64_t>(limit, 0);
  }
  if (rest <= limit || (limit >= budget.merge_tokens && rest - limit <= budget.merge_tokens)) {
    return rest;
  }
  const std::int64_t full = budget.chunk_tokens > 0 ? budget.chunk_tokens : limit;
  const std::int64_t even = ceil_div(rest, ceil_div(rest, full));
  const std::int64_t chunk = std::min(ceil_div(even, budget.block_size) * budget.block_size, limit);
  return std::max<std::int64_t>(aligned(seq.num_computed, chunk, budget.block_size), 0);
}

void charge(const SeqSnapshot& seq, std::int64_t num_tokens, Budget* budget) {
  const std::int64_t excess = std::max<std::int64_t>(num_tokens - budget->num_tokens, 0);
  budget->num_tokens = std::max<std::int64_t>(budget->num_tokens - num_tokens, 0);
  budget->merge_tokens -= excess;
  if (seq.needs_all_logits) {
    budget->num_logits_tokens -= num_tokens;
  }
  if (num_tokens < seq.num_uncached()) {
    --budget->num_partials;
  }
}

}  // namespace plumb
