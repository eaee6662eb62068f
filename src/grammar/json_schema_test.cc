// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_schema.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "support/byte_grammar.h"

namespace plumb {
namespace {

constexpr JsonSchemaOptions kCompact{.compact = true};

bool accepts(std::string_view schema, std::string_view text,
             const JsonSchemaOptions& options = {}) {
  const Result<ByteGrammar> grammar = ByteGrammar::from_schema(schema, options);
  EXPECT_TRUE(grammar.ok()) << schema << ": " << grammar.status().message();
  return grammar.ok() && grammar.value().accepts(text);
}

/// "CODE: MESSAGE".
std::string refusal(std::string_view schema, const JsonSchemaOptions& options = {}) {
  const Status status = ByteGrammar::from_schema(schema, options).status();
  return std::string(to_text(status.code())) + ": " + status.message();
}

TEST(JsonSchema, a_record_has_its_members_in_the_order_of_the_schema) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},
          "required":["a","b"],"additionalProperties":false})";
  EXPECT_TRUE(accepts(kSchema, R"({"b":1,"a":"x"})"));
  EXPECT_FALSE(accepts(kSchema, R"({"a":"x","b":1})"));
  EXPECT_FALSE(accepts(kSchema, R"({"b":1})"));
  EXPECT_FALSE(accepts(kSchema, R"({"b":1,"a":"x","c":2})"));
  EXPECT_TRUE(accepts(kSchema, R"({"a":"x","b":1})", {.any_order = true}));
  EXPECT_FALSE(accepts(kSchema, R"({"a":"x"})", {.any_order = true}));
}

TEST(JsonSchema, members_that_are_not_required_may_be_left_out) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2}},
          "additionalProperties":false})";
  for (const std::string_view text : {"{}", R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"}) {
    EXPECT_TRUE(accepts(kSchema, text)) << text;
  }
  EXPECT_FALSE(accepts(kSchema, R"({,"b":2})"));
}

TEST(JsonSchema, white_space_is_bounded_by_two_characters_a_gap) {
  constexpr std::string_view kSchema = R"({"type":"array","items":{"const":1}})";
  EXPECT_TRUE(accepts(kSchema, "[ \n1 , 1\t]"));
  EXPECT_FALSE(accepts(kSchema, "[   1]"));
  EXPECT_FALSE(accepts(kSchema, "[   ]"));
  EXPECT_FALSE(accepts(kSchema, " []"));
  EXPECT_TRUE(accepts(kSchema, "[1,1]", kCompact));
  EXPECT_FALSE(accepts(kSchema, "[1, 1]", kCompact));
}

TEST(JsonSchema, a_keyword_of_one_type_leaves_the_others_alone) {
  EXPECT_TRUE(accepts(R"({"minLength":3})", "1"));
  EXPECT_TRUE(accepts(R"({"minLength":3})", R"({"a":[null]})"));
  EXPECT_FALSE(accepts(R"({"minLength":3})", R"("ab")"));
  EXPECT_TRUE(accepts(R"({"required":["a"]})", "[]"));
}

TEST(JsonSchema, lengths_count_characters_whatever_their_escapes) {
  constexpr std::string_view kSchema = R"({"type":"string","minLength":2,"maxLength":2})";
  EXPECT_TRUE(accepts(kSchema, R"("é\n")"));
  EXPECT_TRUE(accepts(kSchema, R"("\ud83d\ude00x")"));
  EXPECT_FALSE(accepts(kSchema, R"("\ud83d\ude00")"));
  EXPECT_FALSE(accepts(kSchema, R"("\ud83dx")"));
  EXPECT_FALSE(accepts(kSchema, R"("abc")"));
}

TEST(JsonSchema, long_strings_are_counted_by_the_grammar) {
  constexpr std::string_view kSchema = R"({"type":"string","minLength":1000,"maxLength":1200})";
  const Result<ByteGrammar> grammar = ByteGrammar::from_schema(kSchema);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  for (const std::size_t length : {999U, 1000U, 1001U, 1063U, 1064U, 1199U, 1200U, 1201U}) {
    EXPECT_EQ(grammar.value().accepts("\"" + std::string(length, 'x') + "\""),
              length >= 1000 && length <= 1200)
        << length;
  }
  EXPECT_TRUE(accepts(R"({"type":"string","maxLength":9007199254740991})", R"("abc")"));
  EXPECT_FALSE(accepts(R"({"type":"string","minLength":600})", R"("abc")"));
  EXPECT_TRUE(accepts(R"({"minLength":600})", "\"" + std::string(700, 'y') + "\""));
}

