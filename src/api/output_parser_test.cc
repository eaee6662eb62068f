// SPDX-License-Identifier: Apache-2.0
#include "api/output_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/parsed_output.h"

namespace plumb {
namespace {

using testing::HasSubstr;

constexpr std::size_t kWhole = 1 << 20;

const char* const kSchema =
    R"({"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},)"
    R"("exact":{"type":"boolean"},"tags":{"type":"array"},"zip":{"type":["string","null"]},)"
    R"("at":{"$ref":"#/$defs/At"}},"$defs":{"At":{"anyOf":[{"type":"object"},{"type":"null"}]}}})";

std::vector<Tool> declared() {
  return {{"f", "", parse_json(kSchema).value(), false}};
}

// The pieces, which have to be the same however the text is cut, and with marks as tokens or text.
std::string parse(std::string_view tools, std::string_view reasoning, const std::string& text,
                  bool starts_in_reasoning = false) {
  std::string first;
  for (const bool with_tokens : {false, true}) {
    OutputFormat format = output_format(tools, reasoning, with_tokens);
    format.starts_in_reasoning = starts_in_reasoning;
    format.declared = declared();
    format.shows_marks = true;
    const std::string input = format.marks.encode(text);
    const std::string whole = describe(parse_in_pieces(format, input, kWhole));
    if (!with_tokens) {
      first = whole;
    }
    EXPECT_EQ(whole, first) << "with tokens: " << text;
    for (std::size_t piece = 1; piece <= 3; ++piece) {
      EXPECT_EQ(describe(parse_in_pieces(format, input, piece)), whole)
          << "pieces of " << piece << ": " << text;
    }
    for (std::size_t cut = 1; cut < characters_of(input).size(); ++cut) {
      EXPECT_EQ(describe(parse_in_pieces(format, input, kWhole, cut)), whole)
          << "cut at " << cut << ": " << text;
    }
  }
  return first;
}

std::string tools(std::string_view format, const std::string& text) {
  return parse(format, "", text);
}

const char* const kCall = "call: f\narguments: {\"city\": \"Köln\", \"days\": 2}\nend";
const char* const kCompactCall = "call: f\narguments: {\"city\":\"Köln\",\"days\":2}\nend";

TEST(OutputParsers, hermes_calls_come_one_after_the_other_and_text_around_them_stays) {
  EXPECT_EQ(
      tools("hermes",
            "Let me see.\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"Köln\", "
            "\"days\": 2}}\n</tool_call>\n<tool_call>\n{\"arguments\": {}, \"name\": \"g\"}\n"
            "</tool_call>\nDone."),
      "text: Let me see.\n" + std::string(kCall) + "\ncall: g\narguments: {}\nend\ntext: Done.");
  EXPECT_EQ(tools("hermes", R"(<tool_call>{"name":"g","arguments":null}</tool_call>)"),
            "call: g\narguments: {}\nend");
  EXPECT_EQ(tools("hermes", R"(<tool_call>{"name":"g"}</tool_call>)"),
            "call: g\narguments: {}\nend");
  EXPECT_EQ(
      tools("hermes",
            R"(<tool_call>{"name":"g","arguments":"{\"a\": \"x\\ud83d\\ude00\\n\"}"}</tool_call>)"),
      "call: g\narguments: {\"a\": \"x\\ud83d\\ude00\\n\"}\nend");
  EXPECT_EQ(tools("hermes", "just < text <tool_cal"), "text: just < text <tool_cal");
  EXPECT_EQ(tools("hermes", " \n"), "text:  \n");
}

