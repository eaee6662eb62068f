// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "e2e/served_scene.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

constexpr const char* kChat = "/v1/chat/completions";

std::string chat(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"Hello"}],)" + fields + "}";
}

std::string raw_post(const std::string& path, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n" +
         "connection: close\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(ServedStream, events_are_framed_as_the_clients_expect) {
  ServedScene scene;
  RawClient client(scene.server().port());
  ASSERT_TRUE(client.send(
      raw_post(kChat, chat(R"("stream":true,"max_tokens":6,"temperature":0,"ignore_eos":true)"))));
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_EQ(head.substr(0, 15), "HTTP/1.1 200 OK");
  for (const char* field :
       {"content-type: text/event-stream; charset=utf-8", "cache-control: no-cache",
        "x-accel-buffering: no", "x-request-id: req_", "transfer-encoding: chunked"}) {
    EXPECT_NE(to_lower_ascii(head).find(field), std::string::npos) << field << "\n" << head;
  }
  const std::string body = client.read_all();
  EXPECT_TRUE(client.ended_in_order());
  EXPECT_EQ(body.substr(body.size() - 5), "0\r\n\r\n");
  EXPECT_NE(body.find("data: [DONE]\n\n\r\n0\r\n\r\n"), std::string::npos)
      << "the zero chunk follows the terminator";
  EXPECT_EQ(body.find("\nid:"), std::string::npos);
  EXPECT_EQ(body.find("\nevent:"), std::string::npos);
  EXPECT_EQ(body.find("\nretry:"), std::string::npos);
}

TEST(ServedStream, chunks_come_in_their_order_and_add_up_to_the_answer) {
  ServedScene scene;
  const std::string fields = R"("max_tokens":20,"temperature":0,"ignore_eos":true)";
  const Json whole = scene.post(kChat, chat(fields));
  const std::vector<std::string> data = scene.stream(
      kChat, chat(fields + R"(,"stream":true,"stream_options":{"include_usage":true})"));
  ASSERT_GT(data.size(), 4U);
  EXPECT_EQ(data.back(), "[DONE]");
  std::string text;
  std::string id;
  for (std::size_t i = 0; i + 1 < data.size(); ++i) {
    const Json chunk = parse_json(data[i]).value();
    id = i == 0 ? text_at(chunk, {"id"}) : id;
    EXPECT_EQ(text_at(chunk, {"id"}), id);
    EXPECT_EQ(text_at(chunk, {"object"}), "chat.completion.chunk");
    EXPECT_EQ(text_at(chunk, {"model"}), "tiny");
    EXPECT_EQ(text_at(chunk, {"system_fingerprint"}), text_at(whole, {"system_fingerprint"}));
    const bool is_usage = i + 2 == data.size();
    EXPECT_EQ(at(chunk, {"usage"}).is_object(), is_usage) << data[i];
    EXPECT_EQ(!at(chunk, {"choices", 0, "delta", "role"}).is_null(), i == 0) << data[i];
    EXPECT_EQ(at(chunk, {"choices", 0, "finish_reason"}).is_string(), i + 3 == data.size());
    EXPECT_TRUE(is_valid_utf8(data[i]));
    if (const Json content = at(chunk, {"choices", 0, "delta", "content"}); content.is_string()) {
      text += content.as_string();
    }
  }
  EXPECT_EQ(text, text_at(whole, {"choices", 0, "message", "content"}));
  const Json usage = at(parse_json(data[data.size() - 2]).value(), {"usage"});
  EXPECT_EQ(int_at(usage, {"completion_tokens"}), 20);
  EXPECT_EQ(int_at(usage, {"total_tokens"}),
            int_at(usage, {"prompt_tokens"}) + int_at(usage, {"completion_tokens"}));
  EXPECT_EQ(int_at(usage, {"prompt_tokens"}), int_at(whole, {"usage", "prompt_tokens"}));
}

TEST(ServedStream, running_usage_counts_up_to_the_final_one) {
  ServedScene scene;
  const std::vector<std::string> data =
      scene.stream(kChat, chat(R"("max_tokens":8,"ignore_eos":true,"stream":true,"stream_options":)"
                               R"({"include_usage":true,"continuous_usage_stats":true})"));
  std::int64_t last = 0;
  for (std::size_t i = 1; i + 1 < data.size(); ++i) {
    const std::int64_t now = int_at(parse_json(data[i]).value(), {"usage", "completion_tokens"});
    EXPECT_GE(now, last) << data[i];
    last = now;
  }
  EXPECT_EQ(last, 8);
}

TEST(ServedStream, choices_of_a_stream_begin_in_order_and_equal_the_whole_answer) {
  ServedScene scene;
  const std::string fields = R"("n":3,"seed":5,"temperature":1,"max_tokens":10,"ignore_eos":true)";
  const Json whole = scene.post(kChat, chat(fields));
  std::vector<std::string> texts(3);
  std::vector<std::int64_t> first_seen;
  for (const std::string& event : scene.stream(kChat, chat(fields + R"(,"stream":true)"))) {
    if (event == "[DONE]") {
      continue;
    }
    const Json chunk = parse_json(event).value();
    const std::int64_t index = int_at(chunk, {"choices", 0, "index"});
    if (at(chunk, {"choices", 0, "delta", "role"}).is_string()) {
      first_seen.push_back(index);
    }
    if (const Json content = at(chunk, {"choices", 0, "delta", "content"}); content.is_string()) {
      texts[static_cast<std::size_t>(index)] += content.as_string();
    }
  }
  EXPECT_EQ(first_seen, (std::vector<std::int64_t>{0, 1, 2}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(texts[static_cast<std::size_t>(i)],
              text_at(whole, {"choices", i, "message", "content"}));
  }
}

TEST(ServedStream, an_error_before_the_first_byte_is_a_status_not_an_event) {
  ServedScene scene;
  const HttpResponse response = scene.send("POST", kChat, chat(R"("stream":true,"temperature":3)"));
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.headers.find("content-type"), "application/json");
}

TEST(ServedStream, a_time_limit_in_the_header_ends_a_request_with_504) {
  EngineOptions engine = ServedScene::small();
  engine.chunk_tokens = 16;
  ServedScene scene({}, engine);
  std::string prompt(1800, 'x');
  const HttpResponse response =
      scene.send("POST", "/v1/completions",
                 R"({"max_tokens":200,"ignore_eos":true,"prompt":")" + prompt + "\"}",
                 {{"x-request-timeout-ms", "1"}});
  EXPECT_EQ(response.status, 504) << response.body;
  EXPECT_EQ(response.headers.find("x-should-retry"), "false");
  EXPECT_EQ(scene
                .send("POST", "/v1/completions", R"({"prompt":"x","max_tokens":1})",
                      {{"x-request-timeout-ms", "soon"}})
                .status,
            400);
  EXPECT_TRUE(scene.is_idle());
  EXPECT_EQ(scene.engine().stats().num_used_blocks(), 0);
}

}  // namespace
}  // namespace plumb
