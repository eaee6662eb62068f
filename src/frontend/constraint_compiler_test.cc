// SPDX-License-Identifier: Apache-2.0
#include "frontend/constraint_compiler.h"

#include <gtest/gtest.h>

#include "grammar/grammar_matcher.h"
#include "support/byte_tokenizer.h"
#include "support/fake_clock.h"
#include "support/ticking_clock.h"

namespace plumb {
namespace {

using Kind = ConstraintSpec::Kind;

ConstraintSpec spec_of(Kind kind, const std::string& text) {
  ConstraintSpec spec;
  spec.kind = kind;
  spec.param = "field";
  spec.text = text;
  return spec;
}

class ConstraintCompilers : public testing::Test {
 protected:
  bool allows(const ConstraintCompiler::Outcome& outcome, const std::string& text) {
    const auto* grammar = std::get_if<ConstraintCompiler::Grammar>(&outcome);
    if (grammar == nullptr) {
      ADD_FAILURE() << std::get<ApiError>(outcome).message;
      return false;
    }
    GrammarMatcher matcher(*grammar);
    return matcher.accept_bytes(text) && matcher.is_complete();
  }

  ConstraintCompiler::Outcome compile(const ConstraintSpec& spec) {
    return compiler_.compile(spec, [] { return false; });
  }

  std::string error_of(const ConstraintSpec& spec) {
    const ConstraintCompiler::Outcome outcome = compile(spec);
    const auto* error = std::get_if<ApiError>(&outcome);
    return error == nullptr
               ? "compiled"
               : std::to_string(error->http_status) + " " + error->code + " " + error->param;
  }

