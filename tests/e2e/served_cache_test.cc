// SPDX-License-Identifier: Apache-2.0
// Who shares cached prefixes, who may empty the cache, and who hears of it.
#include <sys/stat.h>

#include "e2e/served_scene.h"
#include "net/frame_publisher.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

constexpr const char* kFirst = "sk-first-0123456789";
constexpr const char* kSecond = "sk-second-0123456789";
constexpr const char* kAdminKey = "sk-admin-0123456789";

// A served model with two keys of people and one of the operator.
class ServedCache : public testing::Test {
 protected:
  void serve(PrefixScope scope, const EngineOptions& engine = ServedScene::small()) {
    file_ = testing::TempDir() + "plumb_cache_keys_" + std::to_string(::getpid());
    const std::string keys = std::string("same:normal:") + kFirst + "\nsame:normal:" + kSecond +
                             "\nops:admin:" + kAdminKey + "\n";
    PLUMB_CHECK(write_file_atomic(file_, keys).ok(), file_);
    ::chmod(file_.c_str(), 0600);
    ServerOptions options;
    options.api_key_file = file_;
    options.prefix_scope = scope;
    options.kv_events_port = 0;
    scene_ = std::make_unique<ServedScene>(options, engine);
  }

  ~ServedCache() override { ::unlink(file_.c_str()); }

  // Cached tokens of a prompt of 64 tokens, sent with a key.
  std::int64_t cached_tokens(const char* key, const std::string& fields = "") {
    std::string ids;
    for (int i = 0; i < 64; ++i) {
      ids += (i > 0 ? "," : "") + std::to_string(10 + i);
    }
    const HttpResponse response =
        scene_->send("POST", "/v1/completions",
                     "{\"prompt\":[" + ids + "],\"max_tokens\":2,\"temperature\":0" + fields + "}",
                     {{"x-api-key", key}});
    EXPECT_EQ(response.status, 200) << response.body;
    const Result<Json> json = parse_json(response.body);
    return json.ok() ? int_at(json.value(), {"usage", "prompt_tokens_details", "cached_tokens"})
                     : -1;
  }

  int flush(const char* key) {
    return scene_->send("POST", "/flush_cache", "", {{"x-api-key", key}}).status;
  }

  std::string file_;
  std::unique_ptr<ServedScene> scene_;
};

TEST_F(ServedCache, two_keys_never_see_each_others_prefixes_by_default) {
  EXPECT_EQ(ServerOptions().prefix_scope, PrefixScope::kPrincipal);
  serve(PrefixScope::kPrincipal);
  EXPECT_EQ(cached_tokens(kFirst), 0);
  EXPECT_EQ(cached_tokens(kSecond), 0);  // though the names are the same
  EXPECT_GT(cached_tokens(kFirst), 32);
  EXPECT_GT(cached_tokens(kSecond), 32);
}

TEST_F(ServedCache, a_salt_splits_further_and_opens_nothing) {
  serve(PrefixScope::kPrincipal);
  EXPECT_EQ(cached_tokens(kFirst, R"(,"cache_salt":"red")"), 0);
  EXPECT_GT(cached_tokens(kFirst, R"(,"cache_salt":"red")"), 32);
  EXPECT_EQ(cached_tokens(kFirst, R"(,"cache_salt":"blue")"), 0);
  EXPECT_EQ(cached_tokens(kFirst), 0);
  EXPECT_EQ(cached_tokens(kSecond, R"(,"cache_salt":"red")"), 0);
}

TEST_F(ServedCache, everybody_shares_where_the_operator_says_so_except_by_salt) {
  serve(PrefixScope::kShared);
  EXPECT_EQ(cached_tokens(kFirst), 0);
  EXPECT_GT(cached_tokens(kSecond), 32);
  EXPECT_EQ(cached_tokens(kSecond, R"(,"cache_salt":"red")"), 0);
  EXPECT_GT(cached_tokens(kFirst, R"(,"cache_salt":"red")"), 32);
}

TEST_F(ServedCache, nobody_shares_where_the_operator_says_so_but_choices_of_one_request) {
  serve(PrefixScope::kNone);
  EXPECT_EQ(cached_tokens(kFirst), 0);
  EXPECT_EQ(cached_tokens(kFirst), 0);
  EXPECT_EQ(cached_tokens(kFirst, R"(,"cache_salt":"red")"), 0);
  EXPECT_EQ(cached_tokens(kFirst, R"(,"cache_salt":"red")"), 0);
  EXPECT_EQ(scene_->engine().stats().cached_tokens, 0);
  EXPECT_EQ(cached_tokens(kFirst, R"(,"n":2)"), 0);  // the first choice's; the second copies
  EXPECT_TRUE(scene_->is_idle());
  EXPECT_GT(scene_->engine().stats().cached_tokens, 32);
}

