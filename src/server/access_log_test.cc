// SPDX-License-Identifier: Apache-2.0
#include "server/access_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "support/no_room.h"

namespace plumb {
namespace {

using std::chrono::milliseconds;

AccessEntry entry_of(HttpRequest head) {
  AccessEntry entry(head, std::chrono::system_clock::time_point(milliseconds(1'700'000'000'123)));
  entry.request_id = "req-1";
  return entry;
}

ChoiceEnd ended(std::int64_t queued, std::int64_t prefilled, std::int64_t decoded) {
  const Clock::TimePoint begin{std::chrono::seconds(5)};
  ChoiceEnd end;
  end.reason = FinishReason::kLength;
  end.usage = {.prompt_tokens = 10, .completion_tokens = 4, .cached_tokens = 8};
  end.timings.submitted = begin;
  end.timings.scheduled = begin + milliseconds(queued);
  end.timings.first_token = begin + milliseconds(queued + prefilled);
  end.timings.last_token = begin + milliseconds(queued + prefilled + decoded);
  return end;
}

TEST(AccessLogs, a_line_tells_the_phases_of_a_request) {
  HttpRequest head;
  head.method = "POST";
  head.peer_address = "127.0.0.1";
  head.headers = {{"user-agent", "curl/8"},
                  {"authorization", "Bearer sk-secret-0123456789"},
                  {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}};
  AccessEntry entry = entry_of(head);
  entry.key = "alice";
  entry.route = "/v1/chat/completions";
  entry.model = "m";
  entry.is_stream = true;
  entry.choices_per_prompt = 2;
  entry.ends = {ended(20, 30, 100), ended(25, 30, 150)};
  entry.ends[1].index = 1;
  const Clock::TimePoint received{std::chrono::seconds(4)};
  entry.first_token = received + milliseconds(60);
  EXPECT_EQ(to_text(access_line(entry, 200, received, received + milliseconds(300))),
            R"({"time":"2023-11-14T22:13:20.123Z","request_id":"req-1",)"
            R"("trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","key":"alice","client":"127.0.0.1",)"
            R"("method":"POST","route":"/v1/chat/completions","status":200,"model":"m",)"
            R"("stream":true,"prompt_tokens":10,"cached_tokens":8,"completion_tokens":8,)"
            R"("finish_reasons":["length","length"],"preemptions":0,"queue_ms":20.0,)"
            R"("prefill_ms":30.0,"decode_ms":155.0,"ttft_ms":60.0,"total_ms":300.0,)"
            R"("user_agent":"curl/8"})");
}

TEST(AccessLogs, what_a_request_does_not_have_is_left_out_and_what_it_says_is_bounded) {
  HttpRequest head;
  head.method = "GET";
  head.headers = {{"user-agent", std::string(5000, 'x') + "\n"}, {"traceparent", "nonsense"}};
  AccessEntry entry = entry_of(head);
  entry.error_code = "not_found";
  const Json line = access_line(entry, 404, {}, {});
  EXPECT_EQ(line.find("user_agent")->as_string(), std::string(200, 'x'));
  for (const char* absent : {"trace_id", "key", "client", "model", "queue_ms", "ttft_ms"}) {
    EXPECT_EQ(line.find(absent), nullptr) << absent;
  }
  EXPECT_EQ(line.find("error_code")->as_string(), "not_found");
}

TEST(AccessLogs, lines_go_behind_those_that_are_there) {
  const std::string path =
      testing::TempDir() + "plumb_access_" + std::to_string(::getpid()) + ".log";
  for (const char* name : {"a", "b"}) {
    const auto log = AccessLog::open(path);
    ASSERT_TRUE(log.ok()) << log.status().message();
    log.value()->write(JsonObject{{"n", name}});
  }
  EXPECT_EQ(read_file(path, 1000).value(), "{\"n\":\"a\"}\n{\"n\":\"b\"}\n");
  ::unlink(path.c_str());
  EXPECT_EQ(AccessLog::open("").value(), nullptr);
  const auto none = AccessLog::open("/proc/none/access.log");
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(none.status().message().starts_with("--access-log: ")) << none.status().message();
}

TEST(AccessLogs, a_response_in_the_background_has_no_status_of_http) {
  AccessEntry entry = entry_of({});
  entry.route = "/v1/responses";
  entry.response_id = "resp_1";
  entry.response_status = "failed";
  entry.error_code = "request_aborted";
  const Clock::TimePoint received{std::chrono::seconds(4)};
  EXPECT_EQ(to_text(access_line(entry, std::nullopt, received, received + milliseconds(7))),
            R"({"time":"2023-11-14T22:13:20.123Z","request_id":"req-1","method":"",)"
            R"("route":"/v1/responses","response_id":"resp_1","response_status":"failed",)"
            R"("error_code":"request_aborted","total_ms":7.0})");
}

TEST(AccessLogs, a_line_that_does_not_fit_is_lost_as_a_whole) {
  const std::string path =
      testing::TempDir() + "plumb_access_full_" + std::to_string(::getpid()) + ".log";
  const auto log = AccessLog::open(path);
  ASSERT_TRUE(log.ok()) << log.status().message();
  {
    const NoRoom no_room(13);  // a line has ten bytes
    for (const char* name : {"a", "b", "c"}) {
      log.value()->write(JsonObject{{"n", name}});
    }
  }
  log.value()->write(JsonObject{{"n", "d"}});
  EXPECT_EQ(read_file(path, 1000).value(), "{\"n\":\"a\"}\n{\"n\":\"d\"}\n");
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace plumb
