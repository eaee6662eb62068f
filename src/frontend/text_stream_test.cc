// SPDX-License-Identifier: Apache-2.0
#include "frontend/text_stream.h"

#include <gtest/gtest.h>

#include "api/custom_tool.h"
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

  // A stream that finds text only, so that an event gives one delta at most.
  struct PlainStream {
    ChoiceDelta consume(const StreamEvent& event) {
      std::vector<ChoiceDelta> deltas = stream.consume(event);
      EXPECT_LE(deltas.size(), 1U);
      return deltas.empty() ? ChoiceDelta() : std::move(deltas.front());
    }

    std::optional<std::string> matched_stop() const { return stream.matched_stop(); }

    std::int64_t num_tokens() const { return stream.num_tokens(); }

    TextStream stream;
  };

  PlainStream stream(const TextStreamOptions& options = {}) {
    return {TextStream(*tokenizer_, options)};
  }

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
  PlainStream text = stream();
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
    PlainStream text = stream();
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
  PlainStream text = stream();
  EXPECT_EQ(text.consume(event_of("a\xE6\xBC")).text, "a");
  const ChoiceDelta last = text.consume(event_of("", FinishReason::kLength));
  EXPECT_EQ(last.text, "\xEF\xBF\xBD");
  EXPECT_EQ(bytes_of(last), "\xE6\xBC");
}

TEST_F(TextStreams, a_stop_string_over_several_tokens_ends_the_text_before_it) {
  TextStreamOptions options;
  options.stops = {"never", "END"};
  PlainStream text = stream(options);
  EXPECT_EQ(text.consume(event_of("text E")).text, "text ");
  EXPECT_EQ(text.consume(event_of("N")).text, "");
  EXPECT_FALSE(text.matched_stop().has_value());
  EXPECT_EQ(text.consume(event_of("D and more")).text, "");
  EXPECT_EQ(text.matched_stop(), "END");
  EXPECT_EQ(text.num_tokens(), 8);
  EXPECT_EQ(text.consume(event_of("later", FinishReason::kLength)).text, "");
  EXPECT_EQ(text.num_tokens(), 8);
  EXPECT_EQ(bytes_of({.tokens = text.stream.cut_tokens()}), "END");
}

TEST_F(TextStreams, the_beginning_of_a_stop_string_that_does_not_come_is_text) {
  TextStreamOptions options;
  options.stops = {"END"};
  PlainStream text = stream(options);
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
  PlainStream text = stream(options);
  EXPECT_EQ(text.consume(event_of("xENDy")).text, "xEND");
  EXPECT_EQ(text.matched_stop(), "END");
}

TEST_F(TextStreams, a_stop_expression_ends_the_text_and_its_match_is_kept_when_wanted) {
  TextStreamOptions options;
  options.stop_regex = StopRegex::compile({"[0-9]+;"}).value();
  PlainStream text = stream(options);
  EXPECT_EQ(text.consume(event_of("no 12")).text, "no ");
  EXPECT_EQ(text.consume(event_of("3;x")).text, "");
  EXPECT_EQ(text.matched_stop(), "[0-9]+;");
  options.include_stop_str = true;
  PlainStream kept = stream(options);
  EXPECT_EQ(kept.consume(event_of("no 123;x")).text, "no 123;");
}

TEST_F(TextStreams, a_match_that_the_end_of_the_text_decides_counts) {
  TextStreamOptions options;
  options.stop_regex = StopRegex::compile({"END$"}).value();
  PlainStream text = stream(options);
  EXPECT_EQ(text.consume(event_of("the END", FinishReason::kLength)).text, "the ");
  EXPECT_EQ(text.matched_stop(), "END$");
}

TEST_F(TextStreams, stops_are_not_tested_before_min_tokens) {
  TextStreamOptions options;
  options.stops = {"b"};
  options.min_tokens = 3;
  PlainStream text = stream(options);
  EXPECT_EQ(text.consume(event_of("bbb")).text, "bbb");
  EXPECT_EQ(text.consume(event_of("ab")).text, "a");
  EXPECT_EQ(text.matched_stop(), "b");
}

