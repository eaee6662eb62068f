// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "e2e/served_scene.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

constexpr const char* kKey = "sk-normal-0123456789";
constexpr const char* kAdminKey = "sk-admin-0123456789";

std::string header(const HttpResponse& response, const char* name) {
  return std::string(response.headers.find(name).value_or("(none)"));
}

struct BadRequest {
  const char* path;
  std::string body;
  int status;
  const char* code;
  const char* param;
};

std::string repeated(const std::string& item, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) {
    out += (i > 0 ? "," : "") + item;
  }
  return out;
}

std::string chat(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"x"}],)" + fields + "}";
}

std::string completion(const std::string& fields) {
  return R"({"prompt":"x",)" + fields + "}";
}

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kCompletions = "/v1/completions";

std::vector<BadRequest> chat_rows() {
  std::string bias;
  for (int i = 0; i <= 1024; ++i) {
    bias += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  }
  std::string pairs;
  for (int i = 0; i <= 16; ++i) {
    pairs += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":\"v\"";
  }
  return {
      {kChat, "{\"messages\":", 400, "invalid_json", "null"},
      {kChat, "{\"messages\":NaN}", 400, "invalid_json", "null"},
      {kChat, "[]", 400, "invalid_type", "body"},
      {kChat, "{}", 400, "missing_required_parameter", "messages"},
      {kChat, R"({"messages":[]})", 400, "invalid_value", "messages"},
      {kChat, R"({"messages":"x"})", 400, "invalid_type", "messages"},
      {kChat, R"({"messages":[{"content":"x"}]})", 400, "missing_required_parameter",
       "messages[0].role"},
      {kChat, R"({"messages":[{"role":"king","content":"x"}]})", 400, "invalid_value",
       "messages[0].role"},
      {kChat, R"({"messages":[{"role":"user","content":7}]})", 400, "invalid_type",
       "messages[0].content"},
      {kChat,
       R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]})",
       400, "unsupported_parameter", "messages[0].content[0].type"},
      {kChat, chat(R"("temperature":3)"), 400, "invalid_value", "temperature"},
      {kChat, chat(R"("temperature":"hot")"), 400, "invalid_type", "temperature"},
      {kChat, chat(R"("top_p":1.5)"), 400, "invalid_value", "top_p"},
      {kChat, chat(R"("n":129)"), 400, "invalid_value", "n"},
      {kChat, chat(R"("n":0)"), 400, "invalid_value", "n"},
      {kChat, chat(R"("max_tokens":0)"), 400, "invalid_value", "max_tokens"},
      {kChat, chat(R"("max_tokens":1.5)"), 400, "invalid_type", "max_tokens"},
      {kChat, chat(R"("max_tokens":"4")"), 400, "invalid_type", "max_tokens"},
      {kChat, chat(R"("max_tokens":true)"), 400, "invalid_type", "max_tokens"},
      {kChat, chat(R"("max_completion_tokens":100000)"), 400, "context_length_exceeded",
       "messages"},
      {kChat, chat(R"("top_logprobs":5)"), 400, "invalid_value", "top_logprobs"},
      {kChat, chat(R"("logprobs":true,"top_logprobs":21)"), 400, "invalid_value", "top_logprobs"},
      {kChat, chat("\"stop\":[" + repeated("\"s\"", 17) + "]"), 400, "invalid_value", "stop"},
      {kChat, chat("\"stop\":\"" + std::string(1025, 's') + "\""), 400, "invalid_value", "stop"},
      {kChat, chat("\"stop_token_ids\":[" + repeated("1", 129) + "]"), 400, "invalid_value",
       "stop_token_ids"},
      {kChat, chat("\"logit_bias\":{" + bias + "}"), 400, "invalid_value", "logit_bias"},
      {kChat, chat(R"("logit_bias":{"x":1})"), 400, "invalid_value", "logit_bias"},
      {kChat, chat(R"("logit_bias":{"1":101})"), 400, "invalid_value", "logit_bias"},
      {kChat, chat("\"cache_salt\":\"" + std::string(1025, 's') + "\""), 400, "invalid_value",
       "cache_salt"},
      {kChat, chat("\"metadata\":{" + pairs + "}"), 400, "invalid_value", "metadata"},
      {kChat, chat(R"("metadata":{"k":7})"), 400, "invalid_type", "metadata"},
      {kChat, chat(R"("stream_options":{"include_usage":true})"), 400, "invalid_value",
       "stream_options"},
      {kChat, chat(R"("response_format":{"type":"structural_tag"})"), 400, "invalid_schema",
       "response_format"},
      {kChat, chat(R"("modalities":["audio"])"), 400, "unsupported_parameter", "modalities"},
      {kChat, chat(R"("tool_choice":"required")"), 400, "invalid_value", "tool_choice"},
      {kChat, chat(R"("model":"gpt-4")"), 404, "model_not_found", "model"},
  };
}

