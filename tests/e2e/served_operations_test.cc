// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <sys/stat.h>

#include "base/log.h"
#include "e2e/served_scene.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

constexpr const char* kKey = "sk-normal-0123456789";
constexpr const char* kOther = "sk-second-0123456789";
constexpr const char* kAdmin = "sk-admin-0123456789";

// A file of keys for the time of a test.
class KeyFile {
 public:
  KeyFile(const char* name, const std::string& content)
      : path_(testing::TempDir() + "plumb_operations_" + name + std::to_string(::getpid())) {
    EXPECT_TRUE(write_file_atomic(path_, content).ok());
    EXPECT_EQ(::chmod(path_.c_str(), 0600), 0);
  }

  ~KeyFile() { ::unlink(path_.c_str()); }

  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Json get(ServedScene& scene, const std::string& path) {
  const HttpResponse response = scene.send("GET", path);
  EXPECT_EQ(response.status, 200) << path << " " << response.body;
  const Result<Json> json = parse_json(response.body);
  EXPECT_TRUE(json.ok()) << response.body;
  return json.ok() ? json.value() : Json();
}

std::string post_text(const std::string& path, const std::string& body, const char* key = nullptr) {
  return "POST " + path + " HTTP/1.1\r\nhost: x\r\nconnection: close\r\n" +
         (key == nullptr ? "" : "authorization: Bearer " + std::string(key) + "\r\n") +
         "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// A stream that runs until somebody ends it.
std::string endless(const std::string& rid) {
  return R"({"text":"abc","stream":true,"rid":")" + rid +
         R"(","sampling_params":{"ignore_eos":true,"max_new_tokens":2000}})";
}

// The figures of a step are published before the events of the next one.
void wait_for_two_events(RawClient& client) {
  client.read_until("output_ids");
  client.read_until("output_ids");
}

TEST(ServedOperations, health_generate_produces_a_token) {
  ServedScene scene;
  EXPECT_EQ(get(scene, "/health_generate"), Json(JsonObject{{"status", "ok"}}));
  ASSERT_TRUE(scene.is_idle());
  EXPECT_GE(scene.engine().stats().completion_tokens, 1);
  scene.engine().stop();
  const HttpResponse response = scene.send("GET", "/health_generate");
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.body.find("service_unavailable"), std::string::npos) << response.body;
}

TEST(ServedOperations, the_model_is_described_without_paths) {
  ServedScene scene;
  for (const char* path : {"/model_info", "/get_model_info"}) {
    const Json info = get(scene, path);
    EXPECT_EQ(text_at(info, {"model_path"}), "tiny");
    EXPECT_EQ(text_at(info, {"model_type"}), "llama");
    EXPECT_EQ(text_at(info, {"architectures"}), R"(["llama"])");
    EXPECT_EQ(text_at(info, {"is_generation"}), "true");
    EXPECT_EQ(int_at(info, {"max_context_len"}), 2048);
  }
  const Json props = get(scene, "/props");
  EXPECT_EQ(int_at(props, {"total_slots"}), 8);
  EXPECT_EQ(int_at(props, {"default_generation_settings", "n_ctx"}), 2048);
  EXPECT_EQ(text_at(props, {"eos_token"}), "<|im_end|>");
  EXPECT_NE(text_at(props, {"chat_template"}).find("<|im_start|>"), std::string::npos);
  EXPECT_EQ(text_at(props, {"build_info"}), "1.2.3");
}

