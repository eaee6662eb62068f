// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "e2e/served_scene.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

constexpr const char* kPath = "/v1/messages";
constexpr const char* kCount = "/v1/messages/count_tokens";
constexpr const char* kHello = R"([{"role":"user","content":"Hello"}])";
// Of several blocks of the cache.
constexpr const char* kStory =
    R"([{"role":"user","content":"Tell me a story of a bolt and a nut that have lost each other."}])";

std::string message_body(const std::string& members, const std::string& messages = kHello) {
  return R"({"model":"tiny","messages":)" + messages + "," + members + "}";
}

// An exact number of tokens, always the same ones.
std::string greedy(std::int64_t max_tokens, const std::string& members = "") {
  return R"("temperature":0,"ignore_eos":true,"max_tokens":)" + std::to_string(max_tokens) +
         members;
}

std::string header_of(const HttpResponse& response, const char* name) {
  return std::string(response.headers.find(name).value_or("(none)"));
}

// The data of the events of a stream, of which each has its own type as name.
std::vector<Json> events_in(const std::string& text) {
  SseParser parser;
  std::vector<SseEvent> events;
  EXPECT_TRUE(parser.feed(text, &events).ok());
  std::vector<Json> out;
  for (const SseEvent& event : events) {
    const Result<Json> data = parse_json(event.data);
    EXPECT_TRUE(data.ok()) << event.data;
    out.push_back(data.ok() ? data.value() : Json());
    EXPECT_EQ(text_at(out.back(), {"type"}), event.event);
  }
  return out;
}

std::vector<Json> stream_of(ServedScene& scene, const std::string& body) {
  const HttpResponse response = scene.send("POST", kPath, body);
  EXPECT_EQ(response.status, 200) << response.body;
  return events_in(response.body);
}

std::string types_of(const std::vector<Json>& events) {
  std::string out;
  std::string last;
  for (const Json& event : events) {
    const std::string type = text_at(event, {"type"});
    if (type != "content_block_delta" || last != type) {  // a run of deltas counts once
      out += (out.empty() ? "" : " ") + type;
    }
    last = type;
  }
  return out;
}

// What a client adds up, after checking that blocks follow each other.
JsonArray added_up(const std::vector<Json>& events) {
  JsonArray content;
  std::string input;
  bool is_open = false;
  for (const Json& event : events) {
    const std::string type = text_at(event, {"type"});
    if (type == "content_block_start") {
      EXPECT_FALSE(is_open);
      EXPECT_EQ(int_at(event, {"index"}), std::ssize(content));
      is_open = true;
      content.push_back(at(event, {"content_block"}));
      input.clear();
    } else if (type == "content_block_delta") {
      EXPECT_TRUE(is_open);
      EXPECT_EQ(int_at(event, {"index"}) + 1, std::ssize(content));
      JsonObject& block = content.back().as_object();
      const std::string kind = text_at(event, {"delta", "type"});
      if (kind == "text_delta") {
        block.find("text")->as_string() += text_at(event, {"delta", "text"});
      } else if (kind == "thinking_delta") {
        block.find("thinking")->as_string() += text_at(event, {"delta", "thinking"});
      } else if (kind == "signature_delta") {
        block.set("signature", text_at(event, {"delta", "signature"}));
      } else {
        EXPECT_EQ(kind, "input_json_delta");
        input += text_at(event, {"delta", "partial_json"});
      }
    } else if (type == "content_block_stop") {
      EXPECT_TRUE(is_open);
      is_open = false;
      if (text_at(content.back(), {"type"}) == "tool_use") {
        content.back().as_object().set("input", parse_json(input).value());
      }
    }
  }
  EXPECT_FALSE(is_open);
  return content;
}

