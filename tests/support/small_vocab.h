// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/metadata.h"
#include "tokenizer/byte_map.h"
#include "tokenizer/tokenizer.h"

namespace plumb {

/// Builds the metadata of small vocabularies for tests.
class SmallVocab {
 public:
  SmallVocab& token(std::string text, std::int64_t type = 1, double score = 0) {
    texts_.push_back(std::move(text));
    types_.push_back(type);
    scores_.push_back(score);
    return *this;
  }

  SmallVocab& merge(std::string pair) {
    merges_.push_back(std::move(pair));
    return *this;
  }

  /// The 256 byte symbols of a byte-level vocabulary; ids are the bytes if they come first.
  SmallVocab& byte_symbols() {
    for (int byte = 0; byte < 256; ++byte) {
      token(to_byte_chars(std::string(1, static_cast<char>(static_cast<unsigned char>(byte)))));
    }
    return *this;
  }

  /// The 256 tokens <0xNN>.
  SmallVocab& byte_tokens() {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    for (std::size_t byte = 0; byte < 256; ++byte) {
      token({'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'}, 6);
    }
    return *this;
  }

  template <class T>
  SmallVocab& key(const std::string& name, T value) {
    extra_.set("tokenizer.ggml." + name, Metadata::Value(std::move(value)));
    return *this;
  }

  Metadata metadata(const std::string& model) const {
    Metadata metadata = extra_;
    metadata.set("tokenizer.ggml.model", model);
    metadata.set("tokenizer.ggml.tokens", texts_);
    metadata.set("tokenizer.ggml.token_type", types_);
    metadata.set("tokenizer.ggml.scores", scores_);
    metadata.set("tokenizer.ggml.merges", merges_);
    return metadata;
  }

  std::unique_ptr<Tokenizer> load(const std::string& model) const {
    return Tokenizer::from_metadata(metadata(model)).value();
  }

 private:
  std::vector<std::string> texts_;
  std::vector<std::int64_t> types_;
  std::vector<double> scores_;
  std::vector<std::string> merges_;
  Metadata extra_;
};

}  // namespace plumb
