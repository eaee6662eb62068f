// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plumb {

/// A stretch of a rendered prompt: text of the template itself, or data that a client supplied.
struct Segment {
  std::string text;
  bool is_literal = false;  ///< true = written by the template, so its special tokens count

  bool operator==(const Segment&) const = default;
};

}  // namespace plumb
