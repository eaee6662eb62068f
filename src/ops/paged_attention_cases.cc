// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/case_attention.h"
#include "ops/cases.h"

namespace plumb {
namespace {

/// The example of the contract: keys [0, ln 3], values [4, 8], q = [1, 0].
void worked_paged_attention(std::int64_t window, bool sinks, const std::vector<float>& expected,
                            CaseDevice& device) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  PagedAttention args;
  args.q = device.floats({1, 2, 1}, std::vector<float>{1, 0});
  args.k_cache = device.bytes(DType::kF32, {1, 1, 2, 1}, float_bytes({0, std::log(3.0F)}));
  args.v_cache = device.bytes(DType::kF32, {1, 1, 2, 1}, float_bytes({4, 8}));
  args.block_table = device.ints({1, 1}, std::vector<std::int32_t>{0});
  args.context_lens = device.ints({1}, std::vector<std::int32_t>{2});
  args.cu_seqlens_q = device.ints({2}, std::vector<std::int32_t>{0, 1});
  if (sinks) {
    args.sinks = device.floats({2}, std::vector<float>{std::log(4.0F), -kInf});
  }
  args.y = device.blank(DType::kF32, {1, 2, 1});
  args.scratch = device.scratch(paged_attention_scratch_bytes(1, 2, 1, 2));
  args.window = window;
  device.run(device.ops().paged_attention, args);
  device.result("y", args.y, {.absolute = 1e-5}, expected);
}

std::vector<CaseSequence> one(std::int64_t num_rows, std::int64_t context_len) {
  return {{1, num_rows, context_len}};
}

/// Mixed prefill, chunk and decode with sequences of no rows and of no tokens between them.
std::vector<CaseSequence> ragged() {
  return {{1, 1, 33}, {2, 0, 0}, {3, 17, 17}, {4, 5, 70}, {5, 0, 40}, {6, 1, 1}, {7, 1, 515}};
}

void add_grid(std::vector<AttentionShape>* shapes) {
  for (const std::int64_t head_dim : {64, 80, 96, 128, 256}) {
    for (const DType cache : {DType::kF16, DType::kF32}) {
      AttentionShape s;
      s.name = "d" + std::to_string(head_dim) + (cache == DType::kF16 ? "_f16" : "_f32");
      s.num_q_heads = 4;
      s.num_kv_heads = 2;
      s.head_dim = head_dim;
      s.cache = cache;
      s.sequences = ragged();
      shapes->push_back(s);
    }
  }
  for (const std::int64_t group : {1, 2, 3, 4, 5, 7, 8, 16}) {
    for (const std::int64_t block_size : {16, 32, 64}) {
      AttentionShape s;
      s.name = "g" + std::to_string(group) + "_b" + std::to_string(block_size);
      s.num_kv_heads = 2;
      s.num_q_heads = 2 * group;
      s.block_size = block_size;
      s.sequences = {{1, 1, 130}, {2, 9, 9}, {3, 3, 67}};
      shapes->push_back(s);
    }
  }
}

void add_contexts(std::vector<AttentionShape>* shapes) {
  for (const std::int64_t context : {1,   2,   15,  16,  17,  31,  32,   33,   63,   64,  65,
                                     127, 129, 255, 511, 512, 513, 1023, 1024, 1025, 4097}) {
    AttentionShape s;
    s.num_q_heads = 3;
    s.sequences = one(1, context);
    s.name = "decode_" + std::to_string(context);
    shapes->push_back(s);
    if (context > 1) {
      s.sequences = one(std::min<std::int64_t>(context - 1, 7), context);
      s.name = "chunk_" + std::to_string(context);
      shapes->push_back(s);
    }
    if (context <= 513) {
      s.num_q_heads = 2;
      s.sequences = one(context, context);
      s.name = "prefill_" + std::to_string(context);
      shapes->push_back(s);
    }
  }
}

void add_rules(std::vector<AttentionShape>* shapes) {
  for (const std::int64_t window : {1, 2, 31, 32, 33, 64, 100, 512, 600, 5000}) {
    AttentionShape s;
    s.name = "window_" + std::to_string(window);
    s.num_q_heads = 2;
    s.window = window;
    s.sequences = {{1, 1, 1100}, {2, 70, 70}, {3, 40, 700}};
    shapes->push_back(s);
  }
  for (const std::int64_t block_size : {1, 4, 16, 128}) {
    AttentionShape s;
    s.name = "window_50_block_" + std::to_string(block_size);
    s.block_size = block_size;
    s.window = 50;
    s.sequences = {{1, 1, 1100}, {2, 3, 600}, {3, 40, 700}};
    shapes->push_back(s);
  }
  for (const float softcap : {15.0F, 50.0F}) {
    AttentionShape s;
    s.name = "softcap_" + std::to_string(static_cast<int>(softcap));
    s.num_q_heads = 4;
    s.num_kv_heads = 2;
    s.softcap = softcap;
    s.magnitude = 3.0F;
    s.sequences = ragged();
    shapes->push_back(s);
  }
  AttentionShape s;
  s.num_q_heads = 6;
  s.num_kv_heads = 2;
  s.sinks = true;
  s.sequences = ragged();
  s.name = "sinks";
  shapes->push_back(s);
  s.window = 20;
  s.softcap = 30.0F;
  s.name = "sinks_window_softcap";
  shapes->push_back(s);
}

void add_memory(std::vector<AttentionShape>* shapes) {
  AttentionShape s;
  s.num_q_heads = 4;
  s.num_kv_heads = 2;
  s.name = "no_sequence";
  shapes->push_back(s);
  s.sequences = {{1, 0, 0}, {2, 0, 50}};
  s.name = "no_row";
  shapes->push_back(s);
  s.sequences = ragged();
  s.place = {64, 16};
  s.name = "strided";
  shapes->push_back(s);
  s.place = {};
  s.in_order = true;
  s.name = "blocks_in_order";
  shapes->push_back(s);
  s.in_order = false;
  s.share_prefix = true;
  s.sequences = {{1, 1, 96}, {1, 1, 130}, {1, 20, 110}};
  s.name = "shared_prefix";
  shapes->push_back(s);
  s.share_prefix = false;
  s.sequences = {{1, 130, 600}, {2, 1, 2000}, {3, 40, 40}};
  s.name = "largest";
  shapes->push_back(s);
  for (const float magnitude : {3.0F, 10.0F}) {
    s.sequences = ragged();
    s.magnitude = magnitude;
    s.name = "magnitude_" + std::to_string(static_cast<int>(magnitude));
    shapes->push_back(s);
  }
}

}  // namespace

void add_paged_attention_cases(std::vector<OpCase>* cases) {
  cases->push_back({"paged_attention", "worked", [](CaseDevice& device) {
                      worked_paged_attention(0, false, {7, 6}, device);
                    }});
  cases->push_back({"paged_attention", "worked_sinks", [](CaseDevice& device) {
                      worked_paged_attention(0, true, {3.5F, 6}, device);
                    }});
  cases->push_back({"paged_attention", "worked_window", [](CaseDevice& device) {
                      worked_paged_attention(1, false, {8, 8}, device);
                    }});
  std::vector<AttentionShape> shapes;
  add_grid(&shapes);
  add_contexts(&shapes);
  add_rules(&shapes);
  add_memory(&shapes);
  for (const AttentionShape& s : shapes) {
    cases->push_back({"paged_attention", s.name, [s](CaseDevice& device) {
                        const PagedAttention args = make_attention(s, device);
                        device.run(device.ops().paged_attention, args);
                        device.result("y", args.y, attention_tolerance(s));
                      }});
  }
}

}  // namespace plumb