TEST(JsonSchema, integers_stay_inside_their_bounds) {
  constexpr std::string_view kSchema = R"({"type":"integer","minimum":-5,"exclusiveMaximum":120})";
  for (int i = -130; i <= 130; ++i) {
    EXPECT_EQ(accepts(kSchema, std::to_string(i)), i >= -5 && i < 120) << i;
  }
  EXPECT_FALSE(accepts(kSchema, "-0"));
  EXPECT_FALSE(accepts(kSchema, "01"));
  EXPECT_FALSE(accepts(kSchema, "1.5"));
}

TEST(JsonSchema, multiples_may_be_fractions) {
  constexpr std::string_view kSeven = R"({"type":"integer","multipleOf":7})";
  for (int i = -50; i <= 50; ++i) {
    EXPECT_EQ(accepts(kSeven, std::to_string(i)), i % 7 == 0) << i;
  }
  EXPECT_TRUE(accepts(R"({"multipleOf":0.01})", "19.99"));
  EXPECT_FALSE(accepts(R"({"multipleOf":0.01})", "19.995"));
  EXPECT_TRUE(accepts(R"({"multipleOf":1.5})", "4.5"));
  EXPECT_FALSE(accepts(R"({"multipleOf":1.5})", "35"));
}

TEST(JsonSchema, additional_members_never_have_a_declared_name) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"a":{"type":"integer"}},
          "additionalProperties":{"type":"string"}})";
  EXPECT_TRUE(accepts(kSchema, R"({"a":1,"b":"x","ab":"y"})"));
  EXPECT_FALSE(accepts(kSchema, R"({"a":"x"})"));
  EXPECT_FALSE(accepts(kSchema, R"({"\u0061":"x"})"));
}

TEST(JsonSchema, patterns_divide_the_names) {
  constexpr std::string_view kSchema =
      R"({"type":"object","patternProperties":{"^n":{"type":"integer"},"x$":{"minimum":5}},
          "additionalProperties":false})";
  EXPECT_TRUE(accepts(kSchema, R"({"n":1,"nx":5,"x":5.5,"x":"y"})"));
  EXPECT_FALSE(accepts(kSchema, R"({"nx":4})"));
  EXPECT_FALSE(accepts(kSchema, R"({"nx":5.5})"));
  EXPECT_FALSE(accepts(kSchema, R"({"a":1})"));
}

TEST(JsonSchema, one_of_counts_even_where_branches_overlap) {
  constexpr std::string_view kSchema =
      R"({"type":"integer","oneOf":[{"multipleOf":2},{"minimum":10}]})";
  EXPECT_TRUE(accepts(kSchema, "8"));
  EXPECT_TRUE(accepts(kSchema, "11"));
  EXPECT_FALSE(accepts(kSchema, "12"));
  EXPECT_FALSE(accepts(kSchema, "7"));
}

TEST(JsonSchema, a_tagged_union_keeps_its_branches_apart) {
  constexpr std::string_view kSchema = R"({"oneOf":[
      {"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},
       "required":["kind","x"],"additionalProperties":false},
      {"type":"object","properties":{"kind":{"const":"b"},"y":{"type":"string"}},
       "required":["kind","y"],"additionalProperties":false}]})";
  EXPECT_TRUE(accepts(kSchema, R"({"kind":"a","x":1})"));
  EXPECT_TRUE(accepts(kSchema, R"({"kind":"b","y":""})"));
  EXPECT_FALSE(accepts(kSchema, R"({"kind":"b","x":1})"));
}

TEST(JsonSchema, references_may_recurse_into_members) {
  constexpr std::string_view kSchema =
      R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","additionalProperties":false,
          "properties":{"v":{"type":"integer"},"sub":{"type":"array","items":{"$ref":"#/$defs/tree"}}},
          "required":["v"]}}})";
  EXPECT_TRUE(accepts(kSchema, R"({"v":1,"sub":[{"v":2,"sub":[]},{"v":3}]})"));
  EXPECT_FALSE(accepts(kSchema, R"({"v":1,"sub":[{"sub":[]}]})"));
}

TEST(JsonSchema, unevaluated_members_depend_on_the_branch_taken) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"k":{"type":"integer"}},
          "if":{"properties":{"k":{"const":1}},"required":["k"]},
          "then":{"properties":{"a":{"type":"null"}}},"unevaluatedProperties":false})";
  EXPECT_TRUE(accepts(kSchema, R"({"k":1,"a":null})"));
  EXPECT_FALSE(accepts(kSchema, R"({"k":2,"a":null})"));
  EXPECT_TRUE(accepts(kSchema, R"({"k":2})"));
}

