// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "base/text.h"
#include "e2e/served_scene.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

constexpr const char* kChat = "/api/chat";
constexpr const char* kGenerate = "/api/generate";

std::string body(const std::string& members) {
  return R"({"model":"tiny",)" + members + "}";
}

// Eight tokens, always the same.
std::string hello(const std::string& members = "") {
  return body(R"("messages":[{"role":"user","content":"Hello"}],)"
              R"("options":{"num_predict":8,"temperature":0,"ignore_eos":true})" +
              (members.empty() ? "" : "," + members));
}

std::vector<Json> lines_of(const HttpResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.find("content-type").value_or(""), "application/x-ndjson");
  EXPECT_TRUE(response.body.ends_with('\n'));
  std::vector<Json> lines;
  for (const std::string_view line :
       split(std::string_view(response.body).substr(0, response.body.size() - 1), '\n')) {
    const Result<Json> json = parse_json(line);
    EXPECT_TRUE(json.ok()) << line;
    lines.push_back(json.ok() ? json.value() : Json());
  }
  return lines;
}

TEST(ServedOllama, a_chat_streams_lines_that_add_up_to_the_whole_answer) {
  ServedScene scene;
  const Json whole = scene.post(kChat, hello(R"("stream":false)"));
  EXPECT_EQ(text_at(whole, {"model"}), "tiny");
  EXPECT_EQ(text_at(whole, {"message", "role"}), "assistant");
  EXPECT_EQ(text_at(whole, {"done"}), "true");
  EXPECT_EQ(text_at(whole, {"done_reason"}), "length");
  EXPECT_EQ(int_at(whole, {"eval_count"}), 8);
  EXPECT_EQ(int_at(whole, {"load_duration"}), 0);
  EXPECT_GE(int_at(whole, {"total_duration"}),
            int_at(whole, {"prompt_eval_duration"}) + int_at(whole, {"eval_duration"}));
  const std::vector<Json> lines = lines_of(scene.send("POST", kChat, hello()));
  ASSERT_GE(lines.size(), 2U);
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(text_at(lines[i], {"message", "role"}), "assistant");
    EXPECT_EQ(text_at(lines[i], {"done"}), i + 1 < lines.size() ? "false" : "true");
    EXPECT_EQ(text_at(lines[i], {"created_at"}).back(), 'Z');
    text += text_at(lines[i], {"message", "content"});
  }
  EXPECT_EQ(text, text_at(whole, {"message", "content"}));
  EXPECT_EQ(int_at(lines.back(), {"prompt_eval_count"}), int_at(whole, {"prompt_eval_count"}));
}

TEST(ServedOllama, a_conversation_gives_the_tokens_of_chat_completions) {
  ServedScene scene({}, ServedScene::small(), {"hermes", "auto"});
  const char* tools =
      R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"tool_choice":"none")";
  const Json theirs = scene.post(
      "/v1/chat/completions",
      std::string(R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},)"
                  R"({"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function",)"
                  R"("function":{"name":"f","arguments":"{\"a\":1}"}}]},)"
                  R"({"role":"tool","tool_call_id":"c","content":"r"}],"return_token_ids":true,)"
                  R"("temperature":0,"max_tokens":6,"ignore_eos":true,)") +
          tools + "}");
  const Json ours = scene.post(
      kChat,
      body(
          std::string(
              R"("messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},)"
              R"({"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}],"content":""},)"
              R"({"role":"tool","tool_name":"f","content":"r"}],"stream":false,)"
              R"("options":{"temperature":0,"num_predict":6,"ignore_eos":true},)") +
          tools));
  EXPECT_EQ(int_at(ours, {"prompt_eval_count"}),
            static_cast<std::int64_t>(array_at(theirs, {"prompt_token_ids"}).size()));
  EXPECT_EQ(text_at(ours, {"message", "content"}),
            text_at(theirs, {"choices", 0, "message", "content"}));
}

