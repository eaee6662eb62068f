// SPDX-License-Identifier: Apache-2.0
// The Responses API over HTTP.
#include <fstream>
#include <map>
#include <sys/stat.h>

#include "served_scene.h"
#include "server/response_store.h"

namespace plumb {
namespace {

constexpr const char* kResponses = "/v1/responses";
constexpr const char* kTool =
    R"({"type":"function","name":"f","parameters":{"type":"object","properties":{"city":{"enum":["Rome","Oslo"]}},)"
    R"("required":["city"],"additionalProperties":false}})";

ServerOptions with_keys(const std::string& path) {
  std::ofstream(path) << "one:normal:sk-one-0123456789abcdef\ntwo:normal:sk-two-0123456789abcdef\n";
  ::chmod(path.c_str(), 0600);
  ServerOptions options;
  options.api_key_file = path;
  return options;
}

std::string body(const std::string& members = "") {
  return R"({"input":"Hello","max_output_tokens":8,"temperature":0)" +
         (members.empty() ? "" : "," + members) + "}";
}

std::vector<Json> events_of(const HttpResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  SseParser parser;
  std::vector<SseEvent> events;
  EXPECT_TRUE(parser.feed(response.body, &events).ok());
  std::vector<Json> out;
  for (const SseEvent& event : events) {
    const Result<Json> data = parse_json(event.data);
    EXPECT_TRUE(data.ok()) << event.data;
    out.push_back(data.ok() ? data.value() : Json());
    EXPECT_EQ(text_at(out.back(), {"type"}), event.event);
    EXPECT_EQ(event.id, "");
  }
  return out;
}

// Numbers without a gap, ids that agree, deltas that add up to the items of the last event.
void check_stream(const std::vector<Json>& events, std::int64_t first = 0) {
  ASSERT_FALSE(events.empty());
  std::map<std::string, std::string> texts;
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(int_at(events[i], {"sequence_number"}), first + static_cast<std::int64_t>(i));
    if (events[i].find("delta") != nullptr) {
      texts[text_at(events[i], {"item_id"})] += text_at(events[i], {"delta"});
    }
  }
  const Json response = at(events.back(), {"response"});
  if (first == 0) {
    EXPECT_EQ(text_at(events.front(), {"type"}), "response.created");
    EXPECT_EQ(text_at(events.front(), {"response", "id"}), text_at(response, {"id"}));
    for (const Json& item : array_at(response, {"output"})) {
      const std::string text = text_at(item, {"type"}) == "message"
                                   ? text_at(item, {"content", 0, "text"})
                                   : text_at(item, {"arguments"});
      EXPECT_EQ(texts[text_at(item, {"id"})], text) << to_text(item);
    }
  }
}

// The output without ids, which differ from response to response.
std::string output_without_ids(const Json& response) {
  JsonArray output = array_at(response, {"output"});
  for (Json& item : output) {
    item.as_object().erase("id");
    item.as_object().erase("call_id");
  }
  return to_text(output);
}

TEST(ServedResponses, a_response_has_the_members_of_the_protocol) {
  ServedScene scene;
  const Json response = scene.post(kResponses, body(R"("metadata":{"a":"b"},"user":"u")"));
  EXPECT_EQ(text_at(response, {"id"}).size(), 53U);
  EXPECT_TRUE(text_at(response, {"id"}).starts_with("resp_"));
  EXPECT_EQ(text_at(response, {"object"}), "response");
  EXPECT_EQ(text_at(response, {"model"}), "tiny");
  EXPECT_EQ(text_at(response, {"status"}), "incomplete");  // 8 tokens are too few for it
  EXPECT_EQ(text_at(response, {"incomplete_details", "reason"}), "max_output_tokens");
  EXPECT_EQ(int_at(response, {"usage", "output_tokens"}), 8);
  EXPECT_EQ(int_at(response, {"usage", "total_tokens"}),
            int_at(response, {"usage", "input_tokens"}) + 8);
  EXPECT_EQ(text_at(response, {"metadata", "a"}), "b");
  EXPECT_EQ(text_at(response, {"output", 0, "type"}), "message");
  EXPECT_EQ(text_at(response, {"output", 0, "role"}), "assistant");
  EXPECT_EQ(text_at(response, {"output", 0, "content", 0, "type"}), "output_text");
}

TEST(ServedResponses, the_prompt_is_that_of_the_chat) {
  ServedScene scene;
  const Json response = scene.post(kResponses, body(R"("instructions":"Be brief")"));
  const Json chat = scene.post(
      "/v1/chat/completions",
      R"({"messages":[{"role":"system","content":"Be brief"},{"role":"user","content":"Hello"}],"max_tokens":8,"temperature":0})");
  EXPECT_EQ(int_at(response, {"usage", "input_tokens"}), int_at(chat, {"usage", "prompt_tokens"}));
  EXPECT_EQ(text_at(response, {"output", 0, "content", 0, "text"}),
            text_at(chat, {"choices", 0, "message", "content"}));
  const Json counted =
      scene.post("/v1/responses/input_tokens", body(R"("instructions":"Be brief")"));
  EXPECT_EQ(text_at(counted, {"object"}), "response.input_tokens");
  EXPECT_EQ(int_at(counted, {"input_tokens"}), int_at(response, {"usage", "input_tokens"}));
}

TEST(ServedResponses, a_stream_tells_what_the_whole_answer_says) {
  ServedScene scene;
  const Json whole = scene.post(kResponses, body());
  const std::vector<Json> events =
      events_of(scene.send("POST", kResponses, body(R"("stream":true)")));
  check_stream(events);
  EXPECT_EQ(text_at(events[1], {"type"}), "response.in_progress");
  EXPECT_EQ(text_at(events[2], {"type"}), "response.output_item.added");
  EXPECT_EQ(text_at(events[3], {"type"}), "response.content_part.added");
  EXPECT_EQ(text_at(events[4], {"type"}), "response.output_text.delta");
  EXPECT_EQ(text_at(events.back(), {"type"}), "response.incomplete");
  EXPECT_EQ(output_without_ids(at(events.back(), {"response"})), output_without_ids(whole));
  EXPECT_EQ(to_text(at(events.back(), {"response", "usage", "output_tokens"})), "8");
}

// Its last four events repeat all log probabilities: more bytes at once than may wait for a client
// that is slow.
TEST(ServedResponses, a_long_stream_with_log_probabilities_comes_to_its_end) {
  ServedScene scene;
  const HttpResponse response =
      scene.send("POST", kResponses,
                 R"({"input":"Hello","max_output_tokens":1950,"ignore_eos":true,"top_logprobs":20,)"
                 R"("include":["message.output_text.logprobs"],"stream":true})");
  const std::vector<Json> events = events_of(response);
  check_stream(events);
  ASSERT_GT(events.size(), 4U);
  std::size_t num_bytes = 0;
  for (std::size_t i = events.size() - 4; i < events.size(); ++i) {
    num_bytes += to_text(events[i]).size();
  }
  EXPECT_GT(num_bytes, 8U << 20);
  EXPECT_EQ(text_at(events.back(), {"type"}), "response.incomplete");
  EXPECT_EQ(array_at(events.back(), {"response", "output", 0, "content", 0, "logprobs"}).size(),
            array_at(events[events.size() - 4], {"logprobs"}).size());
  EXPECT_TRUE(scene.is_idle());
}

TEST(ServedResponses, required_calls_are_items) {
  ServedScene scene;
  const std::string call = R"({"input":"Hello","max_output_tokens":200,"temperature":1,"seed":3,)"
                           R"("tools":[)" +
                           std::string(kTool) + R"(],"tool_choice":{"type":"function","name":"f"})";
  const Json whole = scene.post(kResponses, call + "}");
  ASSERT_EQ(array_at(whole, {"output"}).size(), 1U) << to_text(whole);
  const Json item = at(whole, {"output", 0});
  EXPECT_EQ(text_at(item, {"type"}), "function_call");
  EXPECT_EQ(text_at(item, {"name"}), "f");
  EXPECT_TRUE(text_at(item, {"call_id"}).starts_with("call_"));
  EXPECT_TRUE(text_at(item, {"id"}).starts_with("fc_"));
  const std::string city = text_at(parse_json(text_at(item, {"arguments"})).value(), {"city"});
  EXPECT_TRUE(city == "Rome" || city == "Oslo") << city;
  EXPECT_EQ(text_at(whole, {"status"}), "completed");
  const std::vector<Json> events =
      events_of(scene.send("POST", kResponses, call + R"(,"stream":true})"));
  check_stream(events);
  EXPECT_EQ(text_at(events.back(), {"type"}), "response.completed");
  EXPECT_EQ(output_without_ids(at(events.back(), {"response"})), output_without_ids(whole));
}

TEST(ServedResponses, a_custom_tool_gives_raw_input) {
  ServedScene scene;
  const Json whole = scene.post(
      kResponses,
      R"({"input":"Hello","max_output_tokens":100,"temperature":1,"tools":[{"type":"custom","name":"sh",)"
      R"("format":{"type":"grammar","syntax":"regex","definition":"ls|pwd"}}],)"
      R"("tool_choice":{"type":"custom","name":"sh"}})");
  const Json item = at(whole, {"output", 0});
  EXPECT_EQ(text_at(item, {"type"}), "custom_tool_call") << to_text(whole);
  EXPECT_TRUE(text_at(item, {"input"}) == "ls" || text_at(item, {"input"}) == "pwd")
      << to_text(item);
}

TEST(ServedResponses, a_schema_holds_the_text) {
  ServedScene scene;
  const Json whole = scene.post(
      kResponses,
      R"({"input":"Hello","max_output_tokens":100,"text":{"format":{"type":"json_schema","name":"n",)"
      R"("schema":{"enum":["red","blue"]}}}})");
  const std::string text = text_at(whole, {"output", 0, "content", 0, "text"});
  EXPECT_TRUE(text == "\"red\"" || text == "\"blue\"") << to_text(whole);
  const Json refused = scene.post(
      kResponses,
      R"({"input":"x","text":{"format":{"type":"json_schema","name":"n","schema":{"type":"no type"}}}})",
      400);
  EXPECT_EQ(text_at(refused, {"error", "code"}), "invalid_schema");
  EXPECT_EQ(text_at(refused, {"error", "param"}), "text.format.schema");
}

TEST(ServedResponses, what_only_a_hosted_api_runs_is_named_in_headers) {
  ServedScene scene;
  const std::string hosted =
      R"({"input":[{"type":"web_search_call","id":"ws_1"},{"role":"user","content":"Hello"}],)"
      R"("max_output_tokens":1,"tools":[{"type":"web_search"}]})";
  const HttpResponse response = scene.send("POST", kResponses, hosted);
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.find("x-plumb-ignored-tools"), "web_search");
  EXPECT_EQ(response.headers.find("x-plumb-ignored-items"), "web_search_call");
  ServerOptions strict;
  strict.responses.hosted_tools = HostedUse::kReject;
  ServedScene refusing(strict);
  EXPECT_EQ(text_at(refusing.post(kResponses, hosted, 400), {"error", "param"}), "tools");
}