TEST_F(TextStreams, tokens_of_the_event_in_which_a_stop_matched_come_with_their_text) {
  TextStreamOptions options;
  options.stops = {"END"};
  PlainStream text = stream(options);
  EXPECT_EQ(bytes_of(text.consume(event_of("abENDxyz"))), "ab");
}

TEST_F(TextStreams, a_token_that_a_stop_string_cuts_comes_with_the_part_that_is_text) {
  TextStreamOptions options;
  options.stops = {"end>"};
  options.skip_special_tokens = false;  // the one token here of several bytes: "<end>"
  StreamEvent event = event_of("a");
  event.tokens.push_back({256, -1.0F, {}});
  event.tokens.push_back({'b', -1.0F, {}});
  PlainStream cut = stream(options);
  const ChoiceDelta delta = cut.consume(event);
  EXPECT_EQ(delta.text, "a<");
  EXPECT_EQ(bytes_of(delta), "a<end>");
  options.stops = {"<end"};  // no byte of the token is left
  PlainStream whole = stream(options);
  EXPECT_EQ(bytes_of(whole.consume(event)), "a");
  options.include_stop_str = true;
  PlainStream kept = stream(options);
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
  PlainStream text = stream(options);
  const ChoiceDelta first = text.consume(event);
  EXPECT_EQ(first.text, "a<e");
  EXPECT_EQ(bytes_of(first), "a");
  EXPECT_EQ(bytes_of(text.consume(event_of("b"))), "<end>");
}

