// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/small_vocab.h"
#include "tokenizer/encode_test_options.h"
#include "tokenizer/split_rules.h"

namespace plumb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ByteBpe, merges_the_lowest_rank_first_and_the_leftmost_of_equals) {
  SmallVocab vocab;
  vocab.byte_symbols().token("aa").token("ab").token("aab");
  vocab.merge("a a").merge("a b").merge("aa b");
  const auto tokenizer = vocab.load("gpt2");
  EXPECT_THAT(tokenizer->encode("aab", kPlain), ElementsAre(258));
  EXPECT_THAT(tokenizer->encode("aaab", kPlain), ElementsAre(256, 257));
  EXPECT_THAT(tokenizer->encode("aaa", kPlain), ElementsAre(256, 'a'));
}

TEST(ByteBpe, ill_formed_text_is_read_as_replacement_characters) {
  const auto tokenizer = SmallVocab().byte_symbols().load("gpt2");
  EXPECT_EQ(tokenizer->encode("a\xFF\xE4\xB8z", kPlain),
            tokenizer->encode("a\xEF\xBF\xBD\xEF\xBF\xBDz", kPlain));
}

TEST(ByteBpe, no_text_spells_a_control_token) {
  SmallVocab vocab;
  vocab.byte_symbols().token("ab", 3).merge("a b");
  EXPECT_THAT(vocab.load("gpt2")->encode("ab", kPlain), ElementsAre('a', 'b'));
  vocab.key("pre", std::string("llama-bpe"));  // takes whole pieces
  EXPECT_THAT(vocab.load("gpt2")->encode("ab", kPlain), ElementsAre('a', 'b'));
  EXPECT_THAT(vocab.load("gpt2")->encode("ab", kSpecial), ElementsAre(256));
}

TEST(Fragments, the_longest_token_takes_its_place_first_wherever_it_is) {
  SmallVocab vocab;
  vocab.byte_symbols().token("ab", 4).token("bcd", 4);
  EXPECT_THAT(vocab.load("gpt2")->encode("abcd", kPlain), ElementsAre('a', 257));
}

TEST(Fragments, control_tokens_count_only_when_asked_for) {
  SmallVocab vocab;
  vocab.byte_symbols().token("<x>", 3).token("<y>", 4);
  const auto tokenizer = vocab.load("gpt2");
  EXPECT_THAT(tokenizer->encode("<x><y>", kPlain), ElementsAre('<', 'x', '>', 257));
  EXPECT_THAT(tokenizer->encode("<x><y>", kSpecial), ElementsAre(256, 257));
}

TEST(Fragments, a_control_token_inside_a_forbidden_one_does_not_hide_a_user_defined_one) {
  SmallVocab vocab;
  vocab.byte_symbols().token("<xy>", 3).token("xy", 4);
  EXPECT_THAT(vocab.load("gpt2")->encode("<xy>", kPlain), ElementsAre('<', 257, '>'));
}

TEST(Fragments, phi3_tokens_eat_the_space_after_them) {
  SmallVocab vocab;
  vocab.token("<unk>", 2).token("<s>", 3).byte_tokens().token("<|user|>", 3);
  Metadata metadata = vocab.metadata("llama");
  metadata.set("general.architecture", std::string("phi3"));
  metadata.set("tokenizer.ggml.add_space_prefix", false);
  const auto tokenizer = Tokenizer::from_metadata(metadata).value();
  EXPECT_THAT(tokenizer->encode("<|user|> \n a", kSpecial), ElementsAre(258, 'a' + 2));
  EXPECT_THAT(tokenizer->encode("<s>\n", kSpecial), ElementsAre(1, '\n' + 2));
}

TEST(Segments, control_tokens_of_the_template_count_and_those_of_data_do_not) {
  SmallVocab vocab;
  vocab.byte_symbols().token("<x>", 3);
  const auto tokenizer = vocab.load("gpt2");
  const Segment segments[] = {{"<x>a", true}, {"b<x>", false}, {"<x>", true}};
  EXPECT_THAT(tokenizer->encode_segments(segments, false),
              ElementsAre(256, 'a', 'b', '<', 'x', '>', 256));
}

