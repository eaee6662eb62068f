// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/aho_corasick.h"
#include "tokenizer/fragment.h"

namespace plumb {

/// An entry of `added_tokens` in a tokenizer.json.
struct AddedToken {
  TokenId id = kNoToken;
  std::string content;
  bool special = false;      ///< a control token
  bool lstrip = false;       ///< eats white space before it
  bool rstrip = false;       ///< eats white space after it
  bool single_word = false;  ///< counts only between characters that are no word characters
  bool normalized = false;   ///< matched in the normalised text
};

/// Cuts text at added tokens by the rule of the `tokenizers` package: the leftmost match, of
/// several the longest; a match that may not count is passed over as a whole. Tokens that are not
/// `normalized` go first; what they leave is searched for the others piece by piece.
/// Thread: any (immutable). Cost: O(bytes * longest token).
class AddedTokenSplitter final : public FragmentSplitter {
 public:
  explicit AddedTokenSplitter(const std::vector<AddedToken>& tokens);

  void split(std::string_view text, const SpecialPolicy& policy,
             std::vector<Fragment>* out) const override;

  /// True if the text contains the text of a special token.
  bool has_special(std::string_view text) const;

 private:
  class Pass {
   public:
    explicit Pass(std::vector<AddedToken> tokens);

    // piece begins at byte `offset` of the text that the policy speaks of.
    void split(std::string_view piece, std::size_t offset, const SpecialPolicy& policy,
               std::vector<Fragment>* out) const;

    bool has_special(std::string_view text) const;

   private:
    const AddedToken* longest_at(std::string_view text, std::size_t begin) const;

    std::vector<AddedToken> tokens_;
    AhoCorasick automaton_;
  };

  Pass first_;
  Pass second_;
};

}  // namespace plumb
