// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "base/metrics.h"
#include "base/text.h"
#include "base/thread.h"
#include "cli/commands.h"
#include "cli/embedding_serving.h"
#include "cli/option_warnings.h"
#include "cli/serving.h"
#include "cli/signals.h"
#include "cli/version.h"
#include "frontend/step_metrics.h"
#include "server/compat.h"
#include "server/metrics_dialect.h"
#include "server/server.h"
#include "server/trace_exporter.h"

namespace plumb {
namespace {

bool is_printable(std::string_view name) {
  return is_valid_utf8(name) && std::none_of(name.begin(), name.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

void warn_of_a_small_cache(const ServedModelFacts& facts) {
  if (facts.kv_tokens < facts.context_len) {
    log_warning("the KV cache holds " + std::to_string(facts.kv_tokens) +
                " tokens, fewer than the context of " + std::to_string(facts.context_len) +
                ": longer requests are refused; raise --kv-cache-bytes or lower --max-context");
  }
}

constexpr const char* kOtlpEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";

// The option, or where it is empty the variable, which every OpenTelemetry exporter knows.
std::string or_environment(const std::string& option, const char* variable) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no setenv
  const char* value = option.empty() ? std::getenv(variable) : nullptr;
  return value != nullptr ? value : option;
}

class ServeCommand final : public Command {
 public:
  const char* name() const override { return "serve"; }

  const char* about() const override { return "Serve a model over HTTP (OpenAI-compatible)"; }

  void declare(CLI::App& app) override {
    add_model(app, serving_.model);
    add_struct(app, server_);
    add_struct(app, server_.responses);
    add_struct(app, server_.chat);
    add_struct(app, server_.access);
    add_struct(app, serving_.engine);
    add_struct(app, serving_.grammar);
    add_struct(app, serving_.parsers);
    add_struct(app, serving_.engine.scheduler);
    add_struct(app, serving_.engine.tiers);
    add_struct(app, serving_.layout);
    add_struct(app, serving_.backend);
    add_struct(app, embed_);
  }

  int run() override {
    server_.otlp_endpoint = or_environment(server_.otlp_endpoint, kOtlpEndpoint);
    server_.otlp_service_name = or_environment(server_.otlp_service_name, "OTEL_SERVICE_NAME");
    // What can be wrong with keys shows before a model is loaded for minutes.
    if (const Status status = Server::check(server_); !status.ok()) {
      return report(status);
    }
    if (const Result<KeySet> keys = Server::read_keys(server_); keys.ok()) {
      for (const std::string& warning : option_warnings(server_, serving_.engine, keys.value())) {
        log_warning(warning);
      }
    }
    for (const std::string& warning : thread_warnings(serving_.backend, num_usable_cores())) {
      log_warning(warning);
    }
    if (serving_.layout.mock_engine > 0) {
      log_warning("--mock-engine: nothing is computed, every answer is made up");
    }
    serving_.served_name = server_.served_model_name;
    const Clock& clock = system_clock();
    const Result<bool> embeds = serves_embeddings(serving_, embed_);
    if (!embeds.ok()) {
      return report(embeds.status());
    }
    Metrics metrics;
    if (embeds.value()) {
      return serve_embeddings(metrics, clock);
    }
    StepMetrics steps(metrics);
    Result<std::unique_ptr<Serving>> serving = Serving::create(serving_, clock, &steps);
    if (!serving.ok()) {
      return report(serving.status());
    }
    warn_of_a_small_cache(serving.value()->service().model().facts());
    return serve({serving.value()->service(), metrics, clock,
                  [&] { return describe(serving.value()->describe()); }, version_number(), &steps,
                  nullptr, &serving.value()->control()});
  }

 protected:
  void check(std::vector<Status>* violations) const override {
    append_violations(serving_, violations);
    if (!is_printable(server_.served_model_name)) {
      violations->emplace_back(Code::kInvalidArgument,
                               "--served-model-name: holds a control character or is not UTF-8");
    }
    if (const std::string& store = server_.responses.store;
        store.empty() || store == ":memory:" || store.starts_with("file:")) {
      violations->emplace_back(Code::kInvalidArgument,
                               "--response-store: '" + store.substr(0, 64) +
                                   "' is not the path of a file, expected memory, off or a path; "
                                   "one with such a name begins with ./");
    }
    const std::string& root = server_.root_path;
    if (!root.empty() && (root.front() != '/' || root.back() == '/')) {
      violations->emplace_back(Code::kInvalidArgument,
                               "--root-path: '" + root.substr(0, 64) +
                                   "' does not begin with / or ends with one, expected /llm");
    }
    if (server_.kv_events_port >= 0 && !serving_.engine.kv_events) {
      violations->emplace_back(Code::kInvalidArgument,
                               "--kv-events-port: there are no events without --kv-events");
    }
    if (server_.tls_cert_file.empty() != server_.tls_key_file.empty()) {
      violations->emplace_back(
          Code::kInvalidArgument,
          "--tls-cert-file and --tls-key-file are given together or not at all");
    }
    if (Status dialects = check_metrics_dialects(server_.metrics_compat); !dialects.ok()) {
      violations->push_back(std::move(dialects));
    }
    if (Status compat = check_compat(server_.compat); !compat.ok()) {
      violations->push_back(std::move(compat));
    }
    const std::string collector = or_environment(server_.otlp_endpoint, kOtlpEndpoint);
    if (const Result<std::string> url = otlp_traces_url(collector);
        !collector.empty() && !url.ok()) {
      violations->push_back(
          Status(url.status())
              .with(server_.otlp_endpoint.empty() ? kOtlpEndpoint : "--otlp-endpoint"));
    }
  }

 private:
  int serve_embeddings(Metrics& metrics, const Clock& clock) {
    Result<std::unique_ptr<EmbeddingServing>> serving =
        EmbeddingServing::create(serving_, embed_, clock);
    if (!serving.ok()) {
      return report(serving.status());
    }
    ServerParts parts{serving.value()->service(), metrics, clock,
                      [&] { return describe(serving.value()->describe()); }, version_number()};
    parts.embeddings = &serving.value()->embeddings();
    return serve(parts);
  }

  /// Until a signal comes.
  int serve(const ServerParts& parts) {
    Result<std::unique_ptr<Server>> server = Server::create(server_, parts);
    if (!server.ok()) {
      return report(server.status());
    }
    catch_stop_signals(SecondSignal::kEnds);
    if (server.value()->kv_events_port() >= 0) {
      std::fprintf(stderr, "plumb: sending KV events on port %d\n",
                   server.value()->kv_events_port());
    }
    std::fprintf(stderr, "plumb: serving %s on %s\n",
                 parts.service.model().facts().served_name.c_str(),
                 (server.value()->url() + server_.root_path).c_str());
    int received = wait_for_signal();
    for (; received == SIGHUP; received = wait_for_signal()) {
      const Status reloaded = server.value()->reload_keys();
      std::fprintf(stderr, "plumb: %s\n",
                   reloaded.ok() ? "keys read again"
                                 : ("the keys are unchanged: " + reloaded.message()).c_str());
    }
    std::fprintf(stderr, "plumb: %s, finishing running requests (again ends at once)\n",
                 received == SIGINT ? "interrupted" : "terminated");
    server.value()->drain();
    return kExitOk;
  }

  Json describe(Json info) {
    info.as_object().set("server", options_to_json(bind_options(server_)));
    info.as_object().set("responses", options_to_json(bind_options(server_.responses)));
    info.as_object().set("chat", options_to_json(bind_options(server_.chat)));
    info.as_object().set("access", options_to_json(bind_options(server_.access)));
    return info;
  }

  ServingOptions serving_;
  EmbedOptions embed_;
  ServerOptions server_;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() {
  return std::make_unique<ServeCommand>();
}

}  // namespace plumb
