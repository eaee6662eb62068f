// SPDX-License-Identifier: Apache-2.0
#include "api/constraint.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using Kind = ConstraintSpec::Kind;

struct Read {
  ConstraintSpec spec;
  std::string error;  // "code param"
  std::string message;
};

Read read(const std::string& body) {
  const Json json = parse_json(body).value();
  FieldReader fields(json.as_object());
  Read out;
  out.spec = read_constraint(fields);
  if (!fields.ok()) {
    out.error = fields.error()->code + " " + fields.error()->param;
    out.message = fields.error()->message;
  }
  return out;
}

TEST(Constraint, every_name_of_a_schema_is_the_same_constraint) {
  const std::string schema = R"({"type":"object"})";
  const std::string text = R"("{\"type\":\"object\"}")";
  for (
      const std::string& body : {
          R"({"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":)" +
              schema + "}}}",
          R"({"guided_json":)" + schema + "}",
          R"({"guided_json":)" + text + "}",
          R"({"json_schema":)" + schema + "}",
          R"({"json_schema":)" + text + "}",
          R"({"structured_outputs":{"json":)" + schema + ",\"regex\":null}}",
          R"({"response_format":{"type":"json_object","schema":)" + schema + "}}",
          R"({"response_format":{"type":"json_object","schema":)" + text + "}}",
      }) {
    const Read result = read(body);
    EXPECT_EQ(result.error, "") << body;
    EXPECT_EQ(result.spec.kind, Kind::kJsonSchema) << body;
    EXPECT_EQ(result.spec.text, schema) << body;
  }
}

TEST(Constraint, every_name_of_the_other_kinds_is_read) {
  const std::vector<std::pair<std::string, Kind>> bodies{
      {R"({})", Kind::kNone},
      {R"({"response_format":null,"regex":null})", Kind::kNone},
      {R"({"response_format":{"type":"text"}})", Kind::kNone},
      {R"({"response_format":{"type":"json_object"}})", Kind::kJsonObject},
      {R"({"structured_outputs":{"json_object":true}})", Kind::kJsonObject},
      {R"({"structured_outputs":{"json_object":false}})", Kind::kNone},
      {R"({"response_format":{"type":"regex","regex":"x"}})", Kind::kRegex},
      {R"({"response_format":{"type":"regex","pattern":"x"}})", Kind::kRegex},
      {R"({"guided_regex":"x"})", Kind::kRegex},
      {R"({"regex":"x"})", Kind::kRegex},
      {R"({"structured_outputs":{"regex":"x"}})", Kind::kRegex},
      {R"({"response_format":{"type":"grammar","grammar":"x"}})", Kind::kGrammar},
      {R"({"guided_grammar":"x"})", Kind::kGrammar},
      {R"({"ebnf":"x"})", Kind::kGrammar},
      {R"({"grammar":"x"})", Kind::kGrammar},
      {R"({"structured_outputs":{"grammar":"x"}})", Kind::kGrammar},
      {R"({"guided_choice":["x","y"]})", Kind::kChoice},
      {R"({"structured_outputs":{"choice":["x","y"]}})", Kind::kChoice},
      {R"({"response_format":{"type":"structural_tag","format":{}}})", Kind::kStructuralTag},
      {R"({"structured_outputs":{"structural_tag":{"format":{}}}})", Kind::kStructuralTag},
      {R"({"structured_outputs":{"structural_tag":"{}"}})", Kind::kStructuralTag},
      {R"({"structural_tag":"{}"})", Kind::kStructuralTag},
  };
  for (const auto& [body, kind] : bodies) {
    const Read result = read(body);
    EXPECT_EQ(result.error, "") << body;
    EXPECT_EQ(result.spec.kind, kind) << body;
    if (kind == Kind::kRegex || kind == Kind::kGrammar) {
      EXPECT_EQ(result.spec.text, "x") << body;
    }
    if (kind == Kind::kChoice) {
      EXPECT_EQ(result.spec.choices, (std::vector<std::string>{"x", "y"})) << body;
    }
  }
  EXPECT_EQ(read(R"({"structured_outputs":{"regex":"x"}})").spec.param, "structured_outputs.regex");
  const Read tag = read(R"({"response_format":{"type":"structural_tag","format":{"type":"x"}}})");
  EXPECT_EQ(tag.spec.param, "response_format");
  EXPECT_EQ(tag.spec.text, R"({"type":"structural_tag","format":{"type":"x"}})");
  EXPECT_EQ(
      read(R"({"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{}}}})")
          .spec.param,
      "response_format.json_schema.schema");
}

TEST(Constraint, two_of_them_are_an_error_that_names_both) {
  const Read two = read(R"({"response_format":{"type":"json_object"},"guided_regex":"a"})");
  EXPECT_EQ(two.error, "invalid_value guided_regex");
  EXPECT_EQ(two.message,
            "'response_format' and 'guided_regex' both constrain the answer, expected at most one");
  EXPECT_EQ(read(R"({"structured_outputs":{"regex":"a","grammar":"b"}})").error,
            "invalid_value structured_outputs.grammar");
  EXPECT_EQ(read(R"({"ebnf":"a","grammar":"a"})").error, "invalid_value grammar");
}

