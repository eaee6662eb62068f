// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/engine_test_scene.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;
using Tokens = std::vector<TokenId>;

EngineOptions one_row(ScheduleOrder order) {
  EngineOptions options = EngineScene::small_options();
  options.max_num_seqs = 1;
  options.scheduler.schedule_policy = order;
  return options;
}

// The order in which requests, submitted at once, get their first token.
std::vector<std::size_t> order_of_starts(EngineScene& scene, const std::vector<Request>& requests) {
  std::vector<RecordingSink> sinks(requests.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    scene.submit(requests[i], sinks[i]);
  }
  while (scene.engine->step()) {
    for (std::size_t i = 0; i < sinks.size(); ++i) {
      const bool is_listed = std::find(order.begin(), order.end(), i) != order.end();
      if (sinks[i].num_events > 0 && !is_listed) {
        order.push_back(i);
      }
    }
  }
  return order;
}

TEST(EngineScheduling, an_important_request_takes_the_row_of_a_less_important_one) {
  EngineScene scene(one_row(ScheduleOrder::kPriority));
  RecordingSink low;
  RecordingSink high;
  Request request = EngineScene::greedy({1, 2, 3}, 12);
  scene.submit(request, low);
  scene.engine->step();
  request.priority = 11;
  scene.submit(request, high);
  scene.engine->step();
  EXPECT_EQ(high.num_events, 1);
  EXPECT_EQ(low.num_events, 1);
  scene.run();
  EXPECT_EQ(low.tokens, EngineScene::truth({1, 2, 3}, 12));
  EXPECT_EQ(high.tokens, low.tokens);
  EXPECT_EQ(low.last.timings.num_preemptions, 1);
  EXPECT_EQ(scene.engine->stats().num_displaced, 1);
  scene.expect_idle_and_whole();
}

TEST(EngineScheduling, the_other_order_and_the_switch_are_options) {
  EngineOptions options = one_row(ScheduleOrder::kPriority);
  for (const bool displaces : {true, false}) {
    options.scheduler.priority_order = PriorityOrder::kLowFirst;
    options.scheduler.priority_preemption = displaces;
    EngineScene scene(options);
    RecordingSink twenty;
    RecordingSink five;
    Request request = EngineScene::greedy({1, 2, 3}, 4);
    request.priority = 20;
    scene.submit(request, twenty);
    scene.engine->step();
    request.priority = 5;
    scene.submit(request, five);
    scene.engine->step();
    EXPECT_EQ(five.num_events, displaces ? 1 : 0);
    scene.run();
    EXPECT_EQ(scene.engine->stats().num_displaced, displaces ? 1 : 0);
  }
}

TEST(EngineScheduling, waiting_makes_old_requests_important) {
  EngineOptions options = one_row(ScheduleOrder::kPriority);
  options.scheduler.priority_aging = 10ms;
  EngineScene scene(options);
  RecordingSink running;
  RecordingSink old;
  RecordingSink important;
  scene.submit(EngineScene::greedy({1}, 3), running);
  scene.engine->step();
  Request request = EngineScene::greedy({2}, 3);
  scene.submit(request, old);
  scene.clock.advance(51ms);
  request.priority = 5;
  scene.submit(request, important);
  while (!old.has_ended() && scene.engine->step()) {
  }
  EXPECT_EQ(important.num_events, 0);
  scene.run();
}

TEST(EngineScheduling, long_requests_of_two_keys_take_turns) {
  for (const bool is_fair : {true, false}) {
    EngineOptions options = one_row(ScheduleOrder::kFcfs);
    options.max_queued_requests = 100;
    options.scheduler.tenant_fairness = is_fair;
    EngineScene scene(options);
    std::vector<Request> requests(8, EngineScene::greedy(Tokens(150, 1), 100));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i].tenant = i < 6 ? "flood" : "single";
      requests[i].prompt.front() = static_cast<TokenId>(i);
    }
    const std::vector<std::size_t> order = order_of_starts(scene, requests);
    const auto place = std::find(order.begin(), order.end(), 6) - order.begin();
    EXPECT_EQ(place <= 3, is_fair) << place;
  }
}

TEST(EngineScheduling, the_longest_cached_prefix_comes_first) {
  EngineScene scene(one_row(ScheduleOrder::kLpm));
  const Tokens cached(40, 7);
  RecordingSink warm;
  scene.submit(EngineScene::greedy(cached, 1), warm);
  scene.run();
  std::vector<Request> requests{EngineScene::greedy(Tokens(20, 3), 2),
                                EngineScene::greedy(Tokens(20, 7), 2),
                                EngineScene::greedy(Tokens(40, 7), 2)};
  EXPECT_EQ(order_of_starts(scene, requests), (std::vector<std::size_t>{2, 1, 0}));
}

