// SPDX-License-Identifier: Apache-2.0
#include "server/response_store.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/sqlite.h"
#include "support/fake_clock.h"
#include "support/no_room.h"

namespace plumb {
namespace {

StoredResponse response(const std::string& id, const std::string& owner = "a",
                        const std::string& parent = "", const std::string& text = "hi") {
  const JsonObject item{{"id", "msg_" + id}, {"type", "message"}, {"text", text}};
  const JsonObject input{{"id", "in_" + id}, {"type", "message"}};
  return {id,
          owner,
          parent,
          false,
          to_text(JsonObject{{"id", id}, {"status", "completed"}, {"output", JsonArray{item}}}),
          to_text(JsonArray{input}),
          ""};
}

class ResponseStoreTest : public testing::Test {
 protected:
  ResponseStoreTest()
      : path_(testing::TempDir() + "plumb_responses_" + std::to_string(::getpid()) + ".db") {
    remove_files();
  }

  ~ResponseStoreTest() override { remove_files(); }

  void remove_files() const {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      ::unlink((path_ + suffix).c_str());
    }
  }

  void open(const std::string& path = "", const ResponseStoreLimits& limits = {}) {
    store_.reset();
    Result<std::unique_ptr<ResponseStore>> store = ResponseStore::open(path, limits, clock_);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = std::move(store).value();
  }

  Status put(StoredResponse stored) {
    std::promise<Status> done;
    store_->put(std::move(stored), [&](Status status) { done.set_value(std::move(status)); });
    return done.get_future().get();
  }

  ResponseStore::Found find(const std::string& id, const std::string& owner = "a") {
    return std::move(store_->find(owner, id)).value();
  }

  ResponseStore::FoundPage page(const std::string& id, std::int64_t event,
                                const std::string& owner = "a") {
    std::promise<Result<ResponseStore::FoundPage>> done;
    store_->event_page(owner, id, event, [&](Result<ResponseStore::FoundPage> found) {
      done.set_value(std::move(found));
    });
    return std::move(done.get_future().get()).value();
  }

  bool erase(const std::string& id, const std::string& owner = "a") {
    std::promise<Result<bool>> done;
    store_->erase(owner, id, [&](Result<bool> erased) { done.set_value(std::move(erased)); });
    return std::move(done.get_future().get()).value();
  }

  FakeClock clock_;
  std::string path_;
  std::unique_ptr<ResponseStore> store_;
};

TEST(MayNameStored, also_with_escapes) {
  EXPECT_TRUE(may_name_stored(R"({"previous_response_id":"resp_1"})"));
  EXPECT_TRUE(may_name_stored(R"({"previous_respons\u0065_id":"resp_1"})"));
  EXPECT_TRUE(may_name_stored(R"({"input":[{"type":"item_reference","id":"msg_1"}]})"));
  EXPECT_TRUE(may_name_stored(R"({"input":[{"type":"item_reference","\u0069d":"msg_1"}]})"));
  EXPECT_FALSE(may_name_stored(R"({"input":"previous \u4f60"})"));
}

TEST_F(ResponseStoreTest, gives_back_what_was_put_and_only_to_its_owner) {
  open();
  ASSERT_TRUE(put(response("r1")).ok());
  const ResponseStore::Found found = find("r1");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->response, response("r1").response);
  EXPECT_EQ(found->inputs, response("r1").inputs);
  EXPECT_FALSE(find("r1", "b").has_value());
  EXPECT_FALSE(find("r1", "").has_value());
  EXPECT_FALSE(find("r2").has_value());
  EXPECT_FALSE(erase("r1", "b"));
  EXPECT_EQ(store_->chain("b", "r1").status().code(), Code::kNotFound);
  EXPECT_EQ(store_->find_item("b", "msg_r1").status().code(), Code::kNotFound);
  EXPECT_TRUE(erase("r1"));
  EXPECT_FALSE(find("r1").has_value());
  EXPECT_FALSE(erase("r1"));
}

TEST_F(ResponseStoreTest, a_chain_goes_back_to_its_root) {
  open();
  std::string parent;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(put(response("r" + std::to_string(i), "a", parent)).ok());
    parent = "r" + std::to_string(i);
  }
  const auto chain = store_->chain("a", "r4");
  ASSERT_TRUE(chain.ok());
  ASSERT_EQ(chain.value().size(), 5U);
  EXPECT_EQ(chain.value(), (std::vector<std::string>{"r0", "r1", "r2", "r3", "r4"}));
  ASSERT_TRUE(erase("r2"));
  const Status broken = store_->chain("a", "r4").status();
  EXPECT_EQ(broken.code(), Code::kNotFound);
  EXPECT_EQ(broken.message(), "r2");
}

