// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/custom_tool.h"
#include "api/tool_constraint.h"
#include "frontend/constraint_compiler.h"
#include "frontend/model_output.h"
#include "grammar/grammar_matcher.h"
#include "support/byte_tokenizer.h"
#include "support/fake_clock.h"

namespace plumb {
namespace {

using Mode = ToolChoice::Mode;

// Two calls in each format, and one of a tool that there is not.
struct Written {
  const char* format;
  const char* calls;
  const char* other;
};

constexpr Written kWritten[] = {
    {"hermes",
     "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n"
     "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>",
     "<tool_call>\n{\"name\": \"h\", \"arguments\": {}}\n</tool_call>"},
    {"deepseek_v32",
     "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"g\">\n</｜DSML｜invoke>\n"
     "</｜DSML｜function_calls>",
     "<｜DSML｜function_calls>\n</｜DSML｜function_calls>"},
    {"qwen3_coder",
     "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\n"
     "<tool_call>\n<function=g>\n</function>\n</tool_call>",
     "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>"},
    {"glm45",
     "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>\n"
     "<tool_call>g\n</tool_call>",
     "<tool_call>f\n</tool_call>"},
    {"llama3",
     "{\"name\": \"f\", \"parameters\": {\"a\": 1}}; {\"name\": \"g\", \"parameters\": {}}",
     "{\"name\": \"f\", \"parameters\": {\"a\": true}}"},
    {"json",
     "[{\"name\": \"f\", \"parameters\": {\"a\": 1}}, {\"name\": \"g\", \"parameters\": {}}]",
     "[{\"name\": \"f\", \"parameters\": {}}]"},
    {"pythonic", "[f(a=1), g()]", "[f(b=1)]"},
    {"llama4", "<|python_start|>[f(a=\"x\", a=[1, {\"k\": None}])]<|python_end|>", "[h()]"},
    {"mistral",
     "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}}, {\"name\": \"g\", \"arguments\": "
     "{}}]",
     "[TOOL_CALLS] []"},
    {"mistral_v11", "[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[ARGS]{}", "[TOOL_CALLS]f[ARGS]{}"},
    {"deepseek_v3",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": 1}\n```"
     "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```"
     "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>"},
    {"deepseek_v31",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>"
     "<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>"},
    {"deepseek_v4",
     "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" "
     "string=\"false\">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"g\">\n"
     "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
     "<｜DSML｜tool_calls>\n</｜DSML｜tool_calls>"},
    {"kimi_k2",
     "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
     "{\"a\": 1}<|tool_call_end|><|tool_call_begin|>functions.g:12<|tool_call_argument_begin|>{}"
     "<|tool_call_end|><|tool_calls_section_end|>",
     "<|tool_calls_section_begin|><|tool_call_begin|>functions.h:0"},
    {"gemma4", "<|tool_call>call:f{a:1}<tool_call|><|tool_call>call:g{}<tool_call|>",
     "<|tool_call>call:h{}<tool_call|>"},
    {"harmony", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": 1}",
     "<|channel|>final<|message|>"},
};

ToolUse two_tools() {
  const Json schema =
      parse_json(
          R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false})")
          .value();
  ToolUse use;
  use.tools = {{"f", "", schema, false}, {"g", "", no_parameters(), false}};
  return use;
}

// A model with the tokens of one format, as control tokens or not at all.
class Scene {
 public:
  Scene(const char* format, const char* reasoning, bool with_tokens) {
    std::vector<std::string> controls;
    const auto add = [&](const auto& tokens) {
      for (const std::string_view token : tokens) {
        if (with_tokens && !token.empty()) {
          controls.emplace_back(token);
        }
      }
    };
    add(find_tool_format(format)->tokens);
    if (find_reasoning_format(reasoning) != nullptr) {
      add(find_reasoning_format(reasoning)->tokens);
    }
    tokenizer_ = make_byte_tokenizer(controls);
    output_ = ModelOutput({format, reasoning}, "", *tokenizer_);
    compiler_ = std::make_unique<ConstraintCompiler>(*tokenizer_, tokenizer_->vocab_size(),
                                                     GrammarOptions(), clock_);
  }

