// SPDX-License-Identifier: Apache-2.0
#include "frontend/text_stream.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "support/byte_tokenizer.h"

namespace plumb {
namespace {

class TextStreams : public testing::Test {
 protected:
  static StreamEvent event_of(const std::string& bytes, FinishReason finish = FinishReason::kNone) {
    StreamEvent event;
    for (const char byte : bytes) {
      event.tokens.push_back({static_cast<unsigned char>(byte), -1.0F, {}});
    }
    event.finish = finish;
    return event;
  }

  TextStream stream(const TextStreamOptions& options = {}) { return {*tokenizer_, options}; }

  static std::string bytes_of(const ChoiceDelta& delta) {
    std::string bytes;
    for (const TokenText& token : delta.tokens) {
      bytes += token.bytes;
    }
    return bytes;
  }

  std::unique_ptr<Tokenizer> tokenizer_ = make_byte_tokenizer();
};

TEST_F(TextStreams, a_character_comes_with_the_tokens_that_spell_it) {
  TextStream text = stream();
  EXPECT_EQ(text.consume(event_of("a\xE6")).text, "a");
  const ChoiceDelta waiting = text.consume(event_of("\xBC"));
  EXPECT_EQ(waiting.text, "");
  EXPECT_TRUE(waiting.tokens.empty());
  const ChoiceDelta whole = text.consume(event_of("\xA2"));
  EXPECT_EQ(whole.text, "漢");
  EXPECT_EQ(bytes_of(whole), "漢");
}

TEST_F(TextStreams, any_cut_of_any_text_adds_up_and_never_breaks_a_character) {
  const std::string source =
      "Grüße, 漢字 👩‍👩‍👧 \xF0\x9F\x87\xA9\xF0\x9F\x87\xAA – ok";
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    TextStream text = stream();
    std::string joined;
    std::string spelled;
    std::size_t at = 0;
    while (at < source.size()) {
      const std::size_t step = 1 + rng.next_u32() % 5;
      const ChoiceDelta delta = text.consume(
          event_of(source.substr(at, step),
                   at + step < source.size() ? FinishReason::kNone : FinishReason::kLength));
      EXPECT_TRUE(is_valid_utf8(delta.text));
      joined += delta.text;
      spelled += bytes_of(delta);
      at += step;
    }
    EXPECT_EQ(joined, source);
    EXPECT_EQ(spelled, source);
    EXPECT_EQ(text.num_tokens(), static_cast<std::int64_t>(source.size()));
  }
}

TEST_F(TextStreams, bytes_that_never_become_a_character_are_replaced_at_the_end) {
  TextStream text = stream();
  EXPECT_EQ(text.consume(event_of("a\xE6\xBC")).text, "a");
  const ChoiceDelta last = text.consume(event_of("", FinishReason::kLength));
  EXPECT_EQ(last.text, "\xEF\xBF\xBD");
  EXPECT_EQ(bytes_of(last), "\xE6\xBC");
}

TEST_F(TextStreams, a_stop_string_over_several_tokens_ends_the_text_before_it) {
  TextStreamOptions options;
  options.stops = {"never", "END"};
  TextStream text = stream(options);
  EXPECT_EQ(text.consume(event_of("text E")).text, "text ");
  EXPECT_EQ(text.consume(event_of("N")).text, "");
  EXPECT_FALSE(text.matched_stop().has_value());
  EXPECT_EQ(text.consume(event_of("D and more")).text, "");
  EXPECT_EQ(text.matched_stop(), "END");
  EXPECT_EQ(text.num_tokens(), 8);
  EXPECT_EQ(text.consume(event_of("later", FinishReason::kLength)).text, "");
  EXPECT_EQ(text.num_tokens(), 8);
}

TEST_F(TextStreams, the_beginning_of_a_stop_string_that_does_not_come_is_text) {
  TextStreamOptions options;
  options.stops = {"END"};
  TextStream text = stream(options);
  EXPECT_EQ(text.consume(event_of("aEN")).text, "a");
  EXPECT_EQ(text.consume(event_of("EN")).text, "EN");
  const ChoiceDelta last = text.consume(event_of("", FinishReason::kLength));
  EXPECT_EQ(last.text, "EN");
  EXPECT_EQ(bytes_of(last), "EN");
}

TEST_F(TextStreams, a_stop_string_is_kept_when_that_was_asked_for) {
  TextStreamOptions options;
  options.stops = {"END"};
  options.include_stop_str = true;
  TextStream text = stream(options);
  EXPECT_EQ(text.consume(event_of("xENDy")).text, "xEND");
  EXPECT_EQ(text.matched_stop(), "END");
}

TEST_F(TextStreams, a_stop_expression_ends_the_text_and_its_match_is_kept_when_wanted) {
  TextStreamOptions options;
  options.stop_regex = StopRegex::compile({"[0-9]+;"}).value();
  TextStream text = stream(options);
  EXPECT_EQ(text.consume(event_of("no 12")).text, "no ");
  EXPECT_EQ(text.consume(event_of("3;x")).text, "");
  EXPECT_EQ(text.matched_stop(), "[0-9]+;");
  options.include_stop_str = true;
  TextStream kept = stream(options);
  EXPECT_EQ(kept.consume(event_of("no 123;x")).text, "no 123;");
}

TEST_F(TextStreams, a_match_that_the_end_of_the_text_decides_counts) {
  TextStreamOptions options;
  options.stop_regex = StopRegex::compile({"END$"}).value();
  TextStream text = stream(options);
  EXPECT_EQ(text.consume(event_of("the END", FinishReason::kLength)).text, "the ");
  EXPECT_EQ(text.matched_stop(), "END$");
}

TEST_F(TextStreams, stops_are_not_tested_before_min_tokens) {
  TextStreamOptions options;
  options.stops = {"b"};
  options.min_tokens = 3;
  TextStream text = stream(options);
  EXPECT_EQ(text.consume(event_of("bbb")).text, "bbb");
  EXPECT_EQ(text.consume(event_of("ab")).text, "a");
  EXPECT_EQ(text.matched_stop(), "b");
}

TEST_F(TextStreams, tokens_of_the_event_in_which_a_stop_matched_come_with_their_text) {
  TextStreamOptions options;
  options.stops = {"END"};
  TextStream text = stream(options);
  EXPECT_EQ(bytes_of(text.consume(event_of("abENDxyz"))), "ab");
}

TEST_F(TextStreams, a_token_that_a_stop_string_cuts_comes_with_the_part_that_is_text) {
  TextStreamOptions options;
  options.stops = {"end>"};
  options.skip_special_tokens = false;  // the one token here of several bytes: "<end>"
  StreamEvent event = event_of("a");
  event.tokens.push_back({256, -1.0F, {}});
  event.tokens.push_back({'b', -1.0F, {}});
  TextStream cut = stream(options);
  const ChoiceDelta delta = cut.consume(event);
  EXPECT_EQ(delta.text, "a<");
  EXPECT_EQ(bytes_of(delta), "a<end>");
  options.stops = {"<end"};  // no byte of the token is left
  TextStream whole = stream(options);
  EXPECT_EQ(bytes_of(whole.consume(event)), "a");
  options.include_stop_str = true;
  TextStream kept = stream(options);
  const ChoiceDelta with_stop = kept.consume(event);
  EXPECT_EQ(with_stop.text, "a<end");
  EXPECT_EQ(bytes_of(with_stop), "a<end>");
}

TEST_F(TextStreams, a_cut_token_comes_when_the_stop_string_is_complete) {
  TextStreamOptions options;
  options.stops = {"nd>b"};
  options.skip_special_tokens = false;
  StreamEvent event = event_of("a");
  event.tokens.push_back({256, -1.0F, {}});
  TextStream text = stream(options);
  const ChoiceDelta first = text.consume(event);
  EXPECT_EQ(first.text, "a<e");
  EXPECT_EQ(bytes_of(first), "a");
  EXPECT_EQ(bytes_of(text.consume(event_of("b"))), "<end>");
}

TEST_F(TextStreams, the_token_that_ends_a_text_is_counted_and_not_shown) {
  for (const FinishReason reason : {FinishReason::kEos, FinishReason::kStop}) {
    TextStream text = stream();
    const ChoiceDelta delta = text.consume(event_of("abZ", reason));
    EXPECT_EQ(delta.text, "ab");
    EXPECT_EQ(bytes_of(delta), "ab");
    EXPECT_EQ(text.num_tokens(), 3);
  }
}

TEST_F(TextStreams, control_tokens_are_text_only_when_wanted) {
  StreamEvent event = event_of("a", FinishReason::kLength);
  event.tokens.push_back({256, -1.0F, {}});
  EXPECT_EQ(stream().consume(event).text, "a");
  TextStreamOptions options;
  options.skip_special_tokens = false;
  EXPECT_EQ(stream(options).consume(event).text, "a<end>");
}

TEST_F(TextStreams, tokens_inside_a_possible_stop_string_wait_with_their_text) {
  TextStreamOptions options;
  options.stops = {"END"};
  TextStream text = stream(options);
  EXPECT_EQ(bytes_of(text.consume(event_of("abE"))), "ab");
  EXPECT_EQ(bytes_of(text.consume(event_of("x"))), "Ex");
}

}  // namespace
}  // namespace plumb