TEST_F(ResponseStoreTest, a_chain_in_a_circle_ends) {
  open();
  ASSERT_TRUE(put(response("r1", "a", "r2")).ok());
  ASSERT_TRUE(put(response("r2", "a", "r1")).ok());
  EXPECT_EQ(store_->chain("a", "r1").status().code(), Code::kInvalidArgument);
}

TEST_F(ResponseStoreTest, items_are_found_by_their_ids) {
  open();
  ASSERT_TRUE(put(response("r1")).ok());
  EXPECT_EQ(store_->find_item("a", "msg_r1").value(),
            R"({"id":"msg_r1","type":"message","text":"hi"})");
  EXPECT_EQ(store_->find_item("a", "in_r1").value(), R"({"id":"in_r1","type":"message"})");
  EXPECT_EQ(store_->find_item("a", "msg_r2").status().code(), Code::kNotFound);
}

TEST_F(ResponseStoreTest, the_least_recently_used_give_way) {
  ResponseStoreLimits limits;
  limits.max_entries = 3;
  open("", limits);
  for (const char* id : {"r1", "r2", "r3"}) {
    ASSERT_TRUE(put(response(id)).ok());
  }
  ASSERT_TRUE(find("r1").has_value());
  ASSERT_TRUE(put(response("r4")).ok());
  EXPECT_FALSE(find("r2").has_value());
  for (const char* id : {"r1", "r3", "r4"}) {
    EXPECT_TRUE(find(id).has_value()) << id;
  }
}

TEST_F(ResponseStoreTest, bytes_are_bounded) {
  ResponseStoreLimits limits;
  limits.max_bytes = 4000;
  open("", limits);
  ASSERT_TRUE(put(response("r1", "a", "", std::string(1500, 'x'))).ok());
  ASSERT_TRUE(put(response("r2", "a", "", std::string(1500, 'x'))).ok());
  ASSERT_TRUE(put(response("r3", "a", "", std::string(1500, 'x'))).ok());
  EXPECT_FALSE(find("r1").has_value());
  EXPECT_TRUE(find("r2").has_value());
  const Status status = put(response("r4", "a", "", std::string(5000, 'x')));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("4000"), std::string::npos);
  EXPECT_TRUE(find("r3").has_value());
}

TEST_F(ResponseStoreTest, replacing_one_counts_once) {
  ResponseStoreLimits limits;
  limits.max_entries = 2;
  open("", limits);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(put(response("r1", "a", "", std::to_string(i))).ok());
  }
  ASSERT_TRUE(put(response("r2")).ok());
  EXPECT_EQ(find("r1")->response, response("r1", "a", "", "4").response);
}

TEST_F(ResponseStoreTest, responses_expire) {
  open();
  ASSERT_TRUE(put(response("r1")).ok());
  clock_.advance(std::chrono::hours(24) - std::chrono::seconds(2));
  EXPECT_TRUE(find("r1").has_value());
  clock_.advance(std::chrono::seconds(3));
  EXPECT_FALSE(find("r1").has_value());
}

TEST_F(ResponseStoreTest, a_file_keeps_them_and_what_ran_has_failed) {
  open(path_);
  StoredResponse running = response("r2");
  running.is_running = true;
  ASSERT_TRUE(put(response("r1")).ok());
  ASSERT_TRUE(put(running).ok());
  open(path_);
  EXPECT_EQ(find("r1")->response, response("r1").response);
  const ResponseStore::Found interrupted = find("r2");
  ASSERT_TRUE(interrupted.has_value());
  EXPECT_FALSE(interrupted->is_running);
  const Json object = parse_json(interrupted->response).value();
  EXPECT_EQ(object.find("status")->as_string(), "failed");
  EXPECT_EQ(object.find("error")->find("code")->as_string(), "server_error");
}

TEST_F(ResponseStoreTest, a_running_response_does_not_give_way) {
  ResponseStoreLimits limits;
  limits.max_entries = 1;
  open("", limits);
  StoredResponse running = response("r1");
  running.is_running = true;
  ASSERT_TRUE(put(running).ok());
  EXPECT_EQ(put(response("r2")).code(), Code::kResourceExhausted);
  EXPECT_TRUE(find("r1").has_value());
}

