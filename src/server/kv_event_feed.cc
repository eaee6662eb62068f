// SPDX-License-Identifier: Apache-2.0
#include "server/kv_event_feed.h"

#include <utility>

#include "api/kv_event_json.h"
#include "net/sse.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxReaders = 16;
constexpr std::chrono::milliseconds kInterval{20};
constexpr std::int64_t kPageBytes = 256 << 10;
constexpr std::int64_t kMaxUnsentBytes = 1 << 20;

}  // namespace

KvEventFeed::~KvEventFeed() {
  loop_.cancel(timer_);
}

void KvEventFeed::add(Transaction transaction, std::uint64_t from) {
  if (readers_.size() >= kMaxReaders) {
    transaction.send_error(
        ApiError::overloaded("too many readers of events: the limit is 16 at a time", 1));
    return;
  }
  Headers headers = transaction.headers("text/event-stream; charset=utf-8");
  headers.add("cache-control", "no-cache");
  headers.add("x-accel-buffering", "no");
  transaction.writer.start_stream(200, std::move(headers), {options_.heartbeat, ":\n\n"});
  readers_.push_back({std::move(transaction), from});
  send_news(&readers_.back());
  look_later();
}

void KvEventFeed::close() {
  for (Reader& reader : readers_) {
    reader.transaction.writer.finish();
    reader.transaction.count(200);
  }
  readers_.clear();
}

void KvEventFeed::look_later() {
  if (!readers_.empty() && !has_timer_) {
    has_timer_ = true;
    timer_ = loop_.run_after(kInterval, [this] { tick(); });
  }
}

void KvEventFeed::tick() {
  has_timer_ = false;
  for (auto reader = readers_.begin(); reader != readers_.end();) {
    if (reader->transaction.writer.is_disconnected()) {
      reader->transaction.count(kClientLeft);
      reader = readers_.erase(reader);
    } else {
      send_news(&*reader);
      ++reader;
    }
  }
  look_later();
}

void KvEventFeed::send_news(Reader* reader) {
  ResponseWriter& writer = reader->transaction.writer;
  if (writer.buffered_bytes() > kMaxUnsentBytes) {
    return;
  }
  const KvEventPage page = service_.read_kv_events(reader->next, kPageBytes);
  std::string out;
  if (page.has_gap) {
    append_sse(&out, "resync", to_text(kv_resync_json(reader->transaction.clock.wall_now())));
  }
  for (const KvEventBatch& batch : page.batches) {
    append_sse(&out, "", to_text(to_json(batch)), batch.seq);
  }
  reader->next = page.next_seq;
  if (!out.empty()) {
    writer.write_event(std::move(out));
  }
}

bool KvEventFrames::admits(std::string_view key) {
  return check_access(keys_, RouteClass::kAdminForced, "", key).verdict == AuthVerdict::kAllowed;
}

FramePage KvEventFrames::read(std::uint64_t from, std::int64_t max_bytes) {
  const KvEventPage page = service_.read_kv_events(from, max_bytes);
  FramePage frames;
  frames.next_seq = page.next_seq;
  if (page.has_gap) {
    // Stands for all that was lost before the first batch that is left.
    const std::uint64_t first = page.batches.empty() ? page.next_seq : page.batches.front().seq;
    const auto at =
        page.batches.empty() ? std::chrono::system_clock::time_point() : page.batches.front().at;
    frames.frames.push_back({first - 1, to_text(kv_resync_json(at))});
  }
  for (const KvEventBatch& batch : page.batches) {
    frames.frames.push_back({batch.seq, to_text(to_json(batch))});
  }
  return frames;
}

}  // namespace plumb
