// SPDX-License-Identifier: Apache-2.0
#include "server/response_store.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/json.h"
#include "base/log.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxWaiting = 4096;
constexpr std::size_t kMaxBatch = 256;
constexpr std::size_t kMaxChain = 1000;
constexpr std::size_t kMaxUsed = 4096;
constexpr std::size_t kEventPageBytes = 256 << 10;
constexpr std::int64_t kVersion = 2;
constexpr std::string_view kEndOfEvent = "\n\n";
constexpr const char* kAllRun = "the response store is full of responses that still run";
constexpr const char* kNotKept =
    "kept: the disk of the response store is full; send store:false or make room";
constexpr const char* kNotDeleted = "deleted: the disk of the response store is full; make room";

constexpr const char* kSchema = R"sql(
CREATE TABLE IF NOT EXISTS responses (
  id TEXT PRIMARY KEY, owner TEXT NOT NULL, parent TEXT NOT NULL, is_running INTEGER NOT NULL,
  response TEXT NOT NULL, inputs TEXT NOT NULL, num_bytes INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, last_use INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS responses_by_use ON responses (last_use);
CREATE INDEX IF NOT EXISTS responses_by_expiry ON responses (expires_at);
CREATE TABLE IF NOT EXISTS items (
  item_id TEXT NOT NULL, response_id TEXT NOT NULL REFERENCES responses (id) ON DELETE CASCADE,
  PRIMARY KEY (item_id, response_id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS items_by_response ON items (response_id);
CREATE TABLE IF NOT EXISTS event_pages (
  response_id TEXT NOT NULL REFERENCES responses (id) ON DELETE CASCADE,
  first INTEGER NOT NULL, events TEXT NOT NULL, PRIMARY KEY (response_id, first)) WITHOUT ROWID;
)sql";

constexpr const char* kColumns =
    "id, owner, parent, is_running, response, inputs, "
    "EXISTS (SELECT 1 FROM event_pages WHERE response_id = responses.id)";

StoredResponse row_of(const SqliteStatement& row) {
  return {row.text(0), row.text(1), row.text(2), row.number(3) != 0,
          row.text(4), row.text(5), "",          row.number(6) != 0};
}

// With what finds its items: a row and an entry of an index for each.
std::int64_t size_of(const StoredResponse& response, const std::vector<std::string>& ids) {
  std::int64_t size =
      std::ssize(response.response) + std::ssize(response.inputs) + std::ssize(response.events);
  for (const std::string& id : ids) {
    size += 2 * (std::ssize(id) + std::ssize(response.id));
  }
  return size;
}

// What clients are told: a full disk is no sign of load, and nothing that waiting helps against.
Status told_of(const Status& status, const char* what) {
  if (status.code() != Code::kResourceExhausted || status.message() == kAllRun) {
    return status;
  }
  return {Code::kUnavailable, std::string("responses cannot be ") + what};
}

}  // namespace

Result<std::unique_ptr<ResponseStore>> ResponseStore::open(const std::string& path,
                                                           const ResponseStoreLimits& limits,
                                                           const Clock& clock) {
  PLUMB_ASSIGN(std::unique_ptr<SqliteDatabase> database, SqliteDatabase::open(path));
  std::unique_ptr<ResponseStore> store(new ResponseStore(std::move(database), limits, clock));
  PLUMB_RETURN_IF_ERROR(store->set_up().with(path));
  store->thread_.emplace("responses", [raw = store.get()] { raw->work(); });
  return store;
}

ResponseStore::ResponseStore(std::unique_ptr<SqliteDatabase> database,
                             const ResponseStoreLimits& limits, const Clock& clock)
    : database_(std::move(database)), limits_(limits), clock_(clock), tasks_(kMaxWaiting) {}

ResponseStore::~ResponseStore() {
  tasks_.close();
}

std::int64_t ResponseStore::wall_seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(clock_.wall_now().time_since_epoch())
      .count();
}

