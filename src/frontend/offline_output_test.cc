// SPDX-License-Identifier: Apache-2.0
#include "frontend/offline_output.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <unistd.h>

namespace plumb {
namespace {

std::string fresh(const char* name) {
  std::string path =
      testing::TempDir() + "plumb_offline_" + std::to_string(::getpid()) + "_" + name;
  std::remove(path.c_str());
  std::remove((path + ".run").c_str());
  return path;
}

Json record(const char* id) {
  return JsonObject{{"id", id}, {"response", 1}};
}

TEST(OfflineOutput, a_later_run_knows_what_is_done) {
  const std::string path = fresh("resume");
  {
    Result<OfflineOutput> output = OfflineOutput::open(path, "input", "model");
    ASSERT_TRUE(output.ok());
    ASSERT_TRUE(output.value().append("a", record("a")).ok());
    ASSERT_TRUE(output.value().commit().ok());
  }
  Result<OfflineOutput> output = OfflineOutput::open(path, "input", "model");
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output.value().is_done("a"));
  EXPECT_FALSE(output.value().is_done("b"));
  EXPECT_FALSE(output.value().dropped_torn_line());
}

TEST(OfflineOutput, a_torn_last_line_is_dropped_wherever_it_was_cut) {
  const std::string whole = to_text(record("a")) + "\n" + to_text(record("b")) + "\n";
  const std::size_t first = whole.find('\n') + 1;
  for (std::size_t cut = first; cut < whole.size(); ++cut) {
    const std::string path = fresh("torn");
    ASSERT_TRUE(OfflineOutput::open(path, "input", "model").ok());
    ASSERT_TRUE(write_file_atomic(path, whole.substr(0, cut)).ok());
    Result<OfflineOutput> output = OfflineOutput::open(path, "input", "model");
    ASSERT_TRUE(output.ok()) << cut;
    EXPECT_EQ(output.value().dropped_torn_line(), cut > first);
    EXPECT_TRUE(output.value().is_done("a"));
    EXPECT_FALSE(output.value().is_done("b"));
    ASSERT_TRUE(output.value().append("b", record("b")).ok());
    EXPECT_EQ(read_file(path).value(), whole);
  }
}

TEST(OfflineOutput, a_changed_input_is_refused) {
  const std::string path = fresh("changed");
  ASSERT_TRUE(OfflineOutput::open(path, "input", "model").ok());
  EXPECT_NE(OfflineOutput::open(path, "other", "model").status().message().find("another input"),
            std::string::npos);
}

TEST(OfflineOutput, another_model_is_refused) {
  const std::string path = fresh("model");
  ASSERT_TRUE(OfflineOutput::open(path, "input", "model").ok());
  EXPECT_NE(OfflineOutput::open(path, "input", "other").status().message().find("another model"),
            std::string::npos);
}

TEST(OfflineOutput, errors_of_earlier_runs_are_counted_in_both_formats) {
  const std::string path = fresh("failed");
  const Json plain =
      JsonObject{{"id", "b"}, {"response", nullptr}, {"error", JsonObject{{"message", "no"}}}};
  const Json batch = JsonObject{
      {"custom_id", "c"}, {"response", JsonObject{{"status_code", 400}}}, {"error", nullptr}};
  {
    Result<OfflineOutput> output = OfflineOutput::open(path, "input", "model");
    ASSERT_TRUE(output.ok());
    ASSERT_TRUE(output.value().append("a", record("a")).ok());
    ASSERT_TRUE(output.value().append("b", plain).ok());
    ASSERT_TRUE(output.value().append("c", batch).ok());
    EXPECT_EQ(output.value().num_failed(), 2);
  }
  EXPECT_EQ(OfflineOutput::open(path, "input", "model").value().num_failed(), 2);
}

TEST(OfflineOutput, a_foreign_file_is_not_overwritten) {
  const std::string path = fresh("foreign");
  ASSERT_TRUE(write_file_atomic(path, "my thesis\n").ok());
  EXPECT_FALSE(OfflineOutput::open(path, "input", "model").ok());
  EXPECT_EQ(read_file(path).value(), "my thesis\n");
}

}  // namespace
}  // namespace plumb
