// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/detokenizer.h"

#include <gtest/gtest.h>
#include <random>

#include "base/text.h"
#include "support/small_vocab.h"

namespace plumb {
namespace {

std::string pushed_text(Detokenizer* detokenizer, TokenId id) {
  std::string out;
  detokenizer->push(id, &out);
  return out;
}

// Ids 0..255 are the bytes.
std::unique_ptr<Tokenizer> bytes_only() {
  return SmallVocab().byte_symbols().token("<|end|>", 3).token("<tag>", 4).load("gpt2");
}

TEST(Detokenizer, a_character_split_over_tokens_comes_out_when_it_is_whole) {
  const auto tokenizer =
      SmallVocab().token(to_byte_chars("\xF0\x9F")).token(to_byte_chars("\x98\x80")).load("gpt2");
  Detokenizer detokenizer(*tokenizer, {});
  EXPECT_EQ(pushed_text(&detokenizer, 0), "");
  EXPECT_EQ(pushed_text(&detokenizer, 1), "\xF0\x9F\x98\x80");
}

TEST(Detokenizer, an_impossible_byte_becomes_one_replacement_character_at_once) {
  const auto tokenizer = bytes_only();
  Detokenizer detokenizer(*tokenizer, {});
  EXPECT_EQ(pushed_text(&detokenizer, 0xFF), "\xEF\xBF\xBD");
  EXPECT_EQ(pushed_text(&detokenizer, 'A'), "A");
}

TEST(Detokenizer, a_broken_off_character_becomes_one_replacement_character) {
  const auto tokenizer = bytes_only();
  Detokenizer detokenizer(*tokenizer, {});
  EXPECT_EQ(pushed_text(&detokenizer, 0xE4), "");
  EXPECT_EQ(pushed_text(&detokenizer, 0xB8), "");
  EXPECT_EQ(pushed_text(&detokenizer, 'x'), "\xEF\xBF\xBDx");
}

TEST(Detokenizer, flush_gives_what_was_held) {
  const auto tokenizer = bytes_only();
  Detokenizer detokenizer(*tokenizer, {});
  EXPECT_EQ(pushed_text(&detokenizer, 0xE4), "");
  std::string out;
  detokenizer.flush(&out);
  EXPECT_EQ(out, "\xEF\xBF\xBD");
}

TEST(Detokenizer, special_tokens_are_skipped_on_request_and_user_defined_ones_never) {
  const auto tokenizer = bytes_only();
  Detokenizer skipping(*tokenizer, {.skip_special = true});
  EXPECT_EQ(pushed_text(&skipping, 256), "");
  EXPECT_EQ(pushed_text(&skipping, 257), "<tag>");
  Detokenizer keeping(*tokenizer, {.skip_special = false});
  EXPECT_EQ(pushed_text(&keeping, 256), "<|end|>");
}

TEST(Detokenizer, ids_outside_the_vocabulary_give_nothing) {
  const auto tokenizer = bytes_only();
  Detokenizer detokenizer(*tokenizer, {});
  EXPECT_EQ(pushed_text(&detokenizer, -1), "");
  EXPECT_EQ(pushed_text(&detokenizer, 258), "");
}

TEST(Detokenizer, the_added_space_is_dropped_only_at_the_start_of_a_text) {
  const auto tokenizer = SmallVocab().token("<unk>", 2).token("\xE2\x96\x81hi").load("llama");
  Detokenizer start(*tokenizer, {.skip_special = true, .at_text_start = true});
  EXPECT_EQ(pushed_text(&start, 1), "hi");
  EXPECT_EQ(pushed_text(&start, 1), " hi");
  Detokenizer continuation(*tokenizer, {.skip_special = true, .at_text_start = false});
  EXPECT_EQ(pushed_text(&continuation, 1), " hi");
}

TEST(Detokenizer, any_bytes_give_the_text_of_a_decoder_that_sees_them_at_once) {
  const auto tokenizer = bytes_only();
  std::mt19937 random(3);
  constexpr unsigned char kBytes[] = {0x41, 0x80, 0xBF, 0xC2, 0xE2, 0x82, 0xAC,
                                      0xF0, 0x9F, 0x98, 0xED, 0xA0, 0xF4, 0xFF};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    std::string streamed;
    Detokenizer detokenizer(*tokenizer, {});
    for (unsigned i = 0; i < random() % 12; ++i) {
      const unsigned char byte = kBytes[random() % std::size(kBytes)];
      bytes.push_back(static_cast<char>(byte));
      const std::string delta = pushed_text(&detokenizer, byte);
      ASSERT_TRUE(is_valid_utf8(delta));
      ASSERT_LE(detokenizer.held().size(), 3U);
      streamed += delta;
    }
    detokenizer.flush(&streamed);
    ASSERT_EQ(streamed, to_valid_utf8(bytes));
  }
}

}  // namespace
}  // namespace plumb
