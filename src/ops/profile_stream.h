// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "ops/cost.h"
#include "ops/op_table.h"
#include "tensor/device.h"

namespace plumb {

/// One call of an op as it was.
struct OpCall {
  std::string_view op;  ///< a name of the op list
  Clock::TimePoint begin;
  Clock::TimePoint end;
  Cost cost;
  // Of a product: the first weight's format, its inputs, the outputs of all weights; else 0.
  DType dtype = DType::kF32;
  std::int64_t k = 0;
  std::int64_t n = 0;
};

/// Times every op that another stream computes. To be used with profiled_ops() in place of the ops
/// of that stream's back end; whoever does not profile uses those, so that there is no cost at all.
///
/// Requires  ops that are done when their call returns and index arrays that the host can read: the
///           cost of attention is counted from the lengths of its sequences.
/// Ownership ops and clock outlive it.
/// Thread    that of the stream.
/// Cost      two looks at the clock and a record of about 100 bytes a call; allocates when there
///           are more calls than ever before.
class ProfileStream final : public Stream {
 public:
  ProfileStream(std::unique_ptr<Stream> inner, const OpTable& ops, const Clock& clock)
      : inner_(std::move(inner)), ops_(ops), clock_(clock) {}

  Status poll() override { return inner_->poll(); }

  Status synchronize() override { return inner_->synchronize(); }

  /// Since clear(), in order.
  std::span<const OpCall> calls() const { return calls_; }

  void clear() { calls_.clear(); }

 private:
  friend struct ProfiledCall;

  std::unique_ptr<Stream> inner_;
  const OpTable& ops_;
  const Clock& clock_;
  std::vector<OpCall> calls_;
};

/// Ops for a ProfileStream: each calls the op of the same name that the stream was made with.
OpTable profiled_ops();

}  // namespace plumb
