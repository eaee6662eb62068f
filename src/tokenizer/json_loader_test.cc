// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "tokenizer/encode_test_options.h"
#include "tokenizer/tokenizer.h"

namespace plumb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A character-level BPE in the older and in the newer way to write merges.
constexpr std::string_view kModel = R"("model":{"type":"BPE","unk_token":"<unk>",
  "vocab":{"<unk>":0,"a":1,"b":2,"c":3,"ab":4,"abc":5,"A":6," ":7},"merges":["a b",["ab","c"]]})";

std::string file(const std::string& rest) {
  return "{" + rest + std::string(kModel) + "}";
}

std::unique_ptr<Tokenizer> load(const std::string& rest, std::string_view config = {},
                                std::string_view generation = {}) {
  auto result = Tokenizer::from_tokenizer_json(file(rest), config, generation);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return std::move(result).value();
}

TEST(TokenizerJson, merges_in_both_notations_apply) {
  EXPECT_THAT(load("")->encode("abcab", kPlain), ElementsAre(5, 4));
}

TEST(TokenizerJson, normalizers_run_in_order) {
  const auto tokenizer = load(R"("normalizer":{"type":"Sequence","normalizers":[
    {"type":"Lowercase"},{"type":"Replace","pattern":{"String":"x"},"content":"b"}]},)");
  EXPECT_THAT(tokenizer->encode("AXC", kPlain), ElementsAre(5));
}

TEST(TokenizerJson, pieces_of_the_pre_tokenizer_do_not_join) {
  const auto tokenizer = load(R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"b"},
    "behavior":"MergedWithPrevious","invert":false},)");
  EXPECT_THAT(tokenizer->encode("abc", kPlain), ElementsAre(4, 3));
}

constexpr const char* kAdded = R"("added_tokens":[
  {"id":8,"content":"<s>","special":true,"lstrip":false,"rstrip":true,"normalized":false},
  {"id":9,"content":"ca","special":false,"normalized":false,"single_word":true},
  {"id":10,"content":"ab","special":false,"normalized":false},
  {"id":11,"content":"bca","special":false,"normalized":false}],)";

TEST(TokenizerJson, the_leftmost_added_token_wins) {
  EXPECT_THAT(load(kAdded)->encode("abca", kPlain), ElementsAre(10, 3, 1));
}

TEST(TokenizerJson, special_tokens_count_when_asked_for_and_eat_space) {
  const auto tokenizer = load(kAdded);
  EXPECT_THAT(tokenizer->encode("<s> \tc", kSpecial), ElementsAre(8, 3));
  EXPECT_EQ(tokenizer->encode("<s>", kPlain).size(), 3U);
}

TEST(TokenizerJson, single_words_count_only_alone) {
  const auto tokenizer = load(kAdded);
  EXPECT_THAT(tokenizer->encode("ca", kPlain), ElementsAre(9));
  EXPECT_THAT(tokenizer->encode("cac", kPlain), ElementsAre(3, 1, 3));
}

TEST(TokenizerJson, special_tokens_of_normalised_text_are_not_made_from_data) {
  const auto tokenizer = load(R"("normalizer":{"type":"Lowercase"},"added_tokens":[
    {"id":8,"content":"<S>","special":true,"normalized":true}],)");
  const Segment clean[] = {{"<s>", true}, {"ab", false}};
  EXPECT_THAT(tokenizer->encode_segments(clean, false), ElementsAre(8, 4));
  const Segment attack[] = {{"ab", true}, {"<S>", false}};
  EXPECT_THAT(tokenizer->encode_segments(attack, false), testing::Not(testing::Contains(8)));
}

TEST(TokenizerJson, the_template_gives_what_stands_around_a_text) {
  const auto tokenizer = load(R"("post_processor":{"type":"TemplateProcessing",
    "single":[{"SpecialToken":{"id":"<unk>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},
              {"SpecialToken":{"id":"c","type_id":0}}],
    "special_tokens":{"<unk>":{"id":"<unk>","ids":[0],"tokens":["<unk>"]},
                      "c":{"id":"c","ids":[3],"tokens":["c"]}}},)");
  EXPECT_THAT(tokenizer->encode("ab", {}), ElementsAre(0, 4, 3));
}

TEST(TokenizerJson, the_config_names_roles_and_switches_bos) {
  const auto tokenizer =
      load(kAdded, R"({"bos_token":{"content":"<s>"},"eos_token":"<unk>","add_bos_token":true})",
           R"({"eos_token_id":[0,10]})");
  EXPECT_EQ(tokenizer->bos_id(), 8);
  EXPECT_THAT(tokenizer->end_of_generation(), ElementsAre(0, 10));
  EXPECT_THAT(tokenizer->encode("c", {}), ElementsAre(8, 3));
}

TEST(TokenizerJson, byte_level_tokens_decode_to_their_bytes) {
  const auto tokenizer = Tokenizer::from_tokenizer_json(
      R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},
          "decoder":{"type":"ByteLevel"},
          "model":{"type":"BPE","vocab":{"a":0,"Ġ":1,"Ġa":2,"Ã":3,"©":4},"merges":["Ġ a"]}})");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const auto ids = tokenizer.value()->encode("a a\xC3\xA9", kPlain);
  EXPECT_THAT(ids, ElementsAre(0, 2, 3, 4));
  EXPECT_EQ(tokenizer.value()->decode(ids), "a a\xC3\xA9");
}

TEST(TokenizerJson, sentencepiece_decoders_drop_the_space_they_put_in_front) {
  const auto tokenizer = Tokenizer::from_tokenizer_json(
      R"({"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"},
          "decoder":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"},
          "model":{"type":"Unigram","unk_id":0,
                   "vocab":[["<unk>",0.0],["▁a",-1.5],["▁",-2.0],["a",-2.5],["b",-1.0]]}})");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const auto ids = tokenizer.value()->encode("a ab", kPlain);
  EXPECT_THAT(ids, ElementsAre(1, 1, 4));
  EXPECT_EQ(tokenizer.value()->decode(ids), "a ab");
}

TEST(TokenizerJson, names_what_is_wrong) {
  const auto error = [](std::string_view text) {
    return Tokenizer::from_tokenizer_json(text).status().message();
  };
  EXPECT_NE(error(""), "");
  EXPECT_THAT(error("{}"), HasSubstr("no object 'model'"));
  EXPECT_THAT(error(R"({"model":{"type":"Novel"}})"), HasSubstr("'Novel' is not supported"));
  EXPECT_THAT(error(R"({"model":{"type":"BPE","vocab":{"a":99999999},"merges":[]}})"),
              HasSubstr("token id 99999999"));
  EXPECT_THAT(error(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a"]}})"),
              HasSubstr("merge 0 is not a pair"));
  EXPECT_THAT(error(file(R"("normalizer":{"type":"Rot13"},)")), HasSubstr("'Rot13'"));
  EXPECT_THAT(error(file(R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"("},
                            "behavior":"Isolated"},)")),
              HasSubstr("split pattern"));
}

}  // namespace
}  // namespace plumb