  // Whether the grammar of a request takes the text, as a whole.
  bool takes(const ToolUse& use, const std::string& text,
             ReasoningStart start = ReasoningStart::kOpen, const ConstraintSpec& content = {}) {
    ChatRequest request;
    request.tool_use = use;
    request.generation.constraint = content;
    const auto checks = compile_input_checks(use);
    const ConstraintSpec spec =
        output_.constraint_for(request, start, std::get<std::vector<CheckedInput>>(checks));
    if (spec.is_none()) {
      return true;
    }
    const ConstraintCompiler::Outcome outcome = compiler_->compile(spec, [] { return false; });
    const auto* grammar = std::get_if<ConstraintCompiler::Grammar>(&outcome);
    if (grammar == nullptr) {
      ADD_FAILURE() << std::get<ApiError>(outcome).message << "\n" << spec.text;
      return false;
    }
    GrammarMatcher matcher(*grammar);
    for (std::size_t at = 0; at < text.size();) {
      TokenId token = static_cast<unsigned char>(text[at]);
      std::size_t size = 1;
      for (TokenId control = 257; control < tokenizer_->vocab_size(); ++control) {
        const std::string_view name = tokenizer_->token_text(control);
        if (std::string_view(text).substr(at).starts_with(name)) {
          token = control;
          size = name.size();
        }
      }
      if (!matcher.accept(token)) {
        return false;
      }
      at += size;
    }
    return matcher.is_complete();
  }

  // What of the schemas is not enforced, or why they are refused.
  std::string said_of(const ToolUse& use) {
    ChatRequest request;
    request.tool_use = use;
    const ConstraintCompiler::Outcome outcome = compiler_->compile(
        output_.constraint_for(request, ReasoningStart::kOpen), [] { return false; });
    if (const auto* error = std::get_if<ApiError>(&outcome)) {
      return error->code + " " + error->param + ": " + error->message;
    }
    std::string out;
    for (const std::string& entry : std::get<ConstraintCompiler::Grammar>(outcome)->ignored()) {
      out += (out.empty() ? "" : ", ") + entry;
    }
    return out;
  }

