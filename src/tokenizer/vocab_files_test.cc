// SPDX-License-Identifier: Apache-2.0
// The recorded ids of the public vocabulary files: NAME.gguf.inp holds texts between lines
// "__ggml_vocab_test__", NAME.gguf.out their ids, a text a line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "support/gguf_vocab.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer.h"

namespace plumb {
namespace {

constexpr EncodeOptions kTextOnly{.add_special = false, .parse_special = false};

std::vector<std::string> split_texts(const std::string& content) {
  constexpr std::string_view kMark = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = content.find(kMark, begin);
    if (end == std::string::npos) {
      break;
    }
    texts.push_back(content.substr(begin, end - begin));
    begin = end + kMark.size();
  }
  return texts;
}

std::vector<TokenId> parse_ids(std::string_view line) {
  std::vector<TokenId> ids;
  for (const std::string_view word : split(line, ' ')) {
    std::int64_t id = 0;
    if (!word.empty()) {
      EXPECT_TRUE(parse_int64(word, &id)) << line;
      ids.push_back(static_cast<TokenId>(id));
    }
  }
  return ids;
}

class VocabFiles : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    path_ = std::string(PLUMB_SHARED_DIR) + "/data/vocab/ggml-vocab-" + GetParam() + ".gguf";
    if (!file_exists(path_)) {
      GTEST_SKIP() << path_ << " is absent";
    }
    Result<Metadata> metadata = read_gguf_vocab(path_);
    ASSERT_TRUE(metadata.ok()) << metadata.status().message();
    Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::from_metadata(metadata.value());
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    tokenizer_ = std::move(tokenizer).value();
    const Result<std::string> texts = read_file(path_ + ".inp");
    const Result<std::string> ids = read_file(path_ + ".out");
    ASSERT_TRUE(texts.ok() && ids.ok());
    texts_ = split_texts(texts.value());
    for (const std::string_view line : split(ids.value(), '\n')) {
      ids_.push_back(parse_ids(line));
    }
    ASSERT_GE(texts_.size(), 46U);
    ASSERT_GE(ids_.size(), texts_.size());
  }

  std::string path_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<std::string> texts_;
  std::vector<std::vector<TokenId>> ids_;
};

TEST_P(VocabFiles, texts_get_the_recorded_ids) {
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    EXPECT_EQ(tokenizer_->encode(texts_[i], kTextOnly), ids_[i]) << i << ": '" << texts_[i] << "'";
  }
}

TEST_P(VocabFiles, ids_decode_to_the_text_at_once_and_token_by_token) {
  for (const std::string& text : texts_) {
    const std::vector<TokenId> ids = tokenizer_->encode(text, kTextOnly);
    EXPECT_EQ(tokenizer_->decode(ids), text);
    Detokenizer detokenizer(*tokenizer_, {.skip_special = true, .at_text_start = true});
    std::string streamed;
    for (const TokenId id : ids) {
      std::string delta;
      detokenizer.push(id, &delta);
      EXPECT_TRUE(is_valid_utf8(delta)) << text;
      streamed += delta;
    }
    detokenizer.flush(&streamed);
    EXPECT_EQ(streamed, text);
  }
}

// A quadratic step anywhere would take minutes here.
TEST_P(VocabFiles, long_runs_of_one_character_are_encoded_in_good_time) {
  for (const char c : std::string_view("aA 9\n-'<")) {
    const std::string text(200'000, c);
    EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text, kTextOnly)), text) << c;
  }
  const std::string spaces = std::string(200'000, ' ') + "x";
  EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(spaces, kTextOnly)), spaces);
}

INSTANTIATE_TEST_SUITE_P(all, VocabFiles,
                         testing::Values("deepseek-llm", "gpt-2", "llama-bpe", "llama-spm",
                                         "qwen2"));

}  // namespace
}  // namespace plumb