// Its client was told that it runs, so it must not run for ever.
TEST_F(ResponseStoreTest, one_that_ran_and_whose_end_cannot_be_kept_has_failed) {
  ResponseStoreLimits limits;
  limits.max_bytes = 4000;
  open("", limits);
  StoredResponse running = response("r1");
  running.is_running = true;
  StoredResponse other = response("r2", "a", "", std::string(1500, 'x'));
  other.is_running = true;
  ASSERT_TRUE(put(running).ok());
  ASSERT_TRUE(put(other).ok());
  // Larger than what the other one leaves, which does not give way.
  EXPECT_EQ(put(response("r1", "a", "", std::string(3000, 'x'))).code(), Code::kResourceExhausted);
  const ResponseStore::Found found = find("r1");
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->is_running);
  const Json object = parse_json(found->response).value();
  EXPECT_EQ(object.find("status")->as_string(), "failed");
  EXPECT_NE(object.find("error")->find("message")->as_string().find("could not be kept"),
            std::string::npos);
  // Larger than the store.
  EXPECT_EQ(put(response("r2", "a", "", std::string(5000, 'x'))).code(), Code::kInvalidArgument);
  ASSERT_TRUE(find("r2").has_value());
  EXPECT_FALSE(find("r2")->is_running);
  // Both give way now.
  EXPECT_TRUE(put(response("r3", "a", "", std::string(3000, 'x'))).ok());
  EXPECT_FALSE(find("r1").has_value());
  EXPECT_FALSE(find("r2").has_value());
}

TEST_F(ResponseStoreTest, what_cannot_be_kept_makes_no_room) {
  ResponseStoreLimits limits;
  limits.max_bytes = 4000;
  open("", limits);
  StoredResponse running = response("r1", "a", "", std::string(2000, 'x'));
  running.is_running = true;
  ASSERT_TRUE(put(running).ok());
  ASSERT_TRUE(put(response("r2")).ok());
  EXPECT_EQ(put(response("r3", "a", "", std::string(2000, 'x'))).code(), Code::kResourceExhausted);
  EXPECT_TRUE(find("r2").has_value());
  EXPECT_TRUE(put(response("r4", "a", "", std::string(1000, 'x'))).ok());
  EXPECT_TRUE(find("r2").has_value());
}

TEST_F(ResponseStoreTest, the_ids_of_items_count) {
  ResponseStoreLimits limits;
  limits.max_bytes = 20'000;
  open("", limits);
  StoredResponse large = response("r1");
  JsonArray inputs;
  for (int i = 0; i < 10; ++i) {
    inputs.emplace_back(JsonObject{{"id", std::to_string(i) + std::string(1000, 'i')}});
  }
  large.inputs = to_text(inputs);
  ASSERT_LT(std::ssize(large.inputs), 11'000);
  const Status status = put(large);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.message();
}

TEST_F(ResponseStoreTest, events_come_in_pages) {
  open();
  StoredResponse stored = response("r1");
  for (int i = 0; i < 1000; ++i) {
    stored.events += "data: " + std::to_string(i) + std::string(1000, 'e') + "\n\n";
  }
  ASSERT_TRUE(put(stored).ok());
  EXPECT_TRUE(find("r1")->has_events);
  EXPECT_EQ(find("r1")->events, "");
  std::string all;
  std::int64_t num_pages = 0;
  for (std::int64_t next = 0; next < 1000; ++num_pages) {
    const ResponseStore::FoundPage found = page("r1", next);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->first, next);
    EXPECT_LT(found->events.size(), (256U << 10) + 1100);
    all += found->events;
    next += std::count(found->events.begin(), found->events.end(), '\n') / 2;
    EXPECT_EQ(found->is_last, next == 1000);
  }
  EXPECT_TRUE(all == stored.events);
  EXPECT_GE(num_pages, 4);
  EXPECT_EQ(page("r1", 5)->first, 0);
  EXPECT_TRUE(page("r1", 5000)->is_last);
  EXPECT_FALSE(page("r1", 0, "b").has_value());
  EXPECT_FALSE(page("r2", 0).has_value());
  ASSERT_TRUE(put(response("r1")).ok());  // the pages go with what they belong to
  EXPECT_FALSE(page("r1", 0).has_value());
  EXPECT_FALSE(find("r1")->has_events);
}

TEST_F(ResponseStoreTest, a_file_of_the_first_version_keeps_its_events) {
  {
    Result<std::unique_ptr<SqliteDatabase>> old = SqliteDatabase::open(path_);
    ASSERT_TRUE(old.ok());
    ASSERT_TRUE(old.value()
                    ->run("CREATE TABLE responses (id TEXT PRIMARY KEY, owner TEXT NOT NULL, "
                          "parent TEXT NOT NULL, is_running INTEGER NOT NULL, response TEXT NOT "
                          "NULL, inputs TEXT NOT NULL, events TEXT NOT NULL, num_bytes INTEGER NOT "
                          "NULL, expires_at INTEGER NOT NULL, last_use INTEGER NOT NULL) WITHOUT "
                          "ROWID; INSERT INTO responses VALUES ('r1', 'a', '', 0, '{}', '[]', "
                          "'data: 1' || char(10) || char(10), 30, 99999999999, 1); "
                          "PRAGMA user_version = 1;")
                    .ok());
  }
  open(path_);
  EXPECT_EQ(find("r1")->response, "{}");
  EXPECT_EQ(page("r1", 0)->events, "data: 1\n\n");
  ASSERT_TRUE(put(response("r2")).ok());
  open(path_);
  EXPECT_EQ(page("r1", 0)->events, "data: 1\n\n");
  EXPECT_TRUE(find("r2").has_value());
}

