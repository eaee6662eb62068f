// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <algorithm>

#include "base/text.h"
#include "tokenizer/byte_map.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/space_cleaner.h"
#include "tokenizer/tokenizer_parts.h"

namespace plumb {
namespace {

// Positions inside one fragment are 32-bit numbers.
constexpr std::size_t kMaxFragment = std::size_t{1} << 30;

void encode_fragment(const TextModel& model, std::string_view text, FragmentContext context,
                     EncodeScratch* scratch, std::vector<TokenId>* out) {
  while (!text.empty()) {
    const std::size_t len = complete_utf8_len(text.substr(0, kMaxFragment));
    model.encode(text.substr(0, len), context, scratch, out);
    text.remove_prefix(len);
    context.is_first = false;
  }
}

// Whether the model may match special tokens in bytes [begin, end), where after normalisation data
// and template can no longer be told apart.
bool may_match_special(const TextModel& model, std::string_view text,
                       std::span<const ByteRange> data, std::size_t begin, std::size_t end) {
  return std::none_of(data.begin(), data.end(), [&](const ByteRange& range) {
    return range.begin < end && range.end > begin && model.can_make_special(text, range);
  });
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts)
    : parts_(std::make_unique<const TokenizerParts>(std::move(parts))) {}

Tokenizer::~Tokenizer() = default;

std::vector<TokenId> Tokenizer::encode_text(std::string_view text, bool add_special,
                                            bool parse_special,
                                            std::span<const ByteRange> data) const {
  std::vector<TokenId> ids;
  if (add_special) {
    ids = parts_->prefix;
  }
  std::vector<Fragment> fragments;
  parts_->splitter->split(text, {parse_special, data}, &fragments);
  EncodeScratch scratch;
  for (const Fragment& fragment : fragments) {
    if (fragment.token != kNoToken) {
      ids.push_back(fragment.token);
      continue;
    }
    const auto begin = static_cast<std::size_t>(fragment.text.data() - text.data());
    const std::size_t end = begin + fragment.text.size();
    const bool allow_special =
        parse_special && may_match_special(*parts_->model, text, data, begin, end);
    encode_fragment(*parts_->model, fragment.text, {begin == 0, allow_special}, &scratch, &ids);
  }
  if (add_special) {
    ids.insert(ids.end(), parts_->suffix.begin(), parts_->suffix.end());
  }
  return ids;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  if (is_valid_utf8(text)) {
    return encode_text(text, options.add_special, options.parse_special, {});
  }
  return encode_text(to_valid_utf8(text), options.add_special, options.parse_special, {});
}

std::vector<TokenId> Tokenizer::encode_segments(std::span<const Segment> segments,
                                                bool add_special) const {
  std::string text;
  std::vector<ByteRange> data;
  for (const Segment& segment : segments) {
    const std::size_t begin = text.size();
    text.append(is_valid_utf8(segment.text) ? segment.text : to_valid_utf8(segment.text));
    if (!segment.is_literal && begin < text.size()) {
      data.push_back({begin, text.size()});
    }
  }
  return encode_text(text, add_special, true, data);
}

std::string Tokenizer::decode(std::span<const TokenId> ids, const DecodeOptions& options) const {
  Detokenizer detokenizer(*this, {options.skip_special, options.at_text_start});
  std::string text;
  for (const TokenId id : ids) {
    detokenizer.push(id, &text);
  }
  detokenizer.flush(&text);
  return options.clean_spaces && parts_->clean_spaces ? clean_spaces(text) : text;
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  return parts_->vocab->contains(id) ? parts_->bytes[static_cast<std::size_t>(id)]
                                     : std::string_view();
}

std::string_view Tokenizer::token_text(TokenId id) const {
  return parts_->vocab->contains(id) ? parts_->vocab->text(id) : std::string_view();
}

TokenType Tokenizer::token_type(TokenId id) const {
  return parts_->vocab->contains(id) ? parts_->vocab->type(id) : TokenType::kUnused;
}

bool Tokenizer::is_special(TokenId id) const {
  const TokenType type = token_type(id);
  return type == TokenType::kControl || type == TokenType::kUnknown;
}

std::optional<TokenId> Tokenizer::find_token(std::string_view text) const {
  const TokenId id = parts_->vocab->find(text);
  return id == kNoToken ? std::nullopt : std::optional<TokenId>(id);
}

std::int32_t Tokenizer::vocab_size() const {
  return parts_->vocab->size();
}

const SpecialIds& Tokenizer::special_ids() const {
  return parts_->special;
}

bool Tokenizer::is_end_of_generation(TokenId id) const {
  return std::binary_search(parts_->end_of_generation.begin(), parts_->end_of_generation.end(), id);
}

const std::vector<TokenId>& Tokenizer::end_of_generation() const {
  return parts_->end_of_generation;
}

bool Tokenizer::adds_bos() const {
  return parts_->special.bos && !parts_->prefix.empty() &&
         parts_->prefix.front() == *parts_->special.bos;
}

bool Tokenizer::adds_space_prefix() const {
  return parts_->adds_space_prefix;
}

}  // namespace plumb
