// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "support/fake_clock.h"
#include "support/scripted_model.h"

// What each scheduler option does to latency and throughput: the real engine on a model that
// computes nothing and moves a clock by what a step would cost. The figures are the same on every
// machine and do not depend on its load. bench/scheduling runs it and writes the page.
//
//   scheduling_bench        prints one JSON object a line
namespace plumb {
namespace {

using namespace std::chrono_literals;
using Tokens = std::vector<TokenId>;

// A step of SmolLM2-135M Q4_1 on two cores: about 1,570 prompt tokens a second, 4.2 ms for one row.
constexpr std::chrono::microseconds kStep{3500};
constexpr std::chrono::microseconds kDecodeRow{700};
constexpr std::chrono::microseconds kPrefillToken{637};
constexpr std::chrono::nanoseconds kCachedToken{200};
constexpr std::int64_t kVocab = 256;
constexpr std::int64_t kMaxTokens = 512;

enum Kind : TokenId { kChat = 1, kDocument, kImportant, kLight };

std::int64_t mean_output(TokenId kind) {
  return kind == kDocument ? 80 : kind == kImportant ? 40 : 60;
}

// Says pseudo-random tokens and ends after a length that depends on the context alone: the same
// request gets the same answer however it is scheduled.
void speak(std::span<const TokenId> context, std::span<float> logits) {
  std::uint64_t h = context.size();
  for (const TokenId token : context.last(std::min<std::size_t>(context.size(), 24))) {
    h = mix64(h * 31 + static_cast<std::uint64_t>(token));
  }
  std::fill(logits.begin(), logits.end(), 0.0F);
  const bool ends = h % static_cast<std::uint64_t>(mean_output(context.front())) == 0;
  logits[ends ? 0 : 1 + (h >> 32U) % static_cast<std::uint64_t>(kVocab - 1)] = 1.0F;
}

class TimedModel final : public ScriptedModel {
 public:
  TimedModel(const Options& options, FakeClock& clock) : ScriptedModel(options), clock_(clock) {}

  Tensor forward(OpContext& op, const ModelBatch& batch,
                 std::span<const KvLayerCache> caches) const override {
    const Tensor logits = ScriptedModel::forward(op, batch, caches);
    if (logits.address != nullptr) {
      const std::int32_t* cu = batch.cu_seqlens_q.as<std::int32_t>();
      std::chrono::nanoseconds time = kStep;
      for (std::int64_t b = 0; b < batch.context_lens.dim(0); ++b) {
        const std::int32_t count = cu[b + 1] - cu[b];
        time += count == 1 ? std::chrono::nanoseconds(kDecodeRow) : kPrefillToken * count;
        time += kCachedToken * batch.context_lens.as<std::int32_t>()[b];
      }
      clock_.advance(time);
    }
    return logits;
  }