Status ResponseStore::set_up() {
  PLUMB_ASSIGN(SqliteStatement version, database_->prepare("PRAGMA user_version"));
  PLUMB_ASSIGN(const bool has_version, version.step());
  const std::int64_t found = has_version ? version.number(0) : 0;
  if (found > kVersion) {
    return {Code::kInvalidArgument, "the responses in it were kept by a newer version"};
  }
  version.reset();
  PLUMB_RETURN_IF_ERROR(database_->run("BEGIN"));
  PLUMB_RETURN_IF_ERROR(database_->run(kSchema));
  if (found == 1) {
    PLUMB_RETURN_IF_ERROR(page_events());
  }
  PLUMB_RETURN_IF_ERROR(database_->run("PRAGMA user_version = " + std::to_string(kVersion)));
  PLUMB_RETURN_IF_ERROR(fail_interrupted());
  PLUMB_RETURN_IF_ERROR(recount());
  PLUMB_RETURN_IF_ERROR(make_room(0));
  return database_->run("COMMIT");
}

Status ResponseStore::recount() {
  PLUMB_ASSIGN(SqliteStatement count,
               database_->prepare("SELECT count(*), coalesce(sum(num_bytes), 0), "
                                  "coalesce(max(last_use), 0) FROM responses"));
  PLUMB_ASSIGN(const bool has_row, count.step());
  PLUMB_CHECK(has_row, "an aggregate has a row");
  num_entries_ = count.number(0);
  num_bytes_ = count.number(1);
  next_use_ = std::max(next_use_, count.number(2) + 1);
  count.reset();
  return {};
}

// Version 1 kept all events of a response in one column.
Status ResponseStore::page_events() {
  PLUMB_ASSIGN(SqliteStatement select,
               database_->prepare("SELECT id, events FROM responses WHERE events != ''"));
  for (;;) {
    PLUMB_ASSIGN(const bool has_row, select.step());
    if (!has_row) {
      break;
    }
    PLUMB_RETURN_IF_ERROR(write_events(select.text(0), select.text(1)));
  }
  return database_->run("ALTER TABLE responses DROP COLUMN events");
}

// What ran when the last process ended will not end.
Status ResponseStore::fail_interrupted() {
  PLUMB_ASSIGN(SqliteStatement select, database_->prepare(std::string("SELECT ") + kColumns +
                                                          " FROM responses WHERE is_running = 1"));
  std::vector<StoredResponse> running;
  for (;;) {
    PLUMB_ASSIGN(const bool has_row, select.step());
    if (!has_row) {
      break;
    }
    running.push_back(row_of(select));
  }
  PLUMB_ASSIGN(
      SqliteStatement update,
      database_->prepare("UPDATE responses SET is_running = 0, response = ? WHERE id = ?"));
  for (StoredResponse& stored : running) {
    tell_interrupted(&stored);
    PLUMB_RETURN_IF_ERROR(update.bind(1, stored.response).bind(2, stored.id).run());
  }
  return {};
}

void ResponseStore::work() {
  Task task;
  while (tasks_.pop(&task, std::chrono::steady_clock::time_point::max()) == Pop::kItem) {
    std::vector<Task> batch;
    batch.push_back(std::move(task));
    while (batch.size() < kMaxBatch && tasks_.try_pop(&task)) {
      batch.push_back(std::move(task));
    }
    run_batch(batch);
  }
}

// Notes one whose end could not be kept, for the next batch.
void ResponseStore::lose(const StoredResponse& response) {
  if (!response.is_running) {
    const MutexLock lock(lost_mutex_);
    lost_.emplace_back(response.owner, response.id);
  }
}

void ResponseStore::fail_lost() {
  std::vector<std::pair<std::string, std::string>> lost;
  {
    const MutexLock lock(lost_mutex_);
    lost.swap(lost_);
  }
  for (const auto& [owner, id] : lost) {
    const Status failed = fail_running(owner, id, "the response could not be kept");
    if (!failed.ok()) {
      log_error("response store: " + failed.message());
    }
  }
}