TEST(EngineScheduling, the_shortest_prefill_comes_first) {
  EngineScene scene(one_row(ScheduleOrder::kShortestPrefillFirst));
  std::vector<Request> requests{EngineScene::greedy(Tokens(60, 3), 2),
                                EngineScene::greedy(Tokens(5, 7), 2),
                                EngineScene::greedy(Tokens(20, 9), 2)};
  EXPECT_EQ(order_of_starts(scene, requests), (std::vector<std::size_t>{1, 2, 0}));
}

TEST(EngineScheduling, requests_of_the_routing_key_that_runs_come_first) {
  EngineScene scene(one_row(ScheduleOrder::kRoutingKey));
  std::vector<Request> requests(4, EngineScene::greedy({1, 2}, 3));
  requests[0].routing_key = "a";
  requests[1].routing_key = "b";
  requests[2].routing_key = "a";
  EngineOptions two = one_row(ScheduleOrder::kRoutingKey);
  two.max_num_seqs = 2;
  EngineScene wide(two);
  RecordingSink first;
  Request opener = EngineScene::greedy({5}, 30);
  opener.routing_key = "a";
  wide.submit(opener, first);
  wide.engine->step();
  EXPECT_EQ(order_of_starts(wide, requests), (std::vector<std::size_t>{0, 2, 1, 3}));
}

TEST(EngineScheduling, a_full_queue_gives_the_worst_place_to_a_strictly_better_request) {
  EngineOptions options = one_row(ScheduleOrder::kPriority);
  options.max_queued_requests = 2;
  options.scheduler.priority_preemption = false;
  EngineScene scene(options);
  std::vector<RecordingSink> sinks(5);
  Request request = EngineScene::greedy({1}, 3);
  scene.submit(request, sinks[0]);
  scene.engine->step();  // it runs
  request.priority = 3;
  scene.submit(request, sinks[1]);
  request.priority = 1;
  scene.submit(request, sinks[2]);
  request.priority = 2;
  scene.submit(request, sinks[3]);  // better than the one of priority 1
  request.priority = 2;
  scene.submit(request, sinks[4]);  // as good as the worst that waits now: it must go itself
  scene.engine->step();
  EXPECT_EQ(sinks[2].last.status, Code::kResourceExhausted);
  EXPECT_EQ(sinks[4].last.status, Code::kResourceExhausted);
  EXPECT_NE(sinks[4].last.status_message.find("no request in it is less important"),
            std::string::npos);
  scene.run();
  EXPECT_EQ(sinks[1].finish, FinishReason::kLength);
  EXPECT_EQ(sinks[3].finish, FinishReason::kLength);
  EXPECT_EQ(scene.engine->stats().num_displaced_waiting, 2);
}

TEST(EngineScheduling, priorities_beyond_the_limit_are_refused_with_the_limit) {
  EngineScene scene;
  RecordingSink sink;
  Request request = EngineScene::greedy({1}, 1);
  request.priority = kMaxPriority + 1;
  const Status status = scene.engine->submit(request, sink).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("1000001, expected -1000000 to 1000000"), std::string::npos);
}

// Each step takes 100 ms on the scene's clock; the queue empties by 10 tokens a step.
class SlowScene {
 public:
  explicit SlowScene(const EngineOptions& options) {
    ScriptedModel::Options model;
    model.script = [this](std::span<const TokenId> context, std::span<float> logits) {
      ScriptedModel::hash_logits(context, logits);
      scene->clock.advance(100ms);
    };
    scene = std::make_unique<EngineScene>(options, model);
  }

  std::unique_ptr<EngineScene> scene;
};

TEST(EngineScheduling, what_would_wait_too_long_is_refused_at_once_with_the_time_to_come_again) {
  EngineOptions options = one_row(ScheduleOrder::kFcfs);
  options.max_queued_requests = 100;
  options.scheduler.max_ttft = 1s;
  SlowScene slow(options);
  Engine& engine = *slow.scene->engine;
  EXPECT_EQ(engine.retry_after(), 1s);  // nothing is known
  std::vector<RecordingSink> sinks(25);
  for (std::size_t i = 0; i < 20; ++i) {
    slow.scene->submit(EngineScene::greedy(Tokens(10, 1), 1), sinks[i]);
  }
  for (int i = 0; i < 5; ++i) {
    engine.step();  // one prompt of 10 tokens each
  }
  // 150 tokens wait, 100 leave the queue in a second.
  EXPECT_NEAR(static_cast<double>(engine.stats().predicted_ttft.value().count()), 1500, 50);
  EXPECT_EQ(engine.retry_after(), 2s);
  const Status refused = engine.submit(EngineScene::greedy({1}, 1), sinks[20]).status();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_NE(refused.message().find("the limit is 1000 ms"), std::string::npos);
  EXPECT_EQ(engine.stats().num_refused_ttft, 1);
  for (int i = 0; i < 6; ++i) {
    engine.step();
  }
  slow.scene->submit(EngineScene::greedy({1}, 1), sinks[21]);
  Request hasty = EngineScene::greedy({1}, 1);
  hasty.queue_timeout = 200ms;
  EXPECT_FALSE(engine.submit(hasty, sinks[22]).ok());
  slow.scene->run();
}

