// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace plumb {

/// Defaults that go with the name of a pre-tokenizer; keys of the model file override them.
struct SplitFlags {
  bool ignore_merges = false;  ///< a piece that is a token is taken whole
  bool add_bos = false;
  bool clean_spaces = false;  ///< a whole decoded text gets its spaces before punctuation removed
  bool no_bos = false;        ///< the vocabulary has no BOS token unless the file names one
};

/// How a named pre-tokenizer cuts text: each pattern in turn cuts the pieces of the one before.
struct SplitRule {
  std::vector<std::string_view> patterns;  ///< in the dialect of regex_dialect.h
  SplitFlags flags;
};

/// The rule that model files call `name` (`tokenizer.ggml.pre`), aliases included.
/// Errors: kUnsupported for an unknown name; a guess would give wrong ids without a sign of it.
Result<SplitRule> find_split_rule(std::string_view name);

/// All names find_split_rule knows.
std::vector<std::string_view> split_rule_names();

}  // namespace plumb
