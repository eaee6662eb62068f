// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pre_tokenizer.h"

#include <utility>

namespace plumb {
namespace {

void cut_piece(const Regex& regex, std::string_view piece, RegexScratch* scratch,
               std::vector<std::string_view>* out) {
  std::size_t done = 0;
  while (done < piece.size()) {
    const auto match = regex.find(piece, done, scratch);
    if (!match) {
      break;
    }
    if (done < match->begin) {
      out->push_back(piece.substr(done, match->begin - done));
    }
    out->push_back(piece.substr(match->begin, match->end - match->begin));
    done = match->end;
  }
  if (done < piece.size()) {
    out->push_back(piece.substr(done));
  }
}

}  // namespace

Result<PreTokenizer> PreTokenizer::create(const std::vector<std::string_view>& patterns) {
  PreTokenizer result;
  for (const std::string_view pattern : patterns) {
    PLUMB_ASSIGN(Regex regex, Regex::compile(pattern));
    result.steps_.push_back(std::move(regex));
  }
  return result;
}

void PreTokenizer::split(std::string_view text, SplitScratch* scratch) const {
  scratch->pieces.clear();
  if (!text.empty()) {
    scratch->pieces.push_back(text);
  }
  for (const Regex& step : steps_) {
    scratch->cut.clear();
    for (const std::string_view piece : scratch->pieces) {
      cut_piece(step, piece, &scratch->regex, &scratch->cut);
    }
    std::swap(scratch->pieces, scratch->cut);
  }
}

}  // namespace plumb