std::vector<BadRequest> completion_rows() {
  return {
      {kCompletions, "{}", 400, "missing_required_parameter", "prompt"},
      {kCompletions, R"({"prompt":[]})", 400, "invalid_value", "prompt"},
      {kCompletions, R"({"prompt":[1,"a"]})", 400, "invalid_type", "prompt"},
      {kCompletions, R"({"prompt":[99999]})", 400, "invalid_value", "prompt"},
      {kCompletions, R"({"prompt":{"a":1}})", 400, "invalid_type", "prompt"},
      {kCompletions, "{\"prompt\":[" + repeated("\"a\"", 2049) + "]}", 400, "invalid_value",
       "prompt"},
      {kCompletions, completion(R"("max_tokens":0)"), 400, "invalid_value", "max_tokens"},
      {kCompletions, completion(R"("logprobs":21)"), 400, "invalid_value", "logprobs"},
      {kCompletions, completion(R"("best_of":21)"), 400, "invalid_value", "best_of"},
      {kCompletions, completion(R"("n":3,"best_of":2)"), 400, "invalid_value", "best_of"},
      {kCompletions, completion(R"("best_of":2,"stream":true)"), 400, "invalid_value", "best_of"},
      {kCompletions, completion(R"("suffix":"y")"), 400, "unsupported_parameter", "suffix"},
      {"/tokenize", "{}", 400, "missing_required_parameter", "prompt"},
      {"/detokenize", "{}", 400, "missing_required_parameter", "tokens"},
      {"/detokenize", R"({"tokens":[99999]})", 400, "invalid_value", "tokens"},
  };
}

TEST(ServedRoutes, every_bad_request_names_field_and_code) {
  ServedScene scene;
  std::vector<BadRequest> rows = chat_rows();
  for (const BadRequest& row : completion_rows()) {
    rows.push_back(row);
  }
  for (const BadRequest& row : rows) {
    const HttpResponse response = scene.send("POST", row.path, row.body);
    const std::string about = row.body.substr(0, 120) + " -> " + response.body.substr(0, 300);
    EXPECT_EQ(response.status, row.status) << about;
    const Result<Json> json = parse_json(response.body);
    ASSERT_TRUE(json.ok()) << about;
    EXPECT_EQ(text_at(json.value(), {"error", "code"}), row.code) << about;
    EXPECT_EQ(text_at(json.value(), {"error", "param"}), row.param) << about;
    EXPECT_EQ(text_at(json.value(), {"error", "type"}), "invalid_request_error") << about;
    EXPECT_FALSE(text_at(json.value(), {"error", "message"}).empty()) << about;
  }
  EXPECT_EQ(scene.engine().stats().num_submitted, 0);
}

TEST(ServedRoutes, too_long_a_prompt_carries_the_numbers) {
  ServedScene scene;
  const Json error = scene.post(kChat, chat(R"("max_tokens":5000)"), 400);
  EXPECT_EQ(int_at(error, {"error", "n_ctx"}), 2048);
  EXPECT_GT(int_at(error, {"error", "n_prompt_tokens"}), 0);
  const std::string message = text_at(error, {"error", "message"});
  EXPECT_NE(message.find("maximum context length is 2048 tokens"), std::string::npos) << message;
  EXPECT_NE(message.find("requested "), std::string::npos) << message;
}