 private:
  FakeClock clock_;
  std::unique_ptr<Tokenizer> tokenizer_;
  ModelOutput output_;
  std::unique_ptr<ConstraintCompiler> compiler_;
};

TEST(ToolGrammars, required_calls_are_written_in_the_models_format_and_nothing_else_is) {
  for (const Written& written : kWritten) {
    for (const bool with_tokens : {false, true}) {
      const bool is_harmony = std::string_view(written.format) == "harmony";
      const bool has_marks_inside = find_tool_format(written.format)->xml.key_begin.size() > 0;
      if (with_tokens ? has_marks_inside : is_harmony) {
        continue;  // marks around arguments are text, those of messages tokens
      }
      SCOPED_TRACE(std::string(written.format) + (with_tokens ? " tokens" : " text"));
      Scene scene(written.format, is_harmony ? "harmony" : "none", with_tokens);
      ToolUse use = two_tools();
      use.choice.mode = Mode::kRequired;
      EXPECT_TRUE(scene.takes(use, written.calls));
      EXPECT_FALSE(scene.takes(use, written.other));
      EXPECT_FALSE(scene.takes(use, "text"));
      EXPECT_FALSE(scene.takes(use, ""));
    }
  }
}

TEST(ToolGrammars, a_named_tool_is_called_once) {
  Scene scene("hermes", "none", true);
  ToolUse use = two_tools();
  use.choice = {Mode::kRequired, true, {"g"}};
  const std::string call = "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>";
  EXPECT_TRUE(scene.takes(use, call));
  EXPECT_FALSE(scene.takes(use, call + "\n" + call));
  EXPECT_FALSE(
      scene.takes(use, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"));
  use.choice.is_named = false;
  EXPECT_TRUE(scene.takes(use, call + "\n" + call));
  use.parallel = false;
  EXPECT_FALSE(scene.takes(use, call + "\n" + call));
}

TEST(ToolGrammars, strict_tools_are_held_to_their_schemas_where_calling_is_free) {
  for (const char* format : {"hermes", "mistral_v11", "deepseek_v31", "llama3"}) {
    for (const bool with_tokens : {false, true}) {
      SCOPED_TRACE(std::string(format) + (with_tokens ? " tokens" : " text"));
      Scene scene(format, "none", with_tokens);
      ToolUse use = two_tools();
      EXPECT_TRUE(scene.takes(use, "anything"));  // nothing is strict: nothing is enforced
      use.tools[0].strict = true;
      EXPECT_TRUE(scene.takes(use, "just text"));
      for (const Written& written : kWritten) {
        if (std::string_view(written.format) == format) {
          EXPECT_TRUE(scene.takes(use, written.calls));
          EXPECT_FALSE(scene.takes(use, written.other));
        }
      }
    }
  }
}

TEST(ToolGrammars, calls_come_behind_the_reasoning) {
  const std::string call = "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>";
  for (const bool with_tokens : {false, true}) {
    SCOPED_TRACE(with_tokens);
    Scene scene("hermes", "think", with_tokens);
    ToolUse use = two_tools();
    use.choice.mode = Mode::kRequired;
    EXPECT_TRUE(scene.takes(use, "so <b> it is</think>\n\n" + call, ReasoningStart::kInside));
    EXPECT_FALSE(scene.takes(use, call, ReasoningStart::kInside));
    EXPECT_TRUE(scene.takes(use, "<think>so</think>\n" + call));
    EXPECT_TRUE(scene.takes(use, call));
    EXPECT_TRUE(scene.takes(use, call, ReasoningStart::kClosed));
    EXPECT_FALSE(scene.takes(use, "<think>so</think>\n" + call, ReasoningStart::kClosed));
  }
}

TEST(ToolGrammars, a_constraint_on_the_text_begins_behind_the_reasoning_and_leaves_calls) {
  ConstraintSpec digits;
  digits.kind = ConstraintSpec::Kind::kRegex;
  digits.text = "[0-9]+";
  digits.param = "regex";
  const std::string call = "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>";
  for (const bool with_tokens : {false, true}) {
    SCOPED_TRACE(with_tokens);
    Scene scene("hermes", "think", with_tokens);
    EXPECT_TRUE(scene.takes({}, "hm</think>\n\n12", ReasoningStart::kInside, digits));
    EXPECT_FALSE(scene.takes({}, "hm</think>\n\nab", ReasoningStart::kInside, digits));
    EXPECT_TRUE(scene.takes({}, "12", ReasoningStart::kOpen, digits));
    EXPECT_TRUE(scene.takes({}, "12", ReasoningStart::kClosed, digits));
    EXPECT_TRUE(scene.takes(two_tools(), "12", ReasoningStart::kClosed, digits));
    EXPECT_TRUE(scene.takes(two_tools(), call, ReasoningStart::kClosed, digits));
    EXPECT_FALSE(scene.takes(two_tools(), "ab", ReasoningStart::kClosed, digits));
  }
}

TEST(ToolGrammars, harmony_reasons_and_calls_in_messages) {
  Scene scene("harmony", "harmony", true);
  ToolUse use = two_tools();
  use.choice.mode = Mode::kRequired;
  EXPECT_TRUE(scene.takes(use,
                          "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>"
                          "commentary to=functions.g <|constrain|>json<|message|>{}"));
  ConstraintSpec digits;
  digits.kind = ConstraintSpec::Kind::kRegex;
  digits.text = "[0-9]+";
  EXPECT_TRUE(scene.takes({}, "<|channel|>final<|message|>12", ReasoningStart::kOpen, digits));
  EXPECT_FALSE(scene.takes({}, "<|channel|>final<|message|>ab", ReasoningStart::kOpen, digits));
}

// A custom tool whose input is lines that begin with a plus sign; how each format writes one.
struct WrittenInput {
  const char* format;
  const char* before;
  const char* input;  // two lines: +a"b\c and +
  const char* behind;
};

constexpr const char* kJsonLines = "+a\\\"b\\\\c\\n+\\n";
constexpr const char* kRawLines = "+a\"b\\c\n+\n";

constexpr WrittenInput kWrittenInputs[] = {
    {"hermes", "<tool_call>\n{\"name\": \"p\", \"arguments\": {\"input\": \"", kJsonLines,
     "\"}}\n</tool_call>"},
    {"json", "[{\"name\": \"p\", \"parameters\": {\"input\":\"", kJsonLines, "\"}}]"},
    {"mistral_v11", "[TOOL_CALLS]p[ARGS]{\"input\": \"", kJsonLines, "\"}"},
    {"qwen3_coder", "<tool_call>\n<function=p>\n<parameter=input>\n", kRawLines,
     "\n</parameter>\n</function>\n</tool_call>"},
    {"glm45", "<tool_call>p\n<arg_key>input</arg_key>\n<arg_value>", kRawLines,
     "</arg_value>\n</tool_call>"},
    {"deepseek_v4",
     "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"p\">\n<｜DSML｜parameter name=\"input\" "
     "string=\"true\">",
     kRawLines, "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"},
};

ToolUse custom_tool(InputFormat::Syntax syntax, const std::string& definition) {
  Tool tool{"p", "", custom_parameters(), true};
  tool.is_custom = true;
  tool.input = InputFormat{syntax, definition, "tools[0].format.definition"};
  if (syntax == InputFormat::Syntax::kRegex) {
    tool.parameters = custom_parameters(definition);
  }
  ToolUse use;
  use.tools.push_back(tool);
  return use;
}

TEST(ToolGrammars, a_lark_grammar_holds_the_input_of_a_custom_tool_in_every_format) {
  ToolUse use = custom_tool(InputFormat::Syntax::kLark,
                            "start: line+\nline: \"+\" /.*/ LF\n%import common.LF");
  for (const WrittenInput& written : kWrittenInputs) {
    SCOPED_TRACE(written.format);
    Scene scene(written.format, "none", false);
    const auto call = [&](const std::string& input) {
      return written.before + input + written.behind;
    };
    const bool is_json = std::string_view(written.input) == kJsonLines;
    for (const Mode mode : {Mode::kRequired, Mode::kAuto}) {
      use.choice.mode = mode;
      EXPECT_TRUE(scene.takes(use, call(written.input)));
      EXPECT_FALSE(scene.takes(use, call("")));
      EXPECT_FALSE(scene.takes(use, call("-a" + std::string(is_json ? "\\n" : "\n"))));
      EXPECT_FALSE(scene.takes(use, call("+a")));
      EXPECT_FALSE(scene.takes(use, call(is_json ? kRawLines : "+a\\n")));
    }
    EXPECT_TRUE(scene.takes(use, "just text"));
  }
}

TEST(ToolGrammars, free_tools_beside_a_strict_one_may_have_any_schema) {
  ToolUse use = custom_tool(InputFormat::Syntax::kLark, "start: \"+\"");
  const Json odd = parse_json(R"({"type":"object","anyOf":[{"required":["a"]}]})").value();
  use.tools.push_back({"f", "", odd, false});
  Scene scene("qwen3_coder", "none", false);
  const std::string free =
      "<tool_call>\n<function=f>\n<parameter=b>\nx\n</parameter>\n</function>\n</tool_call>";
  const auto custom = [](const std::string& input) {
    return "<tool_call>\n<function=p>\n<parameter=input>\n" + input +
           "\n</parameter>\n</function>\n</tool_call>";
  };
  EXPECT_TRUE(scene.takes(use, "text"));
  EXPECT_TRUE(scene.takes(use, free + "\n" + custom("+")));
  EXPECT_FALSE(scene.takes(use, custom("-")));
}

// Two tools with one schema, of which a part can be enforced by nobody.
ToolUse odd_tools() {
  const Json schema =
      parse_json(
          R"({"type":"object","properties":{"a/b":{"type":"string","format":"zzz"},"c":{"$ref":"#/$defs/d"}},)"
          R"("required":["a/b"],"additionalProperties":false,"$defs":{"d":{"type":"integer","format":"y"}}})")
          .value();
  ToolUse use;
  use.tools = {{"f", "", schema, false}, {"g", "", schema, false}};
  use.tools[0].param = "tools[0].function.parameters";
  use.tools[1].param = "tools[1].function.parameters";
  return use;
}

TEST(ToolGrammars, what_required_calls_drop_of_a_schema_is_named_with_the_tool) {
  ToolUse use = odd_tools();
  use.choice.mode = Mode::kRequired;
  for (const char* format : {"hermes", "mistral_v11", "qwen3_coder", "glm45", "deepseek_v32"}) {
    SCOPED_TRACE(format);
    Scene scene(format, "none", true);
    EXPECT_EQ(scene.said_of(use),
              "f: format at #/properties/a~1b, f: format at #/$defs/d, "
              "g: format at #/properties/a~1b, g: format at #/$defs/d");
  }
  use.choice.names = {"g"};
  use.choice.is_named = true;
  EXPECT_EQ(Scene("hermes", "none", true).said_of(use),
            "g: format at #/properties/a~1b, g: format at #/$defs/d");
}

TEST(ToolGrammars, a_strict_schema_that_cannot_be_enforced_is_refused_under_its_own_field) {
  ToolUse use = odd_tools();
  use.tools[1].strict = true;
  for (const char* format : {"hermes", "mistral_v11", "qwen3_coder", "glm45", "deepseek_v32"}) {
    SCOPED_TRACE(format);
    const std::string said = Scene(format, "none", true).said_of(use);
    EXPECT_TRUE(said.starts_with(
        "invalid_schema tools[1].function.parameters: 'tools[1].function.parameters' of the tool "
        "'g': #/properties/a~1b/format: "))
        << said;
  }
}

TEST(ToolGrammars, a_constraint_beside_calls_that_are_required_is_refused) {
  ConstraintSpec text;
  text.kind = ConstraintSpec::Kind::kRegex;
  text.param = "guided_regex";
  ToolUse use = two_tools();
  EXPECT_FALSE(check_constraint_beside(text, use).has_value());
  use.choice.mode = Mode::kNone;
  EXPECT_FALSE(check_constraint_beside(text, use).has_value());
  use.choice.mode = Mode::kRequired;
  EXPECT_FALSE(check_constraint_beside({}, use).has_value());
  const std::optional<ApiError> error = check_constraint_beside(text, use);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code + " " + error->param, "invalid_value guided_regex");
  EXPECT_EQ(error->message,
            "'guided_regex' says what the text of the answer is, but 'tool_choice' wants calls "
            "alone; send 'tool_choice' auto or none, or no 'guided_regex'");
  for (const char* field : {"response_format", "text.format", "output_config.format"}) {
    text.param = field;
    EXPECT_FALSE(check_constraint_beside(text, use).has_value()) << field;
  }
}

TEST(ToolGrammars, calls_whose_input_no_grammar_can_hold_are_held_to_a_text) {
  ToolUse use = custom_tool(InputFormat::Syntax::kRegex, "(?!rm )[a-z ]+");
  Scene scene("hermes", "none", false);
  const std::string call =
      "<tool_call>\n{\"name\": \"p\", \"arguments\": {\"input\": \"rm X\"}}\n</tool_call>";
  const std::string other =
      "<tool_call>\n{\"name\": \"p\", \"arguments\": {\"input\": 1}}\n</tool_call>";
  EXPECT_TRUE(scene.takes(use, other));  // nothing is enforced
  use.choice.mode = Mode::kRequired;
  EXPECT_TRUE(scene.takes(use, call));
  EXPECT_FALSE(scene.takes(use, other));
}

}  // namespace
}  // namespace plumb