TEST_F(ServedCache, neither_salts_nor_keys_are_shown) {
  serve(PrefixScope::kPrincipal);
  cached_tokens(kFirst, R"(,"cache_salt":"very-secret-salt")");
  for (const char* path : {"/metrics", "/server_info"}) {
    const std::string body = scene_->send("GET", path, "", {{"x-api-key", kAdminKey}}).body;
    EXPECT_NE(body, "");
    for (const char* secret : {"very-secret-salt", kFirst, kSecond, kAdminKey}) {
      EXPECT_EQ(body.find(secret), std::string::npos) << path;
    }
  }
}

TEST_F(ServedCache, metrics_tell_queries_hits_and_tokens) {
  serve(PrefixScope::kShared);
  cached_tokens(kFirst);
  const std::int64_t num_cached = cached_tokens(kFirst);
  EXPECT_TRUE(scene_->is_idle());
  const std::string text = scene_->send("GET", "/metrics").body;
  const auto has = [&](const std::string& line) {
    EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << line << "\n" << text;
  };
  has("plumb_prefix_queries_total 2");
  has("plumb_prefix_hits_total 1");
  has("plumb_prefix_query_tokens_total 128");
  has("plumb_prefix_hit_tokens_total " + std::to_string(num_cached));
  has("plumb_kv_evicted_blocks_total 0");
  has("plumb_kv_usage 0");
  EXPECT_NE(text.find("\nplumb_prefix_hit_rate 0.4"), std::string::npos);  // 63 of 128
}

TEST_F(ServedCache, the_operator_empties_an_idle_cache) {
  serve(PrefixScope::kShared);
  EXPECT_EQ(cached_tokens(kFirst), 0);
  EXPECT_EQ(flush(kFirst), 403);
  EXPECT_EQ(flush("sk-wrong-0123456789"), 401);
  EXPECT_GT(cached_tokens(kFirst), 32);
  EXPECT_EQ(flush(kAdminKey), 200);
  EXPECT_EQ(scene_->engine().stats().num_cached_blocks, 0);
  EXPECT_EQ(cached_tokens(kFirst), 0);
}

TEST_F(ServedCache, a_cache_in_use_is_not_emptied) {
  serve(PrefixScope::kShared);
  cached_tokens(kFirst);
  RawClient running(scene_->server().port());
  const std::string body =
      R"({"prompt":"x","n":8,"max_tokens":2000,"ignore_eos":true,"stream":true})";
  ASSERT_TRUE(running.send(
      "POST /v1/completions HTTP/1.1\r\nhost: x\r\nx-api-key: " + std::string(kFirst) +
      "\r\ncontent-type: application/json\r\ncontent-length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body));
  running.read_until("data: ");
  const HttpResponse refused = scene_->send("POST", "/flush_cache", "", {{"x-api-key", kAdminKey}});
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.body.find("\"conflict\""), std::string::npos) << refused.body;
  running.close();
  EXPECT_TRUE(scene_->is_idle());
  EXPECT_GT(cached_tokens(kFirst), 32);
}

EngineOptions with_events() {
  EngineOptions engine = ServedScene::small();
  engine.kv_events = true;
  return engine;
}

std::string get_events(const std::string& query, const char* key, const std::string& header = "") {
  return "GET /kv_events" + query + " HTTP/1.1\r\nhost: x\r\nx-api-key: " + key + "\r\n" + header +
         "\r\n";
}

// The event that ends with a blank line.
SseEvent next_event(RawClient& client) {
  SseParser parser;
  std::vector<SseEvent> events;
  const std::string text = "\n" + client.read_until("\n\n");
  const std::size_t begin = std::min(text.find("\nid: "), text.find("\nevent: "));
  if (begin == std::string::npos) {
    ADD_FAILURE() << text;
    return {};
  }
  EXPECT_TRUE(parser.feed(text.substr(begin), &events).ok());
  return events.empty() ? SseEvent() : events.back();
}

TEST_F(ServedCache, events_are_streamed_replayed_and_continued) {
  serve(PrefixScope::kShared, with_events());
  RawClient live(scene_->server().port());
  ASSERT_TRUE(live.send(get_events("", kAdminKey)));
  live.read_until("\r\n\r\n");
  cached_tokens(kFirst);
  const SseEvent stored = next_event(live);
  EXPECT_EQ(stored.event, "");
  const Json batch = parse_json(stored.data).value();
  const JsonArray event = array_at(batch, {1, 0});
  ASSERT_EQ(event.size(), 7U) << stored.data;
  EXPECT_EQ(event[0].as_string(), "BlockStored");
  EXPECT_EQ(event[1].as_array().size(), 2U);  // of 32 tokens
  EXPECT_TRUE(event[2].is_null());
  EXPECT_EQ(event[3].as_array().size(), 64U);
  EXPECT_EQ(event[3].as_array()[0].as_int(), 10);
  EXPECT_EQ(event[4].as_int(), 32);
  EXPECT_EQ(event[6].as_string(), "GPU");
  EXPECT_EQ(flush(kAdminKey), 200);
  const SseEvent cleared = next_event(live);
  EXPECT_NE(cleared.data.find(R"([["AllBlocksCleared"]])"), std::string::npos);
  EXPECT_EQ(std::stoull(cleared.id), std::stoull(stored.id) + 1);

  RawClient again(scene_->server().port());  // one that had seen the first batch only
  ASSERT_TRUE(again.send(get_events("", kAdminKey, "last-event-id: " + stored.id + "\r\n")));
  EXPECT_EQ(next_event(again), cleared);
  RawClient all(scene_->server().port());
  ASSERT_TRUE(all.send(get_events("?from=" + stored.id, kAdminKey)));
  EXPECT_EQ(next_event(all), stored);
  EXPECT_EQ(next_event(all), cleared);
  RawClient lost(scene_->server().port());  // one that knows an engine of another time
  ASSERT_TRUE(lost.send(get_events("?from=0", kAdminKey)));
  const SseEvent resync = next_event(lost);
  EXPECT_EQ(resync.event, "resync");
  EXPECT_NE(resync.data.find(R"([["AllBlocksCleared"]])"), std::string::npos);
  EXPECT_EQ(next_event(lost).id, stored.id);
}

TEST_F(ServedCache, events_tell_what_lies_in_memory_by_hash) {
  EngineOptions engine = with_events();
  engine.tiers.host_bytes = std::int64_t{8} << 20;
  engine.tiers.write_policy = TierWritePolicy::kThrough;
  serve(PrefixScope::kShared, engine);
  RawClient live(scene_->server().port());
  ASSERT_TRUE(live.send(get_events("", kAdminKey)));
  live.read_until("\r\n\r\n");
  cached_tokens(kFirst);
  const Json batch = parse_json(next_event(live).data).value();
  const JsonArray on_device = array_at(batch, {1, 0});
  const JsonArray in_memory = array_at(batch, {1, 1});
  ASSERT_EQ(in_memory.size(), 7U) << to_text(batch);
  EXPECT_EQ(on_device[6].as_string(), "GPU");
  EXPECT_EQ(in_memory[0].as_string(), "BlockStored");
  EXPECT_EQ(in_memory[1].as_array().size(), 2U);
  EXPECT_EQ(to_text(in_memory[1]), to_text(on_device[1]));
  EXPECT_TRUE(in_memory[2].is_null());
  EXPECT_TRUE(in_memory[3].as_array().empty());
  EXPECT_EQ(in_memory[4].as_int(), 32);
  EXPECT_EQ(in_memory[6].as_string(), "CPU_PINNED");
}

TEST_F(ServedCache, events_are_for_the_operator_and_where_they_are_kept) {
  serve(PrefixScope::kShared, with_events());
  const auto status = [&](const char* key, const std::string& query = "") {
    return scene_->send("GET", "/kv_events" + query, "", {{"x-api-key", key}}).status;
  };
  EXPECT_EQ(status(kFirst), 403);
  EXPECT_EQ(status("sk-wrong-0123456789"), 401);
  EXPECT_EQ(status(kAdminKey, "?from=x"), 400);
  EXPECT_EQ(status(kAdminKey, "?from=-1"), 400);
  serve(PrefixScope::kShared);
  EXPECT_EQ(status(kAdminKey), 404);
  EXPECT_EQ(scene_->server().kv_events_port(), -1);
  ServedScene without_keys({}, with_events());
  const HttpResponse refused = without_keys.send("GET", "/kv_events");
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("--admin-key-file"), std::string::npos) << refused.body;
}

