// SPDX-License-Identifier: Apache-2.0
#include "server/response_turn.h"

#include <algorithm>

#include "base/digest.h"
#include "base/json.h"

namespace plumb {

std::string owner_of(const Principal& principal) {
  return principal.cache_salt.empty() ? "" : to_hex(hmac_sha256(principal.cache_salt, "responses"));
}

StoredResponse ResponseTurn::record(bool is_running, std::string events) const {
  return {assembler->id(),  owner, parent, is_running, to_text(assembler->response()), inputs,
          std::move(events)};
}

void LiveResponses::add(const std::string& owner, const std::string& id) {
  const MutexLock lock(mutex_);
  live_.emplace_back(owner, id);
}

void LiveResponses::remove(const std::string& owner, const std::string& id) {
  const MutexLock lock(mutex_);
  const auto found = std::find(live_.begin(), live_.end(), std::pair(owner, id));
  if (found != live_.end()) {
    live_.erase(found);
  }
}

bool LiveResponses::contains(const std::string& owner, const std::string& id) const {
  const MutexLock lock(mutex_);
  return std::find(live_.begin(), live_.end(), std::pair(owner, id)) != live_.end();
}

}  // namespace plumb
