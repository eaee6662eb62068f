// SPDX-License-Identifier: Apache-2.0
#include "engine/step_batch.h"

#include <gtest/gtest.h>

#include "engine/kv_cache.h"
#include "support/scripted_model.h"

namespace plumb {
namespace {

using Ints = std::vector<std::int32_t>;

Ints ints(const Tensor& tensor) {
  return {tensor.as<std::int32_t>(), tensor.as<std::int32_t>() + tensor.num_elements()};
}

std::vector<BlockId> blocks(const Ints& ids) {
  std::vector<BlockId> out;
  for (const std::int32_t id : ids) {
    out.push_back(BlockId{id});
  }
  return out;
}

constexpr StepSizes kSizes{.num_tokens = 16, .num_seqs = 3, .num_logits = 4, .num_blocks = 8};

TEST(StepBatch, slot_is_block_times_block_size_plus_offset) {
  StepBatch batch = StepBatch::create(kSizes, 16, nullptr).value();
  const std::vector<BlockId> table = blocks({7, 2});
  batch.add_seq(std::vector<TokenId>{5}, 20, table);
  HostStream stream;
  EXPECT_EQ(ints(batch.upload(stream).full.slot_mapping), Ints{36});
}

TEST(StepBatch, sequences_follow_each_other_without_gaps) {
  const std::vector<BlockId> first = blocks({9, 3});
  const std::vector<BlockId> second = blocks({4, 5, 6, 1});
  ScriptedBackend backend;
  for (Backend* device : {static_cast<Backend*>(nullptr), static_cast<Backend*>(&backend)}) {
    StepBatch batch = StepBatch::create(kSizes, 4, device).value();
    HostStream stream;
    for (int round = 0; round < 2; ++round) {  // arrays are used again
      batch.clear();
      batch.add_seq(std::vector<TokenId>{11}, 4, first);
      batch.want_logits(0);
      batch.add_seq(std::vector<TokenId>{21, 22, 23}, 6, second);
      batch.want_logits(1);
      batch.want_logits(2);
      const ModelBatch inputs = batch.upload(stream);
      EXPECT_EQ(ints(inputs.token_ids), (Ints{11, 21, 22, 23}));
      EXPECT_EQ(ints(inputs.positions), (Ints{4, 6, 7, 8}));
      EXPECT_EQ(ints(inputs.full.slot_mapping), (Ints{12, 22, 23, 24}));
      EXPECT_EQ(ints(inputs.cu_seqlens_q), (Ints{0, 1, 4}));
      EXPECT_EQ(ints(inputs.context_lens), (Ints{5, 9}));
      EXPECT_EQ(ints(inputs.logits_rows), (Ints{0, 2, 3}));
      EXPECT_EQ(inputs.full.block_table.shape, (Shape{2, 3}));
      EXPECT_EQ(ints(inputs.full.block_table), (Ints{9, 3, 0, 4, 5, 6}));
      EXPECT_EQ(inputs.windowed.block_table.address, inputs.full.block_table.address);
      EXPECT_EQ(inputs.max_context_len, 9);
    }
  }
}

TEST(StepBatch, layers_with_a_window_have_tables_and_slots_of_their_own) {
  StepSizes sizes = kSizes;
  sizes.has_window = true;
  StepBatch batch = StepBatch::create(sizes, 4, nullptr).value();
  const std::vector<BlockId> full = blocks({9, 3, 8});
  const std::vector<BlockId> window = blocks({0, 2, 1});  // the first was given back
  batch.add_seq(std::vector<TokenId>{11, 12}, 7, full, window);
  HostStream stream;
  const ModelBatch inputs = batch.upload(stream);
  EXPECT_EQ(ints(inputs.places(0).slot_mapping), (Ints{15, 32}));
  EXPECT_EQ(ints(inputs.places(0).block_table), (Ints{9, 3, 8}));
  EXPECT_EQ(ints(inputs.places(6).slot_mapping), (Ints{11, 4}));
  EXPECT_EQ(ints(inputs.places(6).block_table), (Ints{0, 2, 1}));
}

TEST(StepBatch, an_empty_step_has_empty_inputs) {
  StepBatch batch = StepBatch::create(kSizes, 4, nullptr).value();
  HostStream stream;
  const ModelBatch inputs = batch.upload(stream);
  EXPECT_EQ(inputs.token_ids.dim(0), 0);
  EXPECT_EQ(ints(inputs.cu_seqlens_q), Ints{0});
}

TEST(KvCache, layers_of_several_groups_get_memory_that_does_not_overlap) {
  KvLayout layout;
  layout.block_size = 4;
  layout.groups.push_back({.layers = {0, 2}, .num_kv_heads = 2, .head_dim = 8});
  layout.groups.push_back(
      {.layers = {1}, .num_kv_heads = 1, .head_dim = 16, .dtype = DType::kF32, .window = 8});
  const auto cache =
      KvCache::create(layout, {.num_blocks = 10, .num_window_blocks = 6}, host_allocator()).value();
  ASSERT_EQ(cache->layers().size(), 3U);
  EXPECT_EQ(cache->layers()[2].k.shape, (Shape{10, 2, 4, 8}));
  EXPECT_EQ(cache->layers()[1].v.shape, (Shape{6, 1, 4, 16}));
  std::vector<std::pair<char*, char*>> ranges;
  for (const KvLayerCache& layer : cache->layers()) {
    for (const Tensor& tensor : {layer.k, layer.v}) {
      const std::int64_t bytes = tensor.num_elements() * traits(tensor.dtype).block_bytes;
      ranges.emplace_back(tensor.as<char>(), tensor.as<char>() + bytes);
      std::fill_n(tensor.as<char>(), bytes, 'x');
    }
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    EXPECT_LE(ranges[i - 1].second, ranges[i].first);
  }
}

}  // namespace
}  // namespace plumb
