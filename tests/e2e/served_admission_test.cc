// SPDX-License-Identifier: Apache-2.0
// What is refused at the door, when to come again, and who is served first.
#include <sys/stat.h>

#include "base/text.h"
#include "e2e/served_scene.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

constexpr const char* kCompletions = "/v1/completions";
constexpr const char* kHeavyKey = "sk-heavy-0123456789";
constexpr const char* kLightKey = "sk-light-0123456789";

struct OutOfRange {
  std::string field;
  std::string value;
  std::vector<std::string> named;  ///< in the message: the value, and the limits
};

TEST(ServedAdmission, what_is_out_of_range_names_field_value_and_limits) {
  ServedScene scene;
  std::vector<OutOfRange> cases;
  for (const char* field : {"timeout_ms", "queue_timeout_ms"}) {  // a deadline in the past, or far
    for (const char* value : {"0", "-5", "86400001"}) {
      cases.push_back({field, value, {value, "from 1 to 86400000"}});
    }
  }
  for (const char* value : {"1000001", "-1000001", "9000000000000000000"}) {
    cases.push_back({"priority", value, {value, "from -1000000 to 1000000"}});
  }
  const std::string salt(std::size_t{1} << 20, 's');
  cases.push_back({"cache_salt", '"' + salt + '"', {"1048576", "at most 1024"}});
  for (const OutOfRange& one : cases) {
    const Json answer =
        scene.post(kCompletions, R"({"prompt":"x",")" + one.field + "\":" + one.value + "}", 400);
    EXPECT_EQ(text_at(answer, {"error", "param"}), one.field);
    EXPECT_EQ(text_at(answer, {"error", "code"}), "invalid_value");
    const std::string message = text_at(answer, {"error", "message"});
    EXPECT_LT(message.size(), 300U);
    EXPECT_NE(message.find("'" + one.field + "'"), std::string::npos) << message;
    for (const std::string& part : one.named) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
  EXPECT_EQ(scene.engine().stats().num_submitted, 0);
}

TEST(ServedAdmission, a_body_of_more_prompts_than_may_ever_wait_names_them_and_the_limit) {
  EngineOptions engine = ServedScene::small();
  engine.max_num_seqs = 1;
  engine.max_queued_requests = 2;
  ServedScene scene({}, engine);
  for (const auto& [path, field] :
       {std::pair("/generate", "text"), std::pair(kCompletions, "prompt")}) {
    const std::string body = std::string("{\"") + field + R"(":["a","b","c","d"]})";
    const Json error = scene.post(path, body, 400);
    EXPECT_EQ(text_at(error, {"error", "param"}), field);
    EXPECT_EQ(text_at(error, {"error", "message"}),
              "'" + std::string(field) +
                  "' asks for 4 choices, those that run and wait are at most 3 (--max-num-seqs + "
                  "--max-queued-requests); send fewer or raise them");
  }
  const Json error = scene.post(kCompletions, R"({"prompt":"a","n":4})", 400);
  EXPECT_EQ(text_at(error, {"error", "param"}), "n");
}

TEST(ServedAdmission, a_header_with_a_deadline_in_the_past_names_itself_its_value_and_the_limits) {
  ServedScene scene;
  for (const char* value : {"0", "-5", "soon", "86400001"}) {
    const HttpResponse response =
        scene.send("POST", kCompletions, R"({"prompt":"x"})", {{"x-request-timeout-ms", value}});
    EXPECT_EQ(response.status, 400);
    const Json answer = parse_json(response.body).value();
    EXPECT_EQ(text_at(answer, {"error", "param"}), "x-request-timeout-ms");
    const std::string message = text_at(answer, {"error", "message"});
    EXPECT_NE(message.find("'" + std::string(value) + "'"), std::string::npos) << message;
    EXPECT_NE(message.find("from 1 to 86400000"), std::string::npos) << message;
  }
}