TEST(ServedResponses, refusals_name_the_field) {
  ServedScene scene;
  const auto param = [&](const std::string& members, const char* code) {
    const Json error = scene.post(kResponses, body(members), 400);
    EXPECT_EQ(text_at(error, {"error", "code"}), code) << members << to_text(error);
    EXPECT_EQ(text_at(error, {"error", "type"}), "invalid_request_error");
    return text_at(error, {"error", "param"});
  };
  EXPECT_EQ(param(R"("top_p":2)", "invalid_value"), "top_p");
  EXPECT_EQ(param(R"("stream":true,"top_p":2)", "invalid_value"), "top_p");
  EXPECT_EQ(param(R"("previous_response_id":"resp_no")", "previous_response_not_found"),
            "previous_response_id");
  EXPECT_EQ(param(R"("background":true,"store":false)", "unsupported_parameter"), "background");
  EXPECT_EQ(param(R"("conversation":"c")", "unsupported_parameter"), "conversation");
  const Json reference =
      scene.post(kResponses, R"({"input":[{"type":"item_reference","id":"msg_no"}]})", 400);
  EXPECT_EQ(text_at(reference, {"error", "param"}), "input[0].id");
  const Json model = scene.post(kResponses, body(R"("model":"other")"), 404);
  EXPECT_EQ(text_at(model, {"error", "code"}), "model_not_found");
  std::string words;
  for (int i = 0; i < 20'000; ++i) {
    words += "word ";
  }
  const Json too_long = scene.post(kResponses, R"({"input":")" + words + R"("})", 400);
  EXPECT_EQ(text_at(too_long, {"error", "code"}), "context_length_exceeded");
  EXPECT_EQ(text_at(too_long, {"error", "param"}), "input");
  EXPECT_NE(text_at(too_long, {"error", "message"}).find("maximum context length is"),
            std::string::npos);
}

