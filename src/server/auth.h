// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/status.h"

namespace plumb {

enum class KeyRole : unsigned char { kNormal, kAdmin };

/// Who asks, as far as the key says.
struct Principal {
  std::string name;  ///< of the key; empty without keys
  KeyRole role = KeyRole::kNormal;
  std::string cache_salt;  ///< from the key, for its part of the prefix cache; never shown
};

/// The set of accepted keys; holds digests only.
///
/// A look-up compares the presented key's digest against all stored ones, so that its time says
/// nothing about which key or which byte differs. Thread: any after loading (immutable).
class KeySet {
 public:
  /// Adds the keys of a file: `KEY` or `NAME:ROLE:KEY` a line (role normal or admin), `#` comments.
  /// Errors kInvalidArgument: not a regular file of this user with mode & 077 == 0, a key under 16
  /// characters, no key, a key that there is already (both places are named).
  Status load_file(const std::string& path, KeyRole default_role);
  /// Errors kInvalidArgument: shorter than 16 characters.
  Status add(std::string_view key, std::string name, KeyRole role);

  bool empty() const { return entries_.empty(); }

  bool has_admin() const;
  bool has_name(std::string_view name) const;
  std::optional<Principal> find(std::string_view key) const;

 private:
  struct Entry {
    Digest256 digest;
    Principal principal;
    std::string where;  // file and line, or the option
  };

  Status check_last() const;

  std::vector<Entry> entries_;
};

/// Route classes: what kind of key a route asks for.
enum class RouteClass : unsigned char {
  kPublic,         ///< none
  kNormal,         ///< a key if any key is configured
  kAdminOptional,  ///< the admin key if one is configured, else as kNormal
  kAdminForced,    ///< an admin key; nobody where none is configured
};

enum class AuthVerdict : unsigned char { kAllowed, kUnauthorized, kForbidden };

struct AuthAnswer {
  AuthVerdict verdict = AuthVerdict::kUnauthorized;
  Principal principal;
};

/// Decides from the credentials of a request: `authorization` (Bearer KEY) and `x-api-key`, either
/// may be empty.
AuthAnswer check_access(const KeySet& keys, RouteClass route, std::string_view authorization,
                        std::string_view api_key);

/// Counts failures per peer: more than 10 within a second are answered 429.
/// Thread: any single one. Bounded: at most 4,096 peers are remembered.
class FailureLimiter {
 public:
  explicit FailureLimiter(const Clock& clock) : clock_(clock) {}

  bool is_blocked(const std::string& peer);
  void record_failure(const std::string& peer);

 private:
  struct Window {
    Clock::TimePoint begin;
    int failures = 0;
  };

  const Clock& clock_;
  std::map<std::string, Window> windows_;
};

}  // namespace plumb
