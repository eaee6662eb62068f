// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>
#include <set>

#include "base/nearest_name.h"
#include "cli/completion.h"
#include "cli/machine_facts.h"
#include "cli/option_warnings.h"
#include "cli/rfc3339.h"

namespace plumb {
namespace {

TEST(Commands, defaults_break_no_rule_and_every_command_says_what_it_does) {
  std::set<std::string> names;
  for (const std::unique_ptr<Command>& command : all_commands()) {
    CLI::App app;
    command->declare(app);
    EXPECT_TRUE(command->violations().empty()) << command->name();
    EXPECT_FALSE(std::string(command->about()).empty()) << command->name();
    EXPECT_TRUE(names.insert(command->name()).second) << command->name();
    for (const CLI::Option* option : app.get_options()) {
      EXPECT_FALSE(option->get_description().empty())
          << command->name() << " " << option->get_name();
    }
  }
  EXPECT_EQ(names.count("doctor"), 1U);
}

TEST(Commands, every_refused_value_is_kept_with_its_flag) {
  for (const std::unique_ptr<Command>& command : all_commands()) {
    if (std::string(command->name()) != "serve") {
      continue;
    }
    CLI::App app;
    command->declare(app);
    app.parse("--port 70000 --heartbeat never --kv-dtype f8 --block-size 48 model");
    std::string all;
    for (const Status& violation : command->violations()) {
      all += violation.message() + "\n";
    }
    for (const char* flag : {"--port", "--heartbeat", "--kv-dtype", "--block-size"}) {
      EXPECT_NE(all.find(flag), std::string::npos) << flag << "\n" << all;
    }
  }
}

TEST(Commands, a_port_for_events_that_there_are_not_is_refused) {
  for (const std::unique_ptr<Command>& command : all_commands()) {
    if (std::string(command->name()) != "serve") {
      continue;
    }
    CLI::App app;
    command->declare(app);
    app.parse("--kv-events-port 0 model");
    ASSERT_EQ(command->violations().size(), 1U);
    EXPECT_EQ(command->violations().front().message(),
              "--kv-events-port: there are no events without --kv-events");
  }
}

TEST(OptionWarnings, name_both_options_that_do_nothing_together) {
  ServerOptions server;
  EngineOptions engine;
  KeySet keys;
  EXPECT_TRUE(option_warnings(server, engine, keys).empty());
  engine.kv_events = true;
  server.kv_events_port = 0;
  engine.scheduler.priority_aging = std::chrono::seconds(1);
  engine.scheduler.tenant_weights = {"zed=3"};
  engine.tiers.disk_bytes = std::int64_t{1} << 30;
  EXPECT_EQ(
      option_warnings(server, engine, keys),
      (std::vector<std::string>{
          "--kv-events --kv-events-port: nobody can read the events without an admin key; give "
          "--admin-key-file",
          "--priority-aging has no effect: --schedule-policy is neither priority nor priority-lof",
          "--tenant-weights: no key of --api-key-file or --admin-key-file is named 'zed'",
          "--disk-cache-bytes has no effect without --disk-cache-dir"}));
  ASSERT_TRUE(keys.add("0123456789abcdef", "zed", KeyRole::kAdmin).ok());
  engine.scheduler.schedule_policy = ScheduleOrder::kPriority;
  engine.tiers.disk_folder = "cache";
  EXPECT_TRUE(option_warnings(server, engine, keys).empty());
  engine.scheduler.tenant_fairness = false;
  EXPECT_EQ(option_warnings(server, engine, keys),
            (std::vector<std::string>{"--tenant-weights has no effect with --no-tenant-fairness"}));
}

TEST(OptionWarnings, more_than_two_compute_threads_for_each_core) {
  BackendOptions backend;
  for (const std::int64_t threads : {0, 1, 4}) {
    backend.threads = threads;
    EXPECT_TRUE(thread_warnings(backend, 2).empty()) << threads;
  }
  backend.threads = 5;
  EXPECT_EQ(thread_warnings(backend, 2),
            (std::vector<std::string>{
                "--threads 5: this process may use 2 cores, so the threads wait for each other and "
                "steps are slow; leave it out, or give at most 2"}));
}

TEST(NearestName, is_the_first_of_the_fewest_changes_and_none_beyond_a_third) {
  const std::vector<std::string> names{"--max-num-seqs", "--max-context", "--port"};
  EXPECT_EQ(nearest_name("--max-num-seq", names), "--max-num-seqs");
  EXPECT_EQ(nearest_name("--max-num-sequences", names), "--max-num-seqs");
  EXPECT_EQ(nearest_name("--prot", names), "--port");
  EXPECT_EQ(nearest_name("--tensor-parallel-size", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("ab", std::vector<std::string>{"abc", "ab"}), "ab");
  EXPECT_EQ(nearest_name(std::string(1 << 20, '-'), names), "");
}

TEST(Rfc3339, times_with_offsets_are_the_same_moment) {
  const auto noon = parse_rfc3339("2025-06-30T12:00:00Z");
  ASSERT_TRUE(noon.has_value());
  EXPECT_EQ(noon->time_since_epoch(), std::chrono::seconds(1751284800));
  EXPECT_EQ(parse_rfc3339("2025-06-30t14:30:00.999+02:30"), noon);
  EXPECT_EQ(parse_rfc3339("2025-06-30 09:00:00-03:00"), noon);
  for (const char* bad :
       {"", "2025-06-30", "2025-02-30T12:00:00Z", "2025-06-30T24:00:00Z", "2025-06-30T12:00:00",
        "2025-06-30T12:00:00+2:00", "2025-6-30T12:00:00Z", "2025-06-30T12:00:00Zx"}) {
    EXPECT_FALSE(parse_rfc3339(bad).has_value()) << bad;
  }
}

TEST(MachineFacts, this_machine_has_a_processor_memory_and_libraries) {
  const MachineFacts facts = read_machine_facts();
  EXPECT_GE(facts.usable_cores, 1);
  EXPECT_LE(facts.usable_cores, facts.online_cores);
  EXPECT_GT(facts.memory_bytes, 0);
  ASSERT_TRUE(facts.available_bytes.has_value());
  EXPECT_LE(*facts.available_bytes, facts.memory_bytes);
  EXPECT_GT(facts.max_open_files, 0);
  EXPECT_EQ(facts.libc.substr(0, 6), "glibc ");
}

TEST(MachineFacts, a_machine_without_files_is_all_unknown) {
  const MachineFacts facts = read_machine_facts("/nonexistent");
  EXPECT_EQ(facts.cpu, "");
  EXPECT_EQ(facts.memory_bytes, 0);
  EXPECT_EQ(facts.transparent_huge_pages, "unknown");
  EXPECT_TRUE(facts.libraries.empty());
}

TEST(Completion, quotes_do_not_break_a_script) {
  CompletionNode root;
  root.commands = {"go"};
  root.command_abouts = {"don't stop"};
  const std::string fish = completion_script("fish", {root});
  EXPECT_NE(fish.find("'don'\\''t stop'"), std::string::npos) << fish;
}

}  // namespace
}  // namespace plumb
