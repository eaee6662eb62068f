// SPDX-License-Identifier: Apache-2.0
#include "api/tools.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using Mode = ToolChoice::Mode;

constexpr const char* kTwo =
    R"("tools":[{"type":"function","function":{"name":"f","description":"d","strict":true,)"
    R"("parameters":{"type":"object","properties":{"a":{"type":"string"}}}}},)"
    R"({"type":"function","function":{"name":"ns.g:1-2_"}}])";

struct ReadTools {
  ToolUse use;
  std::string error;
};

ReadTools read_tools(const std::string& members) {
  const Json body = parse_json("{" + members + "}").value();
  FieldReader fields(body.as_object());
  ReadTools out{read_tool_use(fields), ""};
  if (!fields.ok()) {
    out.error = fields.error()->code + " " + fields.error()->param;
  }
  return out;
}

ReadTools with_choice(const std::string& choice) {
  return read_tools(std::string(kTwo) + ",\"tool_choice\":" + choice);
}

TEST(Tools, are_typed_with_the_defaults_of_the_api) {
  const ToolUse use = read_tools(kTwo).use;
  ASSERT_EQ(use.tools.size(), 2U);
  EXPECT_EQ(use.tools[0].name, "f");
  EXPECT_EQ(use.tools[0].description, "d");
  EXPECT_TRUE(use.tools[0].strict);
  EXPECT_FALSE(use.tools[1].strict);
  EXPECT_EQ(use.tools[1].parameters, no_parameters());
  EXPECT_EQ(use.choice.mode, Mode::kAuto);
  EXPECT_TRUE(use.parallel && use.is_on() && !use.is_function_form);
  EXPECT_FALSE(read_tools("").use.is_on());
  EXPECT_FALSE(read_tools(R"("tools":[],"tool_choice":"auto")").use.is_on());
  EXPECT_FALSE(read_tools(std::string(kTwo) + R"(,"parallel_tool_calls":false)").use.parallel);
}

TEST(Tools, every_form_of_a_choice_is_read) {
  EXPECT_EQ(with_choice(R"("none")").use.choice.mode, Mode::kNone);
  EXPECT_EQ(with_choice(R"("required")").use.choice.mode, Mode::kRequired);
  const ToolUse named = with_choice(R"({"type":"function","function":{"name":"f"}})").use;
  EXPECT_TRUE(named.choice.is_named);
  EXPECT_EQ(named.choice.mode, Mode::kRequired);
  ASSERT_EQ(named.callable().size(), 1U);
  EXPECT_EQ(named.callable()[0]->name, "f");
  const ToolUse allowed =
      with_choice(R"({"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[)"
                  R"({"type":"function","function":{"name":"ns.g:1-2_"}}]}})")
          .use;
  EXPECT_EQ(allowed.choice.mode, Mode::kAuto);
  EXPECT_FALSE(allowed.choice.is_named);
  EXPECT_EQ(allowed.choice.names, std::vector<std::string>{"ns.g:1-2_"});
}

TEST(Tools, errors_name_the_field) {
  EXPECT_EQ(read_tools(R"("tools":[1])").error, "invalid_type tools[0]");
  EXPECT_EQ(read_tools(R"("tools":[{"type":"web_search"}])").error,
            "unsupported_parameter tools[0].type");
  EXPECT_EQ(read_tools(R"("tools":[{"type":"function"}])").error,
            "missing_required_parameter tools[0].function");
  EXPECT_EQ(read_tools(R"("tools":[{"type":"function","function":{}}])").error,
            "missing_required_parameter tools[0].function.name");
  EXPECT_EQ(read_tools(R"("tools":[{"type":"function","function":{"name":"a b"}}])").error,
            "invalid_value tools[0].function.name");
  EXPECT_EQ(
      read_tools(R"("tools":[{"type":"function","function":{"name":"a","parameters":[]}}])").error,
      "invalid_type tools[0].function.parameters");
  EXPECT_EQ(read_tools(R"("tools":[{"type":"function","function":{"name":"a"}},)"
                       R"({"type":"function","function":{"name":"a"}}])")
                .error,
            "invalid_value tools");
  EXPECT_EQ(read_tools(R"("tool_choice":"required")").error, "invalid_value tool_choice");
  EXPECT_EQ(read_tools(R"("tool_choice":{"type":"function","function":{"name":"f"}})").error,
            "invalid_value tool_choice");
  EXPECT_EQ(with_choice(R"({"type":"function","function":{"name":"h"}})").error,
            "invalid_value tool_choice");
  EXPECT_EQ(with_choice(R"({"type":"function"})").error,
            "missing_required_parameter tool_choice.function");
  EXPECT_EQ(with_choice(R"({"type":"allowed_tools","allowed_tools":{"mode":"auto"}})").error,
            "missing_required_parameter tool_choice.allowed_tools.tools");
  EXPECT_EQ(with_choice(R"({"type":"mcp"})").error, "unsupported_parameter tool_choice.type");
  EXPECT_EQ(with_choice("3").error, "invalid_value tool_choice");
  EXPECT_EQ(read_tools(std::string(kTwo) + R"(,"functions":[])").error, "invalid_value functions");
}