TEST(OutputParsers, a_mark_inside_a_json_string_is_text) {
  EXPECT_EQ(
      tools("hermes", R"(<tool_call>{"name":"g","arguments":{"a":"</tool_call>{["}}</tool_call>)"),
      "call: g\narguments: {\"a\":\"</tool_call>{[\"}\nend");
}

TEST(OutputParsers, qwen_xml_values_have_the_types_of_the_schema) {
  EXPECT_EQ(
      tools("qwen3_coder",
            "<tool_call>\n<function=f>\n<parameter=city>\nKöln \"x\"\n\n</parameter>\n"
            "<parameter=days>\n2\n</parameter>\n<parameter=exact>\nTrue\n</parameter>\n"
            "<parameter=tags>\n[\"a\", 1]\n</parameter>\n<parameter=zip>\nnull\n</parameter>\n"
            "<parameter=at>\n{\"x\": 1}\n</parameter>\n<parameter=other>\n5\n</parameter>\n"
            "</function>\n</tool_call>"),
      "call: f\narguments: {\"city\":\"Köln "
      "\\\"x\\\"\\n\",\"days\":2,\"exact\":true,\"tags\":[\"a\", 1],"
      "\"zip\":null,\"at\":{\"x\": 1},\"other\":\"5\"}\nend");
  EXPECT_EQ(tools("qwen3_coder", "<tool_call><function=f></function></tool_call>"),
            "call: f\narguments: {}\nend");
  EXPECT_EQ(tools("qwen3_coder",
                  "<function=f><parameter=days>soon</parameter><parameter=city>&lt;b&gt;"
                  "</parameter></function>"),
            "call: f\narguments: {\"days\":\"soon\",\"city\":\"&lt;b&gt;\"}\nend");
}

TEST(OutputParsers, llama_calls_are_bare_json_and_other_json_is_text) {
  const std::string call = R"({"name": "f", "parameters": {"city": "Köln", "days": 2}})";
  EXPECT_EQ(tools("llama3", call), kCall);
  EXPECT_EQ(tools("llama3", "<|python_tag|>" + call + "; " + call + "\n" + call),
            std::string(kCall) + "\n" + kCall + "\n" + kCall);
  EXPECT_EQ(tools("llama3", R"({"type":"function","name":"f","parameters":{}})"),
            "call: f\narguments: {}\nend");
  EXPECT_EQ(tools("llama3", R"({"name": "Bob", "age": 3})"), R"(text: {"name": "Bob", "age": 3})");
  EXPECT_EQ(tools("llama3", R"({"name": "Bob"})"), R"(text: {"name": "Bob"})");
  EXPECT_EQ(tools("llama3", "Use {\"name\": 1}"), "text: Use {\"name\": 1}");
  EXPECT_EQ(tools("llama3", "<|python_tag|>brave_search.call(query=\"x\")"),
            "call: brave_search\narguments: {\"query\":\"x\"}\nend");
  EXPECT_EQ(tools("llama3", "<|python_tag|>print(1)"), "text: <|python_tag|>print(1)");
}

TEST(OutputParsers, python_literals_become_json) {
  EXPECT_EQ(tools("pythonic", R"([f(a="x", b=1), g()])"),
            "call: f\narguments: {\"a\":\"x\",\"b\":1}\nend\ncall: g\narguments: {}\nend");
  EXPECT_EQ(tools("pythonic",
                  "[f(a='it\\'s \"x\"\\n\\x41\\u00e9', b=[True, None, -1.5e3,], c={'k': (1, 2)})]"),
            "call: f\narguments: {\"a\":\"it's \\\"x\\\"\\n\\u0041é\",\"b\":[true,null,-1.5e3],"
            "\"c\":{\"k\":[1,2]}}\nend");
  EXPECT_EQ(tools("pythonic", "[1, 2]"), "text: [1, 2]");
  EXPECT_EQ(tools("pythonic", "[see the list] ok"), "text: [see the list] ok");
  EXPECT_EQ(tools("llama4", "<|python_start|>[f(a=1)]<|python_end|>"),
            "call: f\narguments: {\"a\":1}\nend");
}

TEST(OutputParsers, mistral_lists_and_names_with_arguments) {
  EXPECT_EQ(
      tools(
          "mistral",
          R"([TOOL_CALLS] [{"name": "f", "arguments": {"city": "Köln", "days": 2}, "id": "abcdefghi"}, {"name": "g", "arguments": {}}])"),
      std::string(kCall) + "\ncall: g\narguments: {}\nend");
  EXPECT_EQ(tools("mistral_v11",
                  R"(ok[TOOL_CALLS]f[ARGS]{"city": "Köln", "days": 2}[TOOL_CALLS]g{"a":1})"),
            "text: ok\n" + std::string(kCall) + "\ncall: g\narguments: {\"a\":1}\nend");
  EXPECT_EQ(tools("mistral_v11", R"([TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]{})"),
            "call: f abcdefghi\narguments: {}\nend");
}

TEST(OutputParsers, deepseek_sections_in_both_forms) {
  EXPECT_EQ(
      tools("deepseek_v3",
            "Wait.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n"
            "{\"city\": \"Köln\", \"days\": 2}\n```<｜tool▁call▁end｜>\n"
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜>"
            "<｜tool▁calls▁end｜>"),
      "text: Wait.\n" + std::string(kCall) + "\ncall: g\narguments: {}\nend");
  EXPECT_EQ(tools("deepseek_v31",
                  "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"city\": \"Köln\", "
                  "\"days\": 2}<｜tool▁call▁end｜><｜tool▁call▁begin｜>g<｜tool▁sep｜>"
                  "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
            std::string(kCall) + "\ncall: g\narguments: {}\nend");
}

TEST(OutputParsers, dsml_says_what_is_a_string) {
  for (const auto& [format, block] :
       {std::pair("deepseek_v32", "function_calls"), std::pair("deepseek_v4", "tool_calls")}) {
    const std::string name(block);
    EXPECT_EQ(
        tools(format, "Ok.\n\n<｜DSML｜" + name +
                          ">\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"city\" "
                          "string=\"true\">Köln</｜DSML｜parameter>\n<｜DSML｜parameter "
                          "name=\"days\" string=\"false\">2</｜DSML｜parameter>\n"
                          "</｜DSML｜invoke>\n<｜DSML｜invoke name=\"g\">\n{\"a\": [1]}\n"
                          "</｜DSML｜invoke>\n</｜DSML｜" +
                          name + ">"),
        "text: Ok.\n" + std::string(kCompactCall) + "\ncall: g\narguments: {\"a\": [1]}\nend");
  }
  EXPECT_EQ(
      tools("deepseek_v4",
            "<｜DSML｜tool_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"x\" "
            "string=\"false\">no json</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>"),
      "call: f\narguments: {\"x\":\"no json\"}\nend");
}

TEST(OutputParsers, gemma_strings_stand_between_their_own_quotes) {
  EXPECT_EQ(
      tools("gemma4",
            "<|tool_call>call:f{city:<|\"|>Köln \"{x}\" \\n<|\"|>,n:3,b:true,o:{k:<|\"|><|\"|>},"
            "a:[1,null]}<tool_call|>"),
      "call: f\narguments: {\"city\":\"Köln \\\"{x}\\\" \\\\n\",\"n\":3,\"b\":true,"
      "\"o\":{\"k\":\"\"},\"a\":[1,null]}\nend");
  EXPECT_EQ(tools("gemma4", "<|tool_call>call:g{}<tool_call|>ok"),
            "call: g\narguments: {}\nend\ntext: ok");
}

TEST(OutputParsers, kimi_writes_the_id_of_a_call) {
  EXPECT_EQ(tools("kimi_k2",
                  "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
                  "<|tool_call_argument_begin|>{\"city\": \"Köln\", \"days\": 2}<|tool_call_end|>"
                  "<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
                  "<|tool_calls_section_end|>"),
            "call: f functions.f:0\narguments: {\"city\": \"Köln\", \"days\": 2}\nend\n"
            "call: g functions.g:1\narguments: {}\nend");
}

TEST(OutputParsers, glm_arguments_come_as_keys_and_values) {
  EXPECT_EQ(tools("glm45",
                  "<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Köln</arg_value>\n"
                  "<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>"),
            kCompactCall);
  EXPECT_EQ(tools("glm45", "<tool_call>g</tool_call>"), "call: g\narguments: {}\nend");
  EXPECT_EQ(tools("glm45", "<tool_call>g<arg_key>n</arg_key><arg_value>7</arg_value></tool_call>"),
            "call: g\narguments: {\"n\":7}\nend");
}

TEST(OutputParsers, models_without_a_format_write_a_list) {
  EXPECT_EQ(tools("json", R"([{"name": "f", "parameters": {"city": "Köln", "days": 2}}])"), kCall);
  EXPECT_EQ(tools("json", R"({"name": "f", "parameters": {}})"), "call: f\narguments: {}\nend");
  EXPECT_EQ(tools("json", "[]"), "text: []");
}

TEST(OutputParsers, harmony_messages_go_by_channel_and_recipient) {
  EXPECT_EQ(
      parse("harmony", "harmony",
            "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>commentary"
            "<|message|>Let me look.<|end|><|start|>assistant<|channel|>commentary "
            "to=functions.f <|constrain|>json<|message|>{\"city\": \"Köln\", \"days\": 2}<|call|>"),
      "reasoning: Think.\ntext: Let me look.\n" + std::string(kCall));
  EXPECT_EQ(parse("harmony", "harmony",
                  " to=functions.g<|channel|>commentary<|message|>{}<|end|><|start|>assistant"
                  "<|channel|>final<|message|>Hi <b>"),
            "call: g\narguments: {}\nend\ntext: Hi <b>");
  EXPECT_EQ(parse("harmony", "harmony", "plain"), "text: plain");
  EXPECT_EQ(parse("harmony", "harmony", "<|start|>assistant"), "text: <|start|>assistant");
  EXPECT_EQ(parse("harmony", "harmony", "<|start|><|start|>a"), "text: <|start|><|start|>a");
}

TEST(OutputParsers, reasoning_ends_at_its_mark_and_white_space_stays) {
  EXPECT_EQ(parse("", "think", "<think>ab</think>\n\nC"), "reasoning: ab\ntext: \n\nC");
  EXPECT_EQ(parse("", "think", "ab</think>\n\nC", true), "reasoning: ab\ntext: \n\nC");
  EXPECT_EQ(parse("", "think", "\n<think>ab</think>", true), "reasoning: ab");
  EXPECT_EQ(parse("", "think", "no thought, <b>"), "text: no thought, <b>");
  EXPECT_EQ(parse("", "think", "cut off </thin", true), "reasoning: cut off </thin");
  EXPECT_EQ(parse("", "gemma4", "<|channel>thought\nhm<channel|>ok"), "reasoning: hm\ntext: ok");
  EXPECT_EQ(parse("", "mistral", "[THINK]hm[/THINK]ok"), "reasoning: hm\ntext: ok");
}

TEST(OutputParsers, a_call_inside_reasoning_ends_it) {
  EXPECT_EQ(
      parse("hermes", "think", "hm<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>", true),
      "reasoning: hm\ncall: g\narguments: {}\nend");
  EXPECT_EQ(parse("kimi_k2", "think",
                  "<think>hm<|tool_calls_section_begin|><|tool_call_begin|>functions.g:0"
                  "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"),
            "reasoning: hm\ncall: g functions.g:0\narguments: {}\nend");
  EXPECT_EQ(parse("llama3", "think", "hm</think>\n\n{\"name\":\"g\",\"parameters\":{}}", true),
            "reasoning: hm\ncall: g\narguments: {}\nend");
}

TEST(OutputParsers, a_call_that_is_cut_off_is_closed_where_it_stands) {
  EXPECT_EQ(tools("hermes", R"(<tool_call>{"name":"g","arguments":{"a":[1,{"b":"x\)"),
            "call: g\narguments: {\"a\":[1,{\"b\":\"x\"}]}\nbroken end");
  EXPECT_EQ(tools("hermes", R"(<tool_call>{"name":"g","arguments":{"a":1,"bcd":tr)"),
            "call: g\narguments: {\"a\":1}\nbroken end");
  EXPECT_EQ(tools("hermes", R"(<tool_call>{"name":"g","arguments":"""})"),
            "call: g\narguments: {}\nbroken end");
  EXPECT_EQ(tools("hermes", R"(<tool_call>{"na)"), R"(text: <tool_call>{"na)");
  EXPECT_EQ(tools("qwen3_coder", "<tool_call><function=f><parameter=city>\nKö"),
            "call: f\narguments: {\"city\":\"Kö\"}\nbroken end");
  EXPECT_EQ(tools("qwen3_coder", "<tool_call><function=f><parameter=days>1"),
            "call: f\narguments: {}\nbroken end");
  EXPECT_EQ(tools("pythonic", "[f(a=[1, 'x"), "call: f\narguments: {\"a\":[1,\"x\"]}\nbroken end");
}

TEST(OutputParsers, what_is_no_call_does_not_hide_the_next_one) {
  const std::string good = R"(<tool_call>{"name":"g","arguments":{}}</tool_call>)";
  EXPECT_EQ(tools("hermes", R"(<tool_call>{"name":"f","arguments":{"a":oops}}</tool_call>)" + good),
            "call: f\narguments: {}\nbroken end\ncall: g\narguments: {}\nend");
  EXPECT_EQ(tools("hermes", "<tool_call>oops</tool_call>" + good),
            "text: <tool_call>oops</tool_call>\ncall: g\narguments: {}\nend");
}

TEST(OutputParsers, names_and_keys_that_are_too_long_end_at_the_same_place) {
  std::string long_name;
  for (int i = 0; i < 800; ++i) {
    long_name += "é";
  }
  EXPECT_THAT(tools("qwen3_coder", "<tool_call><function=" + long_name + "</tool_call>"),
              HasSubstr("text: <tool_call><function=é"));
  EXPECT_EQ(tools("qwen3_coder", "<tool_call><function=f><parameter=" + long_name +
                                     ">1</parameter>"
                                     "</function></tool_call>"),
            "call: f\narguments: {}\nbroken end");
  EXPECT_THAT(tools("hermes", "<tool_call>{\"name\":\"" + long_name + "\"}</tool_call>"),
              HasSubstr("é"));
}

TEST(OutputParsers, the_text_of_broken_calls_is_kept) {
  for (const bool with_tokens : {false, true}) {
    OutputFormat format = output_format("hermes", "", with_tokens);
    const std::string input =
        format.marks.encode(R"(<tool_call>{"name":"f","arguments":{"a":oops}}</tool_call>)");
    const std::unique_ptr<OutputParser> parser = make_output_parser(std::move(format));
    std::vector<OutputPiece> out;
    parser->push(input, &out);
    parser->finish(&out, /*is_cut=*/false);
    EXPECT_EQ(parser->malformed(), R"(<tool_call>{"name":"f","arguments":{"a":oops}}</tool_call>)");
  }
}

TEST(OutputParsers, tokens_need_no_holding_back_and_text_that_spells_them_is_text) {
  OutputFormat format = output_format("hermes", "think", true);
  EXPECT_EQ(describe(parse_in_pieces(format, "<think>a<tool_call>b", kWhole)),
            "text: <think>a<tool_call>b");
  const std::unique_ptr<OutputParser> parser = make_output_parser(format);
  std::vector<OutputPiece> out;
  parser->push("a <", &out);
  EXPECT_EQ(describe(out), "text: a <");
}

TEST(OutputParsers, control_tokens_that_mark_nothing_are_shown_on_demand) {
  OutputFormat format = output_format("hermes", "", true);
  const std::string stray = "a" + format.marks.encode("</tool_call>") + "b";
  EXPECT_EQ(describe(parse_in_pieces(format, stray, 1)), "text: ab");
  format.shows_marks = true;
  EXPECT_EQ(describe(parse_in_pieces(format, stray, 1)), "text: a</tool_call>b");
}

TEST(OutputParsers, pieces_say_how_far_in_the_input_they_reach) {
  OutputFormat format = output_format("hermes", "think", false);
  format.starts_in_reasoning = true;
  const std::string input =
      "hm</think>ok\n<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>";
  std::vector<std::int64_t> ends;
  for (const OutputPiece& piece : parse_in_pieces(format, input, kWhole)) {
    ends.push_back(piece.input_end);
  }
  EXPECT_EQ(ends, (std::vector<std::int64_t>{2, 10, 12, 51, 51, 63}));
}

TEST(OutputFormats, are_found_by_what_templates_say) {
  const auto none = [](std::string_view) { return false; };
  const auto tools_of = [&](std::string_view text) {
    const ToolFormat* format = detect_tool_format(text, none);
    return format == nullptr ? "" : std::string(format->name);
  };
  EXPECT_EQ(tools_of("return a json object within <tool_call></tool_call>"), "hermes");
  EXPECT_EQ(tools_of("<tool_call>\n<function=x>\n<parameter=y>"), "qwen3_coder");
  EXPECT_EQ(tools_of("<tool_call>{x}\n<arg_key>"), "glm45");
  EXPECT_EQ(tools_of("{{ '[TOOL_CALLS] [' }}"), "mistral");
  EXPECT_EQ(tools_of("{{ '[TOOL_CALLS]' + name + '[ARGS]' }}"), "mistral_v11");
  EXPECT_EQ(tools_of("<｜tool▁calls▁begin｜>\n```json"), "deepseek_v3");
  EXPECT_EQ(tools_of("<｜tool▁calls▁begin｜>"), "deepseek_v31");
  EXPECT_EQ(tools_of("{{'<|im_start|>'}}"), "");
  EXPECT_EQ(
      detect_tool_format("[TOOL_CALLS]", [](std::string_view token) { return token == "[ARGS]"; })
          ->name,
      "mistral_v11");
  EXPECT_EQ(detect_reasoning_format("{{ '<think>' }}", none)->name, "think");
  EXPECT_EQ(detect_reasoning_format("no", none), nullptr);
  EXPECT_EQ(find_tool_format("other"), nullptr);
  EXPECT_EQ(list_reasoning_formats(), "auto, none, harmony, gemma4, mistral, think");
}

}  // namespace
}  // namespace plumb
