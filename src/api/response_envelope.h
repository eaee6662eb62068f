// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace plumb {

/// The members that every chunk and the final object of one response share; the id is allocated
/// once.
struct ResponseEnvelope {
  std::string id;
  std::int64_t created = 0;  ///< Unix seconds
  std::string model;         ///< as the client named it
  std::string system_fingerprint;

  JsonObject open(const char* object) const {
    return {{"id", id}, {"object", object}, {"created", created}, {"model", model}};
  }
};

}  // namespace plumb
