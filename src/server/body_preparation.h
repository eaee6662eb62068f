// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/error.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "server/abort_target.h"
#include "server/route_context.h"
#include "server/transaction.h"

namespace plumb {

/// What a handler makes of a body: the rest of the work, to be done on the loop, or an error.
using Prepared = std::variant<std::function<void(Transaction transaction)>, ApiError>;

/// Who asks, while a body is prepared.
struct Asker {
  const std::atomic<bool>& is_unwanted;  ///< nobody waits any more: any result will do
  Principal principal;
};

/// Reads and checks a body. Thread: the loop or a worker, several at a time.
using Prepare = std::function<Prepared(const Json& body, const Asker& asker)>;
/// Whether preparing that body may wait for something, so that it is not done on the loop.
using MayWait = bool (*)(std::string_view body);

/// Sends an object that is written out here, not on the loop, or passes the error on; `ignored`
/// are fields that the header names.
Prepared answer_with(const std::variant<Json, ApiError>& result,
                     std::vector<std::string> ignored = {});
/// Sends a text that is JSON.
Prepared answer_with_text(std::string json, std::vector<std::string> ignored = {});

/// The way of a request from its body to the rest of its work: parsed and prepared on the loop
/// (small bodies) or on a worker (large ones, and those that may wait).
///
/// The loop keeps the transaction of a body that is away, so that a client that leaves, an abort
/// or the shutdown need not wait for the worker.
/// Thread: the server's loop, but for the constructor, post_route() and join().
class BodyPreparation {
 public:
  /// `abort_calls` ends the calls that a target means: it is asked again for a body that was away
  /// when the target came.
  BodyPreparation(const RouteContext& context,
                  std::function<void(const AbortTarget& target)> abort_calls);

  /// A route whose body is prepared so.
  void post_route(std::string path, Prepare prepare, Dialect dialect = Dialect::kOpenAi,
                  MayWait may_wait = nullptr);
  void prepare_and_run(Transaction transaction, const Prepare& prepare, MayWait may_wait = nullptr);
  /// Work that waits.
  using Work = std::function<Prepared(const Asker& asker)>;
  /// Does it on a thread that may wait, then goes on on the loop.
  void look_up(Transaction transaction, Work work);

  /// Runs a task on the worker for large bodies. Errors kResourceExhausted: too many wait.
  Status submit(std::function<void()> task) { return workers_->submit(std::move(task)); }

  /// A body may name its request itself, which is known once it has been read: then it is ended.
  void abort(const AbortTarget& target);
  /// Answers all that are away: the server ends.
  void abandon_all();
  /// Lets the workers end what they have accepted, and ends them. Thread: any but the loop's and
  /// theirs.
  void join();

 private:
  // A request whose body is away.
  struct Preparation {
    Transaction transaction;
    std::shared_ptr<std::atomic<bool>> is_unwanted;  // set by the loop, read by the worker
    std::vector<AbortTarget> aborts{};               // that may mean it, once it is read
  };

  Prepared prepare_body(const std::string& body, const Prepare& prepare, const Asker& asker) const;
  void work_off_loop(Transaction transaction, Work work, ThreadPool& workers);
  void end(std::uint64_t id, Prepared prepared);
  void abandon(Preparation* preparation, const ApiError& error);

  const RouteContext& context_;
  const std::function<void(const AbortTarget& target)> abort_calls_;
  std::uint64_t next_id_ = 0;
  std::map<std::uint64_t, Preparation> preparations_;
  // Prepares large bodies: one thread, since that is work for a processor.
  std::unique_ptr<ThreadPool> workers_;
  // The same for what waits for the store meanwhile: four, so that it holds up neither those
  // bodies nor each other.
  std::unique_ptr<ThreadPool> lookups_;
};

}  // namespace plumb
