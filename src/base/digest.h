// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace plumb {

using Digest256 = std::array<std::uint8_t, 32>;

/// SHA-256 of bytes that come in parts. Thread: one at a time. Source: FIPS 180-4.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view bytes);
  /// The digest of all bytes so far. Requires it is called once, last.
  Digest256 finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Digest256 sha256(std::string_view bytes);
/// Source: RFC 2104, RFC 4231.
Digest256 hmac_sha256(std::string_view key, std::string_view bytes);
/// Lower-case hexadecimal.
std::string to_hex(std::span<const std::uint8_t> bytes);
/// With padding. Source: RFC 4648, section 4.
std::string to_base64(std::span<const std::uint8_t> bytes);
/// Whether both are equal, in a time that does not depend on where they differ.
bool equal_constant_time(const Digest256& a, const Digest256& b);

}  // namespace plumb
