// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/metadata.h"
#include "base/status.h"
#include "base/token_id.h"
#include "tokenizer/segment.h"
#include "tokenizer/vocab.h"

namespace plumb {

struct TokenizerParts;

struct EncodeOptions {
  bool add_special = true;     ///< BOS, EOS and the like around the text, as the model wants them
  bool parse_special = false;  ///< texts of control tokens in the input become those tokens
};

struct DecodeOptions {
  bool skip_special = true;   ///< control and unknown tokens give no text
  bool at_text_start = true;  ///< drop the space that encoding put in front
  bool clean_spaces = false;  ///< drop spaces before punctuation, if the model asks for it
};

/// Ids of tokens with a role; absent where the model has none.
struct SpecialIds {
  std::optional<TokenId> bos{};
  std::optional<TokenId> eos{};
  std::optional<TokenId> eot{};
  std::optional<TokenId> unknown{};
  std::optional<TokenId> padding{};
  std::optional<TokenId> separator{};
  std::optional<TokenId> classification{};
  std::optional<TokenId> mask{};
};

/// Text to token ids and back, for one model.
///
/// Texts of control tokens never become those tokens unless parse_special asks for it or a
/// template wrote them (encode_segments). User-defined tokens are ordinary words of the model and
/// always match. Thread: any (immutable).
class Tokenizer {
 public:
  /// From the header of a GGUF file (`tokenizer.ggml.*`).
  /// extra_end_of_generation: ids of generation_config.json, if there is one.
  /// Errors: kInvalidArgument for missing keys, lists of unequal length and ids out of range;
  /// kUnsupported for an unknown model or pre-tokenizer.
  static Result<std::unique_ptr<Tokenizer>> from_metadata(
      const Metadata& metadata, const std::vector<TokenId>& extra_end_of_generation = {});

  /// From a tokenizer.json and, where the checkpoint has them, the texts of
  /// tokenizer_config.json and generation_config.json (else empty).
  /// Errors: kInvalidArgument for malformed files, kUnsupported for a component that is not known.
  static Result<std::unique_ptr<Tokenizer>> from_tokenizer_json(
      std::string_view tokenizer_json, std::string_view tokenizer_config_json = {},
      std::string_view generation_config_json = {});

  explicit Tokenizer(TokenizerParts parts);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  ~Tokenizer();

  /// Ids of a text. Ill-formed UTF-8 is read as U+FFFD, one per maximal ill-formed subsequence.
  /// Cost: O(n log n) in the bytes of the text.
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options) const;

  /// Ids of a rendered template: those of the joined text with special tokens on, except that no
  /// control token touches data that a client supplied.
  std::vector<TokenId> encode_segments(std::span<const Segment> segments, bool add_special) const;

  /// Text of a list of tokens, well-formed UTF-8.
  std::string decode(std::span<const TokenId> ids, const DecodeOptions& options = {}) const;

  /// The bytes a token adds to the text; empty for an id outside the vocabulary. Lives as long as
  /// the tokenizer.
  std::string_view token_bytes(TokenId id) const;

  /// The token as the vocabulary writes it; empty for an id outside the vocabulary.
  std::string_view token_text(TokenId id) const;

  /// kUnused for an id outside the vocabulary.
  TokenType token_type(TokenId id) const;

  /// True for control and unknown tokens, the ones decode can skip.
  bool is_special(TokenId id) const;

  /// The token with that text as the vocabulary writes it.
  std::optional<TokenId> find_token(std::string_view text) const;

  std::int32_t vocab_size() const;

  const SpecialIds& special_ids() const;

  std::optional<TokenId> bos_id() const { return special_ids().bos; }

  std::optional<TokenId> eos_id() const { return special_ids().eos; }

  /// True for the tokens that end a generated text.
  bool is_end_of_generation(TokenId id) const;

  /// Those tokens, rising.
  const std::vector<TokenId>& end_of_generation() const;

  bool adds_bos() const;

  /// Encoding puts a space in front of the text, which decoding drops again.
  bool adds_space_prefix() const;

 private:
  std::vector<TokenId> encode_text(std::string_view text, bool add_special, bool parse_special,
                                   std::span<const struct ByteRange> data) const;

  std::unique_ptr<const TokenizerParts> parts_;
};

}  // namespace plumb
