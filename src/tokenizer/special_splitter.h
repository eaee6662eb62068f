// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/aho_corasick.h"
#include "tokenizer/fragment.h"

namespace plumb {

/// Cuts text at the special and user-defined tokens of a GGUF vocabulary.
///
/// The rule: in order of falling length (then rising id) each token takes, left to right, every
/// occurrence that is still free. User-defined tokens always count, control and unknown ones as
/// the policy says. Thread: any (immutable).
/// Cost: O(bytes * number of different lengths that occur), no more than 8 bytes of memory per
/// position at which a token ends.
class SpecialSplitter final : public FragmentSplitter {
 public:
  /// eats_space lists the tokens after which ASCII white space is dropped.
  SpecialSplitter(const Vocab& vocab, const std::vector<TokenId>& eats_space);

  void split(std::string_view text, const SpecialPolicy& policy,
             std::vector<Fragment>* out) const override;

 private:
  struct Token {
    TokenId id;
    bool is_special;
    bool eats_space;
  };

  struct Hit {  // an occurrence that was accepted; end includes dropped white space
    std::size_t begin;
    std::size_t token_end;
    std::size_t end;
    TokenId id;
  };

  struct Candidate {
    TokenId id;
    std::size_t begin;
    bool eats_space;
  };

  struct End {  // a position at which tokens end, and the longest of them not yet tried
    std::size_t position;
    std::int32_t match;
  };

  std::int32_t first_allowed(std::int32_t match, std::size_t position,
                             const SpecialPolicy& policy) const;
  std::vector<End> find_ends(std::string_view text, const SpecialPolicy& policy) const;
  std::vector<Hit> choose(std::string_view text, const SpecialPolicy& policy) const;
  std::vector<Candidate> candidates_of_length(std::int32_t length, const SpecialPolicy& policy,
                                              std::vector<End>* ends) const;

  AhoCorasick automaton_;
  std::vector<Token> tokens_;  // by pattern of the automaton
};

}  // namespace plumb
