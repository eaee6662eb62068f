// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/token_id.h"
#include "tokenizer/string_table.h"

namespace plumb {

/// What a token is for; the numbers are those of model files.
enum class TokenType : unsigned char {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      ///< never produced from user text
  kUserDefined = 4,  ///< matched in the raw text before the model runs
  kUnused = 5,
  kByte = 6,  ///< written <0xNN>
};

constexpr TokenId kNoToken = -1;

/// The tokens of a model as its file lists them. Thread: any (immutable).
class Vocab {
 public:
  /// Errors: kInvalidArgument if there is no token, more than 2^24, or a list that is not empty
  /// has another length than texts. Empty scores mean 0, empty types mean normal.
  static Result<Vocab> create(const std::vector<std::string>& texts, std::vector<float> scores,
                              std::vector<TokenType> types);

  std::int32_t size() const { return table_.size(); }

  bool contains(TokenId id) const { return id >= 0 && id < size(); }

  /// Requires contains(id), as for the next two.
  std::string_view text(TokenId id) const { return table_.text(id); }

  TokenType type(TokenId id) const { return types_[static_cast<std::size_t>(id)]; }

  float score(TokenId id) const { return scores_[static_cast<std::size_t>(id)]; }

  /// The token with that text (the last one if several have it), or kNoToken.
  TokenId find(std::string_view text) const { return table_.find(text); }

  std::size_t longest() const { return table_.longest(); }  ///< bytes of the longest text

  /// The 256 byte tokens `<0xNN>` by byte; kNoToken where the vocabulary has none.
  std::vector<TokenId> byte_tokens() const;

 private:
  StringTable table_;
  std::vector<float> scores_;
  std::vector<TokenType> types_;
};

/// The byte of a text of the form <0xNN>, or -1.
int parse_byte_token(std::string_view text);

}  // namespace plumb