TEST(Constraint, what_is_malformed_is_named) {
  EXPECT_EQ(read(R"({"response_format":"json"})").error, "invalid_type response_format");
  EXPECT_EQ(read(R"({"response_format":{}})").error,
            "missing_required_parameter response_format.type");
  EXPECT_EQ(read(R"({"response_format":{"type":"xml"}})").error,
            "invalid_value response_format.type");
  EXPECT_EQ(read(R"({"response_format":{"type":"json_schema"}})").error,
            "missing_required_parameter response_format.json_schema");
  EXPECT_EQ(read(R"({"response_format":{"type":"json_schema","json_schema":{"schema":{}}}})").error,
            "missing_required_parameter response_format.json_schema.name");
  EXPECT_EQ(read(R"({"response_format":{"type":"json_schema","json_schema":{"name":"n"}}})").error,
            "missing_required_parameter response_format.json_schema.schema");
  EXPECT_EQ(
      read(R"({"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":3}}})")
          .error,
      "invalid_type response_format.json_schema.schema");
  EXPECT_EQ(read(R"({"response_format":{"type":"regex"}})").error,
            "missing_required_parameter response_format.regex");
  EXPECT_EQ(read(R"({"guided_regex":1})").error, "invalid_type guided_regex");
  EXPECT_EQ(read(R"({"guided_regex":""})").error, "invalid_value guided_regex");
  EXPECT_EQ(read(R"({"guided_choice":[]})").error, "invalid_value guided_choice");
  EXPECT_EQ(read(R"({"guided_choice":[1]})").error, "invalid_type guided_choice");
  EXPECT_EQ(read(R"({"structured_outputs":{"json_object":1}})").error,
            "invalid_type structured_outputs.json_object");
  EXPECT_EQ(read(R"({"structured_outputs":{"structural_tag":true}})").error,
            "invalid_type structured_outputs.structural_tag");
  EXPECT_EQ(read(R"({"structured_outputs":{"structural_tags":"x"}})").error,
            "unsupported_parameter structured_outputs.structural_tags");
}

TEST(Constraint, a_null_schema_of_a_json_object_is_none) {
  const Read result = read(R"({"response_format":{"type":"json_object","schema":null}})");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.spec.kind, Kind::kJsonObject);
  EXPECT_EQ(read(R"({"response_format":{"type":"json_object","schema":3}})").error,
            "invalid_type response_format.schema");
}

std::string wishes_of(const std::string& body) {
  const Read result = read(body);
  EXPECT_EQ(result.error, "") << body;
  return std::string(result.spec.lenient ? "lenient " : "") +
         (result.spec.any_order ? "any_order " : "") + (result.spec.compact ? "compact " : "");
}

TEST(Constraint, how_json_is_written_may_be_said_beside_any_json_constraint) {
  const std::string all =
      R"("lenient":true,"any_order":true,"disable_any_whitespace":true,"whitespace_pattern":"")";
  EXPECT_EQ(wishes_of(R"({"structured_outputs":{"json":{},)" + all + "}}"),
            "lenient any_order compact ");
  EXPECT_EQ(wishes_of(R"({"guided_json":{},"structured_outputs":{)" + all + "}}"),
            "lenient any_order compact ");
  EXPECT_EQ(wishes_of(R"({"response_format":{"type":"json_object"},)"
                      R"("structured_outputs":{"disable_any_whitespace":true}})"),
            "compact ");
  EXPECT_EQ(wishes_of(R"({"guided_json":{},"guided_whitespace_pattern":""})"), "compact ");
  EXPECT_EQ(wishes_of(R"({"guided_json":{}})"), "");
  EXPECT_EQ(wishes_of(R"({"guided_regex":"a","guided_whitespace_pattern":null,)"
                      R"("structured_outputs":{"lenient":false,"any_order":false,)"
                      R"("disable_any_whitespace":false,"whitespace_pattern":null}})"),
            "");
}

TEST(Constraint, a_wish_that_cannot_be_kept_is_an_error_that_names_it) {
  for (const std::string name : {"lenient", "any_order", "disable_any_whitespace"}) {
    const std::string wish = R"("structured_outputs":{")" + name + R"(":true})";
    EXPECT_EQ(read("{" + wish + "}").error, "invalid_value structured_outputs." + name);
    const Read regex = read(R"({"guided_regex":"a",)" + wish + "}");
    EXPECT_EQ(regex.error, "invalid_value structured_outputs." + name);
    EXPECT_EQ(regex.message, "'structured_outputs." + name +
                                 "' needs a JSON schema or a JSON object as the constraint");
    EXPECT_EQ(read(R"({"structured_outputs":{"json":{},")" + name + R"(":1}})").error,
              "invalid_type structured_outputs." + name);
  }
  EXPECT_EQ(read(R"({"structured_outputs":{"json":{},"whitespace_pattern":"[ \n]*"}})").error,
            "unsupported_parameter structured_outputs.whitespace_pattern");
  EXPECT_EQ(read(R"({"guided_json":{},"guided_whitespace_pattern":" ?"})").error,
            "unsupported_parameter guided_whitespace_pattern");
  EXPECT_EQ(read(R"({"guided_json":{},"guided_whitespace_pattern":1})").error,
            "invalid_type guided_whitespace_pattern");
}

TEST(Constraint, more_than_a_mebibyte_is_an_error_with_size_and_limit) {
  const Read big = read(R"({"guided_json":{"enum":[")" + std::string(10 << 20, 'x') + R"("]}})");
  EXPECT_EQ(big.error, "invalid_schema guided_json");
  EXPECT_EQ(big.message, "'guided_json' has 10485773 bytes, expected at most 1048576");
  EXPECT_EQ(read(R"({"regex":")" + std::string((1 << 20) + 1, 'x') + "\"}").error,
            "invalid_schema regex");
}

}  // namespace
}  // namespace plumb
