// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "e2e/served_scene.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kCompletions = "/v1/completions";

std::string chat(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"Tell me"}],"max_tokens":200,)" + fields + "}";
}

std::string content_of(const Json& answer) {
  return text_at(answer, {"choices", 0, "message", "content"});
}

std::string error_of(const Json& answer) {
  return text_at(answer, {"error", "code"}) + " " + text_at(answer, {"error", "param"});
}

constexpr const char* kRecord =
    R"({"type":"object","additionalProperties":false,"required":["name","size"],"properties":)"
    R"({"name":{"enum":["ann","bob"]},"size":{"type":"integer","minimum":1,"maximum":12}}})";

void expect_record(const std::string& text) {
  const Result<Json> json = parse_json(text);
  ASSERT_TRUE(json.ok()) << text;
  EXPECT_EQ(json.value().as_object().size(), 2U) << text;
  const std::string name = text_at(json.value(), {"name"});
  EXPECT_TRUE(name == "ann" || name == "bob") << text;
  const std::int64_t size = int_at(json.value(), {"size"});
  EXPECT_TRUE(size >= 1 && size <= 12) << text;
}

TEST(Constraints, a_schema_is_kept_at_any_temperature_and_seed_whole_and_streamed) {
  ServedScene scene;
  for (int seed = 0; seed < 12; ++seed) {
    const std::string fields =
        R"("temperature":1.5,"seed":)" + std::to_string(seed) +
        R"(,"response_format":{"type":"json_schema","json_schema":{"name":"record","strict":true,)"
        R"("schema":)" +
        kRecord + "}}";
    const Json whole = scene.post(kChat, chat(fields));
    EXPECT_EQ(text_at(whole, {"choices", 0, "finish_reason"}), "stop");
    expect_record(content_of(whole));
    std::string streamed;
    for (const std::string& data : scene.stream(kChat, chat(fields + R"(,"stream":true)"))) {
      const Result<Json> chunk = parse_json(data);
      const Json delta =
          chunk.ok() ? at(chunk.value(), {"choices", 0, "delta", "content"}) : Json();
      streamed += delta.is_string() ? delta.as_string() : "";
    }
    EXPECT_EQ(streamed, content_of(whole));
  }
  EXPECT_TRUE(scene.is_idle());
}

TEST(Constraints, every_name_of_a_constraint_reaches_the_engine) {
  ServedScene scene;
  const std::vector<std::string> fields{
      R"("guided_json":)" + std::string(kRecord),
      R"("json_schema":)" + std::string(kRecord),
      R"("structured_outputs":{"json":)" + std::string(kRecord) + "}",
  };
  for (const std::string& field : fields) {
    expect_record(content_of(scene.post(kChat, chat(field))));
    expect_record(
        text_at(scene.post(kCompletions, R"({"prompt":"x","max_tokens":200,)" + field + "}"),
                {"choices", 0, "text"}));
  }
  for (const char* field :
       {R"("guided_regex":"[ab]{3}-x")", R"("regex":"[ab]{3}-x")",
        R"("structured_outputs":{"regex":"[ab]{3}-x"})",
        R"("response_format":{"type":"regex","regex":"[ab]{3}-x"})",
        R"("ebnf":"root ::= [ab] [ab] [ab] \"-x\"")", R"("grammar":"root ::= [ab]{3} \"-x\"")",
        R"("guided_grammar":"root ::= [ab]{3} \"-x\"")"}) {
    const std::string text = content_of(scene.post(kChat, chat(field)));
    ASSERT_EQ(text.size(), 5U) << field << " " << text;
    EXPECT_TRUE(std::all_of(text.begin(), text.begin() + 3, [](char c) {
      return c == 'a' || c == 'b';
    })) << text;
    EXPECT_EQ(text.substr(3), "-x");
  }
  for (const char* field :
       {R"("guided_choice":["yes","no"])", R"("structured_outputs":{"choice":["yes","no"]})"}) {
    const std::string text = content_of(scene.post(kChat, chat(field)));
    EXPECT_TRUE(text == "yes" || text == "no") << text;
  }
  const Json object =
      scene.post(kChat, chat(R"("max_tokens":400,"response_format":{"type":"json_object"})"));
  EXPECT_EQ(content_of(object).substr(0, 1), "{");
}

TEST(Constraints, a_json_object_with_a_schema_is_held_to_it) {
  ServedScene scene;
  const Json answer = scene.post(
      kChat,
      chat(R"("response_format":{"type":"json_object","schema":)" + std::string(kRecord) + "}"));
  EXPECT_EQ(text_at(answer, {"choices", 0, "finish_reason"}), "stop");
  expect_record(content_of(answer));
}

TEST(Constraints, white_space_is_left_out_where_a_request_says_so) {
  ServedScene scene;
  for (const char* wish :
       {R"("structured_outputs":{"disable_any_whitespace":true})",
        R"("structured_outputs":{"whitespace_pattern":""})", R"("guided_whitespace_pattern":"")"}) {
    for (int seed = 0; seed < 4; ++seed) {
      const std::string text =
          content_of(scene.post(kChat, chat(R"("temperature":1.5,"seed":)" + std::to_string(seed) +
                                            "," + wish + R"(,"guided_json":)" + kRecord)));
      expect_record(text);
      EXPECT_EQ(text.find_first_of(" \t\n\r"), std::string::npos) << text;
    }
  }
}

