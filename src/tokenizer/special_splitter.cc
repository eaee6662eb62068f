// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/special_splitter.h"

#include <algorithm>

namespace plumb {
namespace {

bool is_matched_in_text(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUnknown ||
         type == TokenType::kUserDefined;
}

}  // namespace

SpecialSplitter::SpecialSplitter(const Vocab& vocab, const std::vector<TokenId>& eats_space) {
  std::vector<std::string_view> patterns;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const TokenType type = vocab.type(id);
    if (!is_matched_in_text(type) || vocab.text(id).empty()) {
      continue;
    }
    patterns.push_back(vocab.text(id));
    const bool eats = std::find(eats_space.begin(), eats_space.end(), id) != eats_space.end();
    tokens_.push_back({id, type != TokenType::kUserDefined, eats});
  }
  automaton_ = AhoCorasick(patterns);
}

// The longest token at or below `match` that may count; kNone if there is none.
std::int32_t SpecialSplitter::first_allowed(std::int32_t match, std::size_t position,
                                            const SpecialPolicy& policy) const {
  for (; match != AhoCorasick::kNone; match = automaton_.shorter_match(match)) {
    const Token& token = tokens_[static_cast<std::size_t>(automaton_.pattern(match))];
    const std::size_t begin = position - static_cast<std::size_t>(automaton_.depth(match));
    if (!token.is_special || allows_special(policy, begin, position)) {
      break;
    }
  }
  return match;
}

std::vector<SpecialSplitter::End> SpecialSplitter::find_ends(std::string_view text,
                                                             const SpecialPolicy& policy) const {
  std::vector<End> ends;
  std::int32_t state = AhoCorasick::kRoot;
  for (std::size_t i = 0; i < text.size(); ++i) {
    state = automaton_.next(state, static_cast<unsigned char>(text[i]));
    const std::int32_t match = first_allowed(automaton_.match(state), i + 1, policy);
    if (match != AhoCorasick::kNone) {
      ends.push_back({i + 1, match});
    }
  }
  return ends;
}

// Takes the tokens of that length off the ends, in the order in which they are tried.
std::vector<SpecialSplitter::Candidate> SpecialSplitter::candidates_of_length(
    std::int32_t length, const SpecialPolicy& policy, std::vector<End>* ends) const {
  std::vector<Candidate> found;
  for (End& end : *ends) {
    if (automaton_.depth(end.match) != length) {
      continue;
    }
    const Token& token = tokens_[static_cast<std::size_t>(automaton_.pattern(end.match))];
    found.push_back({token.id, end.position - static_cast<std::size_t>(length), token.eats_space});
    end.match = first_allowed(automaton_.shorter_match(end.match), end.position, policy);
  }
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.id != b.id ? a.id < b.id : a.begin < b.begin;
  };
  if (!std::is_sorted(found.begin(), found.end(), before)) {
    std::sort(found.begin(), found.end(), before);
  }
  return found;
}

std::vector<SpecialSplitter::Hit> SpecialSplitter::choose(std::string_view text,
                                                          const SpecialPolicy& policy) const {
  std::vector<Hit> hits;
  std::vector<End> ends = find_ends(text, policy);
  std::vector<bool> taken(ends.empty() ? 0 : text.size(), false);
  while (!ends.empty()) {
    std::int32_t length = 0;
    for (const End& end : ends) {
      length = std::max(length, automaton_.depth(end.match));
    }
    for (const Candidate& c : candidates_of_length(length, policy, &ends)) {
      const std::size_t token_end = c.begin + static_cast<std::size_t>(length);
      // What is taken was taken by tokens at least as long, so testing both ends is enough.
      if (taken[c.begin] || taken[token_end - 1]) {
        continue;
      }
      std::size_t end = token_end;
      if (c.eats_space) {
        const std::size_t limit = token_end + ascii_space_len(text.substr(token_end));
        while (end < limit && !taken[end]) {
          ++end;
        }
      }
      std::fill(taken.begin() + static_cast<std::ptrdiff_t>(c.begin),
                taken.begin() + static_cast<std::ptrdiff_t>(end), true);
      hits.push_back({c.begin, token_end, end, c.id});
    }
    const auto is_done = [&](const End& end) {
      return end.match == AhoCorasick::kNone || taken[end.position - 1];
    };
    ends.erase(std::remove_if(ends.begin(), ends.end(), is_done), ends.end());
  }
  return hits;
}

void SpecialSplitter::split(std::string_view text, const SpecialPolicy& policy,
                            std::vector<Fragment>* out) const {
  std::vector<Hit> hits;
  if (!automaton_.empty()) {
    hits = choose(text, policy);
  }
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.begin < b.begin; });
  std::size_t done = 0;
  for (const Hit& hit : hits) {
    if (done < hit.begin) {
      out->push_back({text.substr(done, hit.begin - done)});
    }
    out->push_back({text.substr(hit.begin, hit.token_end - hit.begin), hit.id});
    done = hit.end;
  }
  if (done < text.size()) {
    out->push_back({text.substr(done)});
  }
}

}  // namespace plumb
