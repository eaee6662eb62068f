// SPDX-License-Identifier: Apache-2.0
// Exporter and collector over a simulated network, in simulated time.
#include "server/trace_exporter.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/log.h"
#include "net/http_server.h"
#include "support/sim_net.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;

/// A collector at 10.0.0.1:4318, which answers as it is told, and an exporter.
class TraceExporterTest : public testing::Test, public HttpHandler {
 protected:
  TraceExporterTest() {
    init_log({LogLevel::kInfo, LogForm::kText,
              [this](std::string_view line) { log_.emplace_back(line); }});
    TraceExporterOptions options;
    options.url = "http://10.0.0.1:4318/v1/traces";
    options.resource = {"plumb", "1"};
    exporter_ = std::make_unique<TraceExporter>(options, net_.loop(), net_, metrics_);
  }

  ~TraceExporterTest() override {
    if (exporter_ != nullptr) {
      stop();
    }
    init_log({});
  }

  void stop() {
    exporter_->stop();
    net_.run_for(1s);  // what was under way hears of it
    exporter_.reset();
  }

  void collect() {
    HttpServerOptions options;
    options.address = "10.0.0.1";
    options.port = 4318;
    auto server = HttpServer::create_on(std::move(options), *this, net_, {&net_.loop()});
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(server).value();
  }

  void handle(HttpRequest request, ResponseWriter writer) override {
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/v1/traces");
    EXPECT_EQ(request.headers.find("content-type").value_or(""), "application/json");
    const Result<Json> body = parse_json(request.body);
    ASSERT_TRUE(body.ok()) << body.status().message();
    const Json& resource = body.value().find("resourceSpans")->as_array().at(0);
    std::vector<std::string> names;
    for (const Json& span :
         resource.find("scopeSpans")->as_array().at(0).find("spans")->as_array()) {
      names.push_back(span.find("name")->as_string());
    }
    batches_.push_back(std::move(names));
    if (status_ == 0) {
      waiting_.push_back(std::move(writer));
    } else {
      writer.send({status_, {{"content-type", "application/json"}}, answer_});
    }
  }

  void add(int count, int first = 0) {
    for (int i = first; i < first + count; ++i) {
      Span span;
      span.name = std::to_string(i);
      exporter_->add({span});
    }
  }

  std::size_t num_received() const {
    std::size_t sum = 0;
    for (const std::vector<std::string>& batch : batches_) {
      sum += batch.size();
    }
    return sum;
  }

  double sent() { return metrics_.counter("plumb_trace_spans_sent_total", "").value(); }

  double dropped(const char* reason) {
    return metrics_.counter("plumb_trace_spans_dropped_total", "", {{"reason", reason}}).value();
  }

  SimNet net_{11};
  Metrics metrics_;
  std::vector<std::string> log_;
  std::vector<std::vector<std::string>> batches_;
  std::vector<ResponseWriter> waiting_;
  int status_ = 200;  // 0 = never answers
  std::string answer_ = "{}";
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<TraceExporter> exporter_;
};

TEST_F(TraceExporterTest, a_full_batch_is_sent_at_once_and_the_rest_after_the_interval) {
  collect();
  add(TraceExporter::kBatchSpans + 3);
  net_.run_for(1s);
  ASSERT_EQ(batches_.size(), 1U);
  EXPECT_EQ(batches_[0].size(), TraceExporter::kBatchSpans);
  EXPECT_EQ(batches_[0].front(), "0");
  EXPECT_EQ(batches_[0].back(), "511");
  net_.run_for(5s);
  ASSERT_EQ(batches_.size(), 2U);
  EXPECT_EQ(batches_[1], (std::vector<std::string>{"512", "513", "514"}));
  EXPECT_EQ(sent(), 515);
  EXPECT_TRUE(log_.empty());
}

TEST_F(TraceExporterTest, a_few_spans_wait_for_the_interval) {
  collect();
  add(1);
  net_.run_for(4900ms);
  EXPECT_TRUE(batches_.empty());
  net_.run_for(200ms);
  EXPECT_EQ(num_received(), 1U);
}

TEST_F(TraceExporterTest, an_absent_collector_costs_one_line_and_no_span_until_it_is_there) {
  add(600);
  net_.run_for(20s);
  add(5, 600);
  net_.run_for(2min);
  ASSERT_EQ(log_.size(), 1U) << log_.back();
  EXPECT_NE(log_[0].find("traces cannot be delivered"), std::string::npos) << log_[0];
  EXPECT_NE(log_[0].find("connection refused"), std::string::npos) << log_[0];
  collect();
  net_.run_for(40s);
  EXPECT_EQ(num_received(), 605U);
  EXPECT_EQ(sent(), 605);
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_NE(log_[1].find("traces are delivered again"), std::string::npos) << log_[1];
}