TEST(Constraints, what_a_lenient_schema_drops_is_named_in_a_header) {
  ServedScene scene;
  const std::string schema =
      R"({"type":"object","required":["a"],"additionalProperties":false,)"
      R"("properties":{"a":{"enum":["u"],"format":"color"}},"magic\r\nx: y":1})";
  const std::string body =
      chat(R"("guided_json":)" + schema + R"(,"structured_outputs":{"lenient":true})");
  for (int i = 0; i < 2; ++i) {  // compiled, then known
    const HttpResponse response = scene.send("POST", kChat, body);
    ASSERT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.headers.find("x-plumb-ignored-keywords").value_or("(none)"),
              "magic??x: y at #, format at #/properties/a");
  }
  EXPECT_EQ(error_of(scene.post(kChat, chat(R"("guided_json":)" + schema), 400)),
            "invalid_schema guided_json");
}

TEST(Constraints, fields_that_leave_no_token_are_named_alone) {
  ServedScene scene;
  const Json answer =
      scene.post(kChat, chat(R"("guided_choice":["apple"],"allowed_token_ids":[5])"), 400);
  EXPECT_EQ(error_of(answer), "invalid_value allowed_token_ids");
  EXPECT_EQ(
      text_at(answer, {"error", "message"}),
      "'allowed_token_ids' and the constraint of the answer together leave no token to choose");
}

TEST(Constraints, a_seed_gives_one_answer_alone_and_among_others) {
  ServedScene scene;
  const std::string fields = R"("temperature":1.5,"seed":3,"guided_json":)" + std::string(kRecord);
  const std::string alone = content_of(scene.post(kChat, chat(fields)));
  const Json several = scene.post(kChat, chat(fields + R"(,"n":4)"));
  EXPECT_EQ(content_of(several), alone);
  for (int i = 0; i < 4; ++i) {
    expect_record(text_at(several, {"choices", i, "message", "content"}));
  }
}