std::string raw_post(const std::string& key, const std::string& fields) {
  const std::string body = "{\"ignore_eos\":true,\"temperature\":0," + fields + "}";
  return "POST /v1/completions HTTP/1.1\r\nhost: x\r\nx-api-key: " + key +
         "\r\ncontent-type: application/json\r\ncontent-length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

// Returns once one request runs and so many wait; each look at it is a whole request.
void wait_for_queue(ServedScene& scene, std::int64_t num_waiting) {
  const Clock::TimePoint deadline = system_clock().now() + std::chrono::seconds(20);
  for (;;) {
    const EngineStats stats = scene.engine().stats();
    if (stats.num_running == 1 && stats.num_waiting >= num_waiting) {
      return;
    }
    ASSERT_LT(system_clock().now(), deadline);
    scene.send("GET", "/health");
  }
}

// By number of requests, and by number of their tokens.
TEST(ServedAdmission, a_full_queue_says_how_many_seconds_to_stay_away) {
  for (const bool is_by_tokens : {false, true}) {
    EngineOptions engine = ServedScene::small();
    engine.max_num_seqs = 1;
    engine.max_queued_requests = is_by_tokens ? 100 : 1;
    engine.max_queued_tokens = is_by_tokens ? 5 : 0;
    ServedScene scene({}, engine);
    RawClient running(scene.server().port());
    ASSERT_TRUE(running.send(raw_post("", R"("prompt":[5],"max_tokens":2000,"stream":true)")));
    running.read_until("data: ");
    RawClient waiting(scene.server().port());
    ASSERT_TRUE(waiting.send(raw_post("", R"("prompt":[5,6,7],"max_tokens":2000)")));
    wait_for_queue(scene, 1);
    const HttpResponse refused =
        scene.send("POST", kCompletions, R"({"prompt":[5,6,7],"max_tokens":1})");
    EXPECT_EQ(refused.status, 503) << refused.body;
    std::int64_t seconds = 0;
    EXPECT_TRUE(parse_int64(refused.headers.find("retry-after").value_or(""), &seconds));
    EXPECT_GE(seconds, 1);
    EXPECT_LE(seconds, 60);
    EXPECT_NE(refused.body.find("engine_overloaded"), std::string::npos);
    EXPECT_NE(refused.body.find(is_by_tokens ? "the limit is 5" : "the limit is 1"),
              std::string::npos)
        << refused.body;
    running.close();
    waiting.close();
    EXPECT_TRUE(scene.is_idle());
  }
}

// A server for one request at a time, and two keys.
class ServedTenants : public testing::Test {
 protected:
  void serve(bool is_fair) {
    file_ = testing::TempDir() + "plumb_admission_keys_" + std::to_string(::getpid());
    const std::string keys =
        std::string("heavy:normal:") + kHeavyKey + "\nlight:normal:" + kLightKey + "\n";
    PLUMB_CHECK(write_file_atomic(file_, keys).ok(), file_);
    ::chmod(file_.c_str(), 0600);
    ServerOptions options;
    options.api_key_file = file_;
    EngineOptions engine = ServedScene::small();
    engine.max_num_seqs = 1;
    engine.max_queued_requests = 100;
    engine.scheduler.tenant_fairness = is_fair;
    scene_ = std::make_unique<ServedScene>(options, engine);
  }

  ~ServedTenants() override { ::unlink(file_.c_str()); }

  // One key queues many long requests, then another key a short one; how many of the former end
  // before the latter is answered.
  std::int64_t num_ended_before_the_other_key() {
    RawClient running(scene_->server().port());
    running.send(raw_post(kHeavyKey, R"("prompt":[5],"max_tokens":2000,"stream":true)"));
    running.read_until("data: ");
    std::vector<std::unique_ptr<RawClient>> heavy;
    for (std::int64_t i = 0; i < kNumHeavy; ++i) {
      heavy.push_back(std::make_unique<RawClient>(scene_->server().port()));
      heavy.back()->send(raw_post(kHeavyKey, R"("prompt":[5,6,7],"max_tokens":400)"));
      wait_for_queue(*scene_, i + 1);
    }
    RawClient light(scene_->server().port());
    light.send(raw_post(kLightKey, R"("prompt":[8,9],"max_tokens":1)"));
    wait_for_queue(*scene_, kNumHeavy + 1);
    running.close();
    EXPECT_NE(light.read_until("\"finish_reason\":\"length\"").find("200 OK"), std::string::npos);
    heavy.clear();  // those that have not ended
    EXPECT_TRUE(scene_->is_idle());
    return scene_->engine().stats().num_finished - 1;
  }

  static constexpr std::int64_t kNumHeavy = 16;
  std::string file_;
  std::unique_ptr<ServedScene> scene_;
};

TEST_F(ServedTenants, a_key_with_a_long_queue_does_not_hold_up_another) {
  serve(true);
  EXPECT_LT(num_ended_before_the_other_key(), kNumHeavy / 2);
}

TEST_F(ServedTenants, without_fairness_the_first_come_are_served_first) {
  serve(false);
  EXPECT_EQ(num_ended_before_the_other_key(), kNumHeavy);
}

}  // namespace
}  // namespace plumb
