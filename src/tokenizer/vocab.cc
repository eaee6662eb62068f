// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/vocab.h"

#include <string>

namespace plumb {
namespace {

constexpr std::size_t kMaxTokens = std::size_t{1} << 24;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return -1;
}

Status check_length(const char* what, std::size_t length, std::size_t num_tokens) {
  if (length == 0 || length == num_tokens) {
    return {};
  }
  return {Code::kInvalidArgument, std::string("vocabulary has ") + std::to_string(num_tokens) +
                                      " tokens but " + std::to_string(length) + " " + what};
}

}  // namespace

Result<Vocab> Vocab::create(const std::vector<std::string>& texts, std::vector<float> scores,
                            std::vector<TokenType> types) {
  if (texts.empty() || texts.size() > kMaxTokens) {
    return Status{Code::kInvalidArgument, "vocabulary has " + std::to_string(texts.size()) +
                                              " tokens, expected 1 to " +
                                              std::to_string(kMaxTokens)};
  }
  PLUMB_RETURN_IF_ERROR(check_length("scores", scores.size(), texts.size()));
  PLUMB_RETURN_IF_ERROR(check_length("token types", types.size(), texts.size()));
  Vocab vocab;
  vocab.table_.reserve(static_cast<std::int64_t>(texts.size()));
  for (const std::string& text : texts) {
    vocab.table_.append(text);
  }
  scores.resize(texts.size(), 0.0F);
  types.resize(texts.size(), TokenType::kNormal);
  vocab.scores_ = std::move(scores);
  vocab.types_ = std::move(types);
  return vocab;
}

std::vector<TokenId> Vocab::byte_tokens() const {
  std::vector<TokenId> ids(256, kNoToken);
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string text = "<0x00>";
  for (std::size_t byte = 0; byte < ids.size(); ++byte) {
    text[3] = kHex[byte >> 4];
    text[4] = kHex[byte & 15];
    ids[byte] = find(text);
  }
  return ids;
}

int parse_byte_token(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') {
    return -1;
  }
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace plumb
