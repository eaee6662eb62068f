// SPDX-License-Identifier: Apache-2.0
#include "base/options.h"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/options_cli.h"

namespace plumb {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

enum class Policy : unsigned char { kFcfs, kLpm };

struct TestOptions {
  std::int32_t max_num_seqs = 256;
  double temperature = 1.0;
  bool prefix_cache = true;
  std::string host = "127.0.0.1";
  std::string api_key;
  std::string model_path;
  std::vector<std::string> stops;
  Policy policy = Policy::kFcfs;
  std::chrono::milliseconds timeout = 30s;
  std::int64_t kv_bytes = 0;

  static constexpr auto fields() {
    using S = TestOptions;
    return std::tuple{
        field(&S::max_num_seqs, "max-num-seqs", "sequences in one step", 1, 65536),
        field(&S::temperature, "temperature", "sampling temperature", 0, 2),
        field(&S::prefix_cache, "prefix-cache", "reuse the KV of equal prefixes"),
        field(&S::host, "host", "address to listen on"),
        secret_field(&S::api_key, "api-key", "key that requests must bear"),
        path_field(&S::model_path, "model-path", "checkpoint"),
        field(&S::stops, "stop", "stop strings"),
        choice_field(&S::policy, "policy", "order of the queue",
                     std::array{Choice{"fcfs", Policy::kFcfs}, Choice{"lpm", Policy::kLpm}}),
        field(&S::timeout, "timeout", "longest request", 0.001, 3600),
        bytes_field(&S::kv_bytes, "kv-bytes", "size of the KV pool")};
  }
};

class OptionsTest : public ::testing::Test {
 protected:
  std::vector<std::string> set_json(std::string_view text) {
    const Result<Json> json = parse_json(text);
    EXPECT_TRUE(json.ok());
    std::vector<std::string> messages;
    for (const Status& violation : set_from_json(bound_, json.value().as_object())) {
      messages.push_back(violation.message());
    }
    return messages;
  }

  std::vector<std::string> parse(std::vector<std::string> arguments) {
    CLI::App app;
    std::vector<Status> violations;
    add_options(app, bound_, &violations);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
    std::vector<std::string> messages;
    for (const Status& violation : violations) {
      messages.push_back(violation.message());
    }
    return messages;
  }

  TestOptions options_;
  std::vector<BoundOption> bound_ = bind_options(options_);
};

TEST_F(OptionsTest, json_sets_every_kind) {
  EXPECT_THAT(
      set_json(R"({"max_num_seqs": 8, "temperature": 0, "prefix_cache": false, "host": "::1",
      "api_key": "k", "model_path": "/m", "stop": ["a", "b,c"], "policy": "lpm", "timeout": "250ms",
      "kv_bytes": "1.5GiB"})"),
      ::testing::IsEmpty());
  EXPECT_EQ(options_.max_num_seqs, 8);
  EXPECT_EQ(options_.temperature, 0.0);
  EXPECT_FALSE(options_.prefix_cache);
  EXPECT_EQ(options_.host, "::1");
  EXPECT_EQ(options_.api_key, "k");
  EXPECT_EQ(options_.model_path, "/m");
  EXPECT_EQ(options_.stops, (std::vector<std::string>{"a", "b,c"}));
  EXPECT_EQ(options_.policy, Policy::kLpm);
  EXPECT_EQ(options_.timeout, 250ms);
  EXPECT_EQ(options_.kv_bytes, 1610612736);
}

TEST_F(OptionsTest, all_violations_come_at_once_and_name_key_value_and_range) {
  EXPECT_EQ(set_json(R"({"max_num_seqs": 0, "policy": "best", "nope": 1, "temperature": "hot",
                         "timeout": "5 days", "host": "ok"})"),
            (std::vector<std::string>{
                "max_num_seqs: 0 is outside 1..65536", "policy: \"best\" is none of fcfs, lpm",
                "unknown option \"nope\"", "temperature: \"hot\" is not a number in 0..2",
                "timeout: \"5 days\" is not a duration (250ms, 1.5s, 2m, 1h)"}));
  EXPECT_EQ(options_.max_num_seqs, 256) << "a refused value changes nothing";
  EXPECT_EQ(options_.host, "ok");
}

