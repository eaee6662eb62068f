// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// Reads the text out of {"input":"…"}, the arguments of a custom tool's function, as they come.
///
/// Arguments of another form give their text as a whole at the end: the string `input` of an
/// object, or what was written. Thread: one at a time.
class CustomInputReader {
 public:
  /// The text that these further bytes of the arguments give; whole characters.
  std::string push(std::string_view arguments);
  /// What was held back, once the arguments are over.
  std::string finish();

 private:
  enum class State : unsigned char { kOpening, kInString, kAfter, kOther };

  bool take_opening();
  std::string take_string();

  State state_ = State::kOpening;
  std::string held_;  // not yet told: the opening, an escape that is not whole, or everything
};

}  // namespace plumb
