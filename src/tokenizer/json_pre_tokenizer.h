// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "tokenizer/regex.h"

namespace plumb {

/// The pieces of a text on their way through the steps of a pre-tokenizer. Thread: one.
struct PieceList {
  std::vector<std::string_view> pieces;
  std::vector<std::string_view> cut;  ///< pieces of the step under way
  std::deque<std::string> texts;      ///< of pieces that are no part of the input
  RegexScratch regex;
  bool is_first = false;  ///< the input begins with the first piece
};

/// One cut of every piece. Thread: any (immutable).
class PreTokenizerStep {
 public:
  PreTokenizerStep() = default;
  PreTokenizerStep(const PreTokenizerStep&) = delete;
  PreTokenizerStep& operator=(const PreTokenizerStep&) = delete;
  virtual ~PreTokenizerStep() = default;

  /// Appends to list->cut what becomes of one piece. is_first: the input begins with it.
  virtual void apply(std::string_view piece, bool is_first, PieceList* list) const = 0;
};

/// The `pre_tokenizer` of a tokenizer.json.
class JsonPreTokenizer {
 public:
  /// Accepts null. Errors: kInvalidArgument for a malformed entry, kUnsupported for an unknown
  /// type.
  static Result<JsonPreTokenizer> create(const Json& config);

  JsonPreTokenizer() = default;

  /// Leaves the pieces in list->pieces; no piece is empty. Requires text is valid UTF-8.
  void split(std::string_view text, bool is_first, PieceList* list) const;

  /// A ByteLevel step is among them: symbols are bytes.
  bool is_byte_level() const { return is_byte_level_; }

 private:
  std::vector<std::unique_ptr<const PreTokenizerStep>> steps_;
  bool is_byte_level_ = false;
};

}  // namespace plumb
