// SPDX-License-Identifier: Apache-2.0
#include "engine/step_sampler.h"

#include <algorithm>
#include <cmath>

#include "sampling/logits_math.h"

namespace plumb {

StepSampler::StepSampler(std::int64_t vocab_size, std::int64_t max_rows, Backend* device,
                         const Clock& clock)
    : sampler_(vocab_size),
      device_(device),
      clock_(&clock),
      mask_(static_cast<std::size_t>((vocab_size + 31) / 32)) {
  const auto rows = static_cast<std::size_t>(max_rows);
  is_plain_.reserve(rows);
  argmax_.resize(rows);
  best_.resize(rows);
  if (device != nullptr) {
    row_.resize(static_cast<std::size_t>(vocab_size));
  }
}

Status StepSampler::choose(const Tensor& logits, std::span<const LogitsRow> rows, OpContext& op,
                           std::vector<Result<EmittedToken>>* results) {
  results->clear();
  find_plain_rows(rows);
  PLUMB_RETURN_IF_ERROR(run_argmax(logits, op));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_plain_[i] != 0) {
      if (argmax_[i] >= 0 && std::isfinite(best_[i])) {
        results->emplace_back(EmittedToken{argmax_[i], 0.0F, {}});
      } else {
        results->emplace_back(Status{Code::kInternal, "the model's logits are not numbers"});
      }
      continue;
    }
    PLUMB_ASSIGN(const void* row,
                 on_host(logits.rows(static_cast<std::int64_t>(i), 1), row_.data(), op.stream()));
    results->push_back(choose_row(
        {static_cast<const float*>(row), static_cast<std::size_t>(logits.dim(1))}, rows[i]));
  }
  return {};
}

void StepSampler::find_plain_rows(std::span<const LogitsRow> rows) {
  is_plain_.clear();
  for (const LogitsRow& row : rows) {
    const bool is_free = !row.is_prompt && !row.sequence->grammar;
    is_plain_.push_back(is_free && needs_only_argmax(row.context) ? 1 : 0);
  }
}

// One call of the op for each run of neighbouring plain rows.
Status StepSampler::run_argmax(const Tensor& logits, OpContext& op) {
  const auto num_rows = std::ssize(is_plain_);
  std::int64_t begin = 0;
  while (begin < num_rows) {
    std::int64_t end = begin;
    while (end < num_rows && is_plain_[static_cast<std::size_t>(end)] != 0) {
      ++end;
    }
    if (end == begin) {
      ++begin;
      continue;
    }
    const Workspace::Mark mark(op.workspace());
    Argmax args;
    args.x = logits.rows(begin, end - begin);
    args.y = op.workspace().allocate(DType::kI32, {end - begin});
    args.best = op.workspace().allocate(DType::kF32, {end - begin});
    op.ops().argmax(args, op.stream());
    const auto at = static_cast<std::size_t>(begin);
    PLUMB_ASSIGN(const void* ids, on_host(args.y, &argmax_[at], op.stream()));
    PLUMB_ASSIGN(const void* best, on_host(args.best, &best_[at], op.stream()));
    if (device_ == nullptr) {
      std::copy_n(static_cast<const std::int32_t*>(ids), end - begin, &argmax_[at]);
      std::copy_n(static_cast<const float*>(best), end - begin, &best_[at]);
    }
    begin = end;
  }
  return {};
}

Result<const void*> StepSampler::on_host(const Tensor& tensor, void* staging, Stream& stream) {
  if (device_ == nullptr) {
    return tensor.address;
  }
  device_->copy(staging, tensor.address, tensor.num_elements() * 4, stream);
  PLUMB_RETURN_IF_ERROR(stream.synchronize());
  return staging;
}

Status StepSampler::fill_mask(Sequence& seq) {
  const Clock::TimePoint begin = clock_->now();
  Status status = seq.grammar->fill_mask(seq.ends, mask_);
  mask_times_.add(clock_->now() - begin);
  return status;
}

Result<EmittedToken> StepSampler::choose_row(std::span<const float> logits, const LogitsRow& row) {
  if (!row.is_prompt) {
    SampleContext context = row.context;
    if (row.sequence->grammar) {
      PLUMB_RETURN_IF_ERROR(fill_mask(*row.sequence));
      context.mask = mask_;
    }
    return sampler_.sample(logits, context);
  }
  const LogitsSummary summary = summarize(logits);
  if (!summary.is_valid) {
    return Status{Code::kInternal, "the model's logits are not numbers"};
  }
  EmittedToken known =
      logprobs_of(logits, summary.max, row.known, row.context.params->prompt_top_logprobs);
  known.rank = rank_of(logits, row.known);
  return known;
}

}  // namespace plumb