TEST(ServedRoutes, what_never_fits_the_cache_is_refused_and_an_open_length_is_not) {
  EngineOptions engine = ServedScene::small();
  engine.kv_cache_bytes = 256 << 10;
  engine.min_context = 64;
  ServedScene scene({}, engine);
  const std::int64_t kv_tokens = scene.engine().limits().kv_tokens;
  ASSERT_LT(kv_tokens, 2000);
  const Json error =
      scene.post(kCompletions, completion("\"max_tokens\":" + std::to_string(kv_tokens)), 400);
  EXPECT_EQ(text_at(error, {"error", "code"}), "request_too_large_for_kv_pool");
  const Json answer = scene.post(kChat, chat(R"("temperature":0)"));
  EXPECT_GT(int_at(answer, {"usage", "completion_tokens"}), 0);
}

TEST(ServedRoutes, a_text_that_cannot_fit_is_refused_before_it_is_tokenised) {
  ServedScene scene;
  const std::string text(1 << 20, 'a');
  const HttpResponse refused = scene.send("POST", kCompletions, "{\"prompt\":\"" + text + "\"}");
  const Json error = parse_json(refused.body).value();
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(text_at(error, {"error", "code"}), "context_length_exceeded");
  EXPECT_EQ(int_at(error, {"error", "n_ctx"}), 2048);
  const HttpResponse large =
      scene.send("POST", "/tokenize", "{\"prompt\":\"" + std::string(5 << 20, 'a') + "\"}");
  EXPECT_EQ(large.status, 400);
  const Json many = parse_json(large.body).value();
  EXPECT_EQ(text_at(many, {"error", "param"}), "prompt");
}