TEST(JsonSchema, contains_counts_items) {
  constexpr std::string_view kSchema =
      R"({"type":"array","items":{"type":"integer"},"contains":{"minimum":5},"maxContains":2})";
  EXPECT_FALSE(accepts(kSchema, "[]"));
  EXPECT_FALSE(accepts(kSchema, "[1,2]"));
  EXPECT_TRUE(accepts(kSchema, "[1,7,2]"));
  EXPECT_TRUE(accepts(kSchema, "[7,1,8]"));
  EXPECT_FALSE(accepts(kSchema, "[7,8,9]"));
}

TEST(JsonSchema, unique_items_of_an_enumeration) {
  constexpr std::string_view kSchema =
      R"({"type":"array","items":{"enum":["a","b","c"]},"uniqueItems":true,"minItems":2})";
  EXPECT_TRUE(accepts(kSchema, R"(["c","a"])"));
  EXPECT_TRUE(accepts(kSchema, R"(["b","c","a"])"));
  EXPECT_FALSE(accepts(kSchema, R"(["a","a"])"));
  EXPECT_FALSE(accepts(kSchema, R"(["a"])"));
}

TEST(JsonSchema, formats_are_asserted) {
  EXPECT_TRUE(accepts(R"({"type":"string","format":"date"})", R"("2024-02-29")"));
  EXPECT_FALSE(accepts(R"({"type":"string","format":"date"})", R"("2023-02-29")"));
  EXPECT_TRUE(accepts(R"({"type":"string","format":"ipv6"})", R"("::ffff:1.2.3.4")"));
  EXPECT_FALSE(accepts(R"({"type":"string","format":"ipv4"})", R"("1.2.3.256")"));
  EXPECT_TRUE(
      accepts(R"({"type":"string","format":"uuid"})", R"("2eb8aa08-aa98-11ea-b4aa-73b441d16380")"));
}

TEST(JsonSchema, an_error_names_keyword_and_pointer) {
  EXPECT_EQ(refusal(R"({"properties":{"a/b":{"dependencies":{}}}})"),
            "unsupported: #/properties/a~1b/dependencies: keyword dependencies is not supported; "
            "remove it");
  EXPECT_EQ(refusal(R"({"items":{"minLength":-1}})"),
            "invalid_argument: #/items/minLength: must be an integer from 0 to 2^53");
  EXPECT_EQ(refusal(R"({"type":"string","format":"color"})"),
            "unsupported: #/format: format color is not supported; remove it");
  EXPECT_EQ(refusal(R"({"$ref":"#/$defs/x"})"),
            "invalid_argument: #: reference #/$defs/x leads to no schema");
  EXPECT_EQ(refusal(R"({"$ref":"#"})"),
            "invalid_argument: #: the schema refers to itself for the same value");
  EXPECT_EQ(
      refusal(R"({"items":{"$ref":"http://example.com/x"}})"),
      "unsupported: #/items: reference http://example.com/x leaves the schema, and nothing is "
      "fetched; put its target under $defs with its $id");
  EXPECT_EQ(refusal(R"({"maximum":1e300})"),
            "unsupported: #/maximum: holds a number beyond 64-bit integers or of more than 64 "
            "characters");
}

TEST(JsonSchema, an_impossible_schema_is_an_error_at_its_pointer) {
  EXPECT_EQ(refusal(R"({"type":"object","required":["a"],
                        "properties":{"a":{"type":"integer","minimum":3,"maximum":2}}})"),
            "invalid_argument: #: no value satisfies the schema; nothing satisfies "
            "#/properties/a");
  EXPECT_EQ(refusal("false"), "invalid_argument: #: no value satisfies the schema");
  // A required member of its own type never ends.
  EXPECT_EQ(refusal(R"({"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}})"),
            "invalid_argument: #: no value satisfies the schema");
}

TEST(JsonSchema, a_member_without_a_name_is_a_keyword_that_nobody_knows) {
  CompileBudget budget;
  EXPECT_EQ(compile_json_schema(R"({"":2})", {}, &budget).status().code(), Code::kUnsupported);
  const auto dropped = compile_json_schema(R"({"":2,"type":"null"})", {.lenient = true}, &budget);
  ASSERT_TRUE(dropped.ok()) << dropped.status().message();
  EXPECT_EQ(dropped.value().ignored, (std::vector<std::string>{" at #"}));
}

TEST(JsonSchema, lenient_drops_what_it_cannot_enforce_and_says_so) {
  CompileBudget budget;
  const Result<JsonSchemaGrammar> grammar = compile_json_schema(
      R"({"type":"string","format":"color","magic":1})", {.lenient = true}, &budget);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  EXPECT_EQ(grammar.value().ignored, (std::vector<std::string>{"magic at #", "format at #"}));
}