TEST(Constraints, what_cannot_be_compiled_is_a_400_that_names_the_field) {
  ServedScene scene;
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"("guided_json":{"type":"nothing"})", "invalid_schema guided_json"},
      {R"("guided_json":"{")", "invalid_schema guided_json"},
      {R"("guided_json":{"allOf":[{"const":1},{"const":2}]})", "invalid_schema guided_json"},
      {R"("guided_json":{"$ref":"http://example.com/s"})", "invalid_schema guided_json"},
      {R"("guided_json":{"allOf":[{"multipleOf":2477},{"multipleOf":2473}]})",
       "invalid_schema guided_json"},
      {R"("guided_json":{"const":"\ud83d"})", "invalid_schema guided_json"},
      {R"("guided_json":"{\"const\":\"\\ud83d\"}")", "invalid_schema guided_json"},
      {R"("regex":"\udc00")", "invalid_schema regex"},
      {R"("guided_regex":"(")", "invalid_schema guided_regex"},
      {R"("guided_regex":"(?=b)a")", "invalid_schema guided_regex"},
      {R"("ebnf":"root ::= missing")", "invalid_schema ebnf"},
      {R"("ebnf":"root ::= )" + std::string(1 << 20, 'a') + "\"", "invalid_schema ebnf"},
      {R"("guided_json":{"enum":[")" + std::string(10 << 20, 'x') + R"("]})",
       "invalid_schema guided_json"},
      {R"("guided_regex":"a","guided_choice":["b"])", "invalid_value guided_choice"},
  };
  for (const auto& [field, expected] : cases) {
    const Json answer = scene.post(kChat, chat(field), 400);
    EXPECT_EQ(error_of(answer), expected) << field.substr(0, 100);
    EXPECT_LT(text_at(answer, {"error", "message"}).size(), 600U);
  }
  // A grammar that refers to itself first is no mistake.
  const Json recursive = scene.post(kChat, chat(R"("ebnf":"root ::= root \"a\" | \"b\"")"));
  EXPECT_EQ(content_of(recursive).substr(0, 1), "b");
  EXPECT_TRUE(scene.is_idle());
}

TEST(Constraints, other_fields_out_of_range_are_named_with_their_limits) {
  ServedScene scene;
  for (const auto& [field, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"("priority":1000001)", "invalid_value priority"},
           {R"("cache_salt":")" + std::string(1 << 20, 's') + "\"", "invalid_value cache_salt"},
           {R"("timeout_ms":-1)", "invalid_value timeout_ms"},
           {R"("stop_regex":"(")", "invalid_value stop_regex"},
           {R"("stop_regex":"(*UTF)a")", "unsupported_parameter stop_regex"},
           {R"("custom_logit_processor":"pickle")", "invalid_value custom_logit_processor"},
           {R"("reasoning_budget":5)", "unsupported_parameter reasoning_budget"},
           {R"("bad_words":[[99999999]])", "invalid_value bad_words"},
       }) {
    EXPECT_EQ(error_of(scene.post(kChat, chat(field), 400)), expected) << field.substr(0, 60);
  }
}

TEST(Constraints, metrics_say_what_was_compiled_and_what_was_known) {
  ServedScene scene;
  for (int i = 0; i < 3; ++i) {
    scene.post(kChat, chat(R"("guided_choice":["yes","no"])"));
  }
  scene.post(kChat, chat(R"("guided_regex":"(")"), 400);
  const std::string metrics = scene.send("GET", "/metrics").body;
  for (const char* line : {"plumb_grammar_compiled_total 1\n", "plumb_grammar_cache_hits_total 2\n",
                           "plumb_grammar_failed_total 1\n", "plumb_grammar_timeouts_total 0\n"}) {
    EXPECT_NE(metrics.find(line), std::string::npos) << line;
  }
  EXPECT_NE(metrics.find("plumb_grammar_mask_seconds_bucket{le=\"+Inf\"} "), std::string::npos);
  EXPECT_EQ(metrics.find("plumb_grammar_mask_seconds_count 0\n"), std::string::npos);
}

// Each occurrence of the trigger begins a whole tag.
bool obeys_tags(std::string_view text) {
  constexpr std::string_view kEnd = "</a>";
  for (std::size_t at = text.find("<a"); at != std::string_view::npos; at = text.find("<a")) {
    text.remove_prefix(at);
    const bool is_whole = text.size() >= 10 && text.starts_with("<a>") &&
                          text.substr(3, 3).find_first_not_of("ab") == std::string_view::npos &&
                          text.substr(6, kEnd.size()) == kEnd;
    if (!is_whole) {
      return false;
    }
    text.remove_prefix(10);
  }
  return true;
}

constexpr const char* kTag =
    R"({"type":"tag","begin":"<a>","content":{"type":"regex","pattern":"[ab]{3}"},"end":"</a>"})";

TEST(Constraints, a_structural_tag_is_enforced_under_each_of_its_names) {
  ServedScene scene;
  const std::string format = R"("format":{"type":"tags_with_separator","separator":" ","tags":[)" +
                             std::string(kTag) +
                             R"(],"at_least_one":true,"stop_after_first":true})";
  for (const std::string& field : {
           R"("response_format":{"type":"structural_tag",)" + format + "}",
           R"("structured_outputs":{"structural_tag":{)" + format + "}}",
           R"("structural_tag":)" + to_text(Json("{" + format + "}")),
       }) {
    const std::string text = content_of(scene.post(kChat, chat(field)));
    EXPECT_EQ(text.size(), 10U) << field;
    EXPECT_TRUE(obeys_tags(text)) << text;
  }
  const std::string triggered = R"("response_format":{"type":"structural_tag","format":{"type":)"
                                R"("triggered_tags","triggers":["<a"],"tags":[)" +
                                std::string(kTag) + R"(],"at_least_one":true}})";
  for (int seed = 0; seed < 8; ++seed) {
    const Json answer = scene.post(
        kChat, chat(R"("temperature":2,"seed":)" + std::to_string(seed) + "," + triggered));
    const std::string text = content_of(answer);
    EXPECT_TRUE(text.starts_with("<a>")) << text;
    if (text_at(answer, {"choices", 0, "finish_reason"}) == "stop") {
      EXPECT_TRUE(obeys_tags(text)) << text;
    }
  }
  const Json wrong = scene.post(
      kChat, chat(R"("response_format":{"type":"structural_tag","format":{"type":"tag"}})"), 400);
  EXPECT_EQ(error_of(wrong), "invalid_schema response_format");
  EXPECT_NE(text_at(wrong, {"error", "message"}).find("format.begin: is missing"),
            std::string::npos);
}

double metric(ServedScene& scene, const std::string& name) {
  const std::string metrics = "\n" + scene.send("GET", "/metrics").body;
  const std::size_t at = metrics.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(metrics.substr(at + name.size() + 2));
}

TEST(Constraints, a_client_that_leaves_ends_the_compilation_for_it) {
  ServedScene scene;
  std::string schema = R"({"anyOf":[)";
  for (int i = 0; i < 40; ++i) {
    schema +=
        R"({"type":"string","pattern":"^[ab]*a[ab]{15}c{)" + std::to_string(i + 1) + R"(}$"},)";
  }
  schema.back() = ']';
  const std::string body = chat(R"("guided_json":)" + schema + "}");
  RawClient leaves(scene.server().port());
  ASSERT_TRUE(
      leaves.send("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: "
                  "application/json\r\ncontent-length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body));
  leaves.close();
  while (metric(scene, "plumb_grammar_cancelled_total") +
             metric(scene, "plumb_grammar_failed_total") +
             metric(scene, "plumb_grammar_compiled_total") ==
         0) {
  }
  EXPECT_EQ(metric(scene, "plumb_grammar_cancelled_total"), 1);
  EXPECT_EQ(metric(scene, "plumb_grammar_timeouts_total"), 0);
  EXPECT_EQ(scene.engine().stats().num_submitted, 0);
}

}  // namespace
}  // namespace plumb