TEST(ServedRoutes, routes_methods_and_types_are_checked) {
  ServedScene scene;
  const Json unknown = scene.post("/v1/edits", "{}", 404);
  EXPECT_EQ(text_at(unknown, {"error", "code"}), "not_found");
  const std::string message = text_at(unknown, {"error", "message"});
  EXPECT_EQ(message, "no route POST /v1/edits; see /openapi.json");
  EXPECT_EQ(text_at(scene.post("/chat/completions", "{}", 404), {"error", "message"}),
            "no route POST /chat/completions; did you mean /v1/chat/completions? (see "
            "/openapi.json)");
  EXPECT_EQ(text_at(scene.post("/v1/files", "{}", 404), {"error", "message"}),
            "no route POST /v1/files: /v1/files is not offered by this server; see /openapi.json");
  HttpResponse response = scene.send("POST", "/v1/models", "{}");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(header(response, "allow"), "GET");
  EXPECT_NE(response.body.find("method POST is not allowed here, expected GET"), std::string::npos);
  response = scene.send("GET", kChat);
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(header(response, "allow"), "POST");
  response = scene.send("DELETE", "/v1/models");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(header(response, "allow"), "GET");
  response = scene.send("POST", kChat, "{}", {{"content-type", "text/plain"}});
  EXPECT_EQ(response.status, 415);
  EXPECT_NE(response.body.find("unsupported_media_type"), std::string::npos);
  EXPECT_NE(response.body.find("is 'text/plain', expected application/json; add -H "
                               "'Content-Type: application/json'"),
            std::string::npos);
  response = scene.send("POST", kChat, "{}", {{"content-encoding", "br"}});
  EXPECT_EQ(response.status, 415);
  EXPECT_NE(response.body.find("send gzip, zstd or none"), std::string::npos) << response.body;
  const Json other = scene.post(kChat, chat(R"("model":"gpt-4")"), 404);
  EXPECT_EQ(text_at(other, {"error", "message"}),
            "the model 'gpt-4' does not exist; served is 'tiny'");
  response = scene.send("POST", "/tokenize?beta=true", R"({"prompt":"x"})",
                        {{"content-type", "application/json; charset=utf-8"}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(scene.send("GET", "/v1/models/").status, 200);
  EXPECT_EQ(scene.send("GET", "/v1/models/%74iny").status, 200);
  EXPECT_EQ(scene.send("GET", "/v1/models/a%2Fb").status, 404);
  EXPECT_EQ(scene.send("GET", "/" + std::string(9000, 'a')).status, 414);
}

TEST(ServedRoutes, head_has_the_headers_of_get_and_no_body) {
  ServedScene scene;
  for (const char* path : {"/health", "/v1/models", "/version", "/ready"}) {
    RawClient client(scene.server().port());
    ASSERT_TRUE(client.send(std::string("HEAD ") + path +
                            " HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"));
    const std::string answer = client.read_all();
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 200") << path;
    EXPECT_NE(answer.find("content-length: "), std::string::npos) << path;
    EXPECT_EQ(answer.substr(answer.size() - 4), "\r\n\r\n") << path;
  }
}

TEST(ServedRoutes, a_body_above_the_limit_is_refused_before_it_is_sent) {
  ServerOptions options;
  options.max_body_bytes = 4096;
  ServedScene scene(options);
  RawClient client(scene.server().port());
  ASSERT_TRUE(
      client.send("POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: "
                  "application/json\r\ncontent-length: 34603008\r\n\r\n"));
  const std::string answer = client.read_all();  // ends: the server closes
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 413");
  EXPECT_NE(answer.find("request_too_large"), std::string::npos);
}

TEST(ServedRoutes, request_ids_are_echoed_or_made) {
  ServedScene scene;
  EXPECT_EQ(header(scene.send("GET", "/health", "", {{"x-request-id", "my.id:1"}}), "x-request-id"),
            "my.id:1");
  const std::string made =
      header(scene.send("GET", "/health", "", {{"x-request-id", "bad id"}}), "x-request-id");
  EXPECT_EQ(made.substr(0, 4), "req_");
  EXPECT_EQ(made.size(), 36U);
  EXPECT_NE(header(scene.send("GET", "/v1/nothing"), "date"), "(none)");
}

TEST(ServedRoutes, unknown_fields_are_named_in_a_header_that_they_cannot_break) {
  ServedScene scene;
  const std::string body =
      completion(R"("max_tokens":1,"frobnicate":1,"user":"u","a\r\nset-cookie: b":2)");
  HttpResponse response = scene.send("POST", kCompletions, body);
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(header(response, "x-plumb-ignored-fields"), "frobnicate, a??set-cookie??b");
  EXPECT_EQ(header(response, "set-cookie"), "(none)");
  ServerOptions strict;
  strict.strict_fields = true;
  ServedScene other(strict);
  const Json error = other.post(kCompletions, body, 400);
  EXPECT_EQ(text_at(error, {"error", "code"}), "unknown_parameter");
  EXPECT_EQ(text_at(error, {"error", "param"}), "frobnicate");
  const std::string nested =
      R"({"max_tokens":1,"messages":[{"role":"user","content":"x","mood":"good"}]})";
  response = scene.send("POST", kChat, nested);
  EXPECT_EQ(header(response, "x-plumb-ignored-fields"), "messages[0].mood");
  const Json inner = other.post(kChat, nested, 400);
  EXPECT_EQ(text_at(inner, {"error", "param"}), "messages[0].mood");
  EXPECT_EQ(text_at(inner, {"error", "message"}), "unknown parameter: 'messages[0].mood'");
}

TEST(ServedRoutes, a_priority_that_nothing_looks_at_is_named_or_refused) {
  const std::string body = completion(R"("max_tokens":1,"priority":7)");
  const std::string chat =
      R"({"messages":[{"role":"user","content":"a"}],"max_tokens":1,"priority":7})";
  const std::string none = completion(R"("max_tokens":1,"priority":0)");
  ServedScene scene;
  EXPECT_EQ(header(scene.send("POST", kCompletions, body), "x-plumb-ignored-fields"), "priority");
  EXPECT_EQ(header(scene.send("POST", kChat, chat), "x-plumb-ignored-fields"), "priority");
  EXPECT_EQ(header(scene.send("POST", kCompletions, none), "x-plumb-ignored-fields"), "(none)");
  ServerOptions strict;
  strict.strict_fields = true;
  const Json error = ServedScene(strict).post(kCompletions, body, 400);
  EXPECT_EQ(text_at(error, {"error", "code"}), "unsupported_parameter");
  EXPECT_EQ(text_at(error, {"error", "param"}), "priority");
  for (const bool orders : {true, false}) {
    EngineOptions engine = ServedScene::small();
    engine.scheduler.schedule_policy = orders ? ScheduleOrder::kPriority : ScheduleOrder::kFcfs;
    engine.evict_policy = orders ? EvictStrategy::kLru : EvictStrategy::kPriority;
    ServedScene other(strict, engine);
    EXPECT_EQ(other.send("POST", kCompletions, body).status, 200);
  }
}

TEST(ServedRoutes, cors_is_off_until_origins_are_given) {
  ServedScene off;
  EXPECT_EQ(header(off.send("GET", "/health", "", {{"origin", "http://a"}}),
                   "access-control-allow-origin"),
            "(none)");
  ServerOptions options;
  options.cors_origins = "http://a, http://b";
  ServedScene scene(options);
  HttpResponse response = scene.send("GET", "/health", "", {{"origin", "http://b"}});
  EXPECT_EQ(header(response, "access-control-allow-origin"), "http://b");
  EXPECT_EQ(header(response, "access-control-expose-headers"),
            "x-request-id, retry-after, x-plumb-ignored-fields, x-plumb-ignored-items, "
            "x-plumb-ignored-keywords, x-plumb-ignored-tools");
  response = scene.send("GET", "/health", "", {{"origin", "http://c"}});
  EXPECT_EQ(header(response, "access-control-allow-origin"), "(none)");
  response = scene.send("OPTIONS", kChat, "",
                        {{"origin", "http://a"}, {"access-control-request-headers", "x-a"}});
  EXPECT_EQ(response.status, 204);
  EXPECT_EQ(header(response, "access-control-allow-methods"), "GET, POST, DELETE, OPTIONS");
  EXPECT_EQ(header(response, "access-control-allow-headers"), "x-a");
  EXPECT_EQ(header(response, "access-control-max-age"), "600");
  EXPECT_EQ(header(response, "access-control-allow-credentials"), "(none)");
}

TEST(ServedRoutes, a_root_path_is_in_front_of_every_route) {
  ServerOptions options;
  options.root_path = "/llm";
  ServedScene scene(options);
  EXPECT_EQ(scene.send("GET", "/llm/v1/models").status, 200);
  const HttpResponse above = scene.send("GET", "/v1/models");
  EXPECT_EQ(above.status, 404);
  EXPECT_NE(above.body.find("no route GET /v1/models; did you mean /llm/v1/models? (see "
                            "/llm/openapi.json)"),
            std::string::npos)
      << above.body;
}

class ServedKeys : public testing::Test {
 protected:
  ServedKeys() {
    file_ = testing::TempDir() + "plumb_keys_" + std::to_string(::getpid());
    PLUMB_CHECK(write_file_atomic(file_, std::string("ops:admin:") + kAdminKey + "\n" +
                                             "# people\n" + kKey + "\n")
                    .ok(),
                file_);
    ::chmod(file_.c_str(), 0600);
    ServerOptions options;
    options.api_key_file = file_;
    options.api_key = "sk-single-0123456789";
    scene_ = std::make_unique<ServedScene>(options);
  }

  ~ServedKeys() override { ::unlink(file_.c_str()); }

  int status_with(const char* path, Headers headers) {
    return scene_->send("GET", path, "", std::move(headers)).status;
  }

  std::string file_;
  std::unique_ptr<ServedScene> scene_;
};

TEST_F(ServedKeys, normal_routes_ask_for_a_key_and_public_ones_do_not) {
  for (const char* path : {"/v1/models", "/server_info", "/v1/models/tiny"}) {
    EXPECT_EQ(status_with(path, {}), 401) << path;
    EXPECT_EQ(status_with(path, {{"authorization", std::string("bearer   ") + kKey}}), 200);
    EXPECT_EQ(status_with(path, {{"x-api-key", kAdminKey}}), 200);
    EXPECT_EQ(status_with(path, {{"x-api-key", "sk-single-0123456789"}}), 200);
  }
  for (const char* path : {"/health", "/ready", "/metrics", "/version"}) {
    EXPECT_EQ(status_with(path, {}), 200) << path;
  }
  EXPECT_EQ(scene_->send("OPTIONS", "/v1/models").status, 204);
}

TEST_F(ServedKeys, refusals_are_alike_and_too_many_are_limited) {
  const HttpResponse missing = scene_->send("GET", "/v1/models");
  const HttpResponse wrong =
      scene_->send("GET", "/v1/models", "", {{"authorization", "Bearer sk-wrong-0123456789"}});
  const HttpResponse malformed =
      scene_->send("GET", "/v1/models", "", {{"authorization", "Basic x"}});
  EXPECT_EQ(missing.body, wrong.body);
  EXPECT_EQ(missing.body, malformed.body);
  EXPECT_EQ(header(missing, "www-authenticate"), "Bearer");
  EXPECT_EQ(text_at(parse_json(missing.body).value(), {"error", "type"}), "authentication_error");
  int limited = 0;
  for (int i = 0; i < 40 && limited == 0; ++i) {
    const HttpResponse response = scene_->send("GET", "/v1/models");
    if (response.status == 429) {
      ++limited;
      EXPECT_EQ(header(response, "retry-after"), "1");
    }
  }
  EXPECT_EQ(limited, 1);
  EXPECT_EQ(status_with("/v1/models", {{"x-api-key", kKey}}), 200);
  EXPECT_EQ(status_with("/health", {}), 200);
}

TEST_F(ServedKeys, a_body_without_a_key_is_refused_before_it_comes) {
  RawClient client(scene_->server().port());
  ASSERT_TRUE(
      client.send("POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                  "content-length: 1000\r\n\r\n{"));
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
  EXPECT_NE(answer.find("x-request-id: "), std::string::npos);
}

TEST_F(ServedKeys, no_page_shows_a_key) {
  for (const char* path : {"/server_info", "/metrics", "/v1/models"}) {
    const HttpResponse response =
        scene_->send("GET", path, "", {{"authorization", std::string("Bearer ") + kKey}});
    EXPECT_EQ(response.status, 200);
    for (const char* key : {kKey, kAdminKey, "sk-single-0123456789"}) {
      EXPECT_EQ(response.body.find(key), std::string::npos) << path;
    }
  }
  const HttpResponse info =
      scene_->send("GET", "/server_info", "", {{"authorization", std::string("Bearer ") + kKey}});
  EXPECT_NE(info.body.find("\"api_key\":\"***\""), std::string::npos) << info.body;
}

TEST(ServedPages, models_info_and_metrics_say_what_is_served) {
  ServedScene scene;
  const Json models = parse_json(scene.send("GET", "/v1/models").body).value();
  EXPECT_EQ(text_at(models, {"object"}), "list");
  EXPECT_EQ(text_at(models, {"data", 0, "id"}), "tiny");
  EXPECT_EQ(int_at(models, {"data", 0, "max_model_len"}), 2048);
  EXPECT_EQ(int_at(models, {"data", 0, "meta", "n_vocab"}), 512);
  const Json info = parse_json(scene.send("GET", "/server_info").body).value();
  EXPECT_EQ(text_at(info, {"version"}), "1.2.3");
  EXPECT_EQ(int_at(info, {"max_total_num_tokens"}), scene.engine().memory_plan().kv_tokens());
  scene.post(kCompletions, completion(R"("max_tokens":3,"ignore_eos":true)"));
  scene.send("GET", "/v1/nothing");
  const HttpResponse metrics = scene.send("GET", "/metrics");
  EXPECT_EQ(header(metrics, "content-type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line :
       {"plumb_completion_tokens_total 3", "plumb_kv_blocks_used 0", "plumb_requests_running 0",
        "plumb_http_requests_total{route=\"/v1/completions\",status=\"200\"} 1",
        "plumb_request_preemptions_bucket{le=\"0\"} 1", "plumb_request_queue_time_seconds_count 1",
        "plumb_request_time_per_output_token_seconds_count 1",
        "plumb_http_requests_total{route=\"unknown\",status=\"404\"} 1"}) {
    EXPECT_NE(metrics.body.find(line), std::string::npos) << line << "\n" << metrics.body;
  }
}

TEST(ServedPages, tokenize_and_detokenize_know_the_forms_of_three_servers) {
  ServedScene scene;
  const Json plain = scene.post("/tokenize", R"({"prompt":"Hello","return_token_strs":true})");
  const std::int64_t count = int_at(plain, {"count"});
  EXPECT_EQ(static_cast<std::int64_t>(at(plain, {"tokens"}).as_array().size()), count);
  EXPECT_EQ(static_cast<std::int64_t>(at(plain, {"token_strs"}).as_array().size()), count);
  EXPECT_EQ(int_at(plain, {"max_model_len"}), 2048);
  const Json batch = scene.post("/v1/tokenize", R"({"prompt":["Hello"]})");
  EXPECT_EQ(at(batch, {"tokens", 0}), at(plain, {"tokens"}));
  EXPECT_EQ(int_at(batch, {"count", 0}), count);
  const Json none = scene.post("/tokenize", "{}", 400);
  EXPECT_EQ(text_at(none, {"error", "message"}),
            "missing required parameter: 'prompt', 'content' or 'messages'");
  const Json both = scene.post("/tokenize", R"({"prompt":"a","messages":[]})", 400);
  EXPECT_EQ(text_at(both, {"error", "message"}), "'prompt' and 'messages' exclude each other");
  const Json native = scene.post("/tokenize", R"({"content":"Hello","with_pieces":true})");
  EXPECT_TRUE(at(native, {"tokens", 0, "piece"}).is_string());
  const Json chat_form = scene.post(
      "/tokenize", R"({"messages":[{"role":"user","content":"Hello"}],"return_token_strs":true})");
  EXPECT_GT(int_at(chat_form, {"count"}), count);
  EXPECT_TRUE(at(chat_form, {"token_strs"}).is_array());
  const Json usage =
      scene.post(kChat, R"({"messages":[{"role":"user","content":"Hello"}],"max_tokens":1})");
  EXPECT_EQ(int_at(usage, {"usage", "prompt_tokens"}), int_at(chat_form, {"count"}));
  const Json back = scene.post(
      "/detokenize",
      "{\"tokens\":" +
          to_text(at(native, {"tokens"}).is_null() ? Json() : at(batch, {"tokens", 0})) + "}");
  for (const char* name : {"text", "prompt", "content"}) {
    EXPECT_EQ(text_at(back, {name}), "Hello");
  }
  EXPECT_NE(
      text_at(scene.post("/apply-template", R"({"messages":[{"role":"user","content":"Hello"}]})"),
              {"prompt"})
          .find("Hello"),
      std::string::npos);
}

TEST(ServedRoutes, errors_have_the_form_of_the_clients_dialect) {
  ServerOptions options;
  ServedScene scene(options);
  const Headers anthropic{{"anthropic-version", "2023-06-01"}, {"x-request-id", "mine-1"}};
  EXPECT_EQ(scene.send("POST", kChat, "{}", anthropic).body,
            R"({"type":"error","error":{"type":"invalid_request_error",)"
            R"("message":"missing required parameter: 'messages'"},"request_id":"mine-1"})");
  const Json unknown = parse_json(scene.send("GET", "/nowhere", "", anthropic).body).value();
  EXPECT_EQ(unknown.find("error")->find("type")->as_string(), "not_found_error");
  const HttpResponse ollama = scene.send("GET", "/api/nowhere");
  EXPECT_EQ(ollama.status, 404);
  EXPECT_TRUE(parse_json(ollama.body).value().find("error")->is_string());
}

}  // namespace
}  // namespace plumb