TEST(ServedOperations, the_load_is_told_in_each_form) {
  ServedScene scene;
  EXPECT_EQ(to_text(get(scene, "/load")), R"({"server_load":0})");
  EXPECT_EQ(to_text(get(scene, "/get_load")),
            R"([{"dp_rank":0,"num_reqs":0,"num_waiting_reqs":0,"num_tokens":0}])");
  const Json loads = get(scene, "/v1/loads?dp_rank=0&include=core%2Cmemory&format=json");
  EXPECT_EQ(text_at(loads, {"version"}), "1.2.3");
  EXPECT_EQ(text_at(loads, {"accelerator"}), "cpu");
  EXPECT_EQ(int_at(loads, {"loads", 0, "max_running_requests"}), 8);
  EXPECT_GT(int_at(loads, {"loads", 0, "max_total_num_tokens"}), 0);
  EXPECT_GT(int_at(loads, {"loads", 0, "memory", "weight_bytes"}), 0);
  EXPECT_EQ(text_at(loads, {"timestamp"}).back(), 'Z');
  const HttpResponse text = scene.send("GET", "/v1/loads?format=prometheus");
  EXPECT_NE(text.body.find("plumb_load_num_running_reqs{dp_rank=\"0\"} 0\n"), std::string::npos);
  for (const char* bad : {"include=moon", "dp_rank=1", "dp_rank=x", "format=xml"}) {
    const HttpResponse response = scene.send("GET", std::string("/v1/loads?") + bad);
    EXPECT_EQ(response.status, 400) << bad;
    EXPECT_NE(response.body.find("invalid_value"), std::string::npos) << response.body;
  }
}

TEST(ServedOperations, a_running_stream_is_part_of_the_load) {
  ServedScene scene;
  RawClient client(scene.server().port());
  ASSERT_TRUE(client.send(post_text("/generate", endless("r1"))));
  wait_for_two_events(client);
  EXPECT_EQ(int_at(get(scene, "/load"), {"server_load"}), 1);
  EXPECT_EQ(get(scene, "/health_generate"), Json(JsonObject{{"status", "ok"}}));
}

TEST(ServedOperations, server_info_has_what_benchmarks_read) {
  ServedScene scene;
  const Json info = get(scene, "/server_info");
  EXPECT_GT(int_at(info, {"max_total_num_tokens"}), 0);
  EXPECT_EQ(int_at(info, {"internal_states", 0, "memory_usage", "graph"}), 0);
  EXPECT_GT(int_at(info, {"internal_states", 0, "memory_usage", "token_capacity"}), 0);
  EXPECT_TRUE(at(info, {"internal_states", 0, "last_gen_throughput"}).is_number());
}

TEST(ServedOperations, a_request_is_aborted_by_its_id) {
  ServedScene scene;
  RawClient client(scene.server().port());
  ASSERT_TRUE(client.send(post_text("/generate", endless("r1"))));
  wait_for_two_events(client);
  scene.post("/abort_request", R"({"rid":"other"})");
  EXPECT_EQ(int_at(get(scene, "/load"), {"server_load"}), 1);
  scene.post("/abort_request", R"({"rid":"r1"})");
  const std::string rest = client.read_all();
  EXPECT_NE(rest.find("\"code\":\"request_aborted\""), std::string::npos) << rest;
  EXPECT_EQ(rest.find("[DONE]"), std::string::npos);
  EXPECT_TRUE(scene.is_idle());
}

// Thousands of prompts: tokenised for a while.
std::string slow_to_prepare() {
  std::string text;
  for (int i = 0; i < 230; ++i) {
    text += "word" + std::to_string(i) + " ";
  }
  std::string prompts = "\"" + text + "\"";
  for (int i = 1; i < 2048; ++i) {
    prompts += ",\"" + std::to_string(i) + text + "\"";
  }
  return R"({"max_tokens":1,"request_id":"own","prompt":[)" + prompts + "]}";
}

bool is_preparing(ServedScene& scene) {
  return scene.send("GET", "/metrics").body.find("plumb_requests_preparing 1") != std::string::npos;
}

