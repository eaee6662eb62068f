// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "base/thread.h"
#include "e2e/served_scene.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

std::string raw_post(const std::string& fields) {
  const std::string body = R"({"prompt":"x","ignore_eos":true,)" + fields + "}";
  return "POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
         "content-length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

constexpr const char* kLong = R"("max_tokens":2000)";
constexpr const char* kLongStream = R"("max_tokens":2000,"stream":true)";

void expect_freed(ServedScene& scene, std::int64_t num_left) {
  EXPECT_TRUE(scene.is_idle());
  const EngineStats stats = scene.engine().stats();
  EXPECT_EQ(stats.num_running, 0);
  EXPECT_EQ(stats.num_used_blocks(), 0);
  EXPECT_EQ(stats.num_aborted, num_left);
}

TEST(ServedLife, a_client_that_leaves_its_stream_frees_its_place) {
  ServedScene scene;
  {
    RawClient closes(scene.server().port());
    RawClient resets(scene.server().port());
    ASSERT_TRUE(closes.send(raw_post(kLongStream)));
    ASSERT_TRUE(resets.send(raw_post(kLongStream)));
    EXPECT_NE(closes.read_until("data: ").find("200 OK"), std::string::npos);
    EXPECT_NE(resets.read_until("data: ").find("200 OK"), std::string::npos);
    closes.close();
    resets.reset();
  }
  expect_freed(scene, 2);
  EXPECT_LT(scene.engine().stats().completion_tokens, 4000);
}

TEST(ServedLife, a_client_that_leaves_before_a_whole_answer_frees_its_place) {
  ServedScene scene;
  RawClient leaves(scene.server().port());
  ASSERT_TRUE(leaves.send(raw_post(kLong)));
  while (scene.engine().stats().num_running == 0) {
    scene.send("GET", "/health");
  }
  leaves.close();
  expect_freed(scene, 1);
}

TEST(ServedLife, every_choice_of_a_client_that_leaves_is_ended) {
  ServedScene scene;
  RawClient client(scene.server().port());
  ASSERT_TRUE(client.send(raw_post(R"("max_tokens":2000,"stream":true,"n":6)")));
  client.read_until("data: ");
  client.close();
  expect_freed(scene, 6);
}

TEST(ServedLife, a_server_that_is_destroyed_amid_streams_ends_them_all) {
  for (int i = 0; i < 5; ++i) {
    ServedScene scene;
    RawClient stream(scene.server().port());
    RawClient whole(scene.server().port());
    ASSERT_TRUE(stream.send(raw_post(kLongStream)));
    ASSERT_TRUE(whole.send(raw_post(kLong)));
    stream.read_until("data: ");
    scene.destroy_server();
    EXPECT_EQ(stream.read_all().find("[DONE]"), std::string::npos);
    EXPECT_TRUE(scene.is_idle());
    EXPECT_EQ(scene.engine().stats().num_used_blocks(), 0);
  }
}

TEST(ServedLife, draining_refuses_new_work_and_finishes_what_runs) {
  ServedScene scene;
  RawClient running(scene.server().port());
  ASSERT_TRUE(running.send(raw_post(R"("max_tokens":1500,"stream":true)")));
  running.read_until("data: ");
  Thread drain("drain", [&] { scene.server().drain(); });
  HttpResponse ready;
  do {  // until the drain has begun
    ready = scene.send("GET", "/ready");
  } while (ready.status == 200);
  EXPECT_EQ(ready.status, 503);
  const HttpResponse refused =
      scene.send("POST", "/v1/completions", R"({"prompt":"x","max_tokens":1})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.find("retry-after"), "1");
  EXPECT_NE(refused.body.find("service_unavailable"), std::string::npos);
  EXPECT_EQ(scene.send("GET", "/health").status, 200);
  EXPECT_NE(running.read_until("data: [DONE]\n\n").find("\"finish_reason\":\"length\""),
            std::string::npos);
  drain.join();
  EXPECT_FALSE(RawClient(scene.server().port()).connected());
}

TEST(ServedLife, a_drain_without_time_cuts_what_runs) {
  ServerOptions options;
  options.drain_timeout = std::chrono::milliseconds(0);
  ServedScene scene(options);
  RawClient running(scene.server().port());
  ASSERT_TRUE(running.send(raw_post(kLongStream)));
  running.read_until("data: ");
  scene.server().drain();
  EXPECT_EQ(running.read_all().find("[DONE]"), std::string::npos);
  EXPECT_TRUE(scene.is_idle());
}

// Thousands of long prompts: tokenised for a while.
std::string slow_body() {
  std::string text;
  for (int i = 0; i < 230; ++i) {
    text += "word" + std::to_string(i) + " ";
  }
  std::string prompts = "\"" + text + "\"";
  for (int i = 1; i < 2048; ++i) {
    prompts += ",\"" + std::to_string(i) + text + "\"";
  }
  return "{\"max_tokens\":1,\"prompt\":[" + prompts + "]}";
}

TEST(ServedLife, a_body_in_preparation_is_answered_when_the_drain_ends_and_not_waited_for) {
  ServerOptions options;
  options.drain_timeout = std::chrono::milliseconds(0);
  ServedScene scene(options);
  const std::string body = slow_body();
  RawClient client(scene.server().port());
  ASSERT_TRUE(
      client.send("POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                  "content-length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body));
  while (scene.send("GET", "/metrics").body.find("plumb_requests_preparing 1") ==
         std::string::npos) {
    ASSERT_EQ(scene.engine().stats().num_submitted, 0) << "prepared before it was seen";
  }
  scene.server().drain();
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer.substr(0, 200);
  EXPECT_NE(answer.find("service_unavailable"), std::string::npos);
  scene.destroy_server();
  EXPECT_EQ(scene.engine().stats().num_submitted, 0);
}

TEST(ServedLife, a_drain_with_time_lets_a_body_in_preparation_become_an_answer) {
  ServedScene scene;
  RawClient client(scene.server().port());
  const std::string body =
      R"({"max_tokens":1,"prompt":"x","user":")" + std::string(200'000, 'u') + "\"}";
  ASSERT_TRUE(
      client.send("POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                  "content-length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body));
  while (scene.engine().stats().num_submitted == 0 &&
         scene.send("GET", "/metrics").body.find("plumb_requests_preparing 1") ==
             std::string::npos) {
  }
  scene.server().drain();
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 200 "));
}

TEST(ServedLife, a_full_queue_is_503_with_a_time_to_come_back) {
  EngineOptions engine = ServedScene::small();
  engine.max_num_seqs = 1;
  engine.max_queued_requests = 1;
  ServedScene scene({}, engine);
  RawClient running(scene.server().port());
  ASSERT_TRUE(running.send(raw_post(kLongStream)));
  running.read_until("data: ");
  RawClient waiting(scene.server().port());
  ASSERT_TRUE(waiting.send(raw_post(kLong)));
  HttpResponse response;
  do {  // until the second one waits
    response = scene.send("POST", "/v1/completions",
                          R"({"prompt":"x","max_tokens":1,"queue_timeout_ms":1})");
  } while (response.status != 503 && scene.engine().stats().num_running > 0);
  EXPECT_EQ(response.status, 503) << response.body;
  EXPECT_TRUE(response.headers.find("retry-after").has_value());
  EXPECT_NE(response.body.find("engine_overloaded"), std::string::npos);
  running.close();
  waiting.close();
  EXPECT_TRUE(scene.is_idle());
  EXPECT_EQ(scene.engine().stats().num_used_blocks(), 0);
}

TEST(ServedLife, many_clients_that_come_and_go_leave_nothing) {
  ServedScene scene;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<RawClient>(scene.server().port()));
    ASSERT_TRUE(clients.back()->send(raw_post(i % 2 == 0 ? kLongStream : kLong)));
    if (i % 3 == 0) {
      clients.back()->reset();
    }
  }
  clients.clear();
  EXPECT_TRUE(scene.is_idle());
  EXPECT_EQ(scene.engine().stats().num_used_blocks(), 0);
  EXPECT_EQ(scene.send("GET", "/health").status, 200);
}

}  // namespace
}  // namespace plumb
