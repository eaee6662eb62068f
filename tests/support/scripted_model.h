// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/model.h"
#include "ops/backend.h"
#include "tensor/host_allocator.h"

namespace plumb {

/// A back end of plain host code with the ops that the engine itself calls; its device can be lost.
class ScriptedBackend final : public Backend {
 public:
  ScriptedBackend() { ops_.argmax = argmax; }

  std::string_view name() const override { return "scripted"; }

  std::string arch() const override { return "host"; }

  Allocator& allocator() override { return host_allocator(); }

  std::unique_ptr<Stream> new_stream() override { return std::make_unique<LosableStream>(*this); }

  const OpTable& ops() const override { return ops_; }

  Result<Weight> pack(const RawMatrix&) override {
    return Status{Code::kUnsupported, "the scripted back end packs nothing"};
  }

  void copy(void* to, const void* from, std::int64_t num_bytes, Stream&) override {
    std::copy_n(static_cast<const char*>(from), num_bytes, static_cast<char*>(to));
  }

  std::atomic<bool> device_is_lost = false;

 private:
  class LosableStream final : public HostStream {
   public:
    explicit LosableStream(const ScriptedBackend& backend) : backend_(backend) {}

    Status poll() override {
      return backend_.device_is_lost ? Status{Code::kDeviceLost, "the device is gone"} : Status();
    }

   private:
    const ScriptedBackend& backend_;
  };

  static void argmax(const Argmax& args, Stream&) {
    for (std::int64_t r = 0; r < args.x.dim(0); ++r) {
      const float* row = args.x.row<float>(r);
      const float* best = std::max_element(row, row + args.x.dim(1));
      const bool is_nan = std::any_of(row, row + args.x.dim(1), [](float x) { return x != x; });
      args.y.as<std::int32_t>()[r] = is_nan ? -1 : static_cast<std::int32_t>(best - row);
      args.best.as<float>()[r] = *best;
    }
  }

  OpTable ops_;
};

/// A model in plain host code whose logits are a function of the tokens that it finds in the cache
/// at the places the engine names. A wrong slot, block table, length or reused prefix changes what
/// it says.
///
/// Two layers keep each token: layer 0 its id and position, layer 1 a hash of the whole prefix.
/// With a window, layer 1 sees only so many tokens; where all are windowed, layer 0 too, and what
/// it says is a function of seen().
class ScriptedModel : public Model {
 public:
  /// Fills logits [V] for the token that follows `context`.
  using Script = std::function<void(std::span<const TokenId> context, std::span<float> logits)>;

  struct Options {
    std::int64_t vocab_size = 50;
    std::int64_t max_context_len = 256;
    std::int64_t block_size = 4;
    std::int64_t window = 0;  ///< at least 2; 0 = none
    bool is_all_windowed = false;
    Script script;  ///< empty = hash_logits()
  };

  explicit ScriptedModel(const Options& options) : options_(options) {
    facts_.family = "scripted";
    facts_.name = "scripted";
    facts_.num_layers = 2;
    facts_.hidden_size = 2;
    facts_.vocab_size = options.vocab_size;
    facts_.max_context_len = options.max_context_len;
  }

  const ModelFacts& facts() const override { return facts_; }

  KvLayout kv_layout() const override {
    KvLayout layout;
    layout.block_size = options_.block_size;
    KvGroup group;
    group.num_kv_heads = 1;
    group.head_dim = 2;
    group.dtype = DType::kF32;
    group.window = window_of(0);
    group.layers = {0};
    layout.groups.push_back(group);
    if (window_of(1) == group.window) {
      layout.groups[0].layers = {0, 1};
    } else {
      group.window = window_of(1);
      group.layers = {1};
      layout.groups.push_back(group);
    }
    return layout;
  }

  Tensor forward(OpContext& op, const ModelBatch& batch,
                 std::span<const KvLayerCache> caches) const override {
    const Tensor logits =
        op.workspace().allocate(DType::kF32, {batch.logits_rows.dim(0), facts_.vocab_size});
    if (logits.address == nullptr) {
      return logits;  // a dry run
    }
    const std::int32_t* cu = batch.cu_seqlens_q.as<std::int32_t>();
    std::int64_t next_row = 0;
    for (std::int64_t b = 0; b < batch.context_lens.dim(0); ++b) {
      write(batch, caches, b, cu[b], cu[b + 1]);
      while (next_row < batch.logits_rows.dim(0) &&
             batch.logits_rows.as<std::int32_t>()[next_row] < cu[b + 1]) {
        const std::int32_t t = batch.logits_rows.as<std::int32_t>()[next_row];
        answer(batch, caches, b, batch.positions.as<std::int32_t>()[t] + 1,
               {logits.row<float>(next_row), static_cast<std::size_t>(facts_.vocab_size)});
        ++next_row;
      }
    }
    return logits;
  }