TEST(EngineScheduling, the_time_until_an_answer_gives_its_row_back_counts) {
  EngineOptions options = one_row(ScheduleOrder::kFcfs);
  options.scheduler.max_ttft = 2s;
  SlowScene slow(options);
  Engine& engine = *slow.scene->engine;
  EXPECT_EQ(engine.stats().predicted_ttft, 0ms);  // it would begin at once
  std::vector<RecordingSink> sinks(4);
  slow.scene->submit(EngineScene::greedy(Tokens(3, 1), 50), sinks[0]);
  engine.step();
  EXPECT_EQ(engine.stats().predicted_ttft, std::nullopt);  // no answer's step was seen
  engine.step();
  // 48 tokens to come, 100 ms each.
  EXPECT_EQ(engine.stats().predicted_ttft, 4800ms);
  EXPECT_EQ(engine.retry_after(), 5s);
  const Status refused = engine.submit(EngineScene::greedy({1}, 1), sinks[1]).status();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_NE(refused.message().find("4800 ms (0 requests with 0 prompt tokens wait)"),
            std::string::npos)
      << refused.message();
  for (int i = 0; i < 28; ++i) {
    engine.step();
  }
  EXPECT_EQ(engine.stats().predicted_ttft, 2s);
  slow.scene->submit(EngineScene::greedy({1}, 10), sinks[1]);
  // Before the next step too: the one that waits counts as long as those that are known.
  EXPECT_FALSE(engine.submit(EngineScene::greedy({1}, 1), sinks[2]).ok());
  engine.step();
  EXPECT_EQ(engine.stats().predicted_ttft, 2900ms);  // 19 tokens, then 10
  EXPECT_FALSE(engine.submit(EngineScene::greedy({1}, 1), sinks[2]).ok());
  EXPECT_EQ(engine.stats().num_refused_ttft, 3);
  slow.scene->run();
  EXPECT_EQ(sinks[1].last.timings.scheduled - sinks[1].last.timings.submitted, 2s);
  EXPECT_EQ(engine.stats().predicted_ttft, 0ms);
}

