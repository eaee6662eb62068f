// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "api/error.h"
#include "server/auth.h"

namespace plumb {

/// What is to be ended from outside, and for whom.
struct AbortTarget {
  bool is_all = false;
  std::string id;           ///< of a request or choice, or of a response in the background
  bool is_anyones = false;  ///< not only of the principal
  Principal principal;

  bool may_end_those_of(const Principal& other) const {
    return is_anyones || principal.cache_salt == other.cache_salt;
  }
};

/// What its client hears.
inline ApiError request_aborted() {
  return ApiError::from_status({Code::kCancelled, "the request was aborted"});
}

}  // namespace plumb