// Ends a transaction, also one that the database has given up by itself.
Status ResponseStore::commit(const Status& begun) {
  const Status given_up = std::exchange(given_up_, {});
  Status committed = begun.ok() ? given_up : begun;
  if (committed.ok()) {
    committed = database_->run("COMMIT");
  }
  if (committed.ok()) {
    return committed;
  }
  log_error("response store: " + committed.message());
  const Status undone = database_->in_transaction() ? database_->run("ROLLBACK") : Status();
  for (const Status& status : {undone, recount()}) {
    if (!status.ok()) {
      log_error("response store: " + status.message());
    }
  }
  return committed;
}

// All that waits shares one commit, and is reported after it.
void ResponseStore::run_batch(const std::vector<Task>& tasks) {
  const Status begun = database_->run("BEGIN");
  fail_lost();
  std::vector<std::function<void(const Status&)>> reports;
  reports.reserve(tasks.size());
  for (const Task& task : tasks) {
    reports.push_back(task());
  }
  const Status committed = commit(begun);
  for (const auto& report : reports) {
    report(committed);
  }
}

Status ResponseStore::submit(Task task) {
  return tasks_.try_push(std::move(task));
}

void ResponseStore::put(StoredResponse response, const std::function<void(Status)>& done) {
  // Shared because a queued task must be copyable; there is one user at a time.
  const auto kept = std::make_shared<StoredResponse>(std::move(response));
  const Status accepted = submit([this, kept, done] {
    const Status written = keep(*kept);
    return [this, kept, written, done](const Status& committed) {
      if (!committed.ok()) {
        lose(*kept);
      }
      done(told_of(written.ok() ? committed : written, kNotKept));
    };
  });
  if (!accepted.ok()) {
    lose(*kept);
    done({Code::kResourceExhausted, "too many responses wait to be kept"});
  }
}

void ResponseStore::event_page(std::string owner, std::string id, std::int64_t event,
                               const std::function<void(Result<FoundPage>)>& done) {
  const Status accepted = submit([this, owner = std::move(owner), id = std::move(id), event, done] {
    const auto page = std::make_shared<Result<FoundPage>>(read_page(owner, id, event));
    return [page, done](const Status&) { done(std::move(*page)); };
  });
  if (!accepted.ok()) {
    done(Status(Code::kResourceExhausted, "too many events are looked for"));
  }
}

void ResponseStore::erase(std::string owner, std::string id,
                          const std::function<void(Result<bool>)>& done) {
  const Status accepted = submit([this, owner = std::move(owner), id = std::move(id), done] {
    const auto removed = std::make_shared<Result<bool>>(remove(owner, id));
    return [removed, done](const Status& committed) {
      const Status status = told_of(removed->ok() ? committed : removed->status(), kNotDeleted);
      done(status.ok() ? *removed : Result<bool>(status));
    };
  });
  if (!accepted.ok()) {
    done(Status(Code::kResourceExhausted, "too many responses wait to be deleted"));
  }
}

namespace {

// Hands the value of a task to a thread that waits for it.
template <class T>
Result<T> wait_for(const std::function<Status(std::function<void(Result<T>)>)>& start) {
  const auto promise = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> future = promise->get_future();
  PLUMB_RETURN_IF_ERROR(
      start([promise](Result<T> value) { promise->set_value(std::move(value)); }));
  return future.get();
}

}  // namespace

Result<ResponseStore::Found> ResponseStore::find(const std::string& owner, const std::string& id) {
  Result<Found> answer = wait_for<Found>([&](const std::function<void(Result<Found>)>& done) {
    return submit([this, owner, id, done] {
      // Behind the commit of what stands in front of it.
      const auto found = std::make_shared<Result<Found>>(read(owner, id));
      return [found, done](const Status&) { done(std::move(*found)); };
    });
  });
  if (answer.ok() && answer.value().has_value() && !is_sound(*answer.value())) {
    log_error("response store: what is kept as " + id.substr(0, 128) + " is no JSON");
    return Status(Code::kDataLoss, "what is kept is no JSON");
  }
  return answer;
}