TEST(EngineScheduling, the_time_until_the_cache_has_room_counts) {
  EngineOptions options = EngineScene::small_options();  // 4 rows, 256 tokens of cache
  SlowScene slow(options);
  Engine& engine = *slow.scene->engine;
  std::vector<RecordingSink> sinks(2);
  slow.scene->submit(EngineScene::greedy(Tokens(16, 1), 180), sinks[0]);
  engine.step();
  engine.step();
  EXPECT_EQ(engine.stats().predicted_ttft, 0ms);
  slow.scene->submit(EngineScene::greedy(Tokens(12, 2), 180), sinks[1]);
  engine.step();
  EXPECT_EQ(engine.stats().num_waiting, 1);
  // The first has 177 tokens to come, the one that waits 180.
  EXPECT_EQ(engine.stats().predicted_ttft, 35'700ms);
  slow.scene->run();
}

Request of_key(const char* key) {
  Request request = EngineScene::greedy({1}, 3);
  request.tenant = key;
  return request;
}

TEST(EngineScheduling, a_flood_of_one_key_leaves_the_others_their_places_in_the_queue) {
  EngineOptions options = one_row(ScheduleOrder::kFcfs);
  options.max_queued_requests = 4;
  EngineScene scene(options);
  std::vector<RecordingSink> alice(6);
  std::vector<RecordingSink> bob(3);
  scene.submit(of_key("alice"), alice[0]);
  scene.engine->step();  // it runs
  for (std::size_t i = 1; i < 5; ++i) {
    scene.submit(of_key("alice"), alice[i]);
  }
  scene.engine->step();
  // The flood itself is refused at once.
  EXPECT_EQ(scene.engine->submit(of_key("alice"), alice[5]).status().code(),
            Code::kResourceExhausted);
  for (RecordingSink& sink : bob) {
    scene.submit(of_key("bob"), sink);
  }
  scene.engine->step();
  // The two of bob's took the places of alice's last two; with two each nobody gives way.
  for (const RecordingSink* sink : {&alice[4], &alice[3], &bob[2]}) {
    EXPECT_EQ(sink->last.status, Code::kResourceExhausted);
  }
  EXPECT_NE(alice[4].last.status_message.find("a key with fewer in it"), std::string::npos);
  EXPECT_NE(bob[2].last.status_message.find("no other key has more in it"), std::string::npos);
  scene.run();
  for (const RecordingSink* sink : {&alice[0], &alice[1], &alice[2], &bob[0], &bob[1]}) {
    EXPECT_EQ(sink->finish, FinishReason::kLength);
  }
  EXPECT_EQ(scene.engine->stats().num_displaced_waiting, 3);
}

TEST(EngineScheduling, places_in_a_full_queue_follow_the_weights) {
  EngineOptions options = one_row(ScheduleOrder::kFcfs);
  options.max_queued_requests = 4;
  options.scheduler.tenant_weights = {"alice=3"};
  EngineScene scene(options);
  std::vector<RecordingSink> alice(5);
  std::vector<RecordingSink> bob(2);
  for (RecordingSink& sink : alice) {
    scene.submit(of_key("alice"), sink);
  }
  scene.engine->step();
  for (RecordingSink& sink : bob) {
    scene.submit(of_key("bob"), sink);
  }
  scene.engine->step();
  EXPECT_EQ(alice[4].last.status, Code::kResourceExhausted);
  EXPECT_EQ(bob[1].last.status, Code::kResourceExhausted);
  scene.run();
  EXPECT_EQ(alice[3].finish, FinishReason::kLength);
  EXPECT_EQ(bob[0].finish, FinishReason::kLength);
}

TEST(EngineScheduling, without_fairness_a_full_queue_is_full_for_all) {
  EngineOptions options = one_row(ScheduleOrder::kFcfs);
  options.max_queued_requests = 2;
  options.scheduler.tenant_fairness = false;
  EngineScene scene(options);
  std::vector<RecordingSink> sinks(3);
  for (RecordingSink& sink : sinks) {
    scene.submit(of_key("alice"), sink);
  }
  scene.engine->step();
  RecordingSink bob;
  EXPECT_EQ(scene.engine->submit(of_key("bob"), bob).status().code(), Code::kResourceExhausted);
  scene.run();
}

TEST(EngineScheduling, learned_lengths_admit_more_than_the_limits_of_requests_would) {
  for (const AdmissionKind kind : {AdmissionKind::kRatio, AdmissionKind::kSimulation}) {
    EngineOptions options = EngineScene::small_options();  // 256 tokens of cache
    options.scheduler.kv_admission = kind;
    options.max_queued_requests = 100;
    ScriptedModel::Options model;
    model.script = [](std::span<const TokenId>, std::span<float> logits) {
      std::fill(logits.begin(), logits.end(), 0.0F);
      logits[0] = 1.0F;  // the end token at once
    };
    EngineScene scene(options, model);
    std::vector<RecordingSink> sinks(56);
    const auto submit = [&](std::size_t i) {
      Request request = EngineScene::greedy(Tokens(20, static_cast<TokenId>(i % 50)), 120);
      request.sampling.ignore_eos = false;
      request.sampling.min_tokens = 3;
      scene.submit(std::move(request), sinks[i]);
    };
    for (std::size_t i = 0; i < 52; ++i) {
      submit(i);
      scene.run();
    }
    for (std::size_t i = 52; i < 56; ++i) {
      submit(i);
    }
    scene.engine->step();
    scene.engine->step();
    scene.engine->step();
    EXPECT_EQ(scene.engine->stats().num_running > 2, kind == AdmissionKind::kSimulation);
    scene.run();
  }
}

TEST(EngineScheduling, tokens_computed_again_are_counted) {
  EngineOptions options = EngineScene::small_options();
  options.kv_cache_bytes = 12 * EngineScene::kBlockBytes;
  options.kv_conservativeness = 0.0;
  options.prefix_cache = false;
  EngineScene scene(options);
  std::vector<RecordingSink> sinks(4);
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    scene.submit(EngineScene::greedy(Tokens(6, static_cast<TokenId>(i)), 30), sinks[i]);
  }
  scene.run();
  const EngineStats stats = scene.engine->stats();
  EXPECT_GT(stats.num_preemptions, 0);
  // Whoever comes back also computes its newest token, for the first time.
  EXPECT_EQ(stats.recompute_tokens + 4 * 6 + stats.num_preemptions, stats.prefill_tokens);
}

}  // namespace
}  // namespace plumb
