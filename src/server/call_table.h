// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/generation_params.h"
#include "base/turn_pool.h"
#include "frontend/constraint_compiler.h"
#include "frontend/response_format.h"
#include "server/abort_target.h"
#include "server/call.h"
#include "server/route_context.h"
#include "server/traces.h"
#include "server/transaction.h"

namespace plumb {

struct WaitingCall;

/// How a request goes on once its grammar is there.
using Launch =
    std::function<void(Transaction transaction, std::unique_ptr<ResponseFormat> format,
                       const GenerationParams& params, std::vector<ChoiceRequest> choices)>;

/// The calls in flight: those that generate, and those whose grammar is still being compiled.
/// Thread: the server's loop, but for the constructor and join().
class CallTable {
 public:
  CallTable(const RouteContext& context, const Traces& traces);
  ~CallTable();

  /// Starts a call at once, or after its grammar has been compiled on a worker. With `launch` that
  /// is done instead.
  void start_call(Transaction transaction, std::unique_ptr<ResponseFormat> format,
                  const GenerationParams& params, std::vector<ChoiceRequest> choices,
                  Launch launch = {});

  // For those who launch by themselves.

  /// Says of each choice whose it is and how long it may take. False: the request is answered with
  /// an error.
  bool address_choices(Transaction* transaction, const GenerationParams& params,
                       std::vector<ChoiceRequest>* choices) const;
  static Call::Setup call_setup(const GenerationParams& params, std::size_t num_choices);

  /// Names one call, never again another one.
  std::uint64_t new_id() { return next_id_++; }

  /// Runs choices that were addressed. `on_forgotten` is told when the call is over.
  void run_call(std::uint64_t id, Transaction transaction, std::unique_ptr<ResponseFormat> format,
                const Call::Setup& setup, const GenerationParams& params,
                std::vector<ChoiceRequest> choices, std::function<void()> on_forgotten = {});
  /// Null once it is over.
  Call* find(std::uint64_t id) const;

  /// Ends the calls that are meant, also those that wait for their grammar.
  void abort(const AbortTarget& target);
  /// Ends those that generate: the server ends. Those that wait hear of it when the compiler has
  /// given up, which it does while the server stops.
  void end_all();
  /// Ends the threads that compile, once all they have accepted is over. Thread: any but the
  /// loop's and theirs.
  void join();

 private:
  void go_on(WaitingCall waiting);
  void compile_then_launch(const std::shared_ptr<WaitingCall>& waiting);
  void end_compilation(std::uint64_t id, const std::shared_ptr<WaitingCall>& waiting,
                       const ConstraintCompiler::Outcome& outcome);
  void launch_call(Transaction transaction, std::unique_ptr<ResponseFormat> format,
                   const GenerationParams& params, std::vector<ChoiceRequest> choices);
  std::string namespace_of(const Transaction& transaction, const GenerationParams& params) const;
  void forget(std::uint64_t call);

  const RouteContext& context_;
  const Traces& traces_;
  std::uint64_t next_id_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Call>> calls_;
  std::map<std::uint64_t, std::shared_ptr<WaitingCall>> waiting_;  // shared with the compiler
  std::unique_ptr<TurnPool> compilers_;
};

}  // namespace plumb
