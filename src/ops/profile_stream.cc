// SPDX-License-Identifier: Apache-2.0
#include "ops/profile_stream.h"

#include <algorithm>

namespace plumb {
namespace {

/// Keys that the rows of a sequence see together: row i of q_len sees all up to its own position,
/// or the last `window` (0 = all) of them.
std::int64_t num_seen_keys(std::int64_t context_len, std::int64_t q_len, std::int64_t window) {
  const std::int64_t before = context_len - q_len;
  if (window == 0 || context_len <= window) {
    return q_len * before + q_len * (q_len + 1) / 2;
  }
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < q_len; ++i) {
    sum += std::min(before + i + 1, window);
  }
  return sum;
}

/// As cost(), of the lengths that the call has rather than the room that its tables have.
Cost cost_of_lengths(const PagedAttention& args) {
  const std::int64_t num_kv_heads = args.k_cache.dim(1);
  const std::int64_t head_dim = args.q.dim(2);
  const auto* begins = args.cu_seqlens_q.as<const std::int32_t>();
  const auto* context_lens = args.context_lens.as<const std::int32_t>();
  std::int64_t seen = 0;
  std::int64_t read = 0;
  for (std::int64_t s = 0; s < args.context_lens.dim(0); ++s) {
    const std::int64_t q_len = begins[s + 1] - begins[s];
    const std::int64_t context_len = context_lens[s];
    seen += num_seen_keys(context_len, q_len, args.window);
    read +=
        args.window > 0 && q_len > 0 ? std::min(context_len, args.window + q_len - 1) : context_len;
  }
  const std::int64_t key_bytes = head_dim * traits(args.k_cache.dtype).block_bytes;
  return {.flops = 4 * seen * args.q.dim(1) * head_dim,
          .bytes_read = 4 * args.q.num_elements() + 2 * read * num_kv_heads * key_bytes,
          .bytes_written = 4 * args.y.num_elements()};
}

template <class Args>
void describe(const Args& args, OpCall* call) {
  call->cost = cost(args);
}

void describe(const PagedAttention& args, OpCall* call) {
  call->cost = cost_of_lengths(args);
}

void describe(const Linear& args, OpCall* call) {
  call->cost = cost(args);
  call->dtype = args.outputs.front().weight->dtype();
  call->k = args.x.dim(1);
  for (const LinearOutput& output : args.outputs) {
    call->n += output.weight->rows();
  }
}

}  // namespace

struct ProfiledCall {
  template <class Args>
  static void run(std::string_view name, void (*OpTable::*op)(const Args&, Stream&),
                  const Args& args, Stream& any_stream) {
    auto& stream = static_cast<ProfileStream&>(any_stream);
    OpCall call;
    call.op = name;
    call.begin = stream.clock_.now();
    (stream.ops_.*op)(args, *stream.inner_);
    call.end = stream.clock_.now();
    describe(args, &call);
    stream.calls_.push_back(call);
  }
};

OpTable profiled_ops() {
  OpTable table;
#define PLUMB_PROFILED_OP(Args, name)                             \
  table.name = [](const Args& args, Stream& stream) {             \
    ProfiledCall::run<Args>(#name, &OpTable::name, args, stream); \
  };
  PLUMB_OP_LIST(PLUMB_PROFILED_OP)
#undef PLUMB_PROFILED_OP
  return table;
}

}  // namespace plumb