TEST(JsonSchema, strict_wants_closed_objects_with_every_member_required) {
  const JsonSchemaOptions strict{.strict = true};
  EXPECT_EQ(refusal(R"({"type":"object","properties":{"a":{}},"required":["a"]})", strict),
            "invalid_argument: #/additionalProperties: must be false in strict mode");
  EXPECT_EQ(refusal(R"({"type":"array","items":{"type":"object","additionalProperties":false,
                        "properties":{"a":{},"b":{}},"required":["a"]}})",
                    strict),
            "invalid_argument: #/items/required: must list b in strict mode");
  EXPECT_EQ(refusal(R"({"type":"object","properties":{"a":{}},"required":["a"],
                        "additionalProperties":false})",
                    strict),
            "ok: ");
}

TEST(JsonSchema, an_explosion_of_alternatives_ends_in_an_error) {
  int salt = 0;
  const std::function<std::string(int)> nested = [&](int level) -> std::string {
    if (level == 0) {
      const std::string i = std::to_string(++salt);
      return R"({"properties":{"p)" + i + R"(":{"minLength":)" + i + R"(},"q)" + i +
             R"(":{"maximum":)" + i + "}}}";
    }
    return R"({"oneOf":[)" + nested(level - 1) + "," + nested(level - 1) + "," + nested(level - 1) +
           "]}";
  };
  EXPECT_EQ(refusal(nested(4)),
            "resource_exhausted: schema: more than 1000 alternatives in one place; simplify oneOf, "
            "anyOf and not");
}

TEST(JsonSchema, members_that_only_a_pattern_names_are_bounded) {
  // Each condition asks for a member of its own, by the beginning of its name, that is no string.
  const auto schema = [](int num) {
    std::string text = R"({"type":"object","allOf":[)";
    for (int i = 0; i < num; ++i) {
      const std::string name{static_cast<char>('A' + i / 26), static_cast<char>('A' + i % 26)};
      text += std::string(i > 0 ? "," : "") + R"({"not":{"patternProperties":{"^)" + name +
              R"(":{"type":"string"}}}})";
    }
    return text + "]}";
  };
  EXPECT_TRUE(accepts(schema(2), R"({"AB":1,"AA":2})"));
  EXPECT_FALSE(accepts(schema(2), R"({"AB":1,"AA":""})"));
  for (const int num : {17, 63, 64, 65}) {
    EXPECT_TRUE(
        refusal(schema(num)).starts_with("resource_exhausted: schema: more than 16 members"))
        << num << ": " << refusal(schema(num)).substr(0, 200);
  }
}

TEST(JsonSchema, size_and_depth_are_bounded) {
  EXPECT_EQ(refusal("\"" + std::string(1 << 20, 'x') + "\""),
            "invalid_argument: schema: 1048578 bytes exceed the limit of 1048576");
  std::string deep = "{}";
  for (int i = 0; i < 70; ++i) {
    deep = R"({"not":)" + deep + "}";
  }
  EXPECT_TRUE(refusal(deep).starts_with("invalid_argument: schema: ")) << refusal(deep);
}

TEST(JsonSchema, messages_quote_no_more_than_they_need) {
  const std::string name(100'000, 'k');
  const std::string message = refusal(R"({"properties":{")" + name + R"(":{"allOf":[true,)" +
                                      R"({")" + name + R"(":1}]}}})");
  EXPECT_LT(message.size(), 2'000U);
  EXPECT_TRUE(message.starts_with("unsupported: #/properties/kkk")) << message;
}

TEST(JsonSchema, compilation_can_be_cancelled) {
  CompileBudget budget({}, [] { return true; });
  std::string schema = R"({"enum":[0)";
  for (int i = 1; i < 500; ++i) {
    schema += "," + std::to_string(i);
  }
  const auto grammar = compile_json_schema(schema + "]}", {}, &budget);
  EXPECT_EQ(grammar.status().code(), Code::kDeadlineExceeded);
}

TEST(JsonSchema, a_look_at_one_pattern_can_be_cancelled) {
  // Its automaton has more states than are built to see whether anything matches.
  constexpr std::string_view kSchema =
      R"({"type":"object","not":{"patternProperties":{"^(a|b)*a(a|b){17}$":{"type":"null"}}}})";
  int num_asked = 0;
  CompileBudget budget({}, [&] { return ++num_asked > 1; });
  EXPECT_EQ(compile_json_schema(kSchema, {}, &budget).status().code(), Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace plumb