TEST_F(OptionsTest, a_value_set_by_code_is_validated_too) {
  EXPECT_TRUE(validate_options(bound_).empty());
  options_.max_num_seqs = -1;
  options_.temperature = 3;
  const std::vector<Status> violations = validate_options(bound_);
  ASSERT_EQ(violations.size(), 2U);
  EXPECT_EQ(violations[0].message(), "--max-num-seqs: -1 is outside 1..65536");
  EXPECT_THAT(join_violations(violations).message(), HasSubstr("; --temperature: 3"));
  EXPECT_TRUE(join_violations({}).ok());
}

TEST_F(OptionsTest, secrets_are_never_shown) {
  options_.api_key = "hunter2-hunter2";
  EXPECT_THAT(to_text(Json(options_to_json(bound_))), HasSubstr("\"api_key\":\"***\""));
  EXPECT_THAT(options_to_table(bound_), ::testing::Not(HasSubstr("hunter2")));
  EXPECT_THAT(set_json(R"({"api_key": 4711})"),
              ::testing::ElementsAre("api_key: the value cannot be used (it is not shown)"));
}

TEST_F(OptionsTest, table_has_one_aligned_line_per_option) {
  const std::string table = options_to_table(bound_);
  EXPECT_THAT(table, HasSubstr("max-num-seqs  256\n"));
  EXPECT_THAT(table, HasSubstr("policy        fcfs\n"));
  EXPECT_THAT(table, HasSubstr("timeout       30s\n"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 10);
}

TEST_F(OptionsTest, markdown_rows_hold_default_range_and_help) {
  const std::string page = options_to_markdown(bound_);
  EXPECT_THAT(page, HasSubstr("| `--max-num-seqs` | `256` | 1..65536 | sequences in one step |\n"));
  EXPECT_THAT(page, HasSubstr("| `--prefix-cache`, `--no-prefix-cache` | `true` |"));
  EXPECT_THAT(page, HasSubstr("| `--policy` | `\"fcfs\"` | fcfs\\|lpm | order of the queue |\n"));
}

TEST_F(OptionsTest, command_line_sets_every_kind) {
  EXPECT_THAT(parse({"--max-num-seqs", "4", "--temperature=0.5", "--no-prefix-cache", "--stop", "a",
                     "--stop", "b", "--policy", "lpm", "--timeout", "2m", "--kv-bytes", "8GB"}),
              ::testing::IsEmpty());
  EXPECT_EQ(options_.max_num_seqs, 4);
  EXPECT_EQ(options_.temperature, 0.5);
  EXPECT_FALSE(options_.prefix_cache);
  EXPECT_EQ(options_.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options_.policy, Policy::kLpm);
  EXPECT_EQ(options_.timeout, 2min);
  EXPECT_EQ(options_.kv_bytes, 8000000000);
  EXPECT_THAT(parse({"--prefix-cache=true"}), ::testing::IsEmpty());
  EXPECT_TRUE(options_.prefix_cache);
  EXPECT_THAT(parse({"--prefix-cache=false"}), ::testing::IsEmpty());
  EXPECT_FALSE(options_.prefix_cache);
  EXPECT_THAT(parse({"--prefix-cache"}), ::testing::IsEmpty());
  EXPECT_TRUE(options_.prefix_cache);
}

TEST_F(OptionsTest, command_line_reports_all_violations) {
  EXPECT_EQ(parse({"--max-num-seqs", "many", "--policy=x"}),
            (std::vector<std::string>{"--max-num-seqs: \"many\" is not an integer in 1..65536",
                                      "--policy: \"x\" is none of fcfs, lpm"}));
}

TEST_F(OptionsTest, environment_is_read_where_the_flag_is_absent) {
  EXPECT_EQ(environment_name(bound_[0]), "PLUMB_MAX_NUM_SEQS");
  ASSERT_EQ(setenv("PLUMB_MAX_NUM_SEQS", "7", 1), 0);
  ASSERT_EQ(setenv("PLUMB_PREFIX_CACHE", "off", 1), 0);
  EXPECT_THAT(parse({}), ::testing::IsEmpty());
  EXPECT_EQ(options_.max_num_seqs, 7);
  EXPECT_FALSE(options_.prefix_cache);
  EXPECT_THAT(parse({"--max-num-seqs", "9"}), ::testing::IsEmpty());
  EXPECT_EQ(options_.max_num_seqs, 9);
  unsetenv("PLUMB_MAX_NUM_SEQS");
  unsetenv("PLUMB_PREFIX_CACHE");
}

TEST_F(OptionsTest, a_bad_text_of_any_kind_is_a_violation_that_names_the_flag) {
  EXPECT_EQ(parse({"--max-num-seqs=maybe", "--temperature=nan", "--prefix-cache=maybe",
                   "--policy=maybe", "--timeout=maybe", "--kv-bytes=maybe"}),
            (std::vector<std::string>{
                "--max-num-seqs: \"maybe\" is not an integer in 1..65536",
                "--temperature: \"nan\" is not a number in 0..2",
                "--prefix-cache: \"maybe\" is not true or false",
                "--policy: \"maybe\" is none of fcfs, lpm",
                "--timeout: \"maybe\" is not a duration (250ms, 1.5s, 2m, 1h)",
                "--kv-bytes: \"maybe\" is not a number of bytes (4096, 512KiB, 1.5GiB)"}));
  EXPECT_THAT(parse({"--no-prefix-cache=maybe"}),
              ::testing::ElementsAre("--prefix-cache: \"maybe\" is not true or false"));
  EXPECT_THAT(parse({"--prefix-cache=off"}), ::testing::IsEmpty());
  EXPECT_FALSE(options_.prefix_cache);
  EXPECT_THAT(parse({"--no-prefix-cache=off"}), ::testing::IsEmpty());
  EXPECT_TRUE(options_.prefix_cache);
}

TEST_F(OptionsTest, a_bad_text_of_the_environment_names_the_variable) {
  ASSERT_EQ(setenv("PLUMB_MAX_NUM_SEQS", "abc", 1), 0);
  ASSERT_EQ(setenv("PLUMB_PREFIX_CACHE", "maybe", 1), 0);
  EXPECT_EQ(parse({}),
            (std::vector<std::string>{"PLUMB_MAX_NUM_SEQS: \"abc\" is not an integer in 1..65536",
                                      "PLUMB_PREFIX_CACHE: \"maybe\" is not true or false"}));
  EXPECT_THAT(parse({"--max-num-seqs=x", "--prefix-cache"}),
              ::testing::ElementsAre("--max-num-seqs: \"x\" is not an integer in 1..65536"));
  unsetenv("PLUMB_MAX_NUM_SEQS");
  unsetenv("PLUMB_PREFIX_CACHE");
}

TEST_F(OptionsTest, the_environment_is_left_alone_where_that_is_said) {
  ASSERT_EQ(setenv("PLUMB_MAX_NUM_SEQS", "7", 1), 0);
  CLI::App app;
  std::vector<Status> violations;
  add_options(app, bound_, &violations, Environment::kIgnored);
  app.parse("");
  unsetenv("PLUMB_MAX_NUM_SEQS");
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(options_.max_num_seqs, 256);
}

TEST(OptionText, durations_and_bytes_reject_what_is_not_one) {
  std::chrono::nanoseconds duration{};
  EXPECT_TRUE(parse_duration("1.5s", &duration));
  EXPECT_EQ(duration, 1500ms);
  EXPECT_TRUE(parse_duration("30", &duration));
  EXPECT_EQ(duration, 30s);
  for (const std::string_view bad : {"", "s", "1d", "-1s", "1e9h", "1..5s", "1 s", "9999999999h"}) {
    EXPECT_FALSE(parse_duration(bad, &duration)) << bad;
  }
  EXPECT_EQ(duration_to_text(1500us), "1500us");
  EXPECT_EQ(duration_to_text(2min), "120s");
  std::int64_t bytes = 0;
  EXPECT_TRUE(parse_bytes("512KiB", &bytes));
  EXPECT_EQ(bytes, 524288);
  for (const std::string_view bad :
       {"", "GiB", "1 GiB", "-1", "1gib", "9999999TiB", "1.5", "0.5B"}) {
    EXPECT_FALSE(parse_bytes(bad, &bytes)) << bad;
  }
}

}  // namespace
}  // namespace plumb