  std::unique_ptr<Tokenizer> tokenizer_ = make_byte_tokenizer();
  FakeClock clock_;
  ConstraintCompiler compiler_{*tokenizer_, 257, GrammarOptions(), clock_};
};

TEST_F(ConstraintCompilers, each_kind_becomes_its_grammar) {
  EXPECT_TRUE(allows(compile(spec_of(Kind::kJsonObject, "")), R"({"a":[1]})"));
  EXPECT_FALSE(allows(compile(spec_of(Kind::kJsonObject, "")), "[1]"));
  EXPECT_TRUE(allows(compile(spec_of(Kind::kJsonSchema, R"({"enum":[1]})")), "1"));
  EXPECT_TRUE(allows(compile(spec_of(Kind::kRegex, "a+")), "aa"));
  EXPECT_FALSE(allows(compile(spec_of(Kind::kRegex, "a+")), "ab"));
  EXPECT_TRUE(allows(compile(spec_of(Kind::kGrammar, "root ::= \"x\" root \"y\" | \"z\"")), "xzy"));
  ConstraintSpec choice = spec_of(Kind::kChoice, "");
  choice.choices = {"yes", "no"};
  EXPECT_TRUE(allows(compile(choice), "no"));
  EXPECT_FALSE(allows(compile(choice), "n"));
}

TEST_F(ConstraintCompilers, a_compilation_that_nobody_waits_for_is_no_failure) {
  const ConstraintCompiler::Outcome outcome =
      compiler_.compile(spec_of(Kind::kRegex, "[a-z]{1000}"), [] { return true; });
  EXPECT_TRUE(std::holds_alternative<ApiError>(outcome));
  EXPECT_EQ(compiler_.stats().num_cancelled, 1);
  EXPECT_EQ(compiler_.stats().num_failed, 0);
  EXPECT_EQ(compiler_.stats().num_timeouts, 0);
}

TEST_F(ConstraintCompilers, a_structural_tag_has_the_models_tokens_and_the_servers_blanks) {
  const std::string tag =
      R"({"format":{"type":"tag","begin":"<","content":{"type":"json_schema","json_schema":)"
      R"({"const":{"a":1}}},"end":">"}})";
  EXPECT_TRUE(allows(compile(spec_of(Kind::kStructuralTag, tag)), R"(<{"a": 1}>)"));
  EXPECT_FALSE(allows(compile(spec_of(Kind::kStructuralTag, tag)), R"(<{"a":2}>)"));
  const ConstraintCompiler::Outcome tokens = compile(spec_of(
      Kind::kStructuralTag,
      R"({"format":{"type":"sequence","elements":[{"type":"token","token":"a"},{"type":"token",)"
      R"("token":98}]}})"));
  GrammarMatcher matcher(std::get<ConstraintCompiler::Grammar>(tokens));
  EXPECT_FALSE(matcher.accept('b'));
  EXPECT_TRUE(matcher.accept('a'));
  EXPECT_TRUE(matcher.accept('b'));
  EXPECT_TRUE(matcher.is_complete());
  const ConstraintCompiler::Outcome wrong = compile(
      spec_of(Kind::kStructuralTag, R"({"format":{"type":"tag","begin":"<","content":1}})"));
  ASSERT_TRUE(std::holds_alternative<ApiError>(wrong));
  EXPECT_EQ(std::get<ApiError>(wrong).message,
            "'field': format.content: expected a format: an object with a type");
}

TEST_F(ConstraintCompilers, warming_makes_the_first_masks_unless_something_waits) {
  const auto grammar = std::get<ConstraintCompiler::Grammar>(compile(spec_of(Kind::kRegex, "abc")));
  compiler_.warm(*grammar, [] { return true; });
  EXPECT_EQ(compiler_.stats().num_warmed_masks, 0);
  compiler_.warm(*grammar, [] { return false; });
  EXPECT_EQ(compiler_.stats().num_warmed_masks, 4);
  FakeClock late;
  ConstraintCompiler other(*tokenizer_, 257, GrammarOptions(), late);
  other.warm(*grammar, [&] {
    late.advance(ConstraintCompiler::kWarmTime + std::chrono::milliseconds(1));
    return false;
  });
  EXPECT_EQ(other.stats().num_warmed_masks, 0);
}

TEST_F(ConstraintCompilers, how_json_is_written_is_up_to_each_request) {
  ConstraintSpec spec =
      spec_of(Kind::kJsonSchema, R"({"type":"object","properties":{"a":{"type":"integer"},)"
                                 R"("b":{"type":"string","format":"color"}},"required":["a","b"],)"
                                 R"("additionalProperties":false})");
  EXPECT_EQ(error_of(spec), "400 invalid_schema field");
  spec.lenient = true;
  const ConstraintCompiler::Outcome lenient = compile(spec);
  ASSERT_TRUE(allows(lenient, R"({"a": 1,"b":"x"})"));
  EXPECT_FALSE(allows(lenient, R"({"b":"x","a":1})"));
  EXPECT_EQ(std::get<ConstraintCompiler::Grammar>(lenient)->ignored(),
            std::vector<std::string>{"format at #/properties/b"});
  spec.compact = true;
  EXPECT_FALSE(allows(compile(spec), R"({"a": 1,"b":"x"})"));
  EXPECT_TRUE(allows(compile(spec), R"({"a":1,"b":"x"})"));
  spec.any_order = true;
  EXPECT_TRUE(allows(compile(spec), R"({"b":"x","a":1})"));
  EXPECT_EQ(compiler_.find(spec)->ignored().size(), 1U);  // of the one that is known, too
  EXPECT_EQ(compiler_.stats().num_compiled, 3);
}

TEST_F(ConstraintCompilers, a_blank_behind_a_schema_makes_it_no_strict_one) {
  ConstraintSpec spec = spec_of(Kind::kJsonSchema, "{\"type\":\"object\"}\n");
  EXPECT_EQ(error_of(spec), "compiled");
  spec.text.pop_back();
  spec.strict = true;
  EXPECT_EQ(error_of(spec), "400 invalid_schema field");
}

TEST_F(ConstraintCompilers, white_space_is_bounded_or_left_out) {
  const ConstraintSpec schema = spec_of(Kind::kJsonSchema, R"({"const":{"a":1}})");
  EXPECT_TRUE(allows(compile(schema), R"({"a":1})"));
  GrammarOptions options;
  options.whitespace = JsonWhitespace::kCompact;
  ConstraintCompiler compact(*tokenizer_, 257, options, clock_);
  const ConstraintSpec list =
      spec_of(Kind::kJsonSchema,
              R"({"type":"array","prefixItems":[{"const":1},{"const":2}],"items":false})");
  EXPECT_TRUE(allows(compile(list), "[1, 2]"));
  EXPECT_FALSE(allows(compile(list), "[1,   2]"));
  const auto none = [] { return false; };
  EXPECT_FALSE(allows(compact.compile(list, none), "[1, 2]"));
  EXPECT_TRUE(allows(compact.compile(list, none), "[1,2]"));
}

TEST_F(ConstraintCompilers, a_known_constraint_is_not_compiled_again) {
  const ConstraintSpec spec = spec_of(Kind::kRegex, "a+");
  EXPECT_EQ(compiler_.find(spec), nullptr);
  const auto first = std::get<ConstraintCompiler::Grammar>(compile(spec));
  EXPECT_EQ(compiler_.find(spec), first);
  EXPECT_EQ(std::get<ConstraintCompiler::Grammar>(compile(spec)), first);
  EXPECT_EQ(compiler_.find(spec_of(Kind::kGrammar, "a+")), nullptr);
  const ConstraintStats stats = compiler_.stats();
  EXPECT_EQ(stats.num_compiled, 1);
  EXPECT_EQ(stats.num_cache_hits, 2);
  EXPECT_GT(stats.cache_bytes, 0);
}

TEST_F(ConstraintCompilers, errors_name_field_and_place) {
  EXPECT_EQ(error_of(spec_of(Kind::kRegex, "(")), "400 invalid_schema field");
  EXPECT_EQ(error_of(spec_of(Kind::kJsonSchema, "{")), "400 invalid_schema field");
  EXPECT_EQ(error_of(spec_of(Kind::kJsonSchema, R"({"type":"thing"})")),
            "400 invalid_schema field");
  EXPECT_EQ(error_of(spec_of(Kind::kGrammar, "root ::= x")), "400 invalid_schema field");
  EXPECT_EQ(error_of(spec_of(Kind::kStructuralTag,
                             R"({"format":{"type":"const_string","value":"\ud800"}})")),
            "400 invalid_schema field");
  EXPECT_EQ(compiler_.stats().num_failed, 5);
  EXPECT_EQ(compiler_.stats().num_timeouts, 0);
}

TEST_F(ConstraintCompilers, time_is_told_of_what_was_compiled_only) {
  TickingClock clock(std::chrono::seconds(1));
  GrammarOptions options;
  options.compile_timeout = std::chrono::hours(1);
  ConstraintCompiler slow(*tokenizer_, 257, options, clock);
  std::vector<std::chrono::nanoseconds> times;
  slow.set_on_compiled([&](std::chrono::nanoseconds time) { times.push_back(time); });
  const auto none = [] { return false; };
  slow.compile(spec_of(Kind::kRegex, "a+"), none);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_GE(times[0], std::chrono::seconds(1));
  EXPECT_EQ(slow.stats().compile_time, times[0]);
  slow.compile(spec_of(Kind::kRegex, "a+"), none);
  EXPECT_EQ(slow.stats().num_cache_hits, 1);
  EXPECT_EQ(times.size(), 1U);
  slow.compile(spec_of(Kind::kRegex, "("), none);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(slow.stats().compile_time, times[0] + times[1]);
}

TEST(ConstraintCompilerMemory, its_caches_together_stay_within_the_option) {
  for (const std::int64_t num_bytes : {std::int64_t{1} << 20, std::int64_t{192} << 20}) {
    const ConstraintCompiler::CacheShares shares = ConstraintCompiler::cache_shares(num_bytes);
    const std::int64_t sum = shares.grammars + shares.vocab + shares.vocab_with_marks;
    EXPECT_LE(sum, num_bytes);
    EXPECT_GT(sum, num_bytes - 12);
  }
}

TEST_F(ConstraintCompilers, a_compilation_that_takes_too_long_is_given_up) {
  TickingClock clock(std::chrono::seconds(1));
  ConstraintCompiler slow(*tokenizer_, 257, GrammarOptions(), clock);
  std::string schema = R"({"anyOf":[)";
  for (int i = 0; i < 2000; ++i) {
    schema += R"({"type":"string","pattern":"^[a-z]{)" + std::to_string(i % 50 + 1) + "}x" +
              std::to_string(i) + R"($"},)";
  }
  schema.back() = ']';
  const ConstraintCompiler::Outcome outcome =
      slow.compile(spec_of(Kind::kJsonSchema, schema + "}"), [] { return false; });
  ASSERT_TRUE(std::holds_alternative<ApiError>(outcome));
  EXPECT_EQ(std::get<ApiError>(outcome).code, "grammar_compile_timeout");
  EXPECT_EQ(std::get<ApiError>(outcome).message,
            "'field' took longer than 5000 ms to compile; send a simpler one or raise "
            "--grammar-compile-timeout");
  EXPECT_EQ(slow.stats().num_timeouts, 1);
}

}  // namespace
}  // namespace plumb
