// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace plumb {

/// How a grammar that a client has written in EBNF or in Lark's notation is read.
struct NotationOptions {
  std::int64_t max_text_bytes = 1 << 20;
  int max_depth = 64;  ///< of nested groups
  /// Rules that do not recur become one terminal with what stands around them. The automata are
  /// fast, but can be too large; then each literal and class is a terminal of its own.
  bool join_regular = true;
  /// Each text of the grammar as it stands between the quotes of a JSON string. Escapes belong to
  /// single bytes, so the terminals are escaped and the rules stay as they are.
  bool in_json_text = false;
};

}  // namespace plumb