TEST_F(ServedCache, events_are_published_as_frames) {
  serve(PrefixScope::kShared, with_events());
  const Result<Json> info =
      parse_json(scene_->send("GET", "/server_info", "", {{"x-api-key", kFirst}}).body);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(int_at(info.value(), {"kv_events_port"}), scene_->server().kv_events_port());
  cached_tokens(kFirst);
  EXPECT_TRUE(scene_->is_idle());
  RawClient reader(scene_->server().kv_events_port());
  ASSERT_TRUE(reader.send(encode_frame_hello({0, kAdminKey})));
  std::string end;
  append_frame("kv-events", {kFrameNow, ""}, &end);
  const std::string replay = reader.read_until(end);
  EXPECT_EQ(replay.substr(0, 13), std::string("\0\0\0\11kv-events", 13));
  const std::size_t resync = replay.find(R"([["AllBlocksCleared"]])");
  EXPECT_LT(resync, replay.find(R"([["BlockStored",)"));
  EXPECT_EQ(flush(kAdminKey), 200);
  EXPECT_NE(reader.read_until(R"([["AllBlocksCleared"]])"), "");
  RawClient stranger(scene_->server().kv_events_port());
  ASSERT_TRUE(stranger.send(encode_frame_hello({0, kFirst})));
  EXPECT_EQ(stranger.read_all(), "");
}

TEST_F(ServedCache, a_server_that_drains_ends_the_streams_of_events) {
  serve(PrefixScope::kShared, with_events());
  RawClient live(scene_->server().port());
  ASSERT_TRUE(live.send(get_events("", kAdminKey)));
  live.read_until("\r\n\r\n");
  scene_->server().drain();
  EXPECT_EQ(live.read_all(), "0\r\n\r\n");
  EXPECT_TRUE(live.ended_in_order());
}

}  // namespace
}  // namespace plumb