Result<std::vector<std::string>> ResponseStore::chain(const std::string& owner,
                                                      const std::string& id) {
  using Chain = std::vector<std::string>;
  return wait_for<Chain>([&](const std::function<void(Result<Chain>)>& done) {
    return submit([this, owner, id, done] {
      done(read_chain(owner, id));  // whoever asks waits, and knows of committed ones only
      return [](const Status&) {};
    });
  });
}

Result<std::string> ResponseStore::find_item(const std::string& owner, const std::string& item_id) {
  return wait_for<std::string>([&](const std::function<void(Result<std::string>)>& done) {
    return submit([this, owner, item_id, done] {
      done(read_item(owner, item_id));
      return [](const Status&) {};
    });
  });
}

// Where the database has ended the transaction because of `why`, all of the batch has failed.
Status ResponseStore::give_up(const StoredResponse& response, const Status& why) {
  lose(response);
  if (given_up_.ok() && !database_->in_transaction()) {
    given_up_ = why;
  }
  return why;
}

// All of it, or nothing but that one which ran has failed.
Status ResponseStore::keep(const StoredResponse& response) {
  Status begun = touch();
  if (begun.ok()) {
    begun = database_->run("SAVEPOINT kept");
  }
  if (!begun.ok()) {
    return give_up(response, begun);
  }
  const std::int64_t num_entries = num_entries_;
  const std::int64_t num_bytes = num_bytes_;
  Status written = write(response);
  if (written.ok()) {
    return database_->run("RELEASE kept");
  }
  num_entries_ = num_entries;
  num_bytes_ = num_bytes;
  if (!database_->in_transaction()) {
    return give_up(response, written);
  }
  Status undone = database_->run("ROLLBACK TO kept; RELEASE kept");
  if (undone.ok() && !response.is_running) {
    undone =
        fail_running(response.owner, response.id,
                     "the response could not be kept: " + told_of(written, kNotKept).message());
  }
  if (!undone.ok()) {
    log_error("response store: " + undone.message());
  }
  return written;
}

// Where that one still stands as running, it has failed. What it says more counts, and may be a
// little above the limit.
Status ResponseStore::fail_running(const std::string& owner, const std::string& id,
                                   const std::string& why) {
  PLUMB_ASSIGN(Found found, read(owner, id));
  if (!found.has_value() || !found->is_running) {
    return {};
  }
  const std::int64_t old_bytes = std::ssize(found->response);
  tell_failed(why, &*found);
  const std::int64_t more_bytes = std::ssize(found->response) - old_bytes;
  PLUMB_ASSIGN(SqliteStatement update,
               database_->prepare("UPDATE responses SET is_running = 0, response = ?, "
                                  "num_bytes = num_bytes + ? WHERE id = ?"));
  PLUMB_RETURN_IF_ERROR(
      update.bind(1, found->response).bind(2, more_bytes).bind(3, found->id).run());
  num_bytes_ += more_bytes;
  return {};
}

Status ResponseStore::write_events(const std::string& id, std::string_view events) {
  PLUMB_ASSIGN(SqliteStatement insert,
               database_->prepare("INSERT INTO event_pages VALUES (?, ?, ?)"));
  std::int64_t first = 0;
  std::int64_t num_events = 0;
  std::size_t begin = 0;
  for (std::size_t at = events.find(kEndOfEvent); at != std::string_view::npos;
       at = events.find(kEndOfEvent, at)) {
    at += kEndOfEvent.size();
    ++num_events;
    if (at - begin >= kEventPageBytes || at == events.size()) {
      PLUMB_RETURN_IF_ERROR(
          insert.bind(1, id).bind(2, first).bind(3, events.substr(begin, at - begin)).run());
      first = num_events;
      begin = at;
    }
  }
  return {};
}

