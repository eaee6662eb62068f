// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/chat_request.h"
#include "base/file.h"
#include "base/metrics.h"
#include "base/rng.h"
#include "base/thread.h"
#include "base/thread_clock.h"
#include "bench_local/batch_bench.h"
#include "cli/catalogue.h"
#include "cli/loaded_model.h"
#include "cli/serving.h"
#include "frontend/response_format.h"
#include "net/http_client.h"
#include "net/sse.h"
#include "net/tcp_transport.h"
#include "server/server.h"

// What the server costs beside the engine. Prints one JSON object a line.
//
//   serving_bench overhead MODEL STREAMS ROUNDS  engine alone and through HTTP in turn
//   serving_bench request MODEL TEXT TOKENS      parse, template and tokenise one chat
//   serving_bench token MODEL TEXT               detokenise, parse and frame one token of a stream
namespace plumb {
namespace {

constexpr std::int64_t kInputLen = 32;
constexpr std::int64_t kOutputLen = 256;
constexpr int kRepeats = 21;

double seconds_of(Clock::TimePoint::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

template <class T>
T must(Result<T> result, const char* what) {
  PLUMB_CHECK(result.ok(), std::string(what) + ": " + result.status().message());
  return std::move(result).value();
}

void print_line(const Json& json) {
  std::printf("%s\n", to_text(json).c_str());
  std::fflush(stdout);
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string completion_body(std::int64_t vocab_size, Rng& rng) {
  JsonArray prompt;
  for (std::int64_t i = 0; i < kInputLen; ++i) {
    prompt.emplace_back(rng.below(vocab_size));
  }
  return to_text(JsonObject{{"prompt", std::move(prompt)},
                            {"max_tokens", kOutputLen},
                            {"temperature", 0},
                            {"ignore_eos", true},
                            {"stream", true}});
}

// Streams through HTTP; all events are read on the client's own loop thread, whose processor time
// is told apart: on a machine with two cores it is taken from the engine.
class HttpRounds {
 public:
  explicit HttpRounds(const Server& server)
      : url_(server.url() + "/v1/completions"),
        loop_(must(IoContext::create("bench-client"), "loop")),
        transport_(make_tcp_transport()),
        client_(*loop_, *transport_) {}

  struct Run {
    double seconds = 0;
    double client_seconds = 0;
    std::int64_t num_events = 0;
  };

  Run run(const std::vector<std::string>& bodies) {
    Run run;
    Clock::TimePoint client_begin{};
    Clock::TimePoint client_end{};
    const Clock::TimePoint begin = system_clock().now();
    std::vector<Thread> waiters;
    for (const std::string& body : bodies) {
      waiters.emplace_back("waiter", [&, this] {
        ClientRequest request;
        request.method = "POST";
        request.url = url_;
        request.headers.set("content-type", "application/json");
        request.body = body;
        SseParser parser;
        std::vector<SseEvent> events;
        const auto sink = [&](std::string_view bytes) -> Status {  // on the client's loop
          if (client_begin == Clock::TimePoint{}) {
            client_begin = thread_clock().now();
          }
          events.clear();
          const Status status = parser.feed(bytes, &events);
          run.num_events += std::ssize(events);
          client_end = thread_clock().now();
          return status;
        };
        const HttpResponse response =
            must(client_.stream_blocking(std::move(request), sink), "HTTP");
        PLUMB_CHECK(response.status == 200, response.body);
      });
    }
    waiters.clear();  // joins
    run.seconds = seconds_of(system_clock().now() - begin);
    run.client_seconds = seconds_of(client_end - client_begin);
    return run;
  }

 private:
  std::string url_;
  std::unique_ptr<IoContext> loop_;
  std::unique_ptr<Transport> transport_;
  HttpClient client_;
};

void bench_overhead(const std::string& model, std::int64_t streams, std::int64_t rounds) {
  ServingOptions options;
  options.model = model;
  options.engine.max_num_seqs = std::max(options.engine.max_num_seqs, streams);
  Metrics metrics;
  StepMetrics steps(metrics);
  const auto serving = must(Serving::create(options, system_clock(), &steps), "serving");
  ServerOptions listening;
  listening.port = 0;
  const auto server =
      must(Server::create(listening, {serving->service(), metrics, system_clock(),
                                      [&] { return serving->describe(); }, "bench", &steps}),
           "server");
  HttpRounds http(*server);
  const std::int64_t vocab_size = serving->engine().model_facts().vocab_size;
  const double tokens = static_cast<double>(streams * kOutputLen);
  for (std::int64_t round = 0; round <= rounds; ++round) {
    const auto seed = static_cast<std::uint64_t>(1000 * round);
    Rng rng(seed + 2);
    std::vector<std::string> bodies;
    for (std::int64_t i = 0; i < streams; ++i) {
      bodies.push_back(completion_body(vocab_size, rng));
    }
    const bool http_first = round % 2 == 0;  // a machine that gets slower wrongs both alike
    HttpRounds::Run served;
    if (http_first) {
      served = http.run(bodies);
    }
    BatchBenchOptions batch{kInputLen, kOutputLen, streams, 1, 0, seed + 1};
    const BatchBenchReport direct = must(run_batch_bench(serving->engine(), system_clock(), batch,
                                                         [](std::int64_t, std::int64_t) {}),
                                         "engine");
    if (!http_first) {
      served = http.run(bodies);
    }
    if (round == 0) {
      continue;  // warms caches and connections
    }
    print_line(
        JsonObject{{"streams", streams},
                   {"http_first", http_first},
                   {"engine_tok_s", tokens / direct.median.t_last},
                   {"http_tok_s", tokens / served.seconds},
                   {"http_without_client_tok_s", tokens / (served.seconds - served.client_seconds)},
                   {"client_seconds", served.client_seconds},
                   {"events", served.num_events}});
  }
  server->drain();
}

// A model whose context takes anything: only its text side is used.
ServedModel text_model(const std::string& name) {
  const std::string path = must(resolve_model(name), "model");
  const auto checkpoint = must(Checkpoint::open(path), "checkpoint");
  TextParts text = must(load_text_parts(*checkpoint), "text");
  ServedModelFacts facts;
  facts.served_name = "bench";
  facts.context_len = 1 << 20;
  return {std::move(facts), std::move(text.tokenizer), std::move(text.chat_template),
          text.template_source};
}

std::string text_of(const std::string& path) {
  return must(read_file(path, std::int64_t{64} << 20), "text");
}

void bench_request(const std::string& name, const std::string& path, std::int64_t num_tokens) {
  const ServedModel model = text_model(name);
  const std::string text = text_of(path);
  const std::vector<TokenId> ids = model.tokenizer().encode(text, {.add_special = false});
  PLUMB_CHECK(std::ssize(ids) > 0, path);
  constexpr std::int64_t kTurnTokens = 512;
  JsonArray messages;
  for (std::int64_t i = 0; i < num_tokens / kTurnTokens; ++i) {
    const std::int64_t begin =
        (i * kTurnTokens) % std::max<std::int64_t>(1, std::ssize(ids) - kTurnTokens);
    const std::vector<TokenId> turn(ids.begin() + begin, ids.begin() + begin + kTurnTokens);
    messages.push_back(JsonObject{{"role", i % 2 == 0 ? "user" : "assistant"},
                                  {"content", model.tokenizer().decode(turn)}});
  }
  const std::string body =
      to_text(JsonObject{{"model", "bench"}, {"messages", std::move(messages)}});
  std::vector<double> parse;
  std::vector<double> whole;
  std::int64_t prompt_len = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const Clock::TimePoint begin = system_clock().now();
    const Json json = must(parse_json(body), "body");
    const auto request = read_chat_request(json, {}, {});
    const Clock::TimePoint parsed = system_clock().now();
    const auto choices = model.chat_choices(std::get<ChatRequest>(request), "bench");
    whole.push_back(seconds_of(system_clock().now() - begin));
    parse.push_back(seconds_of(parsed - begin));
    prompt_len = std::ssize(std::get<0>(choices).front().request.prompt);
  }
  print_line(JsonObject{{"prompt_tokens", prompt_len},
                        {"body_bytes", std::ssize(body)},
                        {"parse_ms", 1e3 * median_of(parse)},
                        {"request_ms", 1e3 * median_of(whole)},
                        {"max_ms", 1e3 * *std::max_element(whole.begin(), whole.end())}});
}

void bench_token(const std::string& name, const std::string& path) {
  const ServedModel model = text_model(name);
  std::vector<TokenId> ids = model.tokenizer().encode(text_of(path), {.add_special = false});
  ids.resize(std::min<std::size_t>(ids.size(), 8192));
  const Json body =
      JsonObject{{"messages", JsonArray{JsonObject{{"role", "user"}, {"content", "x"}}}},
                 {"stream", true},
                 {"stop", JsonArray{"\n\nUser:", "<end>"}}};
  auto request = std::get<ChatRequest>(read_chat_request(body, {}, {}));
  const auto choices = std::get<0>(model.chat_choices(request, "bench"));
  std::vector<double> micros;
  std::size_t num_bytes = 0;
  for (int i = 0; i < kRepeats; ++i) {
    TextStream stream(model.tokenizer(), choices.front().text);
    const auto format =
        make_chat_format({"chatcmpl-0123456789abcdef0123456789", 1, "bench", "fp"}, request);
    num_bytes = 0;
    const Clock::TimePoint begin = thread_clock().now();
    for (const TokenId id : ids) {
      StreamEvent event;
      event.tokens.push_back({.token = id, .top_logprobs = {}});
      for (const ChoiceDelta& delta : stream.consume(event)) {
        for (const Json& chunk : format->delta(delta)) {
          std::string framed;
          append_sse(&framed, "", to_text(chunk));
          num_bytes += framed.size();
        }
      }
    }
    micros.push_back(1e6 * seconds_of(thread_clock().now() - begin) /
                     static_cast<double>(ids.size()));
  }
  print_line(JsonObject{
      {"tokens", std::ssize(ids)},
      {"bytes_per_token", static_cast<double>(num_bytes) / static_cast<double>(ids.size())},
      {"token_us", median_of(micros)},
      {"max_us", *std::max_element(micros.begin(), micros.end())}});
}

int run(const std::vector<std::string>& arguments) {
  const std::string what = arguments.empty() ? "" : arguments.front();
  if (what == "overhead" && arguments.size() == 4) {
    bench_overhead(arguments[1], std::stoll(arguments[2]), std::stoll(arguments[3]));
  } else if (what == "request" && arguments.size() == 4) {
    bench_request(arguments[1], arguments[2], std::stoll(arguments[3]));
  } else if (what == "token" && arguments.size() == 3) {
    bench_token(arguments[1], arguments[2]);
  } else {
    std::fputs(
        "usage: serving_bench overhead MODEL STREAMS ROUNDS | request MODEL TEXT TOKENS | token "
        "MODEL TEXT\n",
        stderr);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  return plumb::run(std::vector<std::string>(argv + 1, argv + argc));
}
