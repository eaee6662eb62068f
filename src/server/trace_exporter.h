// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/mutex.h"
#include "net/http_client.h"
#include "net/io_context.h"
#include "net/task.h"
#include "net/transport.h"
#include "server/otlp_json.h"
#include "server/span.h"

namespace plumb {

struct TraceExporterOptions {
  std::string url;  ///< where traces are posted to
  OtlpResource resource;
  std::chrono::nanoseconds interval = std::chrono::seconds(5);  ///< fewer than a batch wait so long
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);  ///< of one batch
  std::chrono::nanoseconds max_retry_delay = std::chrono::seconds(30);
};

/// The URL to post traces to, from the one of the collector: its path is extended by /v1/traces
/// unless it ends with it.
/// Errors kInvalidArgument: no http or https URL, or one with user, query or fragment.
Result<std::string> otlp_traces_url(const std::string& endpoint);

/// Sends spans to a collector, in batches and on a loop of its own, so that nobody waits for it.
///
/// What does not fit the queue is dropped and counted. A batch that the collector cannot take now
/// is sent again, later and later; one that it refuses is dropped.
/// Ownership  loop and transport outlive it; stop() comes first, and before the loop's end.
class TraceExporter {
 public:
  static constexpr std::size_t kBatchSpans = 512;
  static constexpr std::size_t kMaxQueuedSpans = 4096;

  TraceExporter(TraceExporterOptions options, IoContext& loop, Transport& transport,
                Metrics& metrics);

  /// Takes all spans of a request, or drops them all. Thread: any; never waits.
  void add(std::vector<Span> spans);

  /// Sends what there is, once, and waits for it until the deadline. What cannot be sent is
  /// dropped. Requires the loop has a thread. Thread: any but the loop's.
  void flush(Clock::TimePoint deadline);

  /// As flush(), without waiting.
  void begin_flush();

  /// Ends what is under way; what is left is dropped. Thread: as flush().
  void stop();

 private:
  void advance();
  void take_batch();
  void arm(Clock::TimePoint at);
  Task<void> send_batch();
  void on_sent(const Result<HttpResponse>& response);
  void on_failed(const std::string& reason);
  void report(bool is_well, const std::string& reason);
  void end_batch();
  void drop_queue(const Counter& counter);

  const TraceExporterOptions options_;
  IoContext& loop_;
  const Counter sent_;
  const Counter dropped_full_;      // the queue was full
  const Counter dropped_refused_;   // the collector will never take them
  const Counter dropped_shutdown_;  // there was no more time

  mutable Mutex mutex_;
  CondVar is_empty_;
  std::deque<Span> queue_ PLUMB_GUARDED_BY(mutex_);
  std::size_t num_in_batch_ PLUMB_GUARDED_BY(mutex_) = 0;  // of batch_
  bool is_flushing_ PLUMB_GUARDED_BY(mutex_) = false;

  // Loop thread.
  std::vector<Span> batch_;
  bool is_sending_ = false;
  bool is_due_ = false;  // the first of the queue has waited long enough
  bool is_well_ = true;  // the last batch was taken
  Clock::TimePoint retry_at_{};
  std::chrono::nanoseconds retry_delay_{0};
  TimerId timer_;
  HttpClient client_;
  TaskScope scope_;
};

}  // namespace plumb
