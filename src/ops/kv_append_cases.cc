// SPDX-License-Identifier: Apache-2.0
#include "ops/cases.h"

namespace plumb {
namespace {

struct AppendShape {
  DType cache;
  std::int64_t num_tokens;
  std::int64_t num_heads;
  std::int64_t head_dim;
  std::int64_t block_size;
  bool skip_some;
  float magnitude;
  CasePlacement place = {};

  std::string name() const {
    return std::string(cache == DType::kF16 ? "f16" : "f32") + "_t" + std::to_string(num_tokens) +
           "_h" + std::to_string(num_heads) + "_d" + std::to_string(head_dim) + "_b" +
           std::to_string(block_size) + (skip_some ? "_skip" : "") +
           (magnitude > 1.0F   ? "_huge"
            : magnitude < 1.0F ? "_tiny"
                               : "") +
           (place.gap > 0 ? "_strided" : "");
  }
};

void run_kv_append(const AppendShape& s, CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(s.num_tokens * 19 + s.head_dim));
  const Shape shape{s.num_tokens, s.num_heads, s.head_dim};
  const std::int64_t num_blocks = s.num_tokens / s.block_size + 3;
  // Distinct slots in random order; the last of all is always written.
  std::vector<std::int32_t> slots = rng.permutation(num_blocks * s.block_size);
  slots.resize(static_cast<std::size_t>(s.num_tokens));
  for (std::size_t t = 0; s.skip_some && t < slots.size(); t += 3) {
    slots[t] = t % 2 == 0 ? -1 : -1000000;
  }
  const Shape cache_shape{num_blocks, s.num_heads, s.block_size, s.head_dim};
  KvAppend args;
  args.k = device.floats(shape, rng.normals(shape.num_elements(), s.magnitude), s.place);
  args.v = device.floats(shape, rng.normals(shape.num_elements(), s.magnitude), s.place);
  args.slot_mapping = device.ints({s.num_tokens}, slots);
  // NaN marks what must keep its bits.
  args.k_cache = device.blank(s.cache, cache_shape);
  args.v_cache = device.blank(s.cache, cache_shape);
  device.run(device.ops().kv_append, args);
  device.result("k_cache", args.k_cache);
  device.result("v_cache", args.v_cache);
}

void worked_kv_append(CaseDevice& device) {
  KvAppend args;
  args.k = device.floats({3, 1, 1}, std::vector<float>{1, 2, 1e6F});
  args.v = device.floats({3, 1, 1}, std::vector<float>{3, 4, 5});
  args.slot_mapping = device.ints({3}, std::vector<std::int32_t>{3, -1, 0});
  const std::vector<std::byte> zeros(8);
  args.k_cache = device.bytes(DType::kF16, {2, 1, 2, 1}, zeros);
  args.v_cache = device.bytes(DType::kF16, {2, 1, 2, 1}, zeros);
  device.run(device.ops().kv_append, args);
  device.result("k_cache", args.k_cache, {}, std::vector<float>{65504, 0, 0, 1});
  device.result("v_cache", args.v_cache, {}, std::vector<float>{5, 0, 0, 3});
}

}  // namespace

void add_kv_append_cases(std::vector<OpCase>* cases) {
  cases->push_back({"kv_append", "worked", worked_kv_append});
  std::vector<AppendShape> shapes;
  for (const DType cache : {DType::kF16, DType::kF32}) {
    shapes.push_back({cache, 0, 2, 64, 32, false, 1.0F, {}});
    shapes.push_back({cache, 1, 1, 1, 16, false, 1.0F, {}});
    shapes.push_back({cache, 1, 3, 64, 32, false, 1.0F, {}});
    shapes.push_back({cache, 7, 2, 80, 16, true, 1.0F, {48, 16}});
    shapes.push_back({cache, 33, 5, 96, 64, true, 1.0F, {}});
    shapes.push_back({cache, 130, 3, 64, 32, false, 1.0F, {64, 32}});
    shapes.push_back({cache, 9, 2, 7, 3, true, 1.0F, {1, 1}});
    shapes.push_back({cache, 5, 1, 256, 16, false, 3e4F, {}});   // some beyond the f16 range
    shapes.push_back({cache, 5, 2, 128, 16, false, 1e-6F, {}});  // subnormal halves
  }
  for (const AppendShape& s : shapes) {
    cases->push_back(
        {"kv_append", s.name(), [s](CaseDevice& device) { run_kv_append(s, device); }});
  }
}

}  // namespace plumb
