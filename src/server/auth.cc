// SPDX-License-Identifier: Apache-2.0
#include "server/auth.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace plumb {
namespace {

constexpr std::size_t kMinKeyLength = 16;
constexpr std::size_t kMaxPeers = 4096;
constexpr int kMaxFailures = 10;

std::string_view bearer_key(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer";
  if (authorization.size() <= kScheme.size() ||
      to_lower_ascii(authorization.substr(0, kScheme.size())) != kScheme ||
      authorization[kScheme.size()] != ' ') {
    return {};
  }
  return trim(authorization.substr(kScheme.size()));
}

// Another salt for each key, the same after a restart; the key cannot be told from it.
std::string cache_salt_of(const Digest256& key_digest) {
  const auto* bytes = reinterpret_cast<const char*>(key_digest.data());
  const Digest256 salt = hmac_sha256({bytes, key_digest.size()}, "plumb prefix cache");
  return {reinterpret_cast<const char*>(salt.data()), salt.size()};
}

}  // namespace

Status KeySet::add(std::string_view key, std::string name, KeyRole role) {
  if (key.size() < kMinKeyLength) {
    return {Code::kInvalidArgument, "a key has " + std::to_string(key.size()) +
                                        " characters, expected at least " +
                                        std::to_string(kMinKeyLength)};
  }
  if (!std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c <= '~'; })) {
    return {Code::kInvalidArgument,
            "a key holds a character that no client can send, expected visible ASCII"};
  }
  const Digest256 digest = sha256(key);
  entries_.push_back({digest, {std::move(name), role, cache_salt_of(digest)}, "--api-key"});
  return {};
}

// One name may have several keys, the old and the new one say; a key stands once.
Status KeySet::check_last() const {
  const Entry& last = entries_.back();
  for (std::size_t i = 0; i + 1 < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.digest == last.digest) {
      return {Code::kInvalidArgument, last.where + ": has the key of " + entry.where};
    }
  }
  return {};
}

Status KeySet::load_file(const std::string& path, KeyRole default_role) {
  PLUMB_RETURN_IF_ERROR(check_private_file(path));
  PLUMB_ASSIGN(const std::string content, read_file(path, 1 << 20));
  const std::size_t before = entries_.size();
  int line_number = 0;
  for (const std::string_view raw : split(content, '\n')) {
    ++line_number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const std::string where = path + " line " + std::to_string(line_number);
    const std::vector<std::string_view> parts = split(line, ':');
    const bool is_named = parts.size() == 3;
    if (parts.size() != 1 && (!is_named || (parts[1] != "normal" && parts[1] != "admin"))) {
      return {Code::kInvalidArgument,
              where + ": expected KEY or NAME:ROLE:KEY with the role normal or admin"};
    }
    const KeyRole named_role = is_named && parts[1] == "admin" ? KeyRole::kAdmin : KeyRole::kNormal;
    std::string name = is_named ? std::string(parts[0]) : "key" + std::to_string(line_number);
    PLUMB_RETURN_IF_ERROR(
        add(parts.back(), std::move(name), is_named ? named_role : default_role).with(where));
    entries_.back().where = where;
    PLUMB_RETURN_IF_ERROR(check_last());
  }
  if (entries_.size() == before) {
    return {Code::kInvalidArgument, path + ": holds no key"};
  }
  return {};
}

bool KeySet::has_name(std::string_view name) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [name](const Entry& entry) { return entry.principal.name == name; });
}

bool KeySet::has_admin() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.principal.role == KeyRole::kAdmin; });
}

std::optional<Principal> KeySet::find(std::string_view key) const {
  const Digest256 digest = sha256(key);
  std::size_t found = entries_.size();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::size_t is_match = equal_constant_time(digest, entries_[i].digest) ? 1 : 0;
    found = is_match * i + (1 - is_match) * found;
  }
  return found < entries_.size() ? std::optional(entries_[found].principal) : std::nullopt;
}

AuthAnswer check_access(const KeySet& keys, RouteClass route, std::string_view authorization,
                        std::string_view api_key) {
  const bool has_normal = !keys.empty();
  if (route == RouteClass::kPublic || (!has_normal && route != RouteClass::kAdminForced)) {
    return {AuthVerdict::kAllowed, {}};
  }
  if (!has_normal) {
    return {AuthVerdict::kForbidden, {}};
  }
  std::optional<Principal> principal;
  for (const std::string_view key : {bearer_key(authorization), api_key}) {
    const std::optional<Principal> found = key.empty() ? std::nullopt : keys.find(key);
    if (found.has_value() && (!principal.has_value() || found->role == KeyRole::kAdmin)) {
      principal = found;
    }
  }
  if (!principal.has_value()) {
    return {AuthVerdict::kUnauthorized, {}};
  }
  const bool needs_admin = route == RouteClass::kAdminForced ||
                           (route == RouteClass::kAdminOptional && keys.has_admin());
  if (needs_admin && principal->role != KeyRole::kAdmin) {
    return {AuthVerdict::kForbidden, *principal};
  }
  return {AuthVerdict::kAllowed, *principal};
}

bool FailureLimiter::is_blocked(const std::string& peer) {
  const auto it = windows_.find(peer);
  if (it == windows_.end()) {
    return false;
  }
  if (clock_.now() - it->second.begin >= std::chrono::seconds(1)) {
    windows_.erase(it);
    return false;
  }
  return it->second.failures >= kMaxFailures;
}

void FailureLimiter::record_failure(const std::string& peer) {
  if (windows_.size() >= kMaxPeers) {
    windows_.clear();
  }
  const Clock::TimePoint now = clock_.now();
  Window& window = windows_.try_emplace(peer, Window{now, 0}).first->second;
  if (now - window.begin >= std::chrono::seconds(1)) {
    window = {now, 0};
  }
  ++window.failures;
}

}  // namespace plumb
