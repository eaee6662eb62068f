// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "tokenizer/regex.h"

namespace plumb {

/// One rewriting of text before it is cut. Thread: any (immutable).
class NormalizerStep {
 public:
  NormalizerStep() = default;
  NormalizerStep(const NormalizerStep&) = delete;
  NormalizerStep& operator=(const NormalizerStep&) = delete;
  virtual ~NormalizerStep() = default;

  /// Rewrites *text in place. Keeps valid UTF-8 valid.
  virtual void apply(std::string* text, RegexScratch* scratch) const = 0;
};

/// The `normalizer` of a tokenizer.json.
class Normalizer {
 public:
  /// Accepts null. Errors: kInvalidArgument for a malformed entry, kUnsupported for an unknown
  /// type.
  static Result<Normalizer> create(const Json& config);

  Normalizer() = default;

  bool empty() const { return steps_.empty(); }

  void apply(std::string* text, RegexScratch* scratch) const;

 private:
  std::vector<std::unique_ptr<const NormalizerStep>> steps_;
};

}  // namespace plumb
