// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "grammar/json_schema.h"
#include "support/byte_grammar.h"

namespace plumb {
namespace {

std::string multiples(const std::vector<int>& divisors, std::string_view before,
                      std::string_view after) {
  std::string schema = R"({"type":"integer","allOf":[)";
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    schema += std::string(i > 0 ? "," : "") + std::string(before) + R"({"multipleOf":)" +
              std::to_string(divisors[i]) + "}" + std::string(after);
  }
  return schema + "]}";
}

// Number sets whose automata multiply.
std::vector<std::string> explosive_schemas() {
  return {multiples({997, 991, 983}, "", ""), multiples({2477, 2473}, "", ""),
          multiples({997, 991, 983, 977, 971}, "", ""), multiples({97, 91, 83}, R"({"not":)", "}"),
          multiples({97, 91, 83, 89}, R"({"anyOf":[{"multipleOf":101},)", "]}")};
}

TEST(JsonSchemaLimits, number_sets_that_multiply_end_in_an_error) {
  for (const std::string& schema : explosive_schemas()) {
    CompileBudget::Limits limits;
    limits.max_states = 20'000;
    std::int64_t num_asked = 0;
    CompileBudget budget(limits, [&] {
      ++num_asked;
      return false;
    });
    const Status status = compile_json_schema(schema, {}, &budget).status();
    EXPECT_TRUE(status.code() == Code::kResourceExhausted || status.code() == Code::kUnsupported)
        << schema << " " << status.message();
    EXPECT_LT(num_asked, 100'000) << schema;  // 64 states each
  }
}

TEST(JsonSchemaLimits, number_sets_ask_whether_to_stop_and_obey) {
  for (const std::string& schema : explosive_schemas()) {
    std::int64_t num_all = 0;
    CompileBudget::Limits limits;
    limits.max_states = 20'000;
    CompileBudget all(limits, [&] {
      ++num_all;
      return false;
    });
    EXPECT_FALSE(compile_json_schema(schema, {}, &all).ok());
    for (const std::int64_t stop_at : {std::int64_t{1}, num_all / 2, num_all}) {
      std::int64_t num_asked = 0;
      CompileBudget budget(limits, [&] { return ++num_asked >= stop_at; });
      EXPECT_EQ(compile_json_schema(schema, {}, &budget).status().code(), Code::kDeadlineExceeded)
          << schema;
      EXPECT_EQ(num_asked, stop_at) << schema;
    }
  }
}

TEST(JsonSchemaLimits, several_divisors_are_one) {
  for (const std::string_view schema :
       {R"({"allOf":[{"multipleOf":1.5},{"multipleOf":0.4},{"type":"integer"}]})",
        R"({"type":"number","multipleOf":2,"allOf":[{"multipleOf":3}]})"}) {
    const Result<ByteGrammar> grammar = ByteGrammar::from_schema(schema);
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    for (int i = -40; i < 40; ++i) {
      EXPECT_EQ(grammar.value().accepts(std::to_string(i)), i % 6 == 0) << schema << " " << i;
    }
    EXPECT_FALSE(grammar.value().accepts("1.5"));
  }
  const Result<ByteGrammar> large = ByteGrammar::from_schema(multiples({47, 59}, "", ""));
  ASSERT_TRUE(large.ok()) << large.status().message();
  EXPECT_TRUE(large.value().accepts("-5546"));
  EXPECT_FALSE(large.value().accepts("-5547"));
  EXPECT_FALSE(large.value().accepts("47"));
}

// A schema of values from a random walk of digits.
std::string enumeration(int num, bool is_text, std::vector<std::string>* values) {
  Rng rng(7);
  std::string schema = R"({"enum":[)";
  for (int i = 0; i < num; ++i) {
    std::string value = std::to_string(1 + rng.below(9));
    for (std::int64_t more = rng.below(10); more > 0; --more) {
      value += std::to_string(rng.below(10));
    }
    value = is_text ? "\"" + value + "\"" : value;
    schema += (i > 0 ? "," : "") + value;
    values->push_back(std::move(value));
  }
  return schema + "]}";
}

TEST(JsonSchemaLimits, a_long_enumeration_costs_no_more_than_its_length) {
  for (const bool is_text : {false, true}) {
    std::vector<std::int64_t> asked;
    for (const int num : {5'000, 20'000}) {
      std::vector<std::string> values;
      const std::string schema = enumeration(num, is_text, &values);
      std::int64_t num_asked = 0;
      CompileBudget budget({}, [&] {
        ++num_asked;
        return false;
      });
      Result<JsonSchemaGrammar> grammar = compile_json_schema(schema, {}, &budget);
      ASSERT_TRUE(grammar.ok()) << grammar.status().message();
      // States, and expressions for them: a few for each character.
      EXPECT_LT(grammar.value().cfg.regexes().size(), 2 * std::ssize(schema));
      const Result<ByteGrammar> compiled =
          ByteGrammar::from_cfg(std::move(grammar.value().cfg), &budget);
      ASSERT_TRUE(compiled.ok()) << compiled.status().message();
      for (std::size_t i = 0; i < values.size(); i += 97) {
        EXPECT_TRUE(compiled.value().accepts(values[i])) << values[i];
      }
      EXPECT_FALSE(compiled.value().accepts(is_text ? "\"x\"" : "0"));
      asked.push_back(num_asked);
    }
    EXPECT_LT(asked[1], 6 * asked[0]);  // four times as many values, a little more
  }
}

TEST(JsonSchemaLimits, half_of_a_surrogate_pair_is_no_text) {
  for (const std::string_view schema :
       {R"({"const":"\ud83d"})", R"({"enum":["a","x\udc00"]})", R"({"pattern":"^\ud83d$"})"}) {
    EXPECT_EQ(ByteGrammar::from_schema(schema).status(),
              Status(Code::kInvalidArgument,
                     "schema: holds half of a surrogate pair, which no text has; write the whole "
                     "pair"));
  }
  EXPECT_TRUE(ByteGrammar::from_schema(R"({"const":"\ud83d\ude00"})").ok());
}

TEST(JsonSchemaLimits, the_smallest_integer_is_a_bound_like_any_other) {
  const Result<ByteGrammar> grammar =
      ByteGrammar::from_schema(R"({"type":"integer","minimum":-9223372036854775808})");
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  EXPECT_TRUE(grammar.value().accepts("-9223372036854775808"));
  EXPECT_FALSE(grammar.value().accepts("-9223372036854775809"));
  EXPECT_EQ(ByteGrammar::from_schema(R"({"minimum":-9223372036854775809})").status().code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace plumb
