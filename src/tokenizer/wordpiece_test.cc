// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/small_vocab.h"
#include "tokenizer/bert_text.h"
#include "tokenizer/encode_test_options.h"
#include "tokenizer/tokenizer.h"

namespace plumb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Ids of both forms of the vocabulary.
enum : TokenId { kPad, kUnk, kCls, kSep, kMask, kUn, kAff, kAble, kHello, kComma, kA, kAb, kSigma };

constexpr std::string_view kWordPieceFile = R"({
  "added_tokens":[
    {"id":0,"content":"[PAD]","special":true,"normalized":false},
    {"id":1,"content":"[UNK]","special":true,"normalized":false},
    {"id":2,"content":"[CLS]","special":true,"normalized":false},
    {"id":3,"content":"[SEP]","special":true,"normalized":false},
    {"id":4,"content":"[MASK]","special":true,"normalized":false}],
  "normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,
    "strip_accents":null,"lowercase":true},
  "pre_tokenizer":{"type":"BertPreTokenizer"},
  "post_processor":{"type":"BertProcessing","cls":["[CLS]",2],"sep":["[SEP]",3]},
  "decoder":{"type":"WordPiece","prefix":"##","cleanup":true},
  "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
    "max_input_chars_per_word":100,
    "vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"[MASK]":4,"un":5,"##aff":6,"##able":7,
      "hello":8,",":9,"a":10,"##b":11,"σασ":12}}})";

std::unique_ptr<Tokenizer> from_json() {
  return Tokenizer::from_tokenizer_json(kWordPieceFile).value();
}

// The same words as GGUF files write them.
std::unique_ptr<Tokenizer> from_gguf() {
  SmallVocab vocab;
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    vocab.token(special, 3);
  }
  for (const char* text : {"▁un", "aff", "able", "▁hello", "▁,", "▁a", "b", "▁σασ"}) {
    vocab.token(text);
  }
  return vocab.key("unknown_token_id", std::int64_t{kUnk})
      .key("cls_token_id", std::int64_t{kCls})
      .key("seperator_token_id", std::int64_t{kSep})
      .load("bert");
}

TEST(WordPiece, both_files_cut_words_into_the_longest_tokens) {
  for (const auto& tokenizer : {from_json(), from_gguf()}) {
    EXPECT_THAT(tokenizer->encode("unaffable", kPlain), ElementsAre(kUn, kAff, kAble));
    EXPECT_THAT(tokenizer->encode("Hello,a", kPlain), ElementsAre(kHello, kComma, kA));
    EXPECT_THAT(tokenizer->encode("unaffine un", kPlain), ElementsAre(kUnk, kUn));
  }
}

TEST(WordPiece, a_text_stands_between_its_two_marks) {
  for (const auto& tokenizer : {from_json(), from_gguf()}) {
    EXPECT_THAT(tokenizer->encode("a", {.add_special = true}), ElementsAre(kCls, kA, kSep));
    EXPECT_THAT(tokenizer->encode("", {.add_special = true}), ElementsAre(kCls, kSep));
  }
}

TEST(WordPiece, control_tokens_count_when_asked_for_and_in_their_own_case) {
  for (const auto& tokenizer : {from_json(), from_gguf()}) {
    EXPECT_THAT(tokenizer->encode("[MASK] [mask]", kSpecial), ElementsAre(kMask, kUnk, kUnk, kUnk));
    EXPECT_EQ(tokenizer->encode("[MASK]", kPlain).size(), 3U);
  }
}

TEST(WordPiece, a_word_of_more_than_a_hundred_characters_is_unknown) {
  for (const auto& tokenizer : {from_json(), from_gguf()}) {
    EXPECT_EQ(tokenizer->encode("a" + std::string(99, 'b'), kPlain).size(), 100U);
    EXPECT_THAT(tokenizer->encode("a" + std::string(100, 'b'), kPlain), ElementsAre(kUnk));
  }
}

