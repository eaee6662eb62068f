// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bounded_queue.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/sqlite.h"
#include "base/status.h"
#include "base/thread.h"
#include "server/stored_response.h"

namespace plumb {

/// Some of a kept response's events.
struct EventPage {
  std::int64_t first = 0;  ///< number of the first one
  std::string events;      ///< server-sent events: 256 KiB, and the rest of the last one
  bool is_last = false;    ///< none follow
};

/// What a store may hold; the least recently used responses give way.
struct ResponseStoreLimits {
  std::int64_t max_entries = 10'000;  ///< at least 1
  std::int64_t max_bytes = std::int64_t{1} << 30;
  std::chrono::seconds time_to_live{86'400};
};

/// Keeps responses in a database, on a thread of its own.
///
/// What put() reported as kept is there after the process was killed at any instant. Tasks that
/// wait are committed together. Each owner sees its own responses only.
/// Ownership  the destructor lets all accepted tasks run, then joins.
/// Thread     any; callbacks run on the store's thread.
class ResponseStore {
 public:
  /// An empty path keeps them in memory. Responses that ran when the last process ended are told as
  /// failed. Errors: as SqliteDatabase::open().
  static Result<std::unique_ptr<ResponseStore>> open(const std::string& path,
                                                     const ResponseStoreLimits& limits,
                                                     const Clock& clock);
  ~ResponseStore();

  /// Adds it, or replaces the one with its id. Reports kInvalidArgument for one that is larger than
  /// the store, kResourceExhausted when too much waits or runs, kUnavailable when its disk is full;
  /// then one with its id that ran has failed.
  void put(StoredResponse response, const std::function<void(Status)>& done);

  /// Without events. Nothing where there is none, or it is another's. Waits for the answer.
  /// Errors  kDataLoss: what is kept is no JSON.
  using Found = std::optional<StoredResponse>;
  Result<Found> find(const std::string& owner, const std::string& id);

  /// Reports the page with that event, or the last one where it is behind all; nothing where there
  /// are none.
  using FoundPage = std::optional<EventPage>;
  void event_page(std::string owner, std::string id, std::int64_t event,
                  const std::function<void(Result<FoundPage>)>& done);

  /// Reports whether there was one.
  void erase(std::string owner, std::string id, const std::function<void(Result<bool>)>& done);

  /// The ids of the response and of those that it goes on from, the first of them first. Waits for
  /// the answer.
  /// Errors  kNotFound: one of them is not there; its id is the message. kInvalidArgument: they
  ///         are more than 1,000.
  Result<std::vector<std::string>> chain(const std::string& owner, const std::string& id);

  /// A stored item of input or output, as JSON. Waits for the answer. Errors kNotFound.
  Result<std::string> find_item(const std::string& owner, const std::string& item_id);

 private:
  // Runs within a transaction; returns what to do once that is committed, or has failed.
  using Task = std::function<std::function<void(const Status& committed)>()>;

  ResponseStore(std::unique_ptr<SqliteDatabase> database, const ResponseStoreLimits& limits,
                const Clock& clock);
  Status set_up();
  Status recount();
  Status submit(Task task);
  void work();
  void fail_lost();
  void run_batch(const std::vector<Task>& tasks);
  Status commit(const Status& begun);
  std::int64_t wall_seconds() const;

  Status keep(const StoredResponse& response);
  Status give_up(const StoredResponse& response, const Status& why);
  void lose(const StoredResponse& response);
  Status write(const StoredResponse& response);
  Status write_events(const std::string& id, std::string_view events);
  Status fail_running(const std::string& owner, const std::string& id, const std::string& why);
  Status make_room(std::int64_t more_bytes);
  Status forget_one(const std::string& select, std::int64_t now, bool* has_forgotten);
  Status touch();
  Result<Found> read(const std::string& owner, const std::string& id);
  Result<bool> remove(const std::string& owner, const std::string& id);
  Result<FoundPage> read_page(const std::string& owner, const std::string& id, std::int64_t event);
  Result<std::vector<std::string>> read_chain(const std::string& owner, const std::string& id);
  Result<std::string> read_item(const std::string& owner, const std::string& item_id);
  Status fail_interrupted();
  Status page_events();

  std::unique_ptr<SqliteDatabase> database_;
  const ResponseStoreLimits limits_;
  const Clock& clock_;
  std::int64_t num_entries_ = 0;  // the store's thread
  std::int64_t num_bytes_ = 0;    // the store's thread
  std::int64_t next_use_ = 1;     // order of use; the store's thread
  Status given_up_;  // why the database gave up the transaction of a batch; the store's thread
  std::vector<std::string> used_;  // ids read since the last write; the store's thread
  Mutex lost_mutex_;
  // Owner and id of ended ones that could not be kept, and may stand there as running.
  std::vector<std::pair<std::string, std::string>> lost_ PLUMB_GUARDED_BY(lost_mutex_);
  BoundedQueue<Task> tasks_;
  std::optional<Thread> thread_;  // from open() on
};

}  // namespace plumb
