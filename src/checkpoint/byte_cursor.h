// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/text.h"

namespace plumb {

/// The error of a malformed file: where it is, what belongs there and what was found.
inline Status malformed(std::uint64_t offset, const std::string& expected,
                        const std::string& found) {
  return {Code::kInvalidArgument,
          "byte " + std::to_string(offset) + ": expected " + expected + ", found " + found};
}

/// The beginning of a name that a file holds, for a message.
inline std::string quoted_name(std::string_view name) {
  return "'" + to_valid_utf8(name.substr(0, 64)) + "'";
}

/// Reads little-endian values one after the other and never leaves its bytes.
/// Ownership the bytes must outlive the cursor and what it returns.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t offset() const { return offset_; }

  std::uint64_t remaining() const { return bytes_.size() - offset_; }

  /// The next `num_bytes` bytes. Errors kInvalidArgument: fewer are left.
  Result<std::span<const std::byte>> take(std::uint64_t num_bytes, std::string_view what) {
    if (num_bytes > remaining()) {
      return malformed(offset_, std::string(what) + " of " + std::to_string(num_bytes) + " bytes",
                       "only " + std::to_string(remaining()) + " bytes until the end of the file");
    }
    const std::span<const std::byte> taken = bytes_.subspan(offset_, num_bytes);
    offset_ += num_bytes;
    return taken;
  }

  /// The next value of an arithmetic type.
  template <class T>
  Result<T> read(std::string_view what) {
    PLUMB_ASSIGN(const std::span<const std::byte> raw, take(sizeof(T), what));
    T value;
    std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }

  /// A 64-bit length and that many bytes.
  Result<std::string_view> read_string(std::string_view what) {
    const std::uint64_t at = offset_;
    std::uint64_t length = 0;
    if (remaining() < sizeof length) {
      return take(sizeof length, std::string(what) + " length").status();
    }
    std::memcpy(&length, bytes_.data() + offset_, sizeof length);
    offset_ += sizeof length;
    if (length > remaining()) {
      return malformed(at,
                       "the length of " + std::string(what) + ", at most " +
                           std::to_string(remaining()) + " (the rest of the file)",
                       std::to_string(length));
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + offset_, length);
    offset_ += length;
    return text;
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t offset_ = 0;
};

}  // namespace plumb