TEST(ServedResponses, a_limit_beyond_the_context_is_all_that_is_left) {
  ServedScene scene;
  EXPECT_EQ(scene
                .send("POST", kResponses,
                      R"({"input":"x","max_output_tokens":100000000,"stop":["e"," ","a","t"]})")
                .status,
            200);
}

TEST(ServedResponses, with_truncation_the_oldest_give_way) {
  ServedScene scene;
  JsonArray items;
  for (int i = 0; i < 400; ++i) {
    items.emplace_back(JsonObject{{"role", "user"}, {"content", "some words of an old message"}});
    items.emplace_back(JsonObject{{"role", "assistant"}, {"content", "and its answer"}});
  }
  items.emplace_back(JsonObject{{"role", "user"}, {"content", "last"}});
  JsonObject request{{"input", items}, {"max_output_tokens", 4}, {"instructions", "Be brief"}};
  scene.post(kResponses, to_text(request), 400);
  request.set("truncation", "auto");
  const Json response = scene.post(kResponses, to_text(request));
  EXPECT_EQ(text_at(response, {"truncation"}), "auto");
  const Json models = parse_json(scene.send("GET", "/v1/models").body).value();
  const std::int64_t context = int_at(models, {"data", 0, "max_model_len"});
  const std::int64_t used = int_at(response, {"usage", "input_tokens"});
  EXPECT_LE(used + 4, context);
  EXPECT_GT(used, context / 2);
}

