// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/json.h"

namespace plumb {
namespace {

class LogTest : public ::testing::Test {
 protected:
  void start(LogForm form, LogLevel level = LogLevel::kInfo) {
    init_log({level, form, [this](std::string_view line) { lines_.emplace_back(line); }});
  }

  ~LogTest() override { init_log({}); }

  std::vector<std::string> lines_;
};

TEST_F(LogTest, text_lines_hold_time_level_message_and_fields) {
  start(LogForm::kText);
  log_warning("queue is full", {{"size", "8"}, {"model", "m"}});
  ASSERT_EQ(lines_.size(), 1U);
  const std::string& line = lines_[0];
  EXPECT_EQ(line.substr(24), " warning queue is full size=8 model=m");
  EXPECT_EQ(line[4], '-');
  EXPECT_EQ(line[10], 'T');
  EXPECT_EQ(line[23], 'Z');
}

TEST_F(LogTest, json_lines_parse_and_keep_every_field) {
  start(LogForm::kJson);
  log_error("a \"quoted\" thing\n", {{"path", "x\\y\xff"}});
  ASSERT_EQ(lines_.size(), 1U);
  const Result<Json> json = parse_json(lines_[0]);
  ASSERT_TRUE(json.ok()) << lines_[0];
  EXPECT_EQ(json.value().find("level")->as_string(), "error");
  EXPECT_EQ(json.value().find("message")->as_string(), "a \"quoted\" thing\n");
  EXPECT_EQ(json.value().find("path")->as_string(), "x\\y\xEF\xBF\xBD");
  EXPECT_EQ(json.value().find("time")->as_string().size(), 24U);
}

TEST_F(LogTest, input_cannot_forge_a_line) {
  start(LogForm::kText);
  log_info("model 'a\n2026-01-31T12:00:00.123Z error \x1b[31m\xff'");
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lines_[0].find('\n'), std::string::npos);
  EXPECT_EQ(lines_[0].find('\x1b'), std::string::npos);
  EXPECT_NE(lines_[0].find("a\\n2026"), std::string::npos);
  EXPECT_NE(lines_[0].find("\\u001b[31m\xEF\xBF\xBD'"), std::string::npos);
}

TEST_F(LogTest, lines_below_the_level_are_not_written) {
  start(LogForm::kText, LogLevel::kWarning);
  log_info("no");
  log_debug("no");
  log_warning("yes");
  EXPECT_EQ(lines_.size(), 1U);
  EXPECT_FALSE(log_enabled(LogLevel::kInfo));
  EXPECT_TRUE(log_enabled(LogLevel::kError));
  start(LogForm::kText, LogLevel::kOff);
  log_error("no");
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(LogTest, braces_in_a_message_are_text) {
  start(LogForm::kText);
  log_info("{} {0} {nope");
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lines_[0].substr(24), " info {} {0} {nope");
}

}  // namespace
}  // namespace plumb