TEST(Segments, a_control_token_put_together_from_template_and_data_does_not_count) {
  SmallVocab vocab;
  vocab.byte_symbols().token("<x>", 3);
  const Segment segments[] = {{"<", true}, {"x>", false}};
  EXPECT_THAT(vocab.load("gpt2")->encode_segments(segments, false), ElementsAre('<', 'x', '>'));
}

TEST(Segments, text_is_joined_before_it_is_cut) {
  SmallVocab vocab;
  vocab.byte_symbols().token("ab").token("<x>", 3).merge("a b");
  const auto tokenizer = vocab.load("gpt2");
  const Segment segments[] = {{"<x>a", true}, {"b", false}};
  EXPECT_EQ(tokenizer->encode_segments(segments, false), tokenizer->encode("<x>ab", kSpecial));
}

TEST(Spm, joins_by_score_and_falls_back_to_bytes) {
  SmallVocab vocab;
  vocab.token("<unk>", 2).token("<s>", 3).token("</s>", 3).byte_tokens();
  vocab.token("\xE2\x96\x81", 1, -9).token("a", 1, -8).token("b", 1, -7);
  vocab.token("ab", 1, -2)
      .token(
          "\xE2\x96\x81"
          "a",
          1, -1);
  const auto tokenizer = vocab.load("llama");
  EXPECT_THAT(tokenizer->encode("ab", kPlain), ElementsAre(263, 261));
  EXPECT_THAT(tokenizer->encode("ab", {}), ElementsAre(1, 263, 261));
  EXPECT_THAT(tokenizer->encode("\xC3\xA9", kPlain), ElementsAre(259, 0xC3 + 3, 0xA9 + 3));
  EXPECT_THAT(tokenizer->encode("", kPlain), ElementsAre());
}

TEST(Spm, control_and_byte_tokens_are_not_spelled_by_text) {
  SmallVocab vocab;
  vocab.token("<unk>", 2).token("ab", 3, 5).byte_tokens().token("a", 1, -1).token("b", 1, -1);
  vocab.key("add_space_prefix", false);
  EXPECT_THAT(vocab.load("llama")->encode("ab", kPlain), ElementsAre(258, 259));
}

TEST(Unigram, takes_the_best_sum_and_one_unknown_for_a_stretch) {
  SmallVocab vocab;
  vocab.token("<pad>", 3).token("</s>", 3).token("<unk>", 2);
  vocab.token("\xE2\x96\x81", 1, -2).token("a", 1, -1).token("b", 1, -1).token("ab", 1, -1.5);
  const auto tokenizer = vocab.load("t5");
  EXPECT_THAT(tokenizer->encode("ab", {}), ElementsAre(6, 1));
  EXPECT_THAT(tokenizer->encode("axyb", kPlain), ElementsAre(4, 2, 5));
}

TEST(Gemma4, newline_runs_are_whole_and_unknown_characters_become_bytes) {
  SmallVocab vocab;
  vocab.token("<pad>", 3).token("<eos>", 3).token("<bos>", 3).byte_tokens();
  vocab.token("\n")
      .token("\n\n")
      .token("\xE2\x96\x81")
      .token("a")
      .token(
          "\xE2\x96\x81"
          "a");
  vocab.merge("\xE2\x96\x81 a");
  const auto tokenizer = vocab.load("gemma4");
  EXPECT_THAT(tokenizer->encode("a a\n\n\xC3\xA9", {}),
              ElementsAre(2, 262, 263, 260, 0xC3 + 3, 0xA9 + 3));
}