TEST(ServedOperations, a_body_in_preparation_is_aborted_by_the_id_of_its_headers) {
  ServedScene scene;
  const std::string body = slow_to_prepare();
  RawClient client(scene.server().port());
  ASSERT_TRUE(
      client.send("POST /v1/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
                  "x-request-id: h1\r\ncontent-length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body));
  while (!is_preparing(scene)) {
    ASSERT_EQ(scene.engine().stats().num_submitted, 0) << "prepared before it was seen";
  }
  scene.post("/abort_request", R"({"rid":"other"})");
  scene.post("/abort_request", R"({"rid":"h1"})");
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer.substr(0, 200);
  EXPECT_NE(answer.find("request_aborted"), std::string::npos) << answer;
  scene.destroy_server();
  EXPECT_EQ(scene.engine().stats().num_submitted, 0);
}

TEST(ServedOperations, a_body_in_preparation_is_aborted_by_the_id_that_it_holds) {
  ServedScene scene;
  const std::string body = slow_to_prepare();
  RawClient client(scene.server().port());
  ASSERT_TRUE(client.send(post_text("/v1/completions", body)));
  while (!is_preparing(scene)) {
    ASSERT_EQ(scene.engine().stats().num_submitted, 0) << "prepared before it was seen";
  }
  scene.post("/abort_request", R"({"rid":"own"})");
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer.substr(0, 200);
  EXPECT_NE(answer.find("request_aborted"), std::string::npos) << answer;
  EXPECT_TRUE(scene.is_idle());
}

TEST(ServedOperations, a_request_that_waits_for_its_grammar_is_aborted) {
  ServedScene scene;
  std::string schema = R"({"anyOf":[)";
  for (int i = 0; i < 40; ++i) {
    schema +=
        R"({"type":"string","pattern":"^[ab]*a[ab]{15}c{)" + std::to_string(i + 1) + R"(}$"},)";
  }
  schema.back() = ']';
  RawClient client(scene.server().port());
  ASSERT_TRUE(client.send(post_text("/v1/completions", R"({"prompt":"x","request_id":"g1",)"
                                                       R"("guided_json":)" +
                                                           schema + "}}")));
  do {
    scene.post("/abort_request", R"({"rid":"g1"})");
  } while (scene.send("GET", "/metrics").body.find("plumb_grammar_cancelled_total 1") ==
           std::string::npos);
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer.substr(0, 200);
  EXPECT_NE(answer.find("request_aborted"), std::string::npos) << answer;
  EXPECT_EQ(to_text(scene.post("/drain", R"({"timeout_s":20})")),
            R"({"success":true,"num_requests":0})");
  EXPECT_EQ(scene.engine().stats().num_submitted, 0);
}

TEST(ServedOperations, a_response_in_the_background_is_aborted_by_the_id_of_its_request) {
  ServedScene scene;
  const HttpResponse made = scene.send(
      "POST", "/v1/responses",
      R"({"input":"Hello","background":true,"ignore_eos":true,"max_output_tokens":100000})",
      {{"x-request-id", "b1"}});
  EXPECT_EQ(made.status, 200) << made.body;
  scene.post("/abort_request", R"({"rid":"b1"})");
  EXPECT_TRUE(scene.is_idle());
  const std::string id = text_at(parse_json(made.body).value(), {"id"});
  std::string status;
  do {
    status = text_at(get(scene, "/v1/responses/" + id), {"status"});
  } while (status == "queued" || status == "in_progress");
  EXPECT_EQ(status, "failed");
}

TEST(ServedOperations, a_drain_whose_client_leaves_is_not_waited_for) {
  ServedScene scene;
  RawClient running(scene.server().port());
  ASSERT_TRUE(running.send(post_text(
      "/v1/completions", R"({"prompt":"x","max_tokens":2000,"ignore_eos":true,"stream":true})")));
  running.read_until("data: ");
  RawClient client(scene.server().port());
  ASSERT_TRUE(client.send(post_text("/drain", R"({"timeout_s":86400})")));
  while (scene.send("GET", "/ready").status == 200) {
  }
  client.close();
  while (scene.send("GET", "/metrics")
             .body.find("plumb_http_requests_total{route=\"/drain\",status=\"499\"} 1") ==
         std::string::npos) {
    ASSERT_EQ(int_at(get(scene, "/load"), {"server_load"}), 1) << "it ended before";
  }
}

TEST(ServedOperations, an_aborted_request_that_is_not_streamed_gets_a_status) {
  ServedScene scene;
  RawClient client(scene.server().port());
  ASSERT_TRUE(client.send(post_text(
      "/generate",
      R"({"text":["a","b"],"rid":["x1","x2"],"sampling_params":{"ignore_eos":true,"max_new_tokens":2000}})")));
  RawClient stream(scene.server().port());
  ASSERT_TRUE(stream.send(post_text("/generate", endless("r1"))));
  wait_for_two_events(stream);  // the first request is before it in the loop's queue
  scene.post("/abort_request", R"({"abort_all":true})");
  const std::string answer = client.read_all();
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 503");
  EXPECT_NE(answer.find("x-should-retry: false"), std::string::npos) << answer;
  EXPECT_NE(stream.read_all().find("request_aborted"), std::string::npos);
  EXPECT_TRUE(scene.is_idle());
}

TEST(ServedOperations, keys_abort_their_own_requests_and_the_admin_all) {
  const KeyFile keys("keys", std::string("a:normal:") + kKey + "\nb:normal:" + kOther + "\n");
  const KeyFile admins("admins", std::string(kAdmin) + "\n");
  ServerOptions options;
  options.api_key_file = keys.path();
  options.admin_key_file = admins.path();
  ServedScene scene(options);
  const auto bearer = [](const char* key) {
    return Headers{{"authorization", std::string("Bearer ") + key}};
  };
  RawClient client(scene.server().port());
  ASSERT_TRUE(client.send(post_text("/generate", endless("r1"), kKey)));
  wait_for_two_events(client);
  const auto abort = [&](const char* body, const char* key) {
    return scene.send("POST", "/abort_request", body, bearer(key)).status;
  };
  EXPECT_EQ(abort(R"({"rid":"r1"})", kOther), 200);
  EXPECT_EQ(abort(R"({"abort_all":true})", kKey), 403);
  EXPECT_EQ(client.read_all().find("request_aborted"), std::string::npos);
  RawClient second(scene.server().port());
  ASSERT_TRUE(second.send(post_text("/generate", endless("r2"), kKey)));
  wait_for_two_events(second);
  EXPECT_EQ(abort(R"({"abort_all":true})", kAdmin), 200);
  EXPECT_NE(second.read_all().find("request_aborted"), std::string::npos);
  EXPECT_EQ(scene.send("POST", "/abort_request", R"({"rid":"r1"})").status, 401);
  EXPECT_EQ(scene.send("POST", "/drain", "{}").status, 401);
  for (const char* path : {"/drain", "/set_internal_state", "/pause_generation",
                           "/continue_generation", "/start_profile", "/stop_profile"}) {
    EXPECT_EQ(scene.send("POST", path, "{}", bearer(kKey)).status, 403) << path;
  }
  for (const char* path : {"/model_info", "/props", "/load", "/get_load", "/v1/loads"}) {
    EXPECT_EQ(scene.send("GET", path).status, 401) << path;
    EXPECT_EQ(scene.send("GET", path, "", bearer(kKey)).status, 200) << path;
  }
  EXPECT_EQ(scene.send("GET", "/health_generate").status, 200);
}

TEST(ServedOperations, a_drain_refuses_new_work_and_waits_for_the_old) {
  ServedScene scene;
  RawClient client(scene.server().port());
  ASSERT_TRUE(client.send(post_text("/generate", endless("r1"))));
  wait_for_two_events(client);
  const Json busy = scene.post("/drain", R"({"timeout_s":0})");
  EXPECT_EQ(to_text(busy), R"({"success":false,"num_requests":1})");
  const HttpResponse refused = scene.send("POST", "/generate", R"({"text":"x"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_EQ(scene.send("GET", "/ready").status, 503);
  EXPECT_EQ(scene.send("GET", "/health").status, 200);
  scene.post("/abort_request", R"({"rid":"r1"})");
  EXPECT_EQ(to_text(scene.post("/drain", R"({"timeout_s":20})")),
            R"({"success":true,"num_requests":0})");
  EXPECT_EQ(scene.send("POST", "/drain").status, 200);  // a body is not needed
}

TEST(ServedOperations, a_paused_server_answers_when_it_goes_on) {
  for (const char* mode : {"in_place", "retract"}) {
    ServedScene scene;
    RawClient client(scene.server().port());
    ASSERT_TRUE(client.send(post_text("/generate", endless("r1"))));
    wait_for_two_events(client);
    EXPECT_EQ(to_text(scene.post("/pause_generation", R"({"mode":")" + std::string(mode) + "\"}")),
              R"({"status":"ok","mode":")" + std::string(mode) + "\"}");
    EXPECT_EQ(text_at(get(scene, "/server_info"), {"internal_states", 0, "is_paused"}), "true");
    const EngineStats paused = scene.engine().stats();
    EXPECT_EQ(paused.num_running, std::string(mode) == "retract" ? 0 : 1);
    EXPECT_EQ(paused.num_running + paused.num_waiting, 1);
    EXPECT_EQ(scene.send("GET", "/health").status, 200);
    EXPECT_EQ(scene.engine().stats().num_steps, paused.num_steps);
    EXPECT_EQ(to_text(scene.post("/continue_generation", "")), R"({"status":"ok"})");
    EXPECT_EQ(text_at(get(scene, "/server_info"), {"internal_states", 0, "is_paused"}), "false");
    EXPECT_NE(client.read_all().find("[DONE]"), std::string::npos);
  }
}

TEST(ServedOperations, a_pause_can_end_what_runs) {
  ServedScene scene;
  RawClient client(scene.server().port());
  ASSERT_TRUE(client.send(post_text("/generate", endless("r1"))));
  wait_for_two_events(client);
  EXPECT_EQ(text_at(scene.post("/pause_generation", "{}"), {"mode"}), "abort");
  EXPECT_NE(client.read_all().find("request_aborted"), std::string::npos);
  RawClient next(scene.server().port());
  ASSERT_TRUE(
      next.send(post_text("/generate", R"({"text":"x","sampling_params":{"max_new_tokens":1}})")));
  while (int_at(get(scene, "/load"), {"server_load"}) == 0) {
  }
  EXPECT_EQ(scene.engine().stats().num_running, 0);
  scene.post("/continue_generation", "{}");
  EXPECT_TRUE(next.read_all().starts_with("HTTP/1.1 200 "));
}

TEST(ServedOperations, a_profile_of_the_steps_is_left_in_a_folder) {
  ServerOptions options;
  options.profile_dir = testing::TempDir();
  ServedScene scene(options);
  scene.post("/stop_profile", "{}", 409);
  EXPECT_EQ(text_at(scene.post("/start_profile", R"({"activities":["CPU"]})"), {"status"}), "ok");
  scene.post("/start_profile", "{}", 409);
  scene.post("/generate",
             R"({"text":"abc","sampling_params":{"ignore_eos":true,"max_new_tokens":5}})");
  ASSERT_TRUE(scene.is_idle());
  const std::string path = text_at(scene.post("/stop_profile", ""), {"path"});
  const Result<std::string> text = read_file(path, 1 << 20);
  ::unlink(path.c_str());
  ASSERT_TRUE(text.ok()) << path;
  const Json trace = parse_json(text.value()).value();
  std::int64_t num_rows = 0;
  for (const Json& event : array_at(trace, {"traceEvents"})) {
    num_rows +=
        text_at(event, {"name"}) == "sample" ? int_at(event, {"args", "num_logits_rows"}) : 0;
  }
  EXPECT_EQ(num_rows, 5);
  scene.post("/stop_profile", "{}", 409);
}

TEST(ServedOperations, a_profile_of_so_many_steps_ends_by_itself) {
  std::string folder = testing::TempDir() + "plumb_profileXXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ServerOptions options;
  options.profile_dir = folder;
  ServedScene scene(options);
  scene.post("/start_profile", R"({"num_steps":2,"output_dir":"of/today"})");  // made
  scene.post("/generate",
             R"({"text":"abc","sampling_params":{"ignore_eos":true,"max_new_tokens":5}})");
  while (scene.send("POST", "/start_profile", "{}").status == 409) {  // until the first has ended
  }
  const std::string path = text_at(scene.post("/stop_profile", "{}"), {"path"});
  EXPECT_TRUE(path.starts_with(folder)) << path;
  EXPECT_EQ(std::filesystem::remove_all(folder), 5U);  // itself, two folders and two traces
}

TEST(ServedOperations, a_profile_that_could_not_be_kept_is_refused_at_its_start) {
  ServerOptions options;
  options.profile_dir = "/proc/none";
  ServedScene scene(options);
  const Json error = scene.post("/start_profile", "{}", 503);
  EXPECT_NE(text_at(error, {"error", "message"}).find("--profile-dir"), std::string::npos);
  scene.post("/stop_profile", "{}", 409);
}

TEST(ServedOperations, without_a_folder_there_is_no_profile) {
  ServedScene scene;
  const Json error = scene.post("/start_profile", "{}", 400);
  EXPECT_NE(text_at(error, {"error", "message"}).find("--profile-dir"), std::string::npos);
}

TEST(ServedOperations, the_log_level_is_set_while_the_server_runs) {
  ServedScene scene;
  const Json done = scene.post("/set_internal_state", R"({"server_args":{"log_level":"error"}})");
  EXPECT_EQ(text_at(done, {"updated"}), "true");
  EXPECT_FALSE(log_enabled(LogLevel::kWarning));
  scene.post("/set_internal_state", R"({"server_args":{"log_level":"info"}})");
  EXPECT_TRUE(log_enabled(LogLevel::kWarning));
}

TEST(ServedOperations, bad_bodies_are_refused_by_name) {
  ServedScene scene;

  struct Row {
    const char* path;
    std::string body;
    int status;
    const char* code;
    const char* param;
  };

  const std::vector<Row> rows = {
      {"/abort_request", "{", 400, "invalid_json", "null"},
      {"/abort_request", "[]", 400, "invalid_type", "body"},
      {"/abort_request", "{}", 400, "missing_required_parameter", "rid"},
      {"/abort_request", R"({"rid":1})", 400, "invalid_type", "rid"},
      {"/abort_request", R"({"abort_all":1})", 400, "invalid_type", "abort_all"},
      {"/abort_request", "{\"rid\":\"" + std::string(20'000, 'x') + "\"}", 413, "request_too_large",
       "null"},
      {"/drain", R"({"timeout_s":-1})", 400, "invalid_value", "timeout_s"},
      {"/pause_generation", R"({"mode":"slow"})", 400, "invalid_value", "mode"},
      {"/start_profile", R"({"num_steps":0})", 400, "invalid_value", "num_steps"},
      {"/start_profile", R"({"activities":["GPU"]})", 400, "unsupported_parameter", "activities"},
      {"/start_profile", R"({"output_dir":"../x"})", 400, "invalid_value", "output_dir"},
      {"/set_internal_state", "{}", 400, "missing_required_parameter", "server_args"},
      {"/set_internal_state", R"({"server_args":{"log_level":"loud"}})", 400, "invalid_value",
       "server_args.log_level"},
      {"/set_internal_state", R"({"server_args":{"api_key":"x"}})", 400, "unsupported_parameter",
       "server_args.api_key"},
  };
  for (const Row& row : rows) {
    const Json error = scene.post(row.path, row.body, row.status);
    EXPECT_EQ(text_at(error, {"error", "code"}), row.code) << row.path << row.body.substr(0, 60);
    EXPECT_EQ(text_at(error, {"error", "param"}), row.param) << row.path << row.body.substr(0, 60);
  }
  EXPECT_EQ(scene.send("POST", "/abort_request", "{}", {{"content-type", "text/plain"}}).status,
            415);
  EXPECT_EQ(scene.send("GET", "/ready").status, 200);  // no drain has begun
}

}  // namespace
}  // namespace plumb
