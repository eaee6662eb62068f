// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace plumb {

/// A byte-level BPE vocabulary that can encode any text: control tokens, the 256 bytes, then words
/// of lower-case letters built by merges, shortest first.
struct SynthesisTokenizer {
  std::vector<std::string> tokens;  ///< by id, in the printable byte alphabet of GPT-2
  std::vector<std::string> merges;  ///< "left right", by rank
  std::int64_t num_control = 0;     ///< the first ids
};

inline constexpr std::int64_t kSynthesisEndOfText = 0;  ///< <|endoftext|>
inline constexpr std::int64_t kSynthesisTurnStart = 1;  ///< <|im_start|>
inline constexpr std::int64_t kSynthesisTurnEnd = 2;    ///< <|im_end|>
inline constexpr std::int64_t kSynthesisPad = 3;        ///< <|pad|>

/// Requires vocab_size >= kMinSynthesisVocab.
SynthesisTokenizer synthesis_tokenizer(std::int64_t vocab_size);
/// ChatML: each message between <|im_start|>role and <|im_end|>.
std::string synthesis_chat_template();
/// tokenizer.json with the pre-tokenizer that GGUF names "gpt-2".
Json tokenizer_json(const SynthesisTokenizer& tokenizer);
/// tokenizer_config.json.
Json tokenizer_config_json(const SynthesisTokenizer& tokenizer, std::int64_t context_len);

}  // namespace plumb
