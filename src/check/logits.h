// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "base/token_id.h"
#include "check/forward.h"

namespace plumb {

/// How logits compare with recorded ones, over all positions of a text.
struct LogitsReport {
  std::int64_t num_positions = 0;
  double perplexity = 0.0;  ///< exp of the mean negative log probability of the next token
  bool has_reference = false;
  double max_relative_error = 0.0;   ///< worst position: max|got - expected| / max|expected|
  std::int64_t worst_position = -1;  ///< -1 = no position differs
  double mean_kl = 0.0;              ///< nats, KL(reference || got)
  double max_kl = 0.0;
  std::int64_t num_clear = 0;        ///< positions where the reference's margin is above 0.5 nat
  std::int64_t num_clear_equal = 0;  ///< of these with the same most likely token
  double reference_perplexity = 0.0;
};

struct LogitsFiles {
  std::string reference;  ///< float32 [T, V]; empty = none
  std::string dump;       ///< where to write the logits; empty = nowhere
};

/// Runs the text and compares. Errors kInvalidArgument: the reference has another size; as Forward.
Result<LogitsReport> check_logits(Forward& forward, std::span<const TokenId> ids,
                                  std::int64_t vocab_size, const LogitsFiles& files);

/// Token ids from a file that holds one JSON array. Errors name the file.
Result<std::vector<TokenId>> read_ids(const std::string& path);

std::string to_text(const LogitsReport& report);
Json to_json(const LogitsReport& report);

}  // namespace plumb
