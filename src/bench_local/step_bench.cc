// SPDX-License-Identifier: Apache-2.0
#include "bench_local/step_bench.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/rng.h"
#include "base/text.h"
#include "engine/dry_run.h"
#include "engine/host_memory.h"
#include "engine/step_runner.h"

namespace plumb {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kFillTokens = 512;  // of a step that fills the cache

struct SceneSizes {
  StepSizes step;
  std::int64_t seq_tokens = 0;  ///< of each sequence, at most
  std::int64_t seq_blocks = 0;
  std::int64_t workspace_bytes = 0;
};

Result<SceneSizes> choose_scene_sizes(const StepBenchParts& parts,
                                      const StepBenchOptions& options) {
  const std::int64_t most = parts.model.facts().max_context_len;
  if (options.depth + 1 > most || options.input_len > most) {
    return Status{Code::kInvalidArgument,
                  "--depth " + std::to_string(options.depth) + " or --input-len " +
                      std::to_string(options.input_len) + " is beyond the context of the model, " +
                      std::to_string(most) + " tokens"};
  }
  const KvLayout layout = parts.model.kv_layout();
  SceneSizes sizes;
  sizes.seq_tokens = std::max(options.depth + 1, options.input_len);
  sizes.seq_blocks = num_blocks_for(sizes.seq_tokens, layout.block_size);
  sizes.step = {.num_tokens = std::max(
                    {options.input_len, options.batch, std::min(options.depth, kFillTokens)}),
                .num_seqs = options.batch,
                .num_logits = options.batch,
                .num_blocks = sizes.seq_blocks,
                .has_window = layout.window() > 0};
  sizes.workspace_bytes =
      dry_run(parts.model, parts.meta, sizes.step, sizes.seq_tokens).workspace_bytes;
  const std::int64_t needed =
      2 * sizes.workspace_bytes + options.batch * sizes.seq_blocks * layout.bytes_per_block();
  const std::optional<std::int64_t> available = available_host_bytes();
  if (available.has_value() && needed > *available) {
    return Status{Code::kResourceExhausted,
                  "the steps need " + bytes_to_text(static_cast<std::uint64_t>(needed)) + ", " +
                      bytes_to_text(static_cast<std::uint64_t>(*available)) +
                      " of memory are available; lower --batch, --depth or --input-len"};
  }
  return sizes;
}

/// Sequences with their place in a cache, and what computes steps of them, twice: as the engine
/// does, and with every op timed.
class StepScene {
 public:
  static Result<std::unique_ptr<StepScene>> create(const StepBenchParts& parts,
                                                   const StepBenchOptions& options) {
    PLUMB_ASSIGN(const SceneSizes sizes, choose_scene_sizes(parts, options));
    const std::int64_t num_blocks = options.batch * sizes.seq_blocks;
    Allocator& allocator = parts.backend.allocator();
    PLUMB_ASSIGN(std::unique_ptr<KvCache> cache,
                 KvCache::create(parts.model.kv_layout(),
                                 {.num_blocks = num_blocks,
                                  .num_window_blocks = sizes.step.has_window ? num_blocks : 0,
                                  .prefix_cache = false},
                                 allocator));
    PLUMB_ASSIGN(StepBatch batch,
                 StepBatch::create(sizes.step, parts.model.kv_layout().block_size, nullptr));
    PLUMB_ASSIGN(Workspace plain, Workspace::create(allocator, sizes.workspace_bytes));
    PLUMB_ASSIGN(Workspace profiled, Workspace::create(allocator, sizes.workspace_bytes));
    return std::unique_ptr<StepScene>(new StepScene(parts, options, sizes, std::move(cache),
                                                    std::move(batch), std::move(plain),
                                                    std::move(profiled)));
  }