TEST(ServedOllama, calls_come_whole_before_the_last_line) {
  ServedScene scene({}, ServedScene::small(), {"hermes", "none"});
  const std::string forced = body(
      R"("messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f",)"
      R"("parameters":{"type":"object","properties":{"a":{"enum":["x\u2028y"]}},"required":["a"],)"
      R"("additionalProperties":false}}}],"tool_choice":"required","parallel_tool_calls":false,)"
      R"("options":{"temperature":1,"seed":3})");
  const HttpResponse response = scene.send("POST", kChat, forced);
  EXPECT_EQ(response.body.find("\xE2\x80\xA8"), std::string::npos);
  const std::vector<Json> lines = lines_of(response);
  ASSERT_EQ(lines.size(), 2U) << response.body;
  EXPECT_EQ(text_at(lines[0], {"message", "tool_calls", 0, "function", "name"}), "f");
  EXPECT_EQ(text_at(lines[0], {"message", "tool_calls", 0, "function", "arguments", "a"}),
            "x\xE2\x80\xA8y");
  EXPECT_EQ(text_at(lines[1], {"done_reason"}), "stop");
}

TEST(ServedOllama, formats_hold_for_the_answer) {
  ServedScene scene;
  const Json answer = scene.post(
      kChat, body(R"("messages":[{"role":"user","content":"x"}],"stream":false,"format":)"
                  R"({"type":"object","properties":{"a":{"const":"p\u2028q"}},"required":["a"],)"
                  R"("additionalProperties":false},"options":{"temperature":1,"seed":1})"));
  const Result<Json> json = parse_json(text_at(answer, {"message", "content"}));
  ASSERT_TRUE(json.ok()) << to_text(answer);
  EXPECT_EQ(text_at(json.value(), {"a"}), "p\xE2\x80\xA8q");
}

TEST(ServedOllama, a_prompt_is_answered_and_its_context_goes_on) {
  ServedScene scene;
  const std::string options =
      R"("options":{"num_predict":4,"temperature":0,"ignore_eos":true},"stream":false)";
  const Json first =
      scene.post(kGenerate, body(R"("prompt":"Hello","system":"Be brief",)" + options));
  EXPECT_EQ(text_at(first, {"done_reason"}), "length");
  const JsonArray context = array_at(first, {"context"});
  EXPECT_EQ(static_cast<std::int64_t>(context.size()), int_at(first, {"prompt_eval_count"}) + 4);
  const Json second = scene.post(
      kGenerate, body(R"("prompt":"Go on","context":)" + to_text(context) + "," + options));
  EXPECT_GT(int_at(second, {"prompt_eval_count"}), static_cast<std::int64_t>(context.size()));
  const JsonArray longer = array_at(second, {"context"});
  ASSERT_GT(longer.size(), context.size());
  EXPECT_TRUE(std::equal(context.begin(), context.end(), longer.begin()));
  const std::vector<Json> lines = lines_of(
      scene.send("POST", kGenerate,
                 body(R"("prompt":"Hello","system":"Be brief",)"
                      R"("options":{"num_predict":4,"temperature":0,"ignore_eos":true})")));
  std::string text;
  for (const Json& line : lines) {
    text += text_at(line, {"response"});
  }
  EXPECT_EQ(text, text_at(first, {"response"}));
  EXPECT_EQ(array_at(lines.back(), {"context"}), context);
}

TEST(ServedOllama, a_raw_prompt_is_not_rendered) {
  ServedScene scene;
  const Json raw = scene.post(
      kGenerate, body(R"("prompt":"abc","raw":true,"stream":false,)"
                      R"("options":{"num_predict":4,"temperature":0,"ignore_eos":true})"));
  const Json completion = scene.post(
      "/v1/completions", R"({"prompt":"abc","max_tokens":4,"temperature":0,"ignore_eos":true})");
  EXPECT_EQ(text_at(raw, {"response"}), text_at(completion, {"choices", 0, "text"}));
  EXPECT_EQ(int_at(raw, {"prompt_eval_count"}), int_at(completion, {"usage", "prompt_tokens"}));
  EXPECT_TRUE(at(raw, {"context"}).is_null());
}