 private:
  FakeClock& clock_;
};

struct Item {
  Request request;
  TokenId kind = kChat;
  std::chrono::microseconds arrival{};
};

// Four system prompts, documents, a few important and a few light users, and floods of one tenant.
std::vector<Item> workload() {
  std::mt19937 random(7);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
  const auto tokens = [&](std::int64_t count) {
    Tokens out;
    out.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      out.push_back(static_cast<TokenId>(1 + below(kVocab - 1)));
    }
    return out;
  };
  std::vector<Tokens> system(4);
  for (Tokens& prompt : system) {
    prompt = tokens(256);
    prompt.front() = kChat;
  }
  std::vector<Item> items;
  double seconds = 0;
  const auto add = [&](TokenId kind, const char* tenant, Tokens prompt) {
    Item item;
    item.kind = kind;
    item.arrival = std::chrono::microseconds(std::llround(seconds * 1e6));
    item.request.prompt = std::move(prompt);
    item.request.tenant = tenant;
    item.request.priority = kind == kImportant ? 20 : 0;
    item.request.sampling.temperature = 0;
    item.request.sampling.min_tokens = 4;
    item.request.sampling.max_tokens = kMaxTokens;
    items.push_back(std::move(item));
  };
  const auto chat = [&](const char* tenant) {
    const std::int64_t which = below(4);
    Tokens prompt = system[static_cast<std::size_t>(which)];
    const Tokens own = tokens(20 + below(180));
    prompt.insert(prompt.end(), own.begin(), own.end());
    add(kChat, tenant, std::move(prompt));
    items.back().request.routing_key = "system" + std::to_string(which);
  };
  while (std::ssize(items) < 400) {
    seconds += -std::log(1.0 - static_cast<double>(random()) * 0x1p-32) / 2.3;
    const std::int64_t draw = below(100);
    const TokenId kind = draw < 60   ? kChat
                         : draw < 72 ? kDocument
                         : draw < 85 ? kImportant
                                     : kLight;
    if (kind == kChat) {
      chat("a");
    } else {
      Tokens prompt = tokens(kind == kDocument ? 1500 + below(2000) : 60 + below(200));
      prompt.front() = kind;
      add(kind, kind == kDocument ? "b" : kind == kImportant ? "a" : "c", std::move(prompt));
    }
    if (below(50) == 0) {
      for (int i = 0; i < 20; ++i) {
        chat("b");
      }
    }
  }
  return items;
}

class TimedSink final : public EventSink {
 public:
  TimedSink(const Clock& clock, Clock::TimePoint submitted) : clock_(clock), last_(submitted) {}

  void on_event(StreamEvent event) override {
    finish = event.finish;
    if (event.tokens.empty()) {
      return;
    }
    const Clock::TimePoint now = clock_.now();
    const double millis = std::chrono::duration<double, std::milli>(now - last_).count();
    (num_tokens == 0 ? ttft : sum_gaps) += millis;
    longest_gap = std::max(longest_gap, num_tokens == 0 ? 0.0 : millis);
    last_ = now;
    ++num_tokens;
  }

  double ttft = 0;
  double sum_gaps = 0;
  double longest_gap = 0;
  std::int64_t num_tokens = 0;
  FinishReason finish = FinishReason::kNone;