  /// Fills the cache with `depth` tokens of each sequence.
  Status fill(std::int64_t depth) {
    const std::int64_t chunk = std::min(sizes_.step.num_tokens, kFillTokens);
    for (std::int64_t seq = 0; seq < std::ssize(sequences_); ++seq) {
      for (std::int64_t begin = 0; begin < depth; begin += chunk) {
        arrange(seq, begin, std::min(chunk, depth - begin));
        PLUMB_RETURN_IF_ERROR(run(false));
      }
    }
    return {};
  }

  void arrange_decode(std::int64_t depth) {
    job_.clear();
    for (std::int64_t seq = 0; seq < std::ssize(sequences_); ++seq) {
      add(seq, depth, 1);
    }
    job_.batch.lay_out();
  }

  void arrange(std::int64_t seq, std::int64_t position, std::int64_t count) {
    job_.clear();
    add(seq, position, count);
    job_.batch.lay_out();
  }

  Status run(bool profiled) {
    profile_->clear();
    (profiled ? profiled_ : plain_).run(job_);
    return job_.status;
  }

  const StepJob& job() const { return job_; }

  const ProfileStream& profile() const { return *profile_; }

 private:
  StepScene(const StepBenchParts& parts, const StepBenchOptions& options, const SceneSizes& sizes,
            std::unique_ptr<KvCache> cache, StepBatch batch, Workspace plain, Workspace profiled)
      : sizes_(sizes),
        cache_(std::move(cache)),
        job_(std::move(batch), sizes.step),
        plain_(parts.model, parts.ops, *cache_, std::move(plain), parts.backend.new_stream(),
               sampler(parts, sizes), parts.clock),
        profiled_(parts.model, profiled_table_, *cache_, std::move(profiled), profile_stream(parts),
                  sampler(parts, sizes), parts.clock) {
    Rng rng(options.seed);
    for (std::int64_t i = 0; i < sizes.seq_tokens; ++i) {
      tokens_.push_back(static_cast<TokenId>(rng.below(parts.model.facts().vocab_size)));
    }
    for (std::int64_t i = 0; i < options.batch; ++i) {
      sequences_.push_back(std::make_unique<Sequence>());
      sequences_.back()->request.sampling.temperature = 0;
      cache_->grow(sizes.seq_tokens, &sequences_.back()->blocks);
    }
  }

  static StepSampler sampler(const StepBenchParts& parts, const SceneSizes& sizes) {
    return {parts.model.facts().vocab_size, sizes.step.num_logits, nullptr, parts.clock};
  }

  std::unique_ptr<Stream> profile_stream(const StepBenchParts& parts) {
    auto stream =
        std::make_unique<ProfileStream>(parts.backend.new_stream(), parts.ops, parts.clock);
    profile_ = stream.get();
    return stream;
  }

  void add(std::int64_t seq, std::int64_t position, std::int64_t count) {
    Sequence& sequence = *sequences_[static_cast<std::size_t>(seq)];
    job_.batch.add_seq(std::span(tokens_).subspan(static_cast<std::size_t>(position),
                                                  static_cast<std::size_t>(count)),
                       position, sequence.blocks.table, sequence.blocks.window.table);
    job_.batch.want_logits(count - 1);
    LogitsRow row;
    row.sequence = &sequence;
    row.context.params = &sequence.request.sampling;
    row.context.position = position + count;
    job_.rows.push_back(row);
  }