TEST_F(TextStreams, the_token_that_ends_a_text_is_counted_and_not_shown) {
  for (const FinishReason reason : {FinishReason::kEos, FinishReason::kStop}) {
    PlainStream text = stream();
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
  PlainStream text = stream(options);
  EXPECT_EQ(bytes_of(text.consume(event_of("abE"))), "ab");
  EXPECT_EQ(bytes_of(text.consume(event_of("x"))), "Ex");
}

// All deltas of an answer, one event for each byte; then that of the end.
class AnswerStreams : public TextStreams {
 protected:
  static OutputOptions hermes() {
    OutputOptions output;
    output.format.tools = find_tool_format("hermes");
    output.format.reasoning = find_reasoning_format("think");
    output.format.starts_in_reasoning = true;
    return output;
  }

  std::vector<ChoiceDelta> run(const std::string& text, const TextStreamOptions& options,
                               FinishReason finish = FinishReason::kLength) {
    stream_ = std::make_unique<TextStream>(*tokenizer_, options);
    std::vector<ChoiceDelta> out;
    for (const char byte : text) {
      for (ChoiceDelta& delta : stream_->consume(event_of(std::string(1, byte)))) {
        out.push_back(std::move(delta));
      }
    }
    for (ChoiceDelta& delta : stream_->consume(event_of("", finish))) {
      out.push_back(std::move(delta));
    }
    return out;
  }

  static std::vector<AnswerPart> parts_of(const std::vector<ChoiceDelta>& deltas) {
    std::vector<AnswerPart> parts;
    for (const ChoiceDelta& delta : deltas) {
      append_delta(delta, &parts);
    }
    for (AnswerPart& part : parts) {
      part.id.clear();
    }
    return parts;
  }

  std::unique_ptr<TextStream> stream_;
};

constexpr const char* kAnswer =
    "hm.</think>ok\n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"END\"}}</tool_call>\n"
    "<tool_call>{\"name\": \"g\"}</tool_call>bye";

TEST_F(AnswerStreams, an_answer_comes_in_its_parts_and_every_token_has_one) {
  const std::vector<ChoiceDelta> deltas = run(kAnswer, {.output = hermes()});
  EXPECT_EQ(parts_of(deltas),
            (std::vector<AnswerPart>{{AnswerKind::kReasoning, "hm."},
                                     {AnswerKind::kText, "ok"},
                                     {AnswerKind::kCall, R"({"a": "END"})", "", "f", true},
                                     {AnswerKind::kCall, "{}", "", "g", true},
                                     {AnswerKind::kText, "bye"}}));
  std::string spelled;
  std::string text;
  std::vector<std::string> ids;
  for (const ChoiceDelta& delta : deltas) {
    spelled += bytes_of(delta);
    for (const TokenText& token : delta.tokens) {
      text += token.kind == AnswerKind::kText ? token.bytes : "";
    }
    for (const ToolCallDelta& call : delta.calls) {
      EXPECT_EQ(call.id.empty(), !call.is_first());
      if (call.is_first()) {
        ids.push_back(call.id);
      }
    }
  }
  EXPECT_EQ(spelled, kAnswer);
  EXPECT_EQ(text, "okbye");
  EXPECT_EQ(stream_->num_reasoning_tokens(), 11);  // with the mark that ends it
  EXPECT_EQ(stream_->num_complete_calls(), 2);
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_TRUE(ids[0].starts_with("call_") && ids[0].size() == 29U && ids[0] != ids[1]) << ids[0];
}

TEST_F(AnswerStreams, stop_strings_are_looked_for_in_the_text_alone) {
  TextStreamOptions options{.output = hermes()};
  options.stops = {"hm", "END", "ye", "k\n<"};
  const std::vector<AnswerPart> parts = parts_of(run(kAnswer, options));
  ASSERT_EQ(parts.size(), 5U);
  EXPECT_EQ(parts.back(), (AnswerPart{AnswerKind::kText, "b"}));
  EXPECT_EQ(stream_->matched_stop(), "ye");
  EXPECT_EQ(stream_->num_tokens(), static_cast<std::int64_t>(std::string(kAnswer).size()));
}

TEST_F(AnswerStreams, reasoning_comes_in_one_piece_or_not_at_all_on_demand) {
  OutputOptions output = hermes();
  output.streams_reasoning = false;
  std::vector<ChoiceDelta> deltas = run(kAnswer, {.output = output});
  int num_pieces = 0;
  for (const ChoiceDelta& delta : deltas) {
    num_pieces += delta.reasoning.empty() ? 0 : 1;
  }
  EXPECT_EQ(num_pieces, 1);
  EXPECT_EQ(parts_of(deltas).front(), (AnswerPart{AnswerKind::kReasoning, "hm."}));
  output.shows_reasoning = false;
  EXPECT_EQ(parts_of(run(kAnswer, {.output = output})).front(),
            (AnswerPart{AnswerKind::kText, "ok"}));
  EXPECT_EQ(stream_->num_reasoning_tokens(), 11);
}

TEST_F(AnswerStreams, an_answer_can_end_with_its_first_call) {
  OutputOptions output = hermes();
  output.max_calls = 1;
  EXPECT_EQ(parts_of(run(kAnswer, {.output = output})).size(), 3U);
  EXPECT_TRUE(stream_->is_over());
  EXPECT_EQ(stream_->num_complete_calls(), 1);
}

TEST_F(AnswerStreams, a_call_says_whether_its_arguments_were_cut) {
  const auto last_call = [this](const std::string& arguments) {
    ToolCallDelta last;
    for (const ChoiceDelta& delta :
         run("</think><tool_call>{\"name\": \"f\", \"arguments\": " + arguments,
             {.output = hermes()})) {
      last = delta.calls.empty() ? last : delta.calls.back();
    }
    return last;
  };
  const ToolCallDelta cut = last_call(R"({"a": "EN)");
  EXPECT_TRUE(cut.has_ended);
  EXPECT_TRUE(cut.is_cut);
  const ToolCallDelta whole = last_call(R"({"a": "END"}}</tool_call>)");
  EXPECT_TRUE(whole.has_ended);
  EXPECT_FALSE(whole.is_cut);
}

TEST_F(AnswerStreams, what_the_limit_cuts_of_a_mark_behind_a_whole_call_is_no_text) {
  const std::string call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n";
  const std::vector<AnswerPart> whole{{AnswerKind::kReasoning, "hm"},
                                      {AnswerKind::kCall, "{}", "", "f", true}};
  for (const char* rest : {"", "</", "</tool_call", "</tool_call>", "</tool_call>\n",
                           "</tool_call>\n<", "</tool_call>\n<tool_call",
                           "</tool_call>\n<tool_call>", "</tool_call>\n<tool_call>\n{\"na"}) {
    SCOPED_TRACE(rest);
    const std::string text = "hm</think>" + call + rest;
    const std::vector<ChoiceDelta> deltas = run(text, {.output = hermes()});
    EXPECT_EQ(parts_of(deltas), whole);
    EXPECT_EQ(stream_->num_complete_calls(), 1);
    std::string spelled;
    for (const ChoiceDelta& delta : deltas) {
      spelled += bytes_of(delta);
    }
    EXPECT_EQ(spelled, text);
  }
  EXPECT_EQ(stream_->malformed_call(), "<tool_call>\n{\"na");
  // Before any call is whole it is text, and so is what the model itself ended like that.
  EXPECT_EQ(parts_of(run("hm</think>a <tool", {.output = hermes()})).back(),
            (AnswerPart{AnswerKind::kText, "a <tool"}));
  EXPECT_EQ(
      parts_of(run("hm</think>" + call + "</tool_call>\nbye <to", {.output = hermes()})).back(),
      (AnswerPart{AnswerKind::kText, "bye"}));
  EXPECT_EQ(parts_of(run("hm</think>" + call + "</tool_call>\n<to", {.output = hermes()},
                         FinishReason::kEos))
                .back(),
            (AnswerPart{AnswerKind::kText, "<to"}));
}

// A custom tool p with lines that begin with a plus sign.
std::vector<CheckedInput> lines_of_plus() {
  ToolUse use;
  Tool tool;
  tool.name = "p";
  tool.is_custom = true;
  tool.input = InputFormat{InputFormat::Syntax::kLark, "start: (\"+\" /.*/ LF)+\n%import common.LF",
                           "tools[0]"};
  use.tools.push_back(tool);
  return std::get<std::vector<CheckedInput>>(compile_input_checks(use));
}

TEST_F(AnswerStreams, an_input_that_is_not_what_its_tool_asks_for_ends_the_answer) {
  OutputOptions output = hermes();
  output.inputs = lines_of_plus();
  const auto call = [](const std::string& arguments) {
    return "<tool_call>{\"name\": \"p\", \"arguments\": " + arguments + "}</tool_call>";
  };
  run("</think>" + call(R"({"input": "+a\n+\n"})") + call(R"({"input":"+\n"})"),
      {.output = output});
  EXPECT_FALSE(stream_->invalid_call().has_value());
  EXPECT_EQ(stream_->num_complete_calls(), 2);
  const std::vector<ChoiceDelta> deltas =
      run("</think>" + call(R"({"input": "+a\n-\n"})") + "more" + call("{}"), {.output = output});
  ASSERT_TRUE(stream_->invalid_call().has_value());
  EXPECT_EQ(stream_->invalid_call()->code, "custom_tool_input_invalid");
  EXPECT_NE(stream_->invalid_call()->message.find("line 2, column 1"), std::string::npos);
  EXPECT_TRUE(stream_->is_over());
  ASSERT_FALSE(deltas.empty());
  EXPECT_TRUE(deltas.back().calls.back().has_ended);
  EXPECT_EQ(parts_of(deltas).size(), 1U);
  run("</think>" + call(R"({"text": 1})"), {.output = output});
  EXPECT_TRUE(stream_->invalid_call().has_value());
}

TEST_F(AnswerStreams, an_input_that_the_limit_cuts_is_not_tested_and_one_that_broke_off_is) {
  OutputOptions output = hermes();
  output.inputs = lines_of_plus();
  const std::string cut =
      "</think><tool_call>{\"name\": \"p\", \"arguments\": {\"input\": \"+a\\n-";
  run(cut, {.output = output}, FinishReason::kLength);
  EXPECT_FALSE(stream_->invalid_call().has_value());
  run(cut, {.output = output}, FinishReason::kStop);
  EXPECT_TRUE(stream_->invalid_call().has_value());
}

TEST_F(AnswerStreams, inputs_of_every_format_are_read_as_they_were_written) {
  constexpr std::pair<const char*, const char*> kCalls[] = {
      {"qwen3_coder",
       "<tool_call>\n<function=p>\n<parameter=input>\n+a\"b\\c\n+\n\n</parameter>\n</function>\n"
       "</tool_call>"},
      {"glm45",
       "<tool_call>p\n<arg_key>input</arg_key>\n<arg_value>+a\"b\\c\n+\n</arg_value>\n"
       "</tool_call>"},
      {"deepseek_v4",
       "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"p\">\n<｜DSML｜parameter name=\"input\" "
       "string=\"true\">+a\"b\\c\n+\n</｜DSML｜parameter>\n</｜DSML｜invoke>\n"
       "</｜DSML｜tool_calls>"},
      {"pythonic", "[p(input=\"+a\\\"b\\\\c\\n+\\n\")]"},
      {"mistral_v11", "[TOOL_CALLS]p[ARGS]{\"input\": \"+a\\\"b\\\\c\\n+\\n\"}"},
  };
  for (const auto& [format, text] : kCalls) {
    SCOPED_TRACE(format);
    OutputOptions output;
    output.format.tools = find_tool_format(format);
    Tool tool{"p", "", custom_parameters(), true};
    output.format.declared = {tool};
    output.inputs = lines_of_plus();
    const std::vector<AnswerPart> parts =
        parts_of(run(text, {.output = output}, FinishReason::kEos));
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(to_text(parse_json(parts[0].text).value()), R"({"input":"+a\"b\\c\n+\n"})");
    EXPECT_FALSE(stream_->invalid_call().has_value());
    EXPECT_EQ(stream_->num_complete_calls(), 1);
  }
}