TEST(Vocabulary, roles_and_ends_of_generation_come_from_the_file) {
  SmallVocab vocab;
  vocab.byte_symbols().token("<|im_end|>", 3).token("</s>", 1).token("<e>", 3);
  vocab.key("eos_token_id", std::int64_t{258}).key("bos_token_id", std::int64_t{256});
  vocab.key("add_bos_token", true);
  const auto tokenizer = vocab.load("gpt2");
  EXPECT_EQ(tokenizer->eos_id(), 258);
  EXPECT_TRUE(tokenizer->adds_bos());
  EXPECT_THAT(tokenizer->end_of_generation(), ElementsAre(256, 258));
  EXPECT_FALSE(tokenizer->is_end_of_generation(257));
  EXPECT_EQ(tokenizer->find_token("</s>"), 257);
  EXPECT_EQ(tokenizer->token_bytes(0x20), " ");
  EXPECT_THAT(tokenizer->encode("", {}), ElementsAre(256));
}

// Of a vocabulary whose answers are made of messages, "<|end|>" ends a message only.
TEST(Vocabulary, the_end_of_a_message_is_no_end_of_generation) {
  SmallVocab phi;
  phi.byte_symbols().token("<|end|>", 3).token("<|endoftext|>", 3);
  phi.key("eos_token_id", std::int64_t{257});
  EXPECT_THAT(phi.load("gpt2")->end_of_generation(), ElementsAre(256, 257));
  SmallVocab harmony;
  harmony.byte_symbols().token("<|end|>", 3).token("<|return|>", 3).token("<|call|>", 3);
  harmony.key("eos_token_id", std::int64_t{257});
  EXPECT_THAT(harmony.load("gpt2")->end_of_generation(), ElementsAre(257, 258));
}

TEST(Vocabulary, clean_spaces_applies_to_whole_texts_on_request) {
  const auto tokenizer = SmallVocab().byte_symbols().key("pre", std::string("gpt-2")).load("gpt2");
  const auto ids = tokenizer->encode("a , b ' c 's d !", kPlain);
  EXPECT_EQ(tokenizer->decode(ids), "a , b ' c 's d !");
  EXPECT_EQ(tokenizer->decode(ids, {.clean_spaces = true}), "a, b'c's d!");
}

std::string error_of(const Metadata& metadata) {
  return Tokenizer::from_metadata(metadata).status().message();
}

TEST(Loading, names_what_is_wrong) {
  EXPECT_THAT(error_of(Metadata()), HasSubstr("tokenizer.ggml.model"));
  SmallVocab vocab;
  vocab.byte_symbols();
  EXPECT_THAT(error_of(vocab.metadata("rwkv")), HasSubstr("'rwkv' is not supported"));
  EXPECT_THAT(error_of(SmallVocab(vocab).key("pre", std::string("newest")).metadata("gpt2")),
              HasSubstr("'newest' is not known"));
  EXPECT_THAT(error_of(SmallVocab(vocab).key("eos_token_id", std::int64_t{256}).metadata("gpt2")),
              HasSubstr("eos_token_id is 256, the vocabulary has 256 tokens"));
  EXPECT_THAT(error_of(SmallVocab(vocab).merge("ab").metadata("gpt2")), HasSubstr("entry 0"));
  Metadata short_types = vocab.metadata("gpt2");
  short_types.set("tokenizer.ggml.token_type", std::vector<std::int64_t>{1});
  EXPECT_THAT(error_of(short_types), HasSubstr("256 tokens but 1 token types"));
}

TEST(Loading, every_named_pre_tokenizer_compiles_and_loses_no_text) {
  const std::string text =
      "Ab's  I'LL 1234 \xE4\xB8\xAD\xE6\x96\x87\xE3\x81\x82 \xF0\x9F\xA6\x99"
      "!?\n\n \t x ";
  for (const std::string_view name : split_rule_names()) {
    const auto tokenizer = SmallVocab().byte_symbols().key("pre", std::string(name)).load("gpt2");
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, kPlain)), text) << name;
  }
}

}  // namespace
}  // namespace plumb