TEST(ServedResponses, a_chain_of_responses_is_one_conversation) {
  ServedScene scene;
  std::string id;
  std::int64_t last_tokens = 0;
  JsonArray history;
  for (int i = 0; i < 5; ++i) {
    const std::string input = "turn " + std::to_string(i);
    JsonObject request{{"input", input}, {"max_output_tokens", 4}, {"temperature", 0}};
    if (!id.empty()) {
      request.append("previous_response_id", id);
    }
    const Json response = scene.post(kResponses, to_text(request));
    history.emplace_back(JsonObject{{"role", "user"}, {"content", input}});
    const Json whole = scene.post(
        kResponses,
        to_text(JsonObject{
            {"input", history}, {"max_output_tokens", 4}, {"temperature", 0}, {"store", false}}));
    EXPECT_EQ(int_at(response, {"usage", "input_tokens"}),
              int_at(whole, {"usage", "input_tokens"}));
    EXPECT_EQ(output_without_ids(response), output_without_ids(whole));
    EXPECT_GT(int_at(response, {"usage", "input_tokens"}), last_tokens);
    last_tokens = int_at(response, {"usage", "input_tokens"});
    for (const Json& item : array_at(response, {"output"})) {
      history.push_back(item);
    }
    EXPECT_EQ(i == 0 ? "null" : id, text_at(response, {"previous_response_id"}));
    id = text_at(response, {"id"});
  }
}

