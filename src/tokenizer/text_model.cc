// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/text_model.h"

#include "base/text.h"
#include "tokenizer/bert_text.h"

namespace plumb {
namespace {

constexpr std::string_view kWordMark = "\xE2\x96\x81";

// SentencePiece's rule for spaces, fed one normalised stretch at a time.
class SpaceMarker {
 public:
  SpaceMarker(const UnigramTextModel::Spaces& spaces, std::string* out)
      : spaces_(spaces), out_(*out) {}

  void put(std::string_view text) {
    for (const char c : text) {
      if (c == ' ') {
        in_word_ = false;
        if (!spaces_.remove_extra) {
          out_.append(kWordMark);
        }
        continue;
      }
      if (!in_word_ && (spaces_.remove_extra || (spaces_.add_prefix && !any_word_))) {
        out_.append(kWordMark);
      }
      in_word_ = true;
      any_word_ = true;
      out_.push_back(c);
    }
  }

 private:
  UnigramTextModel::Spaces spaces_;
  std::string& out_;
  bool in_word_ = false;
  bool any_word_ = false;
};

}  // namespace

void append_with_marked_spaces(std::string_view text, std::string* out) {
  for (const char c : text) {
    if (c == ' ') {
      out->append(kWordMark);
    } else {
      out->push_back(c);
    }
  }
}

void ByteBpeTextModel::encode(std::string_view text, const FragmentContext& /*context*/,
                              EncodeScratch* scratch, std::vector<TokenId>* out) const {
  splits_.split(text, &scratch->split);
  for (const std::string_view piece : scratch->split.pieces) {
    model_.encode_piece(piece, &scratch->merge, out);
  }
}

void SpmTextModel::encode(std::string_view text, const FragmentContext& /*context*/,
                          EncodeScratch* scratch, std::vector<TokenId>* out) const {
  scratch->text.clear();
  if (add_space_prefix_) {
    scratch->text.append(kWordMark);
  }
  append_with_marked_spaces(text, &scratch->text);
  model_.encode(scratch->text, &scratch->merge, out);
}

void LineBpeTextModel::encode(std::string_view text, const FragmentContext& /*context*/,
                              EncodeScratch* scratch, std::vector<TokenId>* out) const {
  scratch->text.clear();
  append_with_marked_spaces(text, &scratch->text);
  splits_.split(scratch->text, &scratch->split);
  for (const std::string_view piece : scratch->split.pieces) {
    const TokenId whole = piece.front() == '\n' ? model_.whole_piece(piece) : kNoToken;
    if (whole != kNoToken) {
      out->push_back(whole);
    } else {
      model_.encode_piece(piece, &scratch->merge, out);
    }
  }
}

void UnigramTextModel::encode(std::string_view text, const FragmentContext& /*context*/,
                              EncodeScratch* scratch, std::vector<TokenId>* out) const {
  scratch->text.clear();
  SpaceMarker marker(spaces_, &scratch->text);
  while (!text.empty()) {
    const Charsmap::Match match = charsmap_.longest_match(text);
    std::size_t len = match.num_bytes;
    if (len > 0) {
      marker.put(match.replacement);
    } else {
      len = static_cast<std::size_t>(decode_utf8(text).num_bytes);
      marker.put(text.substr(0, len));
    }
    text.remove_prefix(len);
  }
  const std::string normalized = to_valid_utf8(scratch->text);
  model_.encode(normalized, out);
}

void BertTextModel::encode(std::string_view text, const FragmentContext& /*context*/,
                           EncodeScratch* scratch, std::vector<TokenId>* out) const {
  scratch->text = normalize_bert(text, {});
  std::vector<std::string_view>& words = scratch->pieces.pieces;
  words.clear();
  split_bert_words(scratch->text, &words);
  for (const std::string_view word : words) {
    model_.encode_word(word, out);
  }
}

}  // namespace plumb