TEST(ServedOllama, log_probabilities_come_with_the_text) {
  ServedScene scene;
  const Json whole = scene.post(kChat, hello(R"("stream":false,"logprobs":true,"top_logprobs":2)"));
  EXPECT_EQ(array_at(whole, {"logprobs"}).size(), 8U);
  EXPECT_EQ(array_at(whole, {"logprobs", 0, "top_logprobs"}).size(), 2U);
  std::size_t num_tokens = 0;
  for (const Json& line : lines_of(scene.send("POST", kChat, hello(R"("logprobs":true)")))) {
    num_tokens += array_at(line, {"logprobs"}).size();
  }
  EXPECT_EQ(num_tokens, 8U);
}

TEST(ServedOllama, lengths_are_capped_by_the_context_of_the_request) {
  ServedScene scene;
  const std::string message = R"("messages":[{"role":"user","content":"Hello"}],"stream":false,)";
  const Json open = scene.post(kChat, hello(R"("stream":false)"));
  const std::int64_t prompt = int_at(open, {"prompt_eval_count"});
  for (const char* predict : {R"("num_predict":500,)", ""}) {
    const Json capped =
        scene.post(kChat, body(message + R"("options":{"ignore_eos":true,)" + predict +
                               "\"num_ctx\":" + std::to_string(prompt + 5) + "}"));
    EXPECT_EQ(int_at(capped, {"eval_count"}), 5);
    EXPECT_EQ(text_at(capped, {"done_reason"}), "length");
  }
  const Json error = scene.post(
      kChat, body(message + "\"options\":{\"num_ctx\":" + std::to_string(prompt) + "}"), 400);
  EXPECT_EQ(text_at(error, {"error"}).find("'options.num_ctx' is " + std::to_string(prompt)), 0U)
      << to_text(error);
  const Json clamped =
      scene.post(kChat, body(message + R"("options":{"num_predict":1000000,"temperature":0})"));
  EXPECT_EQ(text_at(clamped, {"done"}), "true");
}

TEST(ServedOllama, nothing_to_answer_loads_at_once) {
  ServedScene scene;
  const Json chat = scene.post(kChat, body(R"("messages":[])"));
  EXPECT_EQ(text_at(chat, {"done_reason"}), "load");
  EXPECT_EQ(text_at(chat, {"message", "content"}), "");
  const Json unload = scene.post(kGenerate, body(R"("keep_alive":0)"));
  EXPECT_EQ(text_at(unload, {"done_reason"}), "unload");
  EXPECT_EQ(text_at(unload, {"response"}), "");
  EXPECT_EQ(scene.engine().stats().num_submitted, 0);
}

TEST(ServedOllama, the_model_is_described) {
  ServedScene scene;
  const Json tags = parse_json(scene.send("GET", "/api/tags").body).value();
  EXPECT_EQ(text_at(tags, {"models", 0, "model"}), "tiny:latest");
  EXPECT_EQ(text_at(tags, {"models", 0, "details", "format"}), "gguf");
  EXPECT_EQ(text_at(tags, {"models", 0, "details", "family"}), "llama");
  EXPECT_EQ(text_at(tags, {"models", 0, "details", "quantization_level"}), "F32");
  EXPECT_EQ(text_at(tags, {"models", 0, "digest"}).size(), 64U);
  EXPECT_GT(int_at(tags, {"models", 0, "size"}), 0);
  const Json ps = parse_json(scene.send("GET", "/api/ps").body).value();
  EXPECT_EQ(int_at(ps, {"models", 0, "context_length"}), 2048);
  EXPECT_EQ(int_at(ps, {"models", 0, "size_vram"}), 0);
  for (const char* name : {"tiny", "tiny:latest"}) {
    const Json show = scene.post("/api/show", "{\"model\":\"" + std::string(name) + "\"}");
    EXPECT_EQ(text_at(show, {"model_info", "general.architecture"}), "llama");
    EXPECT_EQ(int_at(show, {"model_info", "llama.context_length"}), 2048);
    EXPECT_EQ(text_at(show, {"capabilities"}), R"(["completion","tools"])");
    EXPECT_NE(text_at(show, {"template"}).find("<|im_start|>"), std::string::npos);
  }
  EXPECT_EQ(text_at(parse_json(scene.send("GET", "/api/version").body).value(), {"version"}),
            "1.2.3");
}

