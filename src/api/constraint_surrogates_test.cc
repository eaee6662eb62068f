// SPDX-License-Identifier: Apache-2.0
#include "api/constraint_surrogates.h"

#include <gtest/gtest.h>
#include <string>

namespace plumb {
namespace {

std::string refused(std::string_view body, std::string_view member = "") {
  const auto error = check_constraint_surrogates(body, member);
  return error ? std::to_string(error->http_status) + " " + error->code + " " + error->param
               : std::string("fine");
}

TEST(ConstraintSurrogates, half_a_pair_is_refused_in_a_constraint_only) {
  for (const char* value : {R"({"const":"\ud83d"})", R"({"properties":{"\udc00":{}}})"}) {
    EXPECT_EQ(refused(R"({"guided_json":)" + std::string(value) + "}"),
              "400 invalid_schema guided_json");
  }
  EXPECT_EQ(refused(R"({"regex":"a\ud83d"})"), "400 invalid_schema regex");
  EXPECT_EQ(refused(R"({"guided_choice":["x","\ud83d"]})"), "400 invalid_schema guided_choice");
  EXPECT_EQ(refused(R"({"body":{"regex":"\ud83dx"}})", "body"), "400 invalid_schema regex");
  EXPECT_EQ(refused(R"({"prompt":"\ud83d","regex":"\ud83d\ude00\ufffd"})"), "fine");
  EXPECT_EQ(refused(R"({"prompt":"x","regex":"\\ud83d"})"), "fine");  // an escape of the expression
}

TEST(ConstraintSurrogates, in_every_dialect) {
  const auto field = [](const std::string& body) {
    const auto error = check_constraint_surrogates(body);
    return error ? error->param : std::string("fine");
  };
  EXPECT_EQ(field(R"({"response_format":{"type":"json_schema","json_schema":{"name":"n",)"
                  R"("schema":{"const":"\ud83d"}}}})"),
            "response_format.json_schema.schema");
  EXPECT_EQ(field(R"({"response_format":{"type":"structural_tag","format":{"begin":"\ud83d"}}})"),
            "response_format.format");
  EXPECT_EQ(field(R"({"structured_outputs":{"choice":["\ud83d"]}})"), "structured_outputs.choice");
  EXPECT_EQ(field(R"({"output_config":{"format":{"type":"json_schema","schema":)"
                  R"({"const":"\ud83d"}}}})"),
            "output_config.format.schema");
  EXPECT_EQ(field(R"({"input":"\ud83d","text":{"format":{"type":"json_schema","name":"n",)"
                  R"("schema":{"enum":["\ud83d"]}}}})"),
            "text.format.schema");
  EXPECT_EQ(field(R"({"format":{"enum":["\ud83d"]}})"), "format");
  EXPECT_EQ(field(R"({"text":"x","sampling_params":{"regex":"\ud83d"}})"), "sampling_params.regex");
  EXPECT_EQ(field(R"({"text":["x","y"],"sampling_params":[{},{"ebnf":"root ::= \"\ud83d\""}]})"),
            "sampling_params[1].ebnf");
}

TEST(ConstraintSurrogates, in_what_tools_take_but_not_in_descriptions) {
  const auto field = [](const std::string& tool) {
    const auto error = check_constraint_surrogates(R"({"tools":[{},)" + tool + "]}");
    return error ? error->param : std::string("fine");
  };
  const std::string schema = R"({"properties":{"a":{"enum":["\ud83d"]}}})";
  EXPECT_EQ(field(R"({"type":"function","function":{"name":"f","parameters":)" + schema + "}}"),
            "tools[1].function.parameters");
  EXPECT_EQ(field(R"({"name":"f","input_schema":)" + schema + "}"), "tools[1].input_schema");
  EXPECT_EQ(field(R"({"type":"function","name":"f","parameters":)" + schema + "}"),
            "tools[1].parameters");
  EXPECT_EQ(field(R"({"type":"custom","format":{"type":"grammar","definition":"\ud83d"}})"),
            "tools[1].format.definition");
  EXPECT_EQ(field(R"({"type":"custom","custom":{"name":"t","format":{"type":"grammar","grammar":)"
                  R"({"syntax":"lark","definition":"start: \"\ud83d\""}}}})"),
            "tools[1].custom.format.grammar.definition");
  EXPECT_EQ(field(R"({"type":"namespace","tools":[{"parameters":)" + schema + "}]}"),
            "tools[1].tools[0].parameters");
  EXPECT_EQ(field(R"({"description":"\ud83d","parameters":{"description":"\ud83d","properties":)"
                  R"({"a":{"title":"\ud83d","type":"string"}}}})"),
            "fine");
}

}  // namespace
}  // namespace plumb
