// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/metrics.h"
#include "base/options.h"
#include "checkpoint/synthesize.h"
#include "cli/serving.h"
#include "frontend/step_metrics.h"
#include "net/http_client.h"
#include "net/io_context.h"
#include "net/sse.h"
#include "net/tcp_transport.h"
#include "server/server.h"

namespace plumb {

/// A server in this process with a tiny model from a seed, and a client of it.
class ServedScene {
 public:
  explicit ServedScene(const ServerOptions& options = {}, const EngineOptions& engine = small(),
                       const ParserOptions& parsers = {}) {
    const std::string path =
        testing::TempDir() + "plumb_served_" + std::to_string(::getpid()) + ".gguf";
    PLUMB_CHECK(synthesize_gguf(*synthesis_preset("tiny-llama"), path).ok(), path);
    ServingOptions serving;
    serving.model = path;
    serving.served_name = "tiny";
    serving.backend.threads = 1;
    serving.engine = engine;
    serving.parsers = parsers;
    Result<std::unique_ptr<Serving>> loaded = Serving::create(serving, system_clock(), &steps_);
    PLUMB_CHECK(loaded.ok(), loaded.status().message());
    serving_ = std::move(loaded).value();
    ::unlink(path.c_str());
    ServerOptions listening = options;
    listening.port = 0;
    Result<std::unique_ptr<Server>> server = Server::create(
        listening, {serving_->service(), metrics_, system_clock(),
                    [this, listening]() mutable {
                      Json info = serving_->describe();
                      info.as_object().set("server", options_to_json(bind_options(listening)));
                      return info;
                    },
                    "1.2.3", &steps_, nullptr, &serving_->control()});
    PLUMB_CHECK(server.ok(), server.status().message());
    server_ = std::move(server).value();
    loop_ = std::move(IoContext::create("test-client")).value();
    transport_ = make_tcp_transport();
    client_ = std::make_unique<HttpClient>(*loop_, *transport_);
  }

  static EngineOptions small() {
    EngineOptions options;
    options.max_num_seqs = 8;
    options.kv_cache_bytes = std::int64_t{8} << 20;
    return options;
  }

  Engine& engine() { return serving_->engine(); }

  Server& server() { return *server_; }

  void destroy_server() { server_.reset(); }

  HttpResponse send(const std::string& method, const std::string& path,
                    const std::string& body = "", Headers headers = {}) {
    ClientRequest request;
    request.method = method;
    request.url = server_->url() + path;
    request.headers = std::move(headers);
    if (!body.empty() && !request.headers.contains("content-type")) {
      request.headers.add("content-type", "application/json");
    }
    request.body = body;
    Result<HttpResponse> response = client_->request_blocking(std::move(request));
    EXPECT_TRUE(response.ok()) << method << " " << path << ": " << response.status().message();
    return response.ok() ? std::move(response).value() : HttpResponse{0, {}, ""};
  }

  /// A POST whose answer is JSON.
  Json post(const std::string& path, const std::string& body, int expected_status = 200) {
    const HttpResponse response = send("POST", path, body);
    EXPECT_EQ(response.status, expected_status) << path << " " << body << " " << response.body;
    const Result<Json> json = parse_json(response.body);
    EXPECT_TRUE(json.ok()) << response.body;
    return json.ok() ? json.value() : Json();
  }

  /// The data of the events of a stream.
  std::vector<std::string> stream(const std::string& path, const std::string& body) {
    const HttpResponse response = send("POST", path, body);
    EXPECT_EQ(response.status, 200) << response.body;
    SseParser parser;
    std::vector<SseEvent> events;
    EXPECT_TRUE(parser.feed(response.body, &events).ok());
    std::vector<std::string> data;
    for (const SseEvent& event : events) {
      EXPECT_EQ(event.event, "");
      data.push_back(event.data);
    }
    return data;
  }

  bool is_idle() {
    return engine().wait_until_idle(system_clock().now() + std::chrono::seconds(20));
  }

 private:
  Metrics metrics_;
  StepMetrics steps_{metrics_};
  std::unique_ptr<Serving> serving_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<IoContext> loop_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<HttpClient> client_;
};

/// The value at a path of member names and array indices, null if it is not there.
inline Json at(const Json& json, const std::vector<Json>& path) {
  const Json* here = &json;
  for (const Json& step : path) {
    if (step.is_string()) {
      here = here->find(step.as_string());
    } else {
      const auto i = static_cast<std::size_t>(step.as_int());
      here = here->is_array() && i < here->as_array().size() ? &here->as_array()[i] : nullptr;
    }
    if (here == nullptr) {
      return {};
    }
  }
  return *here;
}

inline std::string text_at(const Json& json, const std::vector<Json>& path) {
  const Json value = at(json, path);
  return value.is_string() ? value.as_string() : to_text(value);
}

inline JsonArray array_at(const Json& json, const std::vector<Json>& path) {
  const Json value = at(json, path);
  return value.is_array() ? value.as_array() : JsonArray();
}

inline std::int64_t int_at(const Json& json, const std::vector<Json>& path) {
  std::int64_t value = -1;
  at(json, path).to_int64(&value);
  return value;
}

}  // namespace plumb