TEST(Tools, the_message_about_an_unknown_name_lists_the_known_ones) {
  const Json body = parse_json("{" + std::string(kTwo) +
                               R"(,"tool_choice":{"type":"function","function":{"name":"h"}}})")
                        .value();
  FieldReader fields(body.as_object());
  read_tool_use(fields);
  ASSERT_FALSE(fields.ok());
  EXPECT_EQ(fields.error()->message,
            "'tool_choice' names the tool 'h', expected one of 'f', 'ns.g:1-2_'");
}

TEST(Tools, the_older_form_means_the_same) {
  const std::string functions = R"("functions":[{"name":"f"}])";
  const ToolUse use = read_tools(functions + R"(,"function_call":{"name":"f"})").use;
  EXPECT_TRUE(use.is_function_form && use.choice.is_named && !use.parallel);
  EXPECT_EQ(use.tools[0].name, "f");
  EXPECT_EQ(read_tools(functions + R"(,"function_call":"none")").use.choice.mode, Mode::kNone);
  EXPECT_EQ(read_tools(functions + R"(,"function_call":"required")").error,
            "invalid_value function_call");
  EXPECT_EQ(read_tools(functions + R"(,"function_call":{"name":"g"})").error,
            "invalid_value function_call");
}

constexpr const char* kCustom =
    R"("tools":[{"type":"custom","custom":{"name":"sh","description":"d","format":{"type":"grammar",)"
    R"("grammar":{"syntax":"regex","definition":"ls|pwd"}}}},)"
    R"({"type":"custom","custom":{"name":"patch","format":{"type":"grammar",)"
    R"("grammar":{"syntax":"lark","definition":"start: \"a\""}}}},)"
    R"({"type":"custom","custom":{"name":"say","format":{"type":"text"}}}])";

TEST(Tools, custom_ones_are_functions_with_one_text) {
  const ReadTools read = read_tools(kCustom);
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.use.tools.size(), 3U);
  const Tool& shell = read.use.tools[0];
  EXPECT_TRUE(shell.is_custom && shell.strict);
  EXPECT_EQ(shell.input->syntax, InputFormat::Syntax::kRegex);
  EXPECT_EQ(shell.input->definition, "ls|pwd");
  EXPECT_EQ(shell.input->param, "tools[0].custom.format.grammar.definition");
  EXPECT_EQ(to_text(shell.parameters),
            R"({"type":"object","properties":{"input":{"type":"string","pattern":"^(?:ls|pwd)$"}},)"
            R"("required":["input"],"additionalProperties":false})");
  const Tool& patch = read.use.tools[1];
  EXPECT_EQ(patch.input->syntax, InputFormat::Syntax::kLark);
  EXPECT_EQ(patch.description, "The input follows this Lark grammar:\nstart: \"a\"");
  EXPECT_FALSE(read.use.tools[2].input.has_value());
  EXPECT_FALSE(read.use.tools[2].strict);
  EXPECT_EQ(to_text(read.use.tools[2].parameters),
            R"({"type":"object","properties":{"input":{"type":"string"}},)"
            R"("required":["input"],"additionalProperties":false})");
  const auto choose = [](const std::string& choice) {
    return read_tools(std::string(kCustom) + ",\"tool_choice\":" + choice);
  };
  const ReadTools named = choose(R"({"type":"custom","custom":{"name":"sh"}})");
  EXPECT_TRUE(named.use.choice.is_named && named.error.empty());
  EXPECT_EQ(choose(R"({"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[)"
                   R"({"type":"custom","custom":{"name":"say"}}]}})")
                .use.choice.names,
            std::vector<std::string>{"say"});
}

TEST(Tools, errors_of_custom_ones_name_the_field) {
  const auto error = [](const std::string& custom) {
    return read_tools(R"("tools":[{"type":"custom",)" + custom + "}]").error;
  };
  const std::string missing = "missing_required_parameter tools[0].custom";
  EXPECT_EQ(error(R"("function":{"name":"f"})"), missing);
  EXPECT_EQ(error(R"("custom":{})"), missing + ".name");
  EXPECT_EQ(error(R"("custom":{"name":"a","format":{"type":"grammar"}})"),
            missing + ".format.grammar");
  EXPECT_EQ(
      error(R"("custom":{"name":"a","format":{"type":"grammar","grammar":{"syntax":"lark"}}})"),
      missing + ".format.grammar.definition");
  EXPECT_EQ(error(R"("custom":{"name":"a","format":{"type":"grammar","grammar":{"syntax":"peg",)"
                  R"("definition":"x"}}})"),
            "invalid_value tools[0].custom.format.grammar.syntax");
  EXPECT_EQ(read_tools(std::string(kCustom) + R"(,"tool_choice":{"type":"custom"})").error,
            "missing_required_parameter tool_choice.custom");
}

TEST(Tools, templates_get_them_in_one_form) {
  EXPECT_EQ(to_text(tools_for_template(read_tools(kTwo).use)),
            R"([{"type":"function","function":{"name":"f","description":"d","parameters":)"
            R"({"type":"object","properties":{"a":{"type":"string"}}}}},)"
            R"({"type":"function","function":{"name":"ns.g:1-2_","parameters":)"
            R"({"type":"object","properties":{}}}}])");
  EXPECT_TRUE(tools_for_template(with_choice(R"("none")").use).is_null());
  EXPECT_TRUE(tools_for_template({}).is_null());
}

}  // namespace
}  // namespace plumb