TEST(WordPiece, words_get_their_spaces_back) {
  for (const auto& tokenizer : {from_json(), from_gguf()}) {
    const std::vector<TokenId> ids{kCls, kHello, kComma, kUn, kAff, kAble, kSep};
    EXPECT_EQ(tokenizer->decode(ids), "hello , unaffable");
    EXPECT_EQ(tokenizer->decode(ids, {.clean_spaces = true}), "hello, unaffable");
  }
}

// A quadratic step anywhere would take minutes here.
TEST(WordPiece, long_runs_of_one_character_are_encoded_in_good_time) {
  const auto tokenizer = from_json();
  constexpr std::size_t kRun = 200'000;
  EXPECT_EQ(tokenizer->encode(std::string(kRun, ','), kPlain).size(), kRun);
  EXPECT_THAT(tokenizer->encode(std::string(kRun, 'a'), kPlain), ElementsAre(kUnk));
  std::string marks;
  for (int i = 0; i < 200'000; ++i) {
    marks += i % 2 == 0 ? "\u0301" : "\u0323";
  }
  EXPECT_THAT(tokenizer->encode("a" + marks, kPlain), ElementsAre(kA));
}

TEST(BertText, control_characters_vanish_and_join_words) {
  EXPECT_EQ(normalize_bert("a\x0b"
                           "b",
                           {}),
            "ab");
  EXPECT_EQ(normalize_bert("a\tb\r\nc", {}), "a b  c");
  EXPECT_EQ(normalize_bert("a\u00adb\u200bc\u0085d\ufeff\ufffd", {}), "abcd");
  EXPECT_EQ(normalize_bert("a\u3000b\u00a0c", {}), "a b c");
}

TEST(BertText, ideographs_stand_apart_and_kana_do_not) {
  EXPECT_EQ(normalize_bert("x中y", {}), "x 中 y");
  EXPECT_EQ(normalize_bert("かな", {.strip_accents = false}), "かな");
  EXPECT_EQ(normalize_bert("\U0002B820", {}), "\U0002B820");
}

TEST(BertText, accents_and_case_go) {
  EXPECT_EQ(normalize_bert("Ünïcödé ΣΑΣ İ", {}), "unicode σασ i");
  EXPECT_EQ(normalize_bert("É", {.strip_accents = false, .lowercase = true}), "é");
  EXPECT_EQ(normalize_bert("Éa", {.strip_accents = true, .lowercase = false}), "Ea");
}

TEST(BertText, punctuation_is_cut_off_and_white_space_dropped) {
  std::vector<std::string_view> words;
  split_bert_words(" it's $5.00 — ok\u2028x ", &words);
  EXPECT_THAT(words, ElementsAre("it", "'", "s", "$", "5", ".", "00", "—", "ok", "x"));
}

Status load_error(std::string_view from, std::string_view to) {
  std::string text(kWordPieceFile);
  text.replace(text.find(from), from.size(), to);
  return Tokenizer::from_tokenizer_json(text).status();
}

TEST(WordPiece, a_malformed_model_is_refused) {
  EXPECT_THAT(load_error("\"unk_token\":\"[UNK]\",", "").message(), HasSubstr("unk_token"));
  EXPECT_THAT(load_error("prefix\":\"##\",\n", "prefix\":\"\",\n").message(),
              HasSubstr("continuing_subword_prefix is empty"));
  EXPECT_THAT(load_error("word\":100", "word\":0").message(),
              HasSubstr("max_input_chars_per_word"));
}

TEST(WordPiece, a_file_without_type_is_known_by_its_fields) {
  std::string text(kWordPieceFile);
  constexpr std::string_view kType = "\"type\":\"WordPiece\",\"unk";
  text.replace(text.find(kType), kType.size(), "\"unk");
  const auto tokenizer = Tokenizer::from_tokenizer_json(text);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_THAT(tokenizer.value()->encode("unaffable", kPlain), ElementsAre(kUn, kAff, kAble));
}

}  // namespace
}  // namespace plumb