Status ResponseStore::write(const StoredResponse& response) {
  const std::vector<std::string> ids = item_ids(response);
  const std::int64_t num_bytes = size_of(response, ids);
  if (num_bytes > limits_.max_bytes) {
    return {Code::kInvalidArgument, "'store' is true, but the response has " +
                                        std::to_string(num_bytes) + " bytes and the store holds " +
                                        std::to_string(limits_.max_bytes) +
                                        " (--response-store-bytes); send 'store' false"};
  }
  PLUMB_RETURN_IF_ERROR(remove(response.owner, response.id).status());
  PLUMB_RETURN_IF_ERROR(make_room(num_bytes));
  PLUMB_ASSIGN(SqliteStatement insert,
               database_->prepare("INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  PLUMB_RETURN_IF_ERROR(insert.bind(1, response.id)
                            .bind(2, response.owner)
                            .bind(3, response.parent)
                            .bind(4, std::int64_t{response.is_running ? 1 : 0})
                            .bind(5, response.response)
                            .bind(6, response.inputs)
                            .bind(7, num_bytes)
                            .bind(8, wall_seconds() + limits_.time_to_live.count())
                            .bind(9, next_use_++)
                            .run());
  ++num_entries_;
  num_bytes_ += num_bytes;
  PLUMB_ASSIGN(SqliteStatement item,
               database_->prepare("INSERT OR IGNORE INTO items VALUES (?, ?)"));
  for (const std::string& id : ids) {
    PLUMB_RETURN_IF_ERROR(item.bind(1, id).bind(2, response.id).run());
  }
  return write_events(response.id, response.events);
}

// Tells the database which responses were read since the last write.
Status ResponseStore::touch() {
  PLUMB_ASSIGN(SqliteStatement update,
               database_->prepare("UPDATE responses SET last_use = ? WHERE id = ?"));
  for (const std::string& id : used_) {
    PLUMB_RETURN_IF_ERROR(update.bind(1, next_use_++).bind(2, id).run());
  }
  used_.clear();
  return {};
}

Status ResponseStore::make_room(std::int64_t more_bytes) {
  const std::int64_t now = wall_seconds();
  bool has_forgotten = true;
  while (has_forgotten) {
    PLUMB_RETURN_IF_ERROR(forget_one(
        "SELECT id, num_bytes FROM responses WHERE expires_at <= ? ORDER BY expires_at LIMIT 1",
        now, &has_forgotten));
  }
  const std::int64_t more_entries = more_bytes > 0 ? 1 : 0;
  has_forgotten = true;
  while (has_forgotten && (num_entries_ + more_entries > limits_.max_entries ||
                           num_bytes_ + more_bytes > limits_.max_bytes)) {
    PLUMB_RETURN_IF_ERROR(
        forget_one("SELECT id, num_bytes FROM responses WHERE expires_at > ? AND is_running = 0 "
                   "ORDER BY last_use LIMIT 1",
                   now, &has_forgotten));
  }
  return has_forgotten ? Status() : Status(Code::kResourceExhausted, kAllRun);
}

Status ResponseStore::forget_one(const std::string& select, std::int64_t now, bool* has_forgotten) {
  PLUMB_ASSIGN(SqliteStatement oldest, database_->prepare(select));
  oldest.bind(1, now);
  PLUMB_ASSIGN(*has_forgotten, oldest.step());
  if (!*has_forgotten) {
    return {};
  }
  const std::string id = oldest.text(0);
  const std::int64_t num_bytes = oldest.number(1);
  oldest.reset();
  PLUMB_ASSIGN(SqliteStatement erase, database_->prepare("DELETE FROM responses WHERE id = ?"));
  PLUMB_RETURN_IF_ERROR(erase.bind(1, id).run());
  --num_entries_;
  num_bytes_ -= num_bytes;
  return {};
}

Result<ResponseStore::Found> ResponseStore::read(const std::string& owner, const std::string& id) {
  PLUMB_ASSIGN(SqliteStatement select,
               database_->prepare(std::string("SELECT ") + kColumns +
                                  " FROM responses WHERE id = ? AND owner = ? AND expires_at > ?"));
  select.bind(1, id).bind(2, owner).bind(3, wall_seconds());
  PLUMB_ASSIGN(const bool has_row, select.step());
  if (!has_row) {
    return Found();
  }
  if (used_.size() < kMaxUsed) {
    used_.push_back(id);
  }
  return Found(row_of(select));
}

Result<bool> ResponseStore::remove(const std::string& owner, const std::string& id) {
  PLUMB_ASSIGN(SqliteStatement select,
               database_->prepare("SELECT num_bytes FROM responses WHERE id = ? AND owner = ?"));
  PLUMB_ASSIGN(const bool has_row, select.bind(1, id).bind(2, owner).step());
  if (!has_row) {
    return false;
  }
  const std::int64_t num_bytes = select.number(0);
  select.reset();
  PLUMB_ASSIGN(SqliteStatement erase, database_->prepare("DELETE FROM responses WHERE id = ?"));
  PLUMB_RETURN_IF_ERROR(erase.bind(1, id).run());
  --num_entries_;
  num_bytes_ -= num_bytes;
  return true;
}

Result<ResponseStore::FoundPage> ResponseStore::read_page(const std::string& owner,
                                                          const std::string& id,
                                                          std::int64_t event) {
  PLUMB_ASSIGN(
      SqliteStatement select,
      database_->prepare(
          "SELECT p.first, p.events, NOT EXISTS (SELECT 1 FROM event_pages AS n WHERE "
          "n.response_id = p.response_id AND n.first > p.first) FROM event_pages AS p JOIN "
          "responses AS r ON r.id = p.response_id WHERE r.id = ? AND r.owner = ? AND "
          "r.expires_at > ? AND p.first <= ? ORDER BY p.first DESC LIMIT 1"));
  select.bind(1, id).bind(2, owner).bind(3, wall_seconds()).bind(4, event);
  PLUMB_ASSIGN(const bool has_row, select.step());
  return has_row ? FoundPage(EventPage{select.number(0), select.text(1), select.number(2) != 0})
                 : FoundPage();
}

Result<std::vector<std::string>> ResponseStore::read_chain(const std::string& owner,
                                                           const std::string& id) {
  PLUMB_ASSIGN(SqliteStatement select,
               database_->prepare("SELECT parent FROM responses WHERE id = ? AND owner = ? AND "
                                  "expires_at > ?"));
  std::vector<std::string> chain;
  for (std::string next = id; !next.empty();) {
    if (chain.size() == kMaxChain) {
      return Status(Code::kInvalidArgument,
                    "'previous_response_id' goes back over more than " + std::to_string(kMaxChain) +
                        " responses; send the items that still matter as 'input'");
    }
    select.bind(1, next).bind(2, owner).bind(3, wall_seconds());
    PLUMB_ASSIGN(const bool has_row, select.step());
    if (!has_row) {
      return Status(Code::kNotFound, next);
    }
    chain.push_back(std::exchange(next, select.text(0)));
    select.reset();
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

Result<std::string> ResponseStore::read_item(const std::string& owner, const std::string& item_id) {
  PLUMB_ASSIGN(SqliteStatement select,
               database_->prepare("SELECT r.id FROM items AS i JOIN responses AS r ON r.id = "
                                  "i.response_id WHERE i.item_id = ? AND r.owner = ? "
                                  "ORDER BY r.last_use DESC LIMIT 1"));
  PLUMB_ASSIGN(const bool has_row, select.bind(1, item_id).bind(2, owner).step());
  const std::string response_id = has_row ? select.text(0) : "";
  select.reset();
  PLUMB_ASSIGN(const Found found, read(owner, response_id));
  const std::string text = found.has_value() ? item_text(*found, item_id) : "";
  return text.empty() ? Result<std::string>(Status(Code::kNotFound, item_id))
                      : Result<std::string>(text);
}

}  // namespace plumb
