// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "tokenizer/tokenizer.h"

namespace plumb {

/// A tokenizer whose token b is the byte b, whose token 256 is the control token "<end>", and whose
/// next ones are those control tokens and then those that are text.
inline std::unique_ptr<Tokenizer> make_byte_tokenizer(
    const std::vector<std::string>& more_controls = {},
    const std::vector<std::string>& words = {}) {
  JsonArray added;
  const auto add = [&added](const std::string& content, bool is_special) {
    added.emplace_back(JsonObject{{"id", 256 + std::ssize(added)},
                                  {"content", content},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", false},
                                  {"special", is_special}});
  };
  add("<end>", true);
  for (const std::string& control : more_controls) {
    add(control, true);
  }
  for (const std::string& word : words) {
    add(word, false);
  }
  JsonObject vocab;
  char32_t next_stand_in = 256;  // bytes that do not print have letters of their own in such files
  for (int b = 0; b < 256; ++b) {
    const bool prints = (b >= 33 && b <= 126) || (b >= 161 && b != 173);
    std::string letter;
    append_utf8(&letter, prints ? static_cast<char32_t>(b) : next_stand_in++);
    vocab.append(letter, b);
  }
  const JsonObject byte_level{{"type", "ByteLevel"},
                              {"add_prefix_space", false},
                              {"trim_offsets", true},
                              {"use_regex", false}};
  const JsonObject file{
      {"version", "1.0"},
      {"added_tokens", std::move(added)},
      {"pre_tokenizer", byte_level},
      {"decoder", byte_level},
      {"model", JsonObject{{"type", "BPE"}, {"vocab", std::move(vocab)}, {"merges", JsonArray()}}}};
  Result<std::unique_ptr<Tokenizer>> made = Tokenizer::from_tokenizer_json(to_text(file));
  PLUMB_CHECK(made.ok(), made.status().message());
  return std::move(made).value();
}

}  // namespace plumb
