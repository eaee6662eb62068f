// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plumb {

/// Decodes one body piece by piece, never producing more than a limit.
/// Thread: one at a time.
class BodyDecoder {
 public:
  /// A decoder for "gzip", "x-gzip" or "zstd". Errors: kUnsupported for any other coding.
  static Result<std::unique_ptr<BodyDecoder>> create(std::string_view coding,
                                                     std::int64_t max_decoded_bytes);

  virtual ~BodyDecoder() = default;

  /// Appends what the bytes decode to. Errors: kResourceExhausted once *out would exceed the limit,
  /// kInvalidArgument for bytes that are not of the coding or follow its end.
  virtual Status feed(std::string_view bytes, std::string* out) = 0;

  /// ok if the coded body is complete.
  virtual Status finish() const = 0;
};

}  // namespace plumb