TEST(ServedResponses, kept_responses_are_got_listed_and_deleted) {
  ServedScene scene;
  const HttpResponse made =
      scene.send("POST", kResponses,
                 R"({"input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
                 R"({"role":"user","content":"c"}],"max_output_tokens":2})");
  const Json response = parse_json(made.body).value();
  const std::string path = std::string(kResponses) + "/" + text_at(response, {"id"});
  EXPECT_EQ(scene.send("GET", path).body, made.body);
  EXPECT_EQ(scene.send("GET", path + "?include%5B%5D=reasoning.encrypted_content").body, made.body);
  const Json list = parse_json(scene.send("GET", path + "/input_items?limit=2").body).value();
  EXPECT_EQ(array_at(list, {"data"}).size(), 2U);
  EXPECT_EQ(text_at(list, {"data", 0, "content", 0, "text"}), "c");
  EXPECT_EQ(text_at(list, {"has_more"}), "true");
  const Json rest =
      parse_json(
          scene.send("GET", path + "/input_items?order=desc&after=" + text_at(list, {"last_id"}))
              .body)
          .value();
  EXPECT_EQ(text_at(rest, {"data", 0, "content", 0, "text"}), "a");
  EXPECT_EQ(scene.send("GET", path + "/input_items?limit=0").status, 400);
  EXPECT_EQ(scene.send("GET", path + "/input_items?after=msg_no").status, 400);
  EXPECT_EQ(scene.send("POST", path + "/cancel").status, 400);  // not in the background
  EXPECT_EQ(scene.send("GET", path + "?stream=true").status, 400);
  EXPECT_EQ(scene.send("GET", path + "?stream=true&starting_after=x").status, 400);
  EXPECT_EQ(scene.send("GET", path + "?stream=maybe").status, 400);
  const std::string item = text_at(response, {"output", 0, "id"});
  scene.post(kResponses, R"({"input":[{"type":"item_reference","id":")" + item +
                             R"("},{"role":"user","content":"d"}],"max_output_tokens":1})");
  const Json deleted = parse_json(scene.send("DELETE", path).body).value();
  EXPECT_EQ(to_text(deleted),
            R"({"id":")" + text_at(response, {"id"}) + R"(","object":"response","deleted":true})");
  for (const auto& [method, suffix] : {std::pair{"GET", ""},
                                       {"DELETE", ""},
                                       {"GET", "/input_items"},
                                       {"POST", "/cancel"},
                                       {"GET", "?stream=true"}}) {
    const HttpResponse gone = scene.send(method, path + suffix);
    EXPECT_EQ(gone.status, 404) << method << suffix;
    EXPECT_EQ(text_at(parse_json(gone.body).value(), {"error", "code"}), "not_found");
  }
}

TEST(ServedResponses, items_that_are_referred_to_are_as_many_bytes_as_a_body) {
  ServerOptions options;
  options.max_body_bytes = 1024;
  ServedScene scene(options);
  const Json response = scene.post(
      kResponses, R"({"max_output_tokens":1,"input":")" + std::string(600, 'x') + R"("})");
  const Json list = parse_json(scene
                                   .send("GET", std::string(kResponses) + "/" +
                                                    text_at(response, {"id"}) + "/input_items")
                                   .body)
                        .value();
  const std::string reference =
      R"({"type":"item_reference","id":")" + text_at(list, {"data", 0, "id"}) + R"("})";
  scene.post(kResponses, R"({"max_output_tokens":1,"input":[)" + reference + "]}");
  const Json error = scene.post(
      kResponses, R"({"max_output_tokens":1,"input":[)" + reference + "," + reference + "]}", 400);
  EXPECT_EQ(text_at(error, {"error", "param"}), "input");
  EXPECT_NE(text_at(error, {"error", "message"}).find("1024 bytes"), std::string::npos);
}