 private:
  const Clock& clock_;
  Clock::TimePoint last_;
};

double quantile(std::vector<double> values, double q) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

double rounded(double value) {
  return std::round(value * 10) / 10;
}

struct Result {
  std::vector<double> ttft;
  std::vector<double> by_kind[5];
  std::vector<double> tpot;
  std::vector<double> gaps;
  std::int64_t num_tokens = 0;
  std::int64_t num_refused = 0;
};

Json summary(const std::string& name, const Result& result, const EngineStats& stats,
             double seconds) {
  return JsonObject{
      {"options", name},
      {"ttft_p50_ms", rounded(quantile(result.ttft, 0.5))},
      {"ttft_p99_ms", rounded(quantile(result.ttft, 0.99))},
      {"ttft_p99_important_ms", rounded(quantile(result.by_kind[kImportant], 0.99))},
      {"ttft_p99_light_ms", rounded(quantile(result.by_kind[kLight], 0.99))},
      {"tpot_p50_ms", rounded(quantile(result.tpot, 0.5))},
      {"tpot_p99_ms", rounded(quantile(result.tpot, 0.99))},
      {"longest_gap_p99_ms", rounded(quantile(result.gaps, 0.99))},
      {"output_tokens_per_s", rounded(static_cast<double>(result.num_tokens) / seconds)},
      {"preemptions", stats.num_preemptions},
      {"recompute_tokens", stats.recompute_tokens},
      {"cached_tokens", stats.cached_tokens},
      {"refused", result.num_refused},
      {"seconds", rounded(seconds)}};
}

// Runs the workload; prints what came of it.
void run(const std::string& name, const std::function<void(EngineOptions*)>& change) {
  EngineOptions options;
  options.max_num_seqs = 16;
  options.max_queued_requests = 1000;
  options.kv_cache_bytes = std::int64_t{6'144} * 32;
  change(&options);
  FakeClock clock;
  ScriptedBackend backend;
  ScriptedModel::Options model{
      .vocab_size = kVocab, .max_context_len = 8192, .block_size = 32, .script = speak};
  EngineParts parts;
  parts.model = std::make_unique<TimedModel>(model, clock);
  parts.backend = &backend;
  parts.ops = backend.ops();
  parts.clock = &clock;
  parts.end_tokens = {0};
  const std::unique_ptr<Engine> engine = Engine::create(options, std::move(parts)).value();
  const Clock::TimePoint begin = clock.now();
  const std::vector<Item> items = workload();
  std::vector<std::unique_ptr<TimedSink>> sinks;
  Result result;
  std::size_t next = 0;
  bool works = true;
  while (works || next < items.size()) {
    if (!works && begin + items[next].arrival > clock.now()) {
      clock.advance(begin + items[next].arrival - clock.now());
    }
    for (; next < items.size() && begin + items[next].arrival <= clock.now(); ++next) {
      sinks.push_back(std::make_unique<TimedSink>(clock, begin + items[next].arrival));
      result.num_refused += engine->submit(items[next].request, *sinks.back()).ok() ? 0 : 1;
    }
    works = engine->step();
  }
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    const TimedSink& sink = *sinks[i];
    result.num_tokens += sink.num_tokens;
    if (sink.num_tokens > 0) {
      result.ttft.push_back(sink.ttft);
      result.by_kind[items[i].kind].push_back(sink.ttft);
      result.gaps.push_back(sink.longest_gap);
    }
    if (sink.num_tokens > 1) {
      result.tpot.push_back(sink.sum_gaps / static_cast<double>(sink.num_tokens - 1));
    }
  }
  const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
  std::printf("%s\n", to_text(summary(name, result, engine->stats(), seconds)).c_str());
  std::fflush(stdout);
}

void run_all() {
  run("defaults", [](EngineOptions*) {});
  for (const auto& [name, mixing] : scheduler_choices::kMixings) {
    run("--mixing " + std::string(name),
        [mixing](EngineOptions* o) { o->scheduler.mixing = mixing; });
  }
  for (const int millis : {25, 100, 200}) {
    run("--itl-target " + std::to_string(millis) + "ms", [millis](EngineOptions* o) {
      o->scheduler.itl_target = std::chrono::milliseconds(millis);
    });
  }
  for (const auto& [name, order] : scheduler_choices::kOrders) {
    run("--schedule-policy " + std::string(name),
        [order](EngineOptions* o) { o->scheduler.schedule_policy = order; });
  }
  run("--schedule-policy priority --no-priority-preemption", [](EngineOptions* o) {
    o->scheduler.schedule_policy = ScheduleOrder::kPriority;
    o->scheduler.priority_preemption = false;
  });
  run("--schedule-policy priority --priority-aging 100ms", [](EngineOptions* o) {
    o->scheduler.schedule_policy = ScheduleOrder::kPriority;
    o->scheduler.priority_aging = 100ms;
  });
  run("--no-tenant-fairness", [](EngineOptions* o) { o->scheduler.tenant_fairness = false; });
  run("--tenant-weights c=4", [](EngineOptions* o) { o->scheduler.tenant_weights = {"c=4"}; });
  run("--kv-admission ratio",
      [](EngineOptions* o) { o->scheduler.kv_admission = AdmissionKind::kRatio; });
  run("--kv-conservativeness 0.5", [](EngineOptions* o) { o->kv_conservativeness = 0.5; });
  run("--skip-ahead 0", [](EngineOptions* o) { o->scheduler.skip_ahead = 0; });
  run("--max-ttft 5s", [](EngineOptions* o) { o->scheduler.max_ttft = 5s; });
  run("--chunk-tokens 128", [](EngineOptions* o) { o->chunk_tokens = 128; });
  run("--chunk-tokens 2048", [](EngineOptions* o) { o->chunk_tokens = 2048; });
  run("--max-partial-prefills 1", [](EngineOptions* o) { o->max_partial_prefills = 1; });
  run("--max-num-seqs 32", [](EngineOptions* o) { o->max_num_seqs = 32; });
  run("--no-prefix-cache", [](EngineOptions* o) { o->prefix_cache = false; });
}

}  // namespace
}  // namespace plumb

int main() {
  plumb::run_all();
  return 0;
}