  SceneSizes sizes_;
  std::unique_ptr<KvCache> cache_;
  std::vector<TokenId> tokens_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // with blocks of the cache
  StepJob job_;
  const OpTable profiled_table_ = profiled_ops();
  ProfileStream* profile_ = nullptr;  // owned by profiled_
  StepRunner plain_;
  StepRunner profiled_;
};

Arithmetic arithmetic_of(const OpCall& call) {
  if (call.n == 0 || traits(call.dtype).block_elems == 1) {
    return Arithmetic::kFloat;
  }
  return call.dtype == DType::kQ13 ? Arithmetic::kInt16 : Arithmetic::kInt8;
}

std::string name_of(const OpCall& call) {
  std::string name(call.op);
  if (call.n > 0) {
    name += " " + std::string(traits(call.dtype).name) + " " + std::to_string(call.n) + "x" +
            std::to_string(call.k);
  }
  return name;
}

std::vector<OpTime> op_times(std::span<const OpCall> calls) {
  std::vector<OpTime> ops;
  for (const OpCall& call : calls) {
    const std::string name = name_of(call);
    auto op = std::find_if(ops.begin(), ops.end(),
                           [&](const OpTime& known) { return known.name == name; });
    if (op == ops.end()) {
      op = ops.insert(op, {.name = name, .arithmetic = arithmetic_of(call)});
    }
    ++op->num_calls;
    op->cost += call.cost;
    op->time += call.end - call.begin;
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [](const OpTime& a, const OpTime& b) { return a.time > b.time; });
  return ops;
}

StepProfiled profiled_run(const StepScene& scene) {
  const StepJob& job = scene.job();
  StepProfiled run;
  run.begin = job.begin;
  run.computed = job.computed;
  run.end = job.end;
  run.wall = job.end - job.begin;
  run.calls.assign(scene.profile().calls().begin(), scene.profile().calls().end());
  nanoseconds in_model{};
  for (const OpCall& call : run.calls) {
    run.in_ops += call.end - call.begin;
    in_model += call.end <= job.computed ? call.end - call.begin : nanoseconds(0);
  }
  run.between_ops = (job.computed - job.begin) - in_model;
  run.beside_model = (job.end - job.computed) - (run.in_ops - in_model);
  return run;
}

/// Measures the step that the scene has arranged.
Result<StepMeasured> measure_step(StepScene& scene, const StepBenchOptions& options,
                                  const std::function<void()>& on_round) {
  std::vector<nanoseconds> plain;
  std::vector<StepProfiled> profiled;
  for (std::int64_t round = -options.warmup; round < options.rounds; ++round) {
    PLUMB_RETURN_IF_ERROR(scene.run(false));
    if (round >= 0) {
      plain.push_back(scene.job().end - scene.job().begin);
    }
    if (options.profile) {
      PLUMB_RETURN_IF_ERROR(scene.run(true));
      if (round >= 0) {
        profiled.push_back(profiled_run(scene));
      }
    }
    on_round();
  }
  StepMeasured measured;
  measured.num_rows = scene.job().batch.num_tokens();
  measured.num_logits = scene.job().batch.num_logits();
  std::sort(plain.begin(), plain.end());
  measured.fastest = plain.front();
  measured.median = plain[(plain.size() - 1) / 2];
  measured.slowest = plain.back();
  if (options.profile) {
    std::sort(profiled.begin(), profiled.end(),
              [](const StepProfiled& a, const StepProfiled& b) { return a.wall < b.wall; });
    measured.profiled = std::move(profiled[(profiled.size() - 1) / 2]);
    measured.profiled->ops = op_times(measured.profiled->calls);
  }
  return measured;
}

}  // namespace

Result<StepBenchReport> run_step_bench(
    const StepBenchParts& parts, const StepBenchOptions& options,
    const std::function<void(std::int64_t, std::int64_t)>& progress) {
  PLUMB_ASSIGN(const std::unique_ptr<StepScene> scene, StepScene::create(parts, options));
  StepBenchReport report;
  report.options = options;
  std::int64_t done = 0;
  const std::int64_t total = 2 * (options.warmup + options.rounds);
  const auto on_round = [&] { progress(++done, total); };
  PLUMB_RETURN_IF_ERROR(scene->fill(options.depth));
  scene->arrange_decode(options.depth);
  PLUMB_ASSIGN(StepMeasured decode, measure_step(*scene, options, on_round));
  decode.name = "decode";
  decode.depth = options.depth;
  report.steps.push_back(std::move(decode));
  scene->arrange(0, 0, options.input_len);
  PLUMB_ASSIGN(StepMeasured prefill, measure_step(*scene, options, on_round));
  prefill.name = "prefill";
  report.steps.push_back(std::move(prefill));
  return report;
}

}  // namespace plumb