  /// What it says by default: pseudo-random logits in [0, 8), a pure function of the context.
  static void hash_logits(std::span<const TokenId> context, std::span<float> logits) {
    std::uint64_t h = 0x9E3779B97F4A7C15ULL;
    for (const TokenId token : context) {
      h = mix(h ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(token) + 1));
    }
    for (std::size_t i = 0; i < logits.size(); ++i) {
      logits[i] = static_cast<float>(mix(h + i) >> 44) * 0x1p-17F;
    }
  }

  /// What layers with a window know of a context: the hash of all of it, and its last tokens.
  static std::vector<TokenId> seen(std::span<const TokenId> context, std::int64_t window) {
    float hash = 0;
    for (const TokenId token : context) {
      hash = chained(hash, token);
    }
    std::vector<TokenId> out{static_cast<TokenId>(hash)};
    const std::size_t count = std::min(context.size(), static_cast<std::size_t>(window));
    out.insert(out.end(), context.end() - static_cast<std::ptrdiff_t>(count), context.end());
    return out;
  }

 private:
  std::int64_t window_of(int layer) const {
    return layer == 1 || options_.is_all_windowed ? options_.window : 0;
  }

  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  }

  static float* entry(const Tensor& cache, std::int64_t slot, std::int64_t block_size) {
    return cache.row<float>(slot / block_size) + slot % block_size * cache.dim(3);
  }

  std::int64_t slot_of(const ModelBatch& batch, int layer, std::int64_t b,
                       std::int64_t position) const {
    const Tensor& table = batch.places(window_of(layer)).block_table;
    const std::int64_t block = table.row<std::int32_t>(b)[position / options_.block_size];
    return block * options_.block_size + position % options_.block_size;
  }

  // 23 bits of the hash of a prefix, exact in a float.
  static float chained(float before, TokenId token) {
    const auto h = mix(static_cast<std::uint64_t>(before) * 1'000'003ULL +
                       static_cast<std::uint64_t>(token) + 7);
    return static_cast<float>(h & 0x7FFFFFULL);
  }

  void write(const ModelBatch& batch, std::span<const KvLayerCache> caches, std::int64_t b,
             std::int64_t begin, std::int64_t end) const {
    for (std::int64_t t = begin; t < end; ++t) {
      const TokenId token = batch.token_ids.as<std::int32_t>()[t];
      const std::int32_t position = batch.positions.as<std::int32_t>()[t];
      float before = 0;
      if (position > 0) {
        before = entry(caches[1].v, slot_of(batch, 1, b, position - 1), options_.block_size)[0];
      }
      float* k = entry(caches[0].k, slot_of_row(batch, 0, t), options_.block_size);
      k[0] = static_cast<float>(token);
      k[1] = static_cast<float>(position);
      entry(caches[1].v, slot_of_row(batch, 1, t), options_.block_size)[0] = chained(before, token);
    }
  }

  std::int32_t slot_of_row(const ModelBatch& batch, int layer, std::int64_t t) const {
    return batch.places(window_of(layer)).slot_mapping.as<std::int32_t>()[t];
  }

  // Reads the context back; what is not where it should be becomes another token.
  void answer(const ModelBatch& batch, std::span<const KvLayerCache> caches, std::int64_t b,
              std::int64_t context_len, std::span<float> logits) const {
    const auto first_seen = [&](int layer) {
      const std::int64_t window = window_of(layer);
      return window > 0 ? std::max<std::int64_t>(context_len - window, 0) : 0;
    };
    std::vector<TokenId> context;
    float hash = 0;
    for (std::int64_t p = first_seen(0); p < context_len; ++p) {
      const float* k = entry(caches[0].k, slot_of(batch, 0, b, p), options_.block_size);
      auto token = static_cast<TokenId>(k[0]);
      hash = chained(hash, token);
      if (p >= first_seen(1)) {
        const float kept = entry(caches[1].v, slot_of(batch, 1, b, p), options_.block_size)[0];
        hash = p > 0 && p == first_seen(0) ? kept : hash;  // all that it can know of what is before
        token = kept == hash ? token : -2 - token;
      }
      context.push_back(k[1] == static_cast<float>(p) ? token : -2 - token);
    }
    if (options_.is_all_windowed) {
      context.insert(context.begin(), static_cast<TokenId>(hash));
    }
    if (options_.script) {
      options_.script(context, logits);
    } else {
      hash_logits(context, logits);
    }
  }

  Options options_;
  ModelFacts facts_;
};

}  // namespace plumb
