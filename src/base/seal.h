// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"

namespace plumb {

/// Makes texts that a client keeps unreadable and unforgeable: AES-256-GCM under one key, as
/// base64. Thread: any (immutable).
class Seal {
 public:
  /// A key from the operating system's randomness.
  Seal();
  /// The key is derived from the secret.
  explicit Seal(std::string_view secret);

  /// `owner` is whose it is: under another one the text cannot be opened.
  std::string close(std::string_view text, std::string_view owner) const;
  /// Nothing unless close() of this key and owner gave it.
  std::optional<std::string> open(std::string_view sealed, std::string_view owner) const;

 private:
  Digest256 key_{};
};

}  // namespace plumb