TEST(ServedMessages, a_message_counts_the_cached_part_of_its_prompt_apart) {
  ServedScene scene;
  const std::int64_t num_prompt =
      int_at(scene.post("/tokenize", R"({"messages":)" + std::string(kStory) + "}"), {"count"});
  std::int64_t cached = 0;
  for (const bool is_again : {false, true}) {
    const Json message = scene.post(kPath, message_body(greedy(5), kStory));
    EXPECT_TRUE(text_at(message, {"id"}).starts_with("msg_"));
    EXPECT_EQ(text_at(message, {"id"}).size(), 28U);
    EXPECT_EQ(text_at(message, {"type"}), "message");
    EXPECT_EQ(text_at(message, {"role"}), "assistant");
    EXPECT_EQ(text_at(message, {"model"}), "tiny");
    EXPECT_EQ(text_at(message, {"content", 0, "type"}), "text");
    EXPECT_EQ(text_at(message, {"stop_reason"}), "max_tokens");
    EXPECT_TRUE(at(message, {"stop_sequence"}).is_null());
    EXPECT_EQ(int_at(message, {"usage", "output_tokens"}), 5);
    EXPECT_EQ(int_at(message, {"usage", "cache_creation_input_tokens"}), 0);
    EXPECT_EQ(int_at(message, {"usage", "output_tokens_details", "thinking_tokens"}), 0);
    cached = int_at(message, {"usage", "cache_read_input_tokens"});
    EXPECT_EQ(cached > 0, is_again);
    EXPECT_EQ(int_at(message, {"usage", "input_tokens"}) + cached, num_prompt);
  }
  const std::vector<Json> events =
      stream_of(scene, message_body(greedy(5, R"(,"stream":true)"), kStory));
  for (const std::vector<Json>& usage :
       {std::vector<Json>{0, "message", "usage"}, {std::ssize(events) - 2, "usage"}}) {
    const Json found = at(Json(events), usage);
    EXPECT_EQ(int_at(found, {"input_tokens"}) + int_at(found, {"cache_read_input_tokens"}),
              num_prompt);
    EXPECT_EQ(int_at(found, {"cache_read_input_tokens"}), cached);
  }
}

TEST(ServedMessages, the_same_conversation_is_the_same_prompt_as_in_chat) {
  ServedScene scene;

  struct Row {
    const char* chat;
    const char* anthropic;
  };

  const std::vector<Row> rows = {
      {R"("messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hi"}])",
       R"("system":[{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral"}}],)"
       R"("messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}])"},
      {R"("messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
       R"({"role":"user","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}])",
       R"("messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
       R"({"role":"user","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}])"},
      {R"("continue_final_message":true,"messages":[{"role":"user","content":"a"},)"
       R"({"role":"assistant","content":"The answer"}])",
       R"("messages":[{"role":"user","content":"a"},{"role":"assistant","content":"The answer"}])"},
  };
  for (const Row& row : rows) {
    const std::string asked = "{" + greedy(1, ",") + std::string(row.chat) + "}";
    scene.post("/v1/chat/completions", asked);
    const Json chat = scene.post("/v1/chat/completions", asked);  // with what the first has cached
    const std::string body = R"({"model":"tiny",)" + std::string(row.anthropic);
    const Json message = scene.post(kPath, body + "," + greedy(1) + "}");
    const std::int64_t prompt = int_at(chat, {"usage", "prompt_tokens"});
    const std::int64_t cached = int_at(chat, {"usage", "prompt_tokens_details", "cached_tokens"});
    EXPECT_GT(cached, 0);
    EXPECT_EQ(int_at(message, {"usage", "cache_read_input_tokens"}), cached) << row.anthropic;
    EXPECT_EQ(int_at(message, {"usage", "input_tokens"}), prompt - cached) << row.anthropic;
    EXPECT_EQ(int_at(scene.post(kCount, body + "}"), {"input_tokens"}), prompt) << row.anthropic;
    EXPECT_EQ(text_at(message, {"content", 0, "text"}),
              text_at(chat, {"choices", 0, "message", "content"}));
  }
}

TEST(ServedMessages, a_count_knows_no_limit_of_the_context) {
  ServedScene scene;
  const std::string text(5000, 'a');
  const Json count = scene.post(
      kCount, R"({"model":"tiny","messages":[{"role":"user","content":")" + text + R"("}]})");
  EXPECT_GT(int_at(count, {"input_tokens"}), 2048);
  EXPECT_EQ(scene.engine().stats().num_submitted, 0);
}