TEST(ServedResponses, a_chain_has_as_many_bytes_as_a_body) {
  ServerOptions options;
  options.max_body_bytes = 2048;
  ServedScene scene(options);
  const std::string turn = R"({"max_output_tokens":1,"input":")" + std::string(800, 'x') + '"';
  const std::string first = text_at(scene.post(kResponses, turn + "}"), {"id"});
  const Json second = scene.post(kResponses, turn + R"(,"previous_response_id":")" + first + "\"}");
  const Json error = scene.post(
      kResponses, turn + R"(,"previous_response_id":")" + text_at(second, {"id"}) + "\"}", 400);
  EXPECT_EQ(text_at(error, {"error", "param"}), "previous_response_id");
  EXPECT_NE(text_at(error, {"error", "message"}).find("2048 bytes"), std::string::npos);
}

TEST(ServedResponses, store_false_keeps_nothing_and_off_refuses_the_background) {
  ServedScene scene;
  const Json response = scene.post(kResponses, body(R"("store":false)"));
  EXPECT_EQ(text_at(response, {"store"}), "false");
  EXPECT_EQ(scene.send("GET", std::string(kResponses) + "/" + text_at(response, {"id"})).status,
            404);
  ServerOptions off;
  off.responses.store = "off";
  ServedScene forgetful(off);
  const Json kept = forgetful.post(kResponses, body());
  const std::string id = text_at(kept, {"id"});
  EXPECT_EQ(forgetful.send("GET", std::string(kResponses) + "/" + id).status, 404);
  EXPECT_EQ(forgetful.send("DELETE", std::string(kResponses) + "/" + id).status, 404);
  forgetful.post(kResponses, body(R"("background":true)"), 400);
  const Json error =
      forgetful.post(kResponses, body(R"("previous_response_id":")" + id + R"(")"), 400);
  EXPECT_EQ(text_at(error, {"error", "code"}), "previous_response_not_found");
}

TEST(ServedResponses, what_cannot_be_kept_is_not_told_as_complete) {
  ServerOptions options;
  options.responses.store_bytes = 10;
  ServedScene scene(options);
  const Json whole = scene.post(kResponses, body(), 400);
  EXPECT_EQ(text_at(whole, {"error", "param"}), "store");
  scene.post(kResponses, body(R"("background":true)"), 400);
  const std::vector<Json> events =
      events_of(scene.send("POST", kResponses, body(R"("stream":true)")));
  check_stream(events);
  EXPECT_EQ(text_at(events.back(), {"type"}), "response.failed");
  EXPECT_EQ(text_at(events.back(), {"response", "error", "code"}), "invalid_prompt");
  EXPECT_EQ(scene.send("POST", kResponses, body(R"("store":false)")).status, 200);
  EXPECT_TRUE(scene.is_idle());
}

TEST(ServedResponses, routes_that_are_not_offered) {
  ServedScene scene;
  const HttpResponse get = scene.send("GET", kResponses);
  EXPECT_EQ(get.status, 405);
  EXPECT_EQ(get.headers.find("allow"), "POST");
  EXPECT_EQ(scene.send("POST", "/v1/responses/compact", "{}").status, 404);
  EXPECT_EQ(scene.send("PUT", "/v1/responses/resp_1").status, 405);
}

TEST(ServedResponses, each_key_sees_its_own) {
  const std::string path = testing::TempDir() + "plumb_response_keys";
  ServedScene scene(with_keys(path));
  ::unlink(path.c_str());
  const Headers one{{"authorization", "Bearer sk-one-0123456789abcdef"}};
  const Headers two{{"authorization", "Bearer sk-two-0123456789abcdef"}};
  const auto headers = [](Headers base) {
    base.add("content-type", "application/json");
    return base;
  };
  const HttpResponse made = scene.send("POST", kResponses, body(), headers(one));
  const Json response = parse_json(made.body).value();
  const std::string id = text_at(response, {"id"});
  const std::string at_id = std::string(kResponses) + "/" + id;
  EXPECT_EQ(scene.send("GET", at_id, "", one).status, 200);
  for (const auto& [method, suffix] : {std::pair{"GET", ""},
                                       {"DELETE", ""},
                                       {"GET", "/input_items"},
                                       {"POST", "/cancel"},
                                       {"GET", "?stream=true"}}) {
    EXPECT_EQ(scene.send(method, at_id + suffix, "", two).status, 404) << method << suffix;
    EXPECT_EQ(scene.send(method, at_id + suffix).status, 401) << method << suffix;
  }
  const std::string child = body(R"("previous_response_id":")" + id + R"(")");
  EXPECT_EQ(scene.send("POST", kResponses, child, headers(two)).status, 400);
  EXPECT_EQ(scene.send("POST", kResponses, child, headers(one)).status, 200);
  const std::string reference = R"({"input":[{"type":"item_reference","id":")" +
                                text_at(response, {"output", 0, "id"}) + R"("}]})";
  EXPECT_EQ(scene.send("POST", kResponses, reference, headers(two)).status, 400);
  EXPECT_EQ(scene.send("GET", at_id, "", one).status, 200);
}

