// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/responses_assembler.h"
#include "base/mutex.h"
#include "server/auth.h"
#include "server/response_store.h"

namespace plumb {

/// Whose responses a key sees: its own, the same after a restart. Without keys everybody's.
std::string owner_of(const Principal& principal);

/// One response on its way, with what is to be kept of it.
struct ResponseTurn {
  std::shared_ptr<ResponsesAssembler> assembler;  ///< shared with the format; null until begun
  std::string owner;
  std::string parent;
  std::string inputs;      ///< JSON array
  std::string request_id;  ///< once it is on its way
  bool is_kept = false;
  bool is_background = false;
  bool is_streamed = false;
  std::vector<std::string> left_out_tools;  ///< types, for the client
  std::vector<std::string> left_out_items;

  StoredResponse record(bool is_running, std::string events = "") const;
};

/// Responses that are being made, so that nobody goes on from one before it is whole.
/// Thread: any.
class LiveResponses {
 public:
  void add(const std::string& owner, const std::string& id);
  void remove(const std::string& owner, const std::string& id);
  bool contains(const std::string& owner, const std::string& id) const;

 private:
  mutable Mutex mutex_;
  std::vector<std::pair<std::string, std::string>> live_ PLUMB_GUARDED_BY(mutex_);  // owner, id
};

}  // namespace plumb
