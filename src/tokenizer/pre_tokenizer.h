// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/regex.h"
#include "tokenizer/split_rules.h"

namespace plumb {

/// Memory that one encode call reuses from fragment to fragment.
struct SplitScratch {
  RegexScratch regex;
  std::vector<std::string_view> pieces;
  std::vector<std::string_view> cut;
};

/// Cuts text into the pieces inside which a model may join symbols.
///
/// Each pattern scans every piece of the step before by itself; matches and the gaps between them
/// are the pieces of the next step. Nothing is lost: the pieces joined are the text.
/// Thread: any (immutable), with a scratch per thread.
class PreTokenizer {
 public:
  /// Errors: as Regex::compile.
  static Result<PreTokenizer> create(const std::vector<std::string_view>& patterns);

  /// Leaves the pieces in scratch->pieces. Requires text is valid UTF-8.
  void split(std::string_view text, SplitScratch* scratch) const;

 private:
  std::vector<Regex> steps_;
};

}  // namespace plumb
