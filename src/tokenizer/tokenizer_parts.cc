// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer_parts.h"

#include <algorithm>

#include "tokenizer/byte_map.h"

namespace plumb {

std::string byte_level_bytes(std::string_view text, TokenType type) {
  std::string bytes;
  if ((type == TokenType::kNormal || type == TokenType::kUnused || type == TokenType::kByte) &&
      from_byte_chars(text, &bytes)) {
    return bytes;
  }
  return std::string(text);
}

std::string sentencepiece_bytes(std::string_view text, TokenType type) {
  if (type == TokenType::kByte) {
    if (const int byte = parse_byte_token(text); byte >= 0) {
      return std::string(1, static_cast<char>(static_cast<unsigned char>(byte)));
    }
  }
  if (type != TokenType::kNormal && type != TokenType::kUnused) {
    return std::string(text);
  }
  constexpr std::string_view kMark = "\xE2\x96\x81";
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_mark = text.substr(at, kMark.size()) == kMark;
    bytes.push_back(is_mark ? ' ' : text[at]);
    at += is_mark ? kMark.size() : 1;
  }
  return bytes;
}

namespace {

bool is_end_of_generation_text(std::string_view text) {
  constexpr std::string_view kTexts[] = {
      "<|eot_id|>",
      "<|eom_id|>",
      "<|im_end|>",
      "<|end|>",
      "<|endoftext|>",
      "<|end_of_text|>",
      "<end_of_turn>",
      "<turn|>",
      "<|return|>",
      "<|call|>",
      "<|eot|>",
      "<|eom|>",
      "<EOT>",
      "</s>",
      "<|END_OF_TURN_TOKEN|>",
      "<｜end▁of▁sentence｜>",
  };
  return std::find(std::begin(kTexts), std::end(kTexts), text) != std::end(kTexts);
}

}  // namespace

void add_ends_by_text(std::span<const ControlText> controls, std::vector<TokenId>* ids) {
  // Where answers are made of messages, this one ends the last of them.
  const bool has_messages =
      std::any_of(controls.begin(), controls.end(),
                  [](const ControlText& control) { return control.text == "<|return|>"; });
  for (const ControlText& control : controls) {
    if (is_end_of_generation_text(control.text) && !(has_messages && control.text == "<|end|>")) {
      ids->push_back(control.id);
    }
  }
}

void sort_unique(std::vector<TokenId>* ids) {
  std::sort(ids->begin(), ids->end());
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

}  // namespace plumb