TEST_F(ResponseStoreTest, many_at_once_are_all_reported) {
  open(path_);
  std::atomic<int> num_kept{0};
  for (int i = 0; i < 500; ++i) {
    store_->put(response("r" + std::to_string(i)),
                [&](const Status& status) { num_kept += status.ok() ? 1 : 0; });
  }
  EXPECT_TRUE(find("r499").has_value());
  EXPECT_EQ(num_kept.load(), 500);
}

TEST_F(ResponseStoreTest, a_full_disk_is_told_and_what_was_kept_stays) {
  open(path_);
  ASSERT_TRUE(put(response("r1")).ok());
  {
    const NoRoom no_room(std::int64_t{256} << 10);
    // The first is too much for one transaction in memory, the second for its commit.
    for (const std::size_t size : {std::size_t{16} << 20, std::size_t{1} << 20}) {
      const Status full = put(response("r2", "a", "", std::string(size, 'x')));
      EXPECT_EQ(full.code(), Code::kUnavailable) << full.message();
      EXPECT_EQ(full.message(),
                "responses cannot be kept: the disk of the response store is full; send "
                "store:false or make room");
    }
    EXPECT_TRUE(find("r1").has_value());
    EXPECT_FALSE(find("r2").has_value());
  }
  EXPECT_TRUE(put(response("r3")).ok());
  open(path_);
  EXPECT_TRUE(find("r1").has_value());
  EXPECT_FALSE(find("r2").has_value());
  EXPECT_TRUE(find("r3").has_value());
}

TEST_F(ResponseStoreTest, what_is_no_json_any_more_is_an_error_of_that_one) {
  open(path_);
  ASSERT_TRUE(put(response("r1")).ok());
  ASSERT_TRUE(put(response("r2")).ok());
  ASSERT_TRUE(put(response("r3")).ok());
  store_.reset();
  auto database = std::move(SqliteDatabase::open(path_)).value();
  ASSERT_TRUE(database
                  ->run("UPDATE responses SET response = '{' WHERE id = 'r1'; "
                        "UPDATE responses SET inputs = 'x' WHERE id = 'r2'")
                  .ok());
  database.reset();
  open(path_);
  EXPECT_EQ(store_->find("a", "r1").status().code(), Code::kDataLoss);
  EXPECT_EQ(store_->find("a", "r2").status().code(), Code::kDataLoss);
  EXPECT_TRUE(find("r3").has_value());
  EXPECT_TRUE(erase("r1"));
}

// A child process tells through a pipe which responses were reported as kept, until it is killed
// at some instant in the middle of it.
TEST_F(ResponseStoreTest, a_killed_process_has_lost_nothing_that_it_reported) {
  std::int64_t num_reported = 0;
  for (int round = 0; round < 12; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      Result<std::unique_ptr<ResponseStore>> store = ResponseStore::open(path_, {}, system_clock());
      for (std::int32_t i = 0; store.ok(); ++i) {
        std::promise<bool> turn;
        store.value()->put(response(std::to_string(round) + "-" + std::to_string(i), "a", "",
                                    std::string(2000, 'y')),
                           [&](const Status& status) {
                             if (status.ok() && ::write(ends[1], &i, sizeof i) < 0) {
                               ::_exit(1);
                             }
                             turn.set_value(true);
                           });
        turn.get_future().wait();
      }
      ::_exit(1);
    }
    ::close(ends[1]);
    std::int32_t last = -1;
    for (int reads = 0; reads < 5 + round * 7; ++reads) {
      ASSERT_EQ(::read(ends[0], &last, sizeof last), std::int64_t{sizeof last});
    }
    ::kill(child, SIGKILL);
    while (::read(ends[0], &last, sizeof last) == std::int64_t{sizeof last}) {
    }
    ::close(ends[0]);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    num_reported += last + 1;
    Result<std::unique_ptr<ResponseStore>> store = ResponseStore::open(path_, {}, system_clock());
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = std::move(store).value();
    for (std::int32_t i = 0; i <= last; ++i) {
      ASSERT_TRUE(find(std::to_string(round) + "-" + std::to_string(i)).has_value())
          << "round " << round << " response " << i << " of " << last;
    }
    store_.reset();
  }
  EXPECT_GT(num_reported, 12 * 5);
}

}  // namespace
}  // namespace plumb
