// SPDX-License-Identifier: Apache-2.0
#include "grammar/tag_shape.h"

#include <algorithm>

namespace plumb {

bool is_nullable(const TagFormat& format) {
  using Kind = TagFormat::Kind;
  const auto nullable = [](const TagFormat& part) { return is_nullable(part); };
  switch (format.kind) {
    case Kind::kConstString:
      return format.text.empty();
    case Kind::kAnyText:
      return true;
    case Kind::kAnyTokens:
      return format.min == 0;
    case Kind::kSequence:
      return std::all_of(format.parts.begin(), format.parts.end(), nullable);
    case Kind::kOr:
      return std::any_of(format.parts.begin(), format.parts.end(), nullable);
    case Kind::kRepeat:
      return format.min == 0 || is_nullable(format.parts[0]);
    case Kind::kTriggeredTags:
    case Kind::kTagsWithSeparator:
      return !format.at_least_one;
    default:
      return false;
  }
}

bool is_open(const TagFormat& format) {
  using Kind = TagFormat::Kind;
  switch (format.kind) {
    case Kind::kAnyText:
      return true;
    case Kind::kAnyTokens:
      return format.max != format.min;
    case Kind::kTriggeredTags:
      return !format.at_least_one || !format.stop_after_first;
    case Kind::kOr:
      return std::any_of(format.parts.begin(), format.parts.end(), is_open);
    case Kind::kRepeat:
      return is_open(format.parts[0]);
    case Kind::kSequence:
      for (auto part = format.parts.rbegin(); part != format.parts.rend(); ++part) {
        if (is_open(*part)) {
          return true;
        }
        if (!is_nullable(*part)) {
          return false;
        }
      }
      return false;
    default:
      return false;
  }
}

}  // namespace plumb
