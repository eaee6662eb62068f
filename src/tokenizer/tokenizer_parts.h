// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/fragment.h"
#include "tokenizer/text_model.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocab.h"

namespace plumb {

/// What a Tokenizer is made of; the loaders fill it.
struct TokenizerParts {
  std::unique_ptr<const Vocab> vocab;  ///< at a fixed address: models refer to it
  std::vector<std::string> bytes;      ///< by token: what it adds to the text
  std::unique_ptr<const FragmentSplitter> splitter;
  std::unique_ptr<const TextModel> model;
  std::vector<TokenId> prefix;  ///< put before the ids of a text when special tokens are added
  std::vector<TokenId> suffix;
  SpecialIds special;
  std::vector<TokenId> end_of_generation;  ///< rising
  bool adds_space_prefix = false;
  bool clean_spaces = false;
};

/// The bytes a token of a byte-level vocabulary adds to the text.
std::string byte_level_bytes(std::string_view text, TokenType type);

/// The bytes a token of a SentencePiece vocabulary adds: U+2581 is a space, <0xNN> a byte.
std::string sentencepiece_bytes(std::string_view text, TokenType type);

/// A control token and its text, which the vocabulary keeps.
struct ControlText {
  TokenId id = -1;
  std::string_view text;
};

/// Adds those with which the public chat models end an answer: of all control tokens of a
/// vocabulary.
void add_ends_by_text(std::span<const ControlText> controls, std::vector<TokenId>* ids);

/// Sorts and removes duplicates.
void sort_unique(std::vector<TokenId>* ids);

}  // namespace plumb