TEST(ServedOllama, keep_alive_says_when_the_model_would_go) {
  ServedScene scene;
  const auto expires = [&] {
    return text_at(parse_json(scene.send("GET", "/api/ps").body).value(),
                   {"models", 0, "expires_at"});
  };
  const std::string soon = expires();
  scene.post(kChat, body(R"("messages":[],"keep_alive":"48h")"));
  const std::string later = expires();
  EXPECT_LT(soon, later);
  scene.post(kChat, body(R"("messages":[],"keep_alive":-1)"));
  const std::string never = expires();
  EXPECT_LT(later.substr(0, 4), never.substr(0, 4));
  scene.post(kChat, body(R"("messages":[],"keep_alive":0)"));
  EXPECT_LT(expires(), soon);
}

TEST(ServedOllama, the_served_model_is_pulled_already) {
  ServedScene scene;
  const HttpResponse streamed = scene.send("POST", "/api/pull", R"({"model":"tiny:latest"})");
  EXPECT_EQ(streamed.body, "{\"status\":\"success\"}\n");
  EXPECT_EQ(streamed.headers.find("content-type").value_or(""), "application/x-ndjson");
  EXPECT_EQ(scene.send("POST", "/api/pull", R"({"name":"tiny","stream":false})").body,
            R"({"status":"success"})");
}

TEST(ServedOllama, errors_are_a_text) {
  ServedScene scene;

  struct Row {
    const char* method;
    const char* path;
    std::string body;
    int status;
    const char* part;
  };

  const std::vector<Row> rows = {
      {"POST", kChat, "{", 400, "invalid JSON at byte 1"},
      {"POST", kChat, "[]", 400, "'body'"},
      {"POST", kChat, R"({"messages":[]})", 400, "'model'"},
      {"POST", kChat, R"({"model":"other","messages":[]})", 404,
       "the model 'other' does not exist"},
      {"POST", kChat, R"({"model":"tiny:7b","messages":[]})", 404, "served is 'tiny'"},
      {"POST", kChat, hello(R"("format":"xml")"), 400, "'format'"},
      {"POST", kChat, hello(R"("format":{"type":"nothing"})"), 400, "'format'"},
      {"POST", kGenerate, "[]", 400, "'body'"},
      {"POST", kGenerate, body(R"("prompt":"x","suffix":"y")"), 400, "'suffix'"},
      {"POST", kGenerate, body(R"("prompt":"x","context":[99999])"), 400, "'context'"},
      {"POST", kGenerate, R"({"model":"other","prompt":"x"})", 404, "'other'"},
      {"POST", "/api/show", "[]", 400, "'body'"},
      {"POST", "/api/show", "{}", 400, "'model'"},
      {"POST", "/api/show", R"({"model":"other"})", 404, "'other'"},
      {"POST", "/api/pull", "[]", 400, "'body'"},
      {"POST", "/api/pull", R"({"model":1})", 400, "'model'"},
      {"POST", "/api/pull", R"({"model":"other"})", 404, "'other'"},
      {"POST", "/api/create", "{}", 404, "no store of models"},
      {"DELETE", "/api/delete", "", 404, "no store of models"},
      {"POST", "/api/blobs/sha256:1", "", 404, "no store of models"},
      {"POST", "/api/embed", "{}", 400, "'model'"},
      {"POST", "/api/embed", body(R"("input":1)"), 400, "'input'"},
      {"POST", "/api/embed", body(R"("input":"x")"), 400, "--task embed"},
      {"POST", "/api/embeddings", R"({"model":"other","prompt":"x"})", 404, "'other'"},
      {"POST", "/api/embeddings", body(R"("prompt":"x")"), 400, "--task embed"},
      {"POST", "/api/unknown", "{}", 404, "no route POST /api/unknown"},
      {"GET", kChat, "", 405, "expected POST"},
  };
  for (const Row& row : rows) {
    const HttpResponse response = scene.send(row.method, row.path, row.body);
    EXPECT_EQ(response.status, row.status) << row.path << " " << row.body << " " << response.body;
    const Result<Json> json = parse_json(response.body);
    ASSERT_TRUE(json.ok()) << response.body;
    const Json error = at(json.value(), {"error"});
    ASSERT_TRUE(error.is_string()) << response.body;
    EXPECT_NE(error.as_string().find(row.part), std::string::npos) << response.body;
    EXPECT_EQ(json.value().as_object().size(), 1U);
  }
  EXPECT_EQ(scene.engine().stats().num_submitted, 0);
}