TEST_F(TraceExporterTest, what_does_not_fit_the_queue_of_a_silent_collector_is_dropped) {
  status_ = 0;
  collect();
  add(TraceExporter::kBatchSpans);
  net_.run_for(1s);  // one batch is on its way, and stays there
  add(TraceExporter::kMaxQueuedSpans + 100);
  EXPECT_EQ(dropped("queue_full"), 100);
  net_.run_for(1min);
  EXPECT_GT(batches_.size(), 1U);  // after the time-out the same batch again
  EXPECT_EQ(batches_[1], batches_[0]);
  EXPECT_EQ(sent(), 0);
  EXPECT_EQ(log_.size(), 1U);
  status_ = 200;
  net_.run_for(2min);
  EXPECT_EQ(sent(), TraceExporter::kBatchSpans + TraceExporter::kMaxQueuedSpans);
  EXPECT_EQ(dropped("queue_full"), 100);
}

TEST_F(TraceExporterTest, the_spans_of_a_request_are_taken_or_dropped_together) {
  std::vector<Span> many(TraceExporter::kMaxQueuedSpans - 1);
  exporter_->add(many);
  exporter_->add(std::vector<Span>(2));
  EXPECT_EQ(dropped("queue_full"), 2);
  exporter_->add(std::vector<Span>(1));
  EXPECT_EQ(dropped("queue_full"), 2);
}

TEST_F(TraceExporterTest, a_busy_collector_is_asked_again_and_a_refusal_is_final) {
  collect();
  status_ = 503;
  add(3);
  net_.run_for(5500ms);
  EXPECT_EQ(batches_.size(), 1U);
  status_ = 400;
  net_.run_for(1s);
  EXPECT_EQ(batches_.size(), 2U);
  EXPECT_EQ(dropped("refused"), 3);
  net_.run_for(1min);
  EXPECT_EQ(batches_.size(), 2U);
  status_ = 200;
  add(2);
  net_.run_for(6s);
  EXPECT_EQ(sent(), 2);
}

TEST_F(TraceExporterTest, spans_that_the_collector_rejects_are_counted) {
  collect();
  answer_ = R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}})";
  add(5);
  net_.run_for(6s);
  EXPECT_EQ(sent(), 3);
  EXPECT_EQ(dropped("refused"), 2);
}

TEST_F(TraceExporterTest, a_flush_sends_at_once_all_that_waits) {
  collect();
  add(TraceExporter::kBatchSpans + 1);
  exporter_->begin_flush();
  net_.run_for(100ms);
  EXPECT_EQ(num_received(), TraceExporter::kBatchSpans + 1);
}

TEST_F(TraceExporterTest, a_flush_without_a_collector_drops_and_ends) {
  add(TraceExporter::kBatchSpans + 1);
  exporter_->begin_flush();
  net_.run_for(100ms);
  EXPECT_EQ(dropped("shutdown"), TraceExporter::kBatchSpans + 1);
}

TEST_F(TraceExporterTest, what_is_under_way_when_it_stops_counts_as_dropped) {
  status_ = 0;
  collect();
  add(TraceExporter::kBatchSpans + 7);
  net_.run_for(1s);
  stop();
  EXPECT_EQ(dropped("shutdown"), TraceExporter::kBatchSpans + 7);
}

TEST(OtlpTracesUrl, the_path_is_added_where_it_is_missing) {
  for (const auto& [given, expected] : std::vector<std::pair<std::string, std::string>>{
           {"http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"},
           {"http://[::1]:4318/", "http://[::1]:4318/v1/traces"},
           {"https://c.example/otel", "https://c.example/otel/v1/traces"},
           {"http://c/v1/traces", "http://c/v1/traces"}}) {
    const Result<std::string> url = otlp_traces_url(given);
    ASSERT_TRUE(url.ok()) << given;
    EXPECT_EQ(url.value(), expected);
  }
  for (const char* bad : {"", "127.0.0.1:4318", "grpc://x:1", "http://", "http://a:b@c/",
                          "http://c:99999", "http://c/?k=v", "http://c/#x"}) {
    const Result<std::string> url = otlp_traces_url(bad);
    ASSERT_FALSE(url.ok()) << bad;
    EXPECT_EQ(url.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(url.status().message().find("a:b"), std::string::npos);
  }
}

}  // namespace
}  // namespace plumb
