// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "base/options.h"
#include "engine/dry_run.h"
#include "engine/engine_core.h"
#include "engine/host_memory.h"
#include "tensor/host_allocator.h"

namespace plumb {
namespace {

// Prompt tokens of one step whose log probabilities are computed.
constexpr std::int64_t kMaxLogitsTokens = 32;
// What the cache must hold where --min-context does not say it.
constexpr std::int64_t kMinContext = 512;

// The back end if the host cannot read its memory, else null.
Backend* device_of(const EngineParts& parts) {
  return &parts.backend->allocator() == &host_allocator() ? nullptr : parts.backend;
}

StepLimits step_limits(const EngineOptions& options, const KvLayout& layout) {
  const std::int64_t block_size = layout.block_size;
  StepLimits limits;
  limits.window = layout.window();
  limits.max_num_seqs = options.max_num_seqs;
  limits.max_num_tokens = options.chunk_tokens;
  limits.merge_tokens = options.merge_tokens > 0 ? options.merge_tokens
                                                 : std::max(block_size, options.chunk_tokens / 16);
  limits.max_num_partials = options.max_partial_prefills;
  limits.max_logits_tokens = kMaxLogitsTokens;
  limits.block_size = block_size;
  const SchedulerOptions& scheduler = options.scheduler;
  limits.mixing = scheduler.mixing;
  limits.step_target = scheduler.itl_target;
  const bool displaces = uses_priority(scheduler.schedule_policy) && scheduler.priority_preemption;
  limits.displace_threshold = displaces ? scheduler.priority_preemption_threshold : -1;
  limits.skip_ahead = scheduler.skip_ahead;
  limits.simulates_completion = scheduler.kv_admission == AdmissionKind::kSimulation;
  const double spare = static_cast<double>(block_size) * std::min(options.kv_conservativeness, 1.0);
  limits.completion_spare = std::max<std::int64_t>(std::llround(spare), 1);
  return limits;
}

std::unique_ptr<AdmissionPolicy> make_admission(const EngineOptions& options) {
  if (options.scheduler.kv_admission == AdmissionKind::kRatio) {
    return std::make_unique<RatioAdmission>(options.kv_conservativeness);
  }
  return std::make_unique<LearnedAdmission>(options.kv_conservativeness);
}

Status missing(const OpTable& ops, std::vector<std::string_view> needed) {
  needed.push_back("argmax");
  std::string names;
  for (const std::string_view name : missing_ops(ops)) {
    if (std::find(needed.begin(), needed.end(), name) != needed.end()) {
      names += " " + std::string(name);
    }
  }
  return names.empty() ? Status()
                       : Status{Code::kUnsupported, "the back end lacks the operators" + names};
}

}  // namespace

struct EngineCore::Sizes {
  StepLimits limits;
  StepSizes step;
  std::int64_t max_context_len = 0;
  MemoryPlan memory;
  std::vector<std::string_view> ops;  // that the model calls
};

Status EngineCore::check_parts(const EngineOptions& options, const EngineParts& parts) {
  PLUMB_CHECK(parts.model && parts.backend != nullptr && parts.clock != nullptr,
              "an engine without model, back end or clock");
  EngineOptions copy = options;
  PLUMB_RETURN_IF_ERROR(join_violations(validate_options(bind_options(copy))));
  PLUMB_RETURN_IF_ERROR(join_violations(validate_options(bind_options(copy.scheduler))));
  PLUMB_RETURN_IF_ERROR(validate(options.scheduler));
  PLUMB_RETURN_IF_ERROR(join_violations(validate_options(bind_options(copy.tiers))));
  PLUMB_RETURN_IF_ERROR(TieredCache::check(options));
  const ModelFacts& facts = parts.model->facts();
  for (const TokenId token : parts.end_tokens) {
    if (token < 0 || token >= facts.vocab_size) {
      return {Code::kInvalidArgument, "end-of-generation token " + std::to_string(token) +
                                          " is not in the vocabulary of " +
                                          std::to_string(facts.vocab_size)};
    }
  }
  return {};
}

EngineCore::Sizes EngineCore::choose_sizes(const EngineOptions& options, const Model& model) {
  Sizes sizes;
  const KvLayout layout = model.kv_layout();
  sizes.limits = step_limits(options, layout);
  sizes.max_context_len =
      options.max_context > 0 ? options.max_context : model.facts().max_context_len;
  sizes.step = {.num_tokens = sizes.limits.max_step_tokens(),
                .num_seqs = options.max_num_seqs,
                .num_logits = sizes.limits.max_step_logits(),
                .num_blocks = num_blocks_for(sizes.max_context_len, layout.block_size),
                .has_window = layout.window() > 0};
  return sizes;
}

Result<EngineCore::Sizes> EngineCore::measure(const EngineOptions& options, const Model& model,
                                              const OpTable& meta_ops,
                                              std::optional<std::int64_t> free_host_bytes) {
  if (options.max_context > model.facts().max_context_len) {
    return Status{Code::kInvalidArgument, "--max-context: " + std::to_string(options.max_context) +
                                              ", the model was trained for " +
                                              std::to_string(model.facts().max_context_len)};
  }
  Sizes sizes = choose_sizes(options, model);
  if (options.min_context > sizes.max_context_len) {
    return Status{Code::kInvalidArgument,
                  "--min-context: " + std::to_string(options.min_context) +
                      ", a request has at most " + std::to_string(sizes.max_context_len) +
                      " tokens (--max-context, or what the model was trained for)"};
  }
  DryRun dry = dry_run(model, meta_ops, sizes.step, sizes.max_context_len);
  sizes.ops = std::move(dry.ops);
  const KvLayout layout = model.kv_layout();
  MemoryNeeds needs;
  needs.free_bytes = free_host_bytes;
  needs.weight_bytes = model.facts().weight_bytes;
  needs.mapped_weight_bytes = free_host_bytes.has_value() ? model.facts().weight_bytes : 0;
  needs.workspace_bytes = dry.workspace_bytes;
  needs.block_bytes = layout.bytes_per_block(false);
  needs.window_block_bytes = layout.bytes_per_block(true);
  needs.window = layout.window();
  needs.num_seqs = options.max_num_seqs;
  needs.step_tokens = sizes.limits.max_step_tokens();
  needs.block_size = layout.block_size;
  needs.max_useful_tokens = options.max_num_seqs * sizes.max_context_len;
  needs.kv_cache_bytes = options.kv_cache_bytes;
  needs.reserve_bytes = options.memory_reserve_bytes + TieredCache::host_bytes(options);
  needs.min_context =
      options.min_context > 0 ? options.min_context : std::min(kMinContext, sizes.max_context_len);
  PLUMB_ASSIGN(sizes.memory, plan_memory(needs));
  return sizes;
}

Result<MemoryPlan> EngineCore::plan(const EngineOptions& options, const Model& model,
                                    const OpTable& meta_ops,
                                    std::optional<std::int64_t> free_host_bytes) {
  PLUMB_ASSIGN(const Sizes sizes, measure(options, model, meta_ops, free_host_bytes));
  return sizes.memory;
}

Result<std::unique_ptr<EngineCore>> EngineCore::create(const EngineOptions& options,
                                                       EngineParts parts) {
  PLUMB_RETURN_IF_ERROR(check_parts(options, parts));
  const Model& model = *parts.model;
  Backend* const device = device_of(parts);
  const OpTable no_ops;
  PLUMB_ASSIGN(const Sizes sizes,
               measure(options, model, parts.meta_ops != nullptr ? *parts.meta_ops : no_ops,
                       device == nullptr ? available_host_bytes() : std::nullopt));
  PLUMB_RETURN_IF_ERROR(missing(parts.ops, sizes.ops));
  const KvLayout layout = model.kv_layout();
  Allocator& allocator = parts.backend->allocator();
  PLUMB_ASSIGN(Workspace workspace, Workspace::create(allocator, sizes.memory.workspace_bytes));
  PLUMB_ASSIGN(std::unique_ptr<KvCache> cache,
               KvCache::create(layout,
                               {.num_blocks = sizes.memory.num_blocks,
                                .num_window_blocks = sizes.memory.num_window_blocks,
                                .prefix_cache = options.prefix_cache,
                                .evict_policy = options.evict_policy,
                                .record_events = options.kv_events},
                               allocator));
  PLUMB_ASSIGN(StepBatch batch, StepBatch::create(sizes.step, layout.block_size, device));
  PLUMB_ASSIGN(StepBatch batch_ahead, StepBatch::create(sizes.step, layout.block_size, device));
  std::unique_ptr<EngineCore> core(new EngineCore(
      options, std::move(parts), sizes, std::move(cache), std::move(workspace),
      {StepJob(std::move(batch), sizes.step), StepJob(std::move(batch_ahead), sizes.step)}));
  PLUMB_RETURN_IF_ERROR(core->create_tiers());
  return core;
}

EngineCore::EngineCore(const EngineOptions& options, EngineParts parts, const Sizes& sizes,
                       std::unique_ptr<KvCache> cache, Workspace workspace,
                       std::array<StepJob, DeviceWorker::kMostSteps> jobs)
    : options_(options),
      parts_(std::move(parts)),
      model_facts_(parts_.model->facts()),
      request_limits_{parts_.model->facts().vocab_size, sizes.max_context_len,
                      sizes.memory.kv_tokens()},
      memory_plan_(sizes.memory),
      stream_(parts_.backend->new_copy_stream()),
      cache_(std::move(cache)),
      jobs_(std::move(jobs)),
      runner_(*parts_.model, parts_.ops, *cache_, std::move(workspace),
              parts_.backend->new_stream(),
              StepSampler(parts_.model->facts().vocab_size, sizes.step.num_logits,
                          device_of(parts_), *parts_.clock),
              *parts_.clock),
      planner_(
          sizes.limits,
          make_schedule_policy(options.scheduler.schedule_policy, options.scheduler.priority_aging),
          make_least_recompute(), make_admission(options)),
      queues_(parse_tenant_weights(options.scheduler.tenant_weights).value()),
      window_(planner_, *cache_, queues_),
      mask_(static_cast<std::size_t>((parts_.model->facts().vocab_size + 31) / 32)),
      worker_([this](StepJob& job) { runner_.run(job); }) {
  const auto num_seqs = static_cast<std::size_t>(options.max_num_seqs);
  num_fitting_ = options.max_num_seqs;
  if (options.kv_events) {
    // Numbers go on rising over restarts, so that a reader that comes back is told of the gap.
    const auto now = parts_.clock->wall_now().time_since_epoch();
    events_ = std::make_unique<KvEventLog>(
        KvEventLog::Limits{}, std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  }
  running_snapshots_.reserve(num_seqs);
}

}  // namespace plumb