TEST(ServedOllama, any_type_of_content_is_read_as_json_unless_a_page_sends_it) {
  ServedScene scene;
  const std::string text = body(R"("prompt":"x","stream":false,"options":{"num_predict":1})");
  for (const char* type : {"application/x-www-form-urlencoded", "text/plain"}) {
    EXPECT_EQ(scene.send("POST", kGenerate, text, {{"content-type", type}}).status, 200) << type;
    EXPECT_EQ(scene.send("POST", kGenerate, text, {{"content-type", type}, {"origin", "http://a"}})
                  .status,
              415)
        << type;
  }
}

TEST(ServedOllama, an_error_ends_a_stream_with_a_line_of_its_own) {
  ServedScene scene;
  RawClient client(scene.server().port());
  const std::string text = body(
      R"("messages":[{"role":"user","content":"x"}],"options":{"ignore_eos":true,"temperature":0})");
  ASSERT_TRUE(
      client.send("POST /api/chat HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: " +
                  std::to_string(text.size()) + "\r\n\r\n" + text));
  EXPECT_NE(client.read_until("\"done\":false").find("application/x-ndjson"), std::string::npos);
  scene.engine().stop();
  const std::string rest = client.read_all();
  EXPECT_NE(rest.find("\n{\"error\":\""), std::string::npos) << rest;
  EXPECT_EQ(rest.find("\"done\":true"), std::string::npos) << rest;
  EXPECT_EQ(rest.find("[DONE]"), std::string::npos);
}

TEST(ServedOllama, keys_are_asked_for_but_not_for_the_version) {
  const std::string path = testing::TempDir() + "plumb_ollama_keys_" + std::to_string(::getpid());
  ASSERT_TRUE(write_file_atomic(path, "sk-normal-0123456789\n").ok());
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ServerOptions options;
  options.api_key_file = path;
  ServedScene scene(options);
  ::unlink(path.c_str());
  EXPECT_EQ(scene.send("GET", "/api/version").status, 200);
  for (const char* route : {"/api/tags", "/api/ps"}) {
    const HttpResponse response = scene.send("GET", route);
    EXPECT_EQ(response.status, 401) << route;
    EXPECT_TRUE(response.body.starts_with("{\"error\":\"")) << response.body;
    EXPECT_EQ(
        scene.send("GET", route, "", {{"authorization", "Bearer sk-normal-0123456789"}}).status,
        200);
  }
  for (const char* route : {kChat, kGenerate, "/api/show", "/api/pull"}) {
    EXPECT_EQ(scene.send("POST", route, "{}").status, 401) << route;
  }
}

TEST(ServedOllama, head_finds_the_server_with_and_without_the_console) {
  for (const bool web : {true, false}) {
    ServerOptions options;
    options.web = web;
    ServedScene scene(options);
    RawClient client(scene.server().port());
    ASSERT_TRUE(client.send("HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"));
    EXPECT_EQ(client.read_all().substr(0, 12), "HTTP/1.1 200") << web;
    EXPECT_EQ(scene.send("GET", "/").status, web ? 200 : 404);
  }
}

}  // namespace
}  // namespace plumb
