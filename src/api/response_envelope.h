// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/token_id.h"

namespace plumb {

/// The members that every chunk and the final object of one response share; the id is allocated
/// once.
struct ResponseEnvelope {
  std::string id;
  std::int64_t created = 0;  ///< Unix seconds
  std::string model;         ///< as the client named it
  std::string system_fingerprint;
  std::vector<std::vector<TokenId>> prompt_ids{};  ///< of each prompt, when they were asked for
  std::optional<std::uint64_t>
      seed{};                   ///< of the first choice, when meta information was asked for
  Clock::TimePoint received{};  ///< when the request came

  JsonObject open(const char* object) const {
    return {{"id", id}, {"object", object}, {"created", created}, {"model", model}};
  }

  /// Adds "plumb", what the server did beyond the answer: the seeds of the choices count up from
  /// "seed".
  void add_meta(JsonObject* out) const {
    if (seed) {
      out->append("plumb", JsonObject{{"seed", *seed}});
    }
  }

  Json prompt_ids_to_json(std::size_t prompt) const {
    JsonArray ids;
    for (const TokenId token : prompt_ids[prompt]) {
      ids.emplace_back(token);
    }
    return ids;
  }
};

}  // namespace plumb