TEST_F(AnswerStreams, control_tokens_mark_calls_and_text_that_spells_them_does_not) {
  OutputOptions output = hermes();
  output.format.reasoning = nullptr;
  output.format.marks = OutputMarks({"<tool_call>"});
  output.mark_tokens = {256};
  TextStream text(*tokenizer_, {.output = output});
  StreamEvent event = event_of("<tool_call> ");
  event.tokens.push_back({256, -1.0F, {}});
  for (const char c : std::string(R"({"name": "f"}</tool_call>)")) {
    event.tokens.push_back({static_cast<unsigned char>(c), -1.0F, {}});
  }
  event.finish = FinishReason::kLength;
  EXPECT_EQ(parts_of(text.consume(event)),
            (std::vector<AnswerPart>{{AnswerKind::kText, "<tool_call>"},
                                     {AnswerKind::kCall, "{}", "", "f", true}}));
}

TEST_F(AnswerStreams, the_ids_of_calls_are_those_of_the_format) {
  const auto id_of = [&](const char* format, const std::string& text) {
    OutputOptions output;
    output.format.tools = find_tool_format(format);
    output.call_id_prefix = "toolu_";
    for (const ChoiceDelta& delta : run(text, {.output = output})) {
      for (const ToolCallDelta& call : delta.calls) {
        if (call.is_first()) {
          return call.id;
        }
      }
    }
    return std::string();
  };
  EXPECT_EQ(
      id_of("kimi_k2",
            "<|tool_call_begin|>functions.f:3<|tool_call_argument_begin|>{}<|tool_call_end|>"),
      "functions.f:3");
  EXPECT_EQ(id_of("mistral_v11", "[TOOL_CALLS]f[ARGS]{}").size(), 9U);
  const std::string own = id_of("hermes", R"(<tool_call>{"name":"f"}</tool_call>)");
  EXPECT_TRUE(own.starts_with("toolu_") && own.size() == 30U) << own;
}

}  // namespace
}  // namespace plumb