// Polls until the response has ended.
Json wait_for_end(ServedScene& scene, const std::string& id) {
  for (;;) {
    Json response = parse_json(scene.send("GET", std::string(kResponses) + "/" + id).body).value();
    const std::string status = text_at(response, {"status"});
    if (status != "queued" && status != "in_progress") {
      return response;
    }
  }
}

TEST(ServedResponses, a_response_in_the_background_ends_without_a_client) {
  ServedScene scene;
  const Json queued = scene.post(kResponses, body(R"("background":true)"));
  EXPECT_EQ(text_at(queued, {"status"}), "queued");
  EXPECT_EQ(text_at(queued, {"background"}), "true");
  EXPECT_EQ(to_text(at(queued, {"output"})), "[]");
  const std::string id = text_at(queued, {"id"});
  const Json response = wait_for_end(scene, id);
  EXPECT_EQ(text_at(response, {"status"}), "incomplete");
  EXPECT_EQ(output_without_ids(response), output_without_ids(scene.post(kResponses, body())));
  const std::string path = std::string(kResponses) + "/" + id;
  const std::vector<Json> events = events_of(scene.send("GET", path + "?stream=true"));
  check_stream(events);
  EXPECT_EQ(text_at(events[1], {"type"}), "response.queued");
  EXPECT_EQ(to_text(at(events.back(), {"response"})), to_text(response));
  const std::vector<Json> rest =
      events_of(scene.send("GET", path + "?stream=true&starting_after=4"));
  check_stream(rest, 5);
  EXPECT_EQ(rest.size() + 5, events.size());
  EXPECT_EQ(to_text(rest.back()), to_text(events.back()));
  // Cancelling what has ended changes nothing.
  EXPECT_EQ(scene.send("POST", path + "/cancel").body, to_text(response));
}

TEST(ServedResponses, a_background_stream_is_the_log_from_its_beginning) {
  ServedScene scene;
  const std::vector<Json> events =
      events_of(scene.send("POST", kResponses, body(R"("background":true,"stream":true)")));
  check_stream(events);
  EXPECT_EQ(text_at(events.back(), {"type"}), "response.incomplete");
  const std::string id = text_at(events.front(), {"response", "id"});
  const std::vector<Json> again =
      events_of(scene.send("GET", std::string(kResponses) + "/" + id + "?stream=true"));
  EXPECT_EQ(to_text(JsonArray(again)), to_text(JsonArray(events)));
}

TEST(ServedResponses, a_running_response_is_cancelled_and_no_parent) {
  ServedScene scene;
  const std::string endless =
      R"({"input":"Hello","background":true,"ignore_eos":true,"max_output_tokens":100000})";
  const std::string id = text_at(scene.post(kResponses, endless), {"id"});
  const Json child = scene.post(kResponses, body(R"("previous_response_id":")" + id + R"(")"), 409);
  EXPECT_EQ(text_at(child, {"error", "code"}), "response_in_progress");
  const std::string path = std::string(kResponses) + "/" + id;
  const Json cancelled = parse_json(scene.send("POST", path + "/cancel").body).value();
  EXPECT_EQ(text_at(cancelled, {"status"}), "cancelled");
  EXPECT_EQ(scene.send("POST", path + "/cancel").body, to_text(cancelled));
  EXPECT_EQ(scene.send("GET", path).body, to_text(cancelled));
  const std::vector<Json> events = events_of(scene.send("GET", path + "?stream=true"));
  check_stream(events);
  EXPECT_EQ(text_at(events.back(), {"response", "status"}), "cancelled");
  EXPECT_TRUE(scene.is_idle());
  const std::string other = text_at(scene.post(kResponses, endless), {"id"});
  EXPECT_EQ(scene.send("DELETE", std::string(kResponses) + "/" + other).status, 200);
  EXPECT_EQ(scene.send("GET", std::string(kResponses) + "/" + other).status, 404);
  EXPECT_TRUE(scene.is_idle());
}

