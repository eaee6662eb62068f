// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/vocab.h"

namespace plumb {

/// A stretch of the input: a token that was found in the raw text, or text for the model.
struct Fragment {
  std::string_view text;
  TokenId token = kNoToken;  ///< kNoToken = text for the model
};

/// Bytes [begin, end) of the input.
struct ByteRange {
  std::size_t begin;
  std::size_t end;
};

/// Which special tokens of the text count.
struct SpecialPolicy {
  bool parse_special = false;         ///< control and unknown tokens are matched at all
  std::span<const ByteRange> data{};  ///< rising, disjoint; no special match may touch one
};

/// Cuts text at the tokens that are matched in it before the model runs. Thread: any (immutable).
class FragmentSplitter {
 public:
  FragmentSplitter() = default;
  FragmentSplitter(const FragmentSplitter&) = delete;
  FragmentSplitter& operator=(const FragmentSplitter&) = delete;
  virtual ~FragmentSplitter() = default;

  /// Appends the fragments in order; the views are into text.
  virtual void split(std::string_view text, const SpecialPolicy& policy,
                     std::vector<Fragment>* out) const = 0;
};

/// True if [begin, end) may be read as a special token.
bool allows_special(const SpecialPolicy& policy, std::size_t begin, std::size_t end);

/// Bytes of ASCII white space at the front of text.
std::size_t ascii_space_len(std::string_view text);

}  // namespace plumb