TEST(ServedMessages, a_stream_has_its_events_in_order_and_adds_up_to_the_message) {
  ServedScene scene;
  const Json whole = scene.post(kPath, message_body(greedy(20)));
  const std::vector<Json> events = stream_of(scene, message_body(greedy(20, R"(,"stream":true)")));
  EXPECT_EQ(types_of(events),
            "message_start content_block_start content_block_delta content_block_stop "
            "message_delta message_stop");
  EXPECT_EQ(to_text(at(events.front(), {"message", "content"})), "[]");
  EXPECT_TRUE(text_at(events.front(), {"message", "id"}).starts_with("msg_"));
  EXPECT_EQ(to_text(Json(added_up(events))), to_text(at(whole, {"content"})));
  const Json& last = events[events.size() - 2];
  EXPECT_EQ(text_at(last, {"delta", "stop_reason"}), "max_tokens");
  EXPECT_EQ(int_at(last, {"usage", "output_tokens"}), 20);
}

TEST(ServedMessages, the_bytes_of_a_stream_are_named_events_up_to_the_zero_chunk) {
  ServedScene scene;
  RawClient client(scene.server().port());
  const std::string body = message_body(greedy(2, R"(,"stream":true)"));
  ASSERT_TRUE(
      client.send("POST /v1/messages?beta=true HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
                  "content-length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body));
  const std::string answer = client.read_all();
  EXPECT_TRUE(client.ended_in_order());
  EXPECT_NE(answer.find("content-type: text/event-stream; charset=utf-8\r\n"), std::string::npos);
  EXPECT_NE(answer.find("\nrequest-id: req_"), std::string::npos);
  EXPECT_NE(answer.find("event: message_start\ndata: {\"type\":\"message_start\","),
            std::string::npos);
  EXPECT_NE(answer.find("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n\r\n0\r\n\r\n"),
            std::string::npos);
  EXPECT_EQ(answer.find("[DONE]"), std::string::npos);
}

TEST(ServedMessages, the_sequence_that_stopped_is_named) {
  ServedScene scene;
  const std::string text =
      text_at(scene.post(kPath, message_body(greedy(24))), {"content", 0, "text"});
  std::size_t at_stop = 3;
  while (static_cast<unsigned char>(text[at_stop] | text[at_stop + 1]) >= 0x80) {
    ++at_stop;
  }
  const std::string stop = text.substr(at_stop, 2);
  const Json cut = scene.post(
      kPath,
      message_body(greedy(24, R"(,"stop_sequences":["never there",)" + to_text(Json(stop)) + "]")));
  EXPECT_EQ(text_at(cut, {"stop_reason"}), "stop_sequence");
  EXPECT_EQ(text_at(cut, {"stop_sequence"}), stop);
  EXPECT_EQ(text_at(cut, {"content", 0, "text"}), text.substr(0, text.find(stop)));
}

TEST(ServedMessages, too_many_tokens_are_as_many_as_there_is_room_for) {
  ServedScene scene;
  const Json message = scene.post(kPath, message_body(greedy(100'000)));
  const std::int64_t prompt = int_at(message, {"usage", "input_tokens"}) +
                              int_at(message, {"usage", "cache_read_input_tokens"});
  EXPECT_EQ(text_at(message, {"stop_reason"}), "model_context_window_exceeded");
  EXPECT_EQ(int_at(message, {"usage", "output_tokens"}), 2048 - prompt);
  const Json fits = scene.post(kPath, message_body(greedy(2048 - prompt)));
  EXPECT_EQ(text_at(fits, {"stop_reason"}), "max_tokens");
}

TEST(ServedMessages, a_prompt_that_is_too_long_is_told_in_the_words_that_clients_look_for) {
  ServedScene scene;
  const std::string text(6000, 'a');
  const Json error = scene.post(
      kPath, message_body(greedy(1), R"([{"role":"user","content":")" + text + R"("}])"), 400);
  EXPECT_EQ(text_at(error, {"type"}), "error");
  EXPECT_EQ(text_at(error, {"error", "type"}), "invalid_request_error");
  const std::int64_t tokens = int_at(error, {"error", "n_prompt_tokens"});
  EXPECT_GT(tokens, 2048);
  EXPECT_EQ(int_at(error, {"error", "n_ctx"}), 2048);
  EXPECT_TRUE(
      text_at(error, {"error", "message"})
          .starts_with("prompt is too long: " + std::to_string(tokens) + " tokens > 2048 maximum"))
      << to_text(error);
}

struct BadMessage {
  std::string body;
  int status;
  const char* type;
  const char* fragment;  ///< of the message
};

TEST(ServedMessages, every_bad_request_has_a_type_of_the_closed_list) {
  ServedScene scene;
  const std::vector<BadMessage> rows = {
      {"{\"model\":", 400, "invalid_request_error", "byte"},
      {"{}", 400, "invalid_request_error", "'messages'"},
      {R"({"model":"tiny","messages":[{"role":"user","content":"x"}]})", 400,
       "invalid_request_error", "'max_tokens'"},
      {message_body(R"("max_tokens":0)"), 400, "invalid_request_error", "'max_tokens' is 0"},
      {message_body(R"("max_tokens":5,"stream":true,"temperature":3)"), 400,
       "invalid_request_error", "'temperature' is 3"},
      {message_body(R"("max_tokens":5)",
                    R"([{"role":"user","content":[{"type":"image","source":{}}]}])"),
       400, "invalid_request_error", "messages[0].content[0].type"},
      {message_body(R"("max_tokens":5,"output_config":{"format":{"type":"json_schema",)"
                    R"("schema":{"type":"thing"}}})"),
       400, "invalid_request_error", "#/type"},
      {message_body(R"("max_tokens":5,"thread":{"type":"create"})"), 400, "invalid_request_error",
       "thread"},
      {R"({"model":"claude","max_tokens":5,"messages":[{"role":"user","content":"x"}]})", 404,
       "not_found_error", "'claude'"},
  };
  for (const BadMessage& row : rows) {
    const HttpResponse response = scene.send("POST", kPath, row.body);
    const std::string about = row.body + " -> " + response.body;
    EXPECT_EQ(response.status, row.status) << about;
    const Json error = parse_json(response.body).value();
    EXPECT_EQ(text_at(error, {"type"}), "error") << about;
    EXPECT_EQ(text_at(error, {"error", "type"}), row.type) << about;
    EXPECT_NE(text_at(error, {"error", "message"}).find(row.fragment), std::string::npos) << about;
    EXPECT_EQ(text_at(error, {"request_id"}), header_of(response, "request-id")) << about;
    EXPECT_EQ(header_of(response, "request-id"), header_of(response, "x-request-id"));
  }
  EXPECT_EQ(
      text_at(scene.post(kPath, message_body(R"("max_tokens":5,"thread":{"type":"create"})"), 400),
              {"error", "details", "error_code"}),
      "thread_unsupported_request");
  EXPECT_EQ(scene.engine().stats().num_submitted, 0);
}

TEST(ServedMessages, what_the_transport_and_the_router_refuse_has_the_same_form) {
  ServerOptions options;
  options.max_body_bytes = 2048;
  options.api_key = "sk-normal-0123456789";
  ServedScene scene(options);
  const Headers key{{"x-api-key", options.api_key}};
  const auto type_of = [&](const std::string& method, const std::string& path,
                           const std::string& body, Headers headers, int status) {
    const HttpResponse response = scene.send(method, path, body, std::move(headers));
    EXPECT_EQ(response.status, status) << path << " " << response.body;
    const Json error = parse_json(response.body).value();
    EXPECT_EQ(text_at(error, {"type"}), "error");
    EXPECT_EQ(text_at(error, {"request_id"}), header_of(response, "request-id"));
    return text_at(error, {"error", "type"});
  };
  EXPECT_EQ(type_of("POST", kPath, "{}", {}, 401), "authentication_error");
  EXPECT_EQ(type_of("GET", kPath, "", key, 405), "invalid_request_error");
  EXPECT_EQ(type_of("POST", kPath, "{}",
                    {{"x-api-key", options.api_key}, {"content-type", "text/plain"}}, 415),
            "invalid_request_error");
  EXPECT_EQ(type_of("POST", kPath, std::string(3000, ' '), key, 413), "request_too_large");
  EXPECT_EQ(type_of("POST", "/v1/messages/batches", "{}", key, 404), "not_found_error");
  EXPECT_EQ(type_of("POST", "/v1/files", "{}",
                    {{"x-api-key", options.api_key}, {"anthropic-version", "2023-06-01"}}, 404),
            "not_found_error");
}

TEST(ServedMessages, strict_servers_refuse_what_others_name_in_a_header) {
  const std::string body = message_body(
      greedy(1, R"(,"foo":1,"tools":[{"type":"web_search_20250305","name":"web_search"}],)"
                R"("thinking":{"type":"enabled","budget_tokens":1024})"));
  const Headers version{{"anthropic-version", "2199-01-01"}};
  ServedScene lenient;
  const HttpResponse named = lenient.send("POST", kPath, body, version);
  EXPECT_EQ(named.status, 200) << named.body;
  EXPECT_EQ(header_of(named, "x-plumb-ignored-fields"), "tools[0], foo, thinking.budget_tokens");
  const HttpResponse counted = lenient.send("POST", kCount, body, version);
  EXPECT_EQ(counted.status, 200) << counted.body;
  EXPECT_EQ(header_of(counted, "x-plumb-ignored-fields"),
            header_of(named, "x-plumb-ignored-fields"));
  ServerOptions options;
  options.strict_fields = true;
  ServedScene strict(options);
  EXPECT_EQ(strict.send("POST", kPath, body).status, 400);
  EXPECT_EQ(strict.send("POST", kCount, body).status, 400);
  EXPECT_EQ(strict.send("POST", kPath, message_body(greedy(1)), version).status, 400);
  for (const char* known : {"2023-06-01", "2026-10-21"}) {
    EXPECT_EQ(
        strict.send("POST", kPath, message_body(greedy(1)), {{"anthropic-version", known}}).status,
        200);
  }
}

TEST(ServedMessages, the_check_sum_of_clients_does_not_keep_the_cache_from_the_prompt) {
  const auto body = [](const std::string& sum) {
    return message_body(greedy(
        1, R"(,"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2; cch=)" +
               sum + R"(;"},{"type":"text","text":"You write code and tests for it."}])"));
  };
  ServedScene scene;
  const Json first = scene.post(kPath, body("a1b2"));
  const Json other = scene.post(kPath, body("c3d4"));
  const Json same = scene.post(kPath, body("c3d4"));
  EXPECT_GT(int_at(other, {"usage", "cache_read_input_tokens"}), 16);
  EXPECT_EQ(to_text(at(other, {"usage"})), to_text(at(same, {"usage"})));
  ServerOptions options;
  options.keep_billing_line = true;
  ServedScene keeping(options);
  EXPECT_GT(int_at(keeping.post(kPath, body("a1b2")), {"usage", "input_tokens"}),
            int_at(first, {"usage", "input_tokens"}));
}

TEST(ServedMessages, turns_of_every_role_that_clients_send_are_taken) {
  ServedScene scene;
  scene.post(kPath, message_body(greedy(1),
                                 R"([{"role":"ctx","content":"a"},{"role":"msg","content":"b"},)"
                                 R"({"role":"system","content":"c"}])"));
}

// A server for one sequence at a time: a second one waits.
class ServedMessagesQueue : public testing::Test {
 protected:
  static ServerOptions impatient() {
    ServerOptions options;
    options.header_delay = std::chrono::milliseconds(0);
    options.heartbeat = std::chrono::milliseconds(20);
    return options;
  }

  static EngineOptions narrow() {
    EngineOptions engine = ServedScene::small();
    engine.max_num_seqs = 1;
    engine.max_queued_requests = 1;
    return engine;
  }

  static std::string raw_post(const std::string& body) {
    return "POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  // A stream that runs until its client leaves, or for long.
  void occupy(RawClient& client) {
    ASSERT_TRUE(client.send(raw_post(message_body(greedy(2000, R"(,"stream":true)")))));
    client.read_until("event: content_block_delta");
  }

  ServedScene scene_{impatient(), narrow()};
};

TEST_F(ServedMessagesQueue, a_silent_stream_pings_until_its_message_starts) {
  RawClient running(scene_.server().port());
  occupy(running);
  RawClient waiting(scene_.server().port());
  ASSERT_TRUE(waiting.send(raw_post(message_body(greedy(3, R"(,"stream":true)")))));
  const std::string before = waiting.read_until("event: ping\ndata: {\"type\":\"ping\"}\n\n");
  EXPECT_NE(before.find("HTTP/1.1 200"), std::string::npos);
  EXPECT_EQ(before.find("message_start"), std::string::npos);
  running.close();
  const std::string rest = waiting.read_all();
  EXPECT_NE(rest.find("event: message_start"), std::string::npos);
  EXPECT_NE(rest.find("event: message_stop"), std::string::npos);
}

TEST_F(ServedMessagesQueue, an_error_in_a_stream_is_its_last_event) {
  RawClient client(scene_.server().port());
  ASSERT_TRUE(
      client.send(raw_post(message_body(greedy(2000, R"(,"stream":true,"timeout_ms":30)")))));
  const std::string answer = client.read_all();
  EXPECT_NE(answer.find("HTTP/1.1 200"), std::string::npos);
  EXPECT_NE(
      answer.find("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"timeout_error\""),
      std::string::npos)
      << answer;
  EXPECT_NE(answer.find("\"request_id\":\"req_"), std::string::npos);
  EXPECT_EQ(answer.find("message_stop"), std::string::npos);
  EXPECT_TRUE(client.ended_in_order());
}

TEST_F(ServedMessagesQueue, a_full_queue_is_529_and_says_when_to_come_again) {
  RawClient running(scene_.server().port());
  occupy(running);
  RawClient waiting(scene_.server().port());
  ASSERT_TRUE(waiting.send(raw_post(message_body(greedy(3, R"(,"stream":true)")))));
  waiting.read_until("event: ping");
  const HttpResponse refused = scene_.send("POST", kPath, message_body(greedy(1)));
  EXPECT_EQ(refused.status, 529) << refused.body;
  EXPECT_EQ(text_at(parse_json(refused.body).value(), {"error", "type"}), "overloaded_error");
  std::int64_t seconds = 0;
  EXPECT_TRUE(parse_int64(header_of(refused, "retry-after"), &seconds));
  EXPECT_GE(seconds, 1);
}

TEST_F(ServedMessagesQueue, a_client_that_leaves_frees_its_place) {
  RawClient running(scene_.server().port());
  occupy(running);
  running.close();
  EXPECT_TRUE(scene_.is_idle());
  EXPECT_EQ(scene_.engine().stats().num_used_blocks(), 0);
}

TEST_F(ServedMessagesQueue, a_server_that_stops_ends_streams_with_an_error) {
  RawClient running(scene_.server().port());
  occupy(running);
  scene_.destroy_server();
  const std::string rest = running.read_all();
  EXPECT_NE(rest.find("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\""),
            std::string::npos)
      << rest.substr(rest.size() - std::min<std::size_t>(rest.size(), 300));
  EXPECT_EQ(rest.find("message_stop"), std::string::npos);
}

constexpr const char* kMessageTools =
    R"("tools":[{"name":"f","input_schema":{"type":"object","properties":{"city":{"enum":["Rome","Oslo"]},)"
    R"("days":{"type":"integer","minimum":1,"maximum":9}},"required":["city","days"],)"
    R"("additionalProperties":false}},{"name":"g","input_schema":{"properties":{},"additionalProperties":false}}])";

std::string calling(const std::string& choice, int seed, const std::string& members = "") {
  return message_body(R"("max_tokens":200,"temperature":1.5,"seed":)" + std::to_string(seed) + "," +
                      kMessageTools + R"(,"tool_choice":)" + choice + members);
}

void expect_tool_use(const Json& block) {
  EXPECT_EQ(text_at(block, {"type"}), "tool_use");
  EXPECT_TRUE(text_at(block, {"id"}).starts_with("toolu_"));
  EXPECT_EQ(text_at(block, {"id"}).size(), 30U);
  if (text_at(block, {"name"}) == "f") {
    const std::string city = text_at(block, {"input", "city"});
    EXPECT_TRUE(city == "Rome" || city == "Oslo") << to_text(block);
    EXPECT_EQ(at(block, {"input"}).as_object().size(), 2U);
  } else {
    EXPECT_EQ(text_at(block, {"name"}), "g");
    EXPECT_EQ(to_text(at(block, {"input"})), "{}");
  }
}

class ServedMessagesTools : public testing::TestWithParam<const char*> {
 protected:
  ServedScene scene_{{}, ServedScene::small(), {GetParam(), "auto"}};
};

TEST_P(ServedMessagesTools, calls_are_blocks_whole_and_streamed) {
  int num_compared = 0;
  for (int seed = 0; seed < 6; ++seed) {
    const std::string any = R"({"type":"any","disable_parallel_tool_use":true})";
    const Json whole = scene_.post(kPath, calling(any, seed));
    if (text_at(whole, {"stop_reason"}) == "max_tokens") {
      continue;
    }
    EXPECT_EQ(text_at(whole, {"stop_reason"}), "tool_use");
    const JsonArray content = array_at(whole, {"content"});
    ASSERT_EQ(content.size(), 1U) << to_text(whole);
    expect_tool_use(content[0]);
    const std::vector<Json> events = stream_of(scene_, calling(any, seed, R"(,"stream":true)"));
    EXPECT_EQ(types_of(events),
              "message_start content_block_start content_block_delta content_block_stop "
              "message_delta message_stop");
    const JsonArray streamed = added_up(events);
    ASSERT_EQ(streamed.size(), 1U);
    EXPECT_EQ(to_text(at(streamed[0], {"input"})), to_text(at(content[0], {"input"})));
    EXPECT_EQ(text_at(streamed[0], {"name"}), text_at(content[0], {"name"}));
    EXPECT_EQ(text_at(events[events.size() - 2], {"delta", "stop_reason"}), "tool_use");
    ++num_compared;
  }
  EXPECT_GT(num_compared, 0);
}

TEST_P(ServedMessagesTools, a_named_tool_is_called_once) {
  const Json whole = scene_.post(kPath, calling(R"({"type":"tool","name":"g"})", 3));
  EXPECT_EQ(text_at(whole, {"stop_reason"}), "tool_use");
  ASSERT_EQ(array_at(whole, {"content"}).size(), 1U) << to_text(whole);
  EXPECT_EQ(text_at(whole, {"content", 0, "name"}), "g");
  expect_tool_use(at(whole, {"content", 0}));
}

INSTANTIATE_TEST_SUITE_P(Formats, ServedMessagesTools,
                         testing::Values("hermes", "qwen3_coder", "llama3"),
                         [](const auto& tested) { return std::string(tested.param); });

// The prompt ends inside a thought, which a model of random weights does not end.
TEST(ServedMessagesThinking, thoughts_are_blocks_with_a_signature) {
  ServedScene scene({}, ServedScene::small(), {"auto", "think"});
  const std::string messages =
      R"([{"role":"user","content":"x"},{"role":"assistant","content":"<think>"}])";
  const Json whole = scene.post(kPath, message_body(greedy(12), messages));
  ASSERT_EQ(array_at(whole, {"content"}).size(), 1U) << to_text(whole);
  const Json block = at(whole, {"content", 0});
  EXPECT_EQ(text_at(block, {"type"}), "thinking");
  EXPECT_FALSE(text_at(block, {"thinking"}).empty());
  EXPECT_EQ(text_at(block, {"signature"}).size(), 44U);
  EXPECT_EQ(int_at(whole, {"usage", "output_tokens_details", "thinking_tokens"}), 12);
  const std::vector<Json> events =
      stream_of(scene, message_body(greedy(12, R"(,"stream":true)"), messages));
  EXPECT_EQ(to_text(Json(added_up(events))), to_text(at(whole, {"content"})));
  const Json omitted = scene.post(
      kPath,
      message_body(greedy(12, R"(,"thinking":{"type":"adaptive","display":"omitted"})"), messages));
  EXPECT_EQ(text_at(omitted, {"content", 0, "thinking"}), "");
  EXPECT_EQ(text_at(omitted, {"content", 0, "signature"}), text_at(block, {"signature"}));
}

}  // namespace
}  // namespace plumb