TEST(ServedResponses, shutting_down_ends_what_runs_in_the_background) {
  ServerOptions options;
  options.drain_timeout = std::chrono::milliseconds(0);
  ServedScene scene(options);
  scene.post(kResponses,
             R"({"input":"x","background":true,"ignore_eos":true,"max_output_tokens":100000})");
  scene.server().drain();
  scene.destroy_server();
  EXPECT_TRUE(scene.is_idle());
}

TEST(ServedResponses, aborting_all_reaches_the_background) {
  ServedScene scene;
  const std::string endless =
      R"({"input":"Hello","background":true,"ignore_eos":true,"max_output_tokens":100000})";
  const std::string one = text_at(scene.post(kResponses, endless), {"id"});
  const std::string other = text_at(scene.post(kResponses, endless), {"id"});
  scene.post("/abort_request", R"({"rid":")" + one + R"("})");
  EXPECT_EQ(text_at(wait_for_end(scene, one), {"status"}), "failed");
  scene.post("/abort_request", R"({"abort_all":true})");
  EXPECT_EQ(text_at(wait_for_end(scene, other), {"status"}), "failed");
  EXPECT_TRUE(scene.is_idle());
}

// As a kill leaves it: the record of one that runs, without its events.
TEST(ServedResponses, the_stream_of_an_interrupted_response_tells_its_failure) {
  const std::string path =
      testing::TempDir() + "plumb_served_interrupted_" + std::to_string(::getpid()) + ".db";
  {
    const auto store = ResponseStore::open(path, {}, system_clock());
    ASSERT_TRUE(store.ok());
    StoredResponse stored{.id = "resp_1", .is_running = true};
    stored.response = R"({"id":"resp_1","status":"in_progress","background":true,"output":[]})";
    stored.inputs = "[]";
    store.value()->put(stored, [](const Status& kept) { EXPECT_TRUE(kept.ok()); });
  }
  ServerOptions options;
  options.responses.store = path;
  ServedScene scene(options);
  const std::vector<Json> events = events_of(
      scene.send("GET", std::string(kResponses) + "/resp_1?stream=true&starting_after=6"));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(text_at(events[0], {"type"}), "response.failed");
  EXPECT_EQ(int_at(events[0], {"sequence_number"}), 7);
  EXPECT_EQ(text_at(events[0], {"response", "status"}), "failed");
  EXPECT_EQ(to_text(at(events[0], {"response"})),
            scene.send("GET", std::string(kResponses) + "/resp_1").body);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    ::unlink((path + suffix).c_str());
  }
}

TEST(ServedResponses, a_file_keeps_responses_over_a_restart) {
  const std::string path =
      testing::TempDir() + "plumb_served_responses_" + std::to_string(::getpid()) + ".db";
  ServerOptions options;
  options.responses.store = path;
  std::string id;
  std::string made;
  {
    ServedScene scene(options);
    made = scene.send("POST", kResponses, body()).body;
    id = text_at(parse_json(made).value(), {"id"});
  }
  ServedScene scene(options);
  EXPECT_EQ(scene.send("GET", std::string(kResponses) + "/" + id).body, made);
  scene.post(kResponses, body(R"("previous_response_id":")" + id + R"(")"));
  for (const char* suffix : {"", "-wal", "-shm"}) {
    ::unlink((path + suffix).c_str());
  }
}

}  // namespace
}  // namespace plumb
