// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "grammar/structural_tag.h"
#include "grammar/structural_tag_writer.h"

namespace plumb {
namespace {

// Writes formats within a budget that is over after so many questions.
class StructuralTagLimits : public testing::Test {
 protected:
  Result<Cfg> write(const std::string& format) {
    num_asked_ = 0;
    CompileBudget budget(limits_, [this] { return ++num_asked_ > max_asked_; });
    PLUMB_ASSIGN(const TagFormat root,
                 parse_structural_tag(R"({"format":)" + format + "}", &budget));
    return write_structural_tag(root, {}, &budget);
  }

  CompileBudget::Limits limits_;
  std::int64_t max_asked_ = 1'000;
  std::int64_t num_asked_ = 0;
};

std::string tag_with_ends(const std::string& begin, const std::string& content,
                          const std::string& end) {
  return R"({"type":"tag","begin":")" + begin + R"(","content":)" + content + R"(,"end":)" + end +
         "}";
}

std::string list_of(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) {
    out += (out.empty() ? "[" : ",") + item;
  }
  return out + "]";
}

void expect_too_many_expressions(const Status& status) {
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_TRUE(
      status.message().starts_with("grammar: its regular parts need more than 100000 expressions"))
      << status.message();
}

TEST_F(StructuralTagLimits, what_counts_tokens_is_counted) {
  std::vector<std::string> tags;
  for (int i = 0; i < 100; ++i) {
    tags.push_back(tag_with_ends("<" + std::to_string(i) + ">",
                                 R"({"type":"any_text","max_tokens":4096})", R"("</>")"));
  }
  limits_.max_expressions = 100'000;
  EXPECT_TRUE(write(R"({"type":"or","elements":)" + list_of({tags[0], tags[1]}) + "}").ok());
  expect_too_many_expressions(write(R"({"type":"or","elements":)" + list_of(tags) + "}").status());
}

TEST_F(StructuralTagLimits, what_finds_the_end_is_counted) {
  std::vector<std::string> ends;
  for (char a = 'A'; a <= 'Z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) {
      for (char c = '0'; c < '4'; ++c) {
        ends.push_back(std::string("\"") + a + b + c + "\"");
      }
    }
  }
  limits_.max_expressions = 100'000;
  expect_too_many_expressions(
      write(tag_with_ends("<", R"({"type":"any_text"})", list_of(ends))).status());
}

TEST_F(StructuralTagLimits, nested_tags_are_written_once) {
  const std::string number = R"({"type":"regex","pattern":"[0-9]+"})";
  std::string separated = number;
  for (int i = 0; i < 30; ++i) {
    separated = R"({"type":"tags_with_separator","separator":",","tags":[)" +
                tag_with_ends("<", separated, R"(">")") + "]}";
  }
  std::string behind_text = number;
  std::string repeated = number;
  const std::string text = R"({"type":"sequence","elements":[{"type":"any_text"},)";
  for (int i = 0; i < 20; ++i) {
    behind_text = text + R"({"type":"tags_with_separator","separator":",","tags":[)" +
                  tag_with_ends("<", behind_text, R"(">")") + "]}]}";
    repeated =
        text + R"({"type":"plus","content":)" + tag_with_ends("<", repeated, R"(">")") + "}]}";
  }
  for (const std::string& format : {separated, behind_text, repeated}) {
    const Result<Cfg> cfg = write(format);
    ASSERT_TRUE(cfg.ok()) << cfg.status().message() << "\n" << format;
    EXPECT_LT(cfg.value().rules().size(), 1'000U) << format;
    EXPECT_LT(num_asked_, 20) << format;
  }
}

TEST_F(StructuralTagLimits, rules_are_counted_while_they_are_written) {
  limits_.max_rules = 50;
  std::vector<std::string> parts(
      100, R"({"type":"repeat","min":2,"max":900,"content":{"type":"const_string","value":"ab"}})");
  EXPECT_EQ(write(R"({"type":"or","elements":)" + list_of(parts) + "}").status(),
            Status(Code::kResourceExhausted,
                   "grammar: more than 50 rules or symbols; send a simpler one"));
}

TEST_F(StructuralTagLimits, reading_asks_whether_to_stop) {
  const std::vector<std::string> parts(640, R"({"type":"const_string","value":"a"})");
  const std::string text = R"({"format":{"type":"or","elements":)" + list_of(parts) + "}}";
  for (const std::int64_t stop_at : {1, 10}) {
    std::int64_t num_asked = 0;
    CompileBudget budget({}, [&] { return ++num_asked >= stop_at; });
    EXPECT_EQ(parse_structural_tag(text, &budget).status().code(), Code::kDeadlineExceeded);
    EXPECT_EQ(num_asked, stop_at);
  }
}

TEST_F(StructuralTagLimits, required_parameters_are_looked_up_while_it_asks_whether_to_stop) {
  constexpr int kNum = 6'400;
  std::string properties;
  std::string required;
  for (int i = 0; i < kNum; ++i) {
    const std::string name = "\"p" + std::to_string(i) + "\"";
    properties += name + ":{},";
    required += name + ",";
  }
  const std::string format =
      R"({"type":"json_schema","style":"qwen_xml","json_schema":{"properties":{)" + properties +
      R"("last":{}},"required":[)" + required + R"("none"]}})";
  EXPECT_EQ(write(format).status(),
            Status(Code::kInvalidArgument, "format: required: each entry has to name a property"));
  EXPECT_GE(num_asked_, 2 * kNum / 64);
  for (const std::int64_t max_asked : {kNum / 64 - 10, kNum / 64 + 10}) {
    max_asked_ = max_asked;
    EXPECT_EQ(write(format).status().code(), Code::kDeadlineExceeded);
    EXPECT_EQ(num_asked_, max_asked + 1);
  }
}

TEST_F(StructuralTagLimits, half_of_a_surrogate_pair_is_refused) {
  const std::string why = "holds half of a surrogate pair, which no text has; write the whole pair";
  EXPECT_EQ(write(R"({"type":"const_string","value":"\ud800"})").status(),
            Status(Code::kInvalidArgument, why));
  EXPECT_EQ(write(R"({"type":"json_schema","style":"qwen_xml","json_schema":)"
                  R"("{\"properties\":{\"a\\udc00\":{}}}"})")
                .status(),
            Status(Code::kInvalidArgument, "format: schema: " + why));
  EXPECT_TRUE(write(R"({"type":"const_string","value":"\ud83d\ude00"})").ok());
}

}  // namespace
}  // namespace plumb
