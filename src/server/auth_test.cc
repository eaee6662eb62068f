// SPDX-License-Identifier: Apache-2.0
#include "server/auth.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "support/fake_clock.h"

namespace plumb {
namespace {

constexpr const char* kKey = "0123456789abcdef";
constexpr const char* kAdmin = "admin-0123456789abcdef";

std::string key_file(const std::string& content, unsigned mode) {
  std::string path = testing::TempDir() + "plumb_keys_" + std::to_string(::getpid());
  EXPECT_TRUE(write_file_atomic(path, content).ok());
  EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  return path;
}

TEST(KeySet, reads_plain_and_named_keys_and_comments) {
  KeySet keys;
  ASSERT_TRUE(
      keys.load_file(
              key_file(std::string("# mine\n") + kKey + "\nbob:admin:" + kAdmin + "\n", 0600),
              KeyRole::kNormal)
          .ok());
  EXPECT_EQ(keys.find(kKey)->role, KeyRole::kNormal);
  EXPECT_EQ(keys.find(kAdmin)->name, "bob");
  EXPECT_TRUE(keys.has_admin());
  EXPECT_FALSE(keys.find("0123456789abcdeF").has_value());
}

TEST(KeySet, refuses_readable_files_short_keys_and_empty_files) {
  KeySet keys;
  EXPECT_NE(keys.load_file(key_file(kKey, 0644), KeyRole::kNormal).message().find("chmod 600"),
            std::string::npos);
  EXPECT_FALSE(keys.load_file(key_file("short\n", 0600), KeyRole::kNormal).ok());
  EXPECT_FALSE(keys.load_file(key_file("# none\n", 0600), KeyRole::kNormal).ok());
  EXPECT_FALSE(keys.load_file(key_file("a:root:0123456789abcdef\n", 0600), KeyRole::kNormal).ok());
  EXPECT_FALSE(keys.load_file("/absent/keys", KeyRole::kNormal).ok());
  EXPECT_FALSE(keys.add("0123456789\x01"
                        "abcdef",
                        "", KeyRole::kNormal)
                   .ok());
  EXPECT_FALSE(keys.add("0123456789 abcdef", "", KeyRole::kNormal).ok());
}

TEST(KeySet, the_same_key_twice_is_refused_with_both_places) {
  const auto error_of = [](const std::string& content) {
    KeySet keys;
    return keys.load_file(key_file(content, 0600), KeyRole::kNormal).message();
  };
  const std::string path = key_file("", 0600);
  const std::string key = kKey;
  EXPECT_EQ(error_of(key + "\n\nbob:normal:" + key + "\n"),
            path + " line 3: has the key of " + path + " line 1");
  EXPECT_EQ(error_of("bob:normal:" + key + "\nbob:normal:" + kAdmin + "\n"), "");  // the next one
  KeySet both;  // lines of two files may have the same number
  ASSERT_TRUE(both.load_file(key_file(key, 0600), KeyRole::kNormal).ok());
  EXPECT_TRUE(both.load_file(key_file(kAdmin, 0600), KeyRole::kAdmin).ok());
  EXPECT_NE(both.load_file(key_file(key, 0600), KeyRole::kAdmin).message().find("has the key of"),
            std::string::npos);
}

TEST(CheckAccess, follows_the_table_of_route_classes) {
  const auto verdict = [](bool has_key, bool has_admin, RouteClass route, const char* key) {
    KeySet keys;
    if (has_key) {
      EXPECT_TRUE(keys.add(kKey, "k", KeyRole::kNormal).ok());
    }
    if (has_admin) {
      EXPECT_TRUE(keys.add(kAdmin, "a", KeyRole::kAdmin).ok());
    }
    return check_access(keys, route, std::string("bearer  ") + key, "").verdict;
  };
  using enum AuthVerdict;
  EXPECT_EQ(verdict(false, false, RouteClass::kAdminOptional, ""), kAllowed);
  EXPECT_EQ(verdict(true, false, RouteClass::kAdminOptional, kKey), kAllowed);
  EXPECT_EQ(verdict(false, true, RouteClass::kAdminOptional, kAdmin), kAllowed);
  EXPECT_EQ(verdict(true, true, RouteClass::kAdminOptional, kKey), kForbidden);
  EXPECT_EQ(verdict(true, true, RouteClass::kAdminOptional, kAdmin), kAllowed);
  EXPECT_EQ(verdict(false, false, RouteClass::kAdminForced, ""), kForbidden);
  EXPECT_EQ(verdict(true, false, RouteClass::kAdminForced, kKey), kForbidden);
  EXPECT_EQ(verdict(true, false, RouteClass::kAdminForced, ""), kUnauthorized);
  EXPECT_EQ(verdict(true, true, RouteClass::kAdminForced, kKey), kForbidden);
  EXPECT_EQ(verdict(true, true, RouteClass::kAdminForced, kAdmin), kAllowed);
  EXPECT_EQ(verdict(true, false, RouteClass::kNormal, ""), kUnauthorized);
  EXPECT_EQ(verdict(true, false, RouteClass::kNormal, "wrong-key-of-some-length"), kUnauthorized);
  EXPECT_EQ(verdict(true, false, RouteClass::kPublic, ""), kAllowed);
}

TEST(CheckAccess, one_valid_key_of_two_suffices) {
  KeySet keys;
  ASSERT_TRUE(keys.add(kKey, "k", KeyRole::kNormal).ok());
  EXPECT_EQ(check_access(keys, RouteClass::kNormal, "Bearer nonsense", kKey).verdict,
            AuthVerdict::kAllowed);
  EXPECT_EQ(check_access(keys, RouteClass::kNormal, "Basic 0123456789abcdef", "").verdict,
            AuthVerdict::kUnauthorized);
}

TEST(KeySet, every_key_has_a_cache_salt_of_its_own_that_outlives_a_restart) {
  KeySet keys;
  ASSERT_TRUE(keys.add(kKey, "same name", KeyRole::kNormal).ok());
  ASSERT_TRUE(keys.add(kAdmin, "same name", KeyRole::kNormal).ok());
  const std::string salt = keys.find(kKey)->cache_salt;
  EXPECT_EQ(salt.size(), 32U);
  EXPECT_NE(salt, keys.find(kAdmin)->cache_salt);
  EXPECT_EQ(salt.find(kKey), std::string::npos);
  KeySet restarted;
  ASSERT_TRUE(restarted.add(kKey, "", KeyRole::kAdmin).ok());
  EXPECT_EQ(restarted.find(kKey)->cache_salt, salt);
}

TEST(FailureLimiter, blocks_a_peer_for_the_rest_of_its_second) {
  FakeClock clock;
  FailureLimiter limiter(clock);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(limiter.is_blocked("a"));
    limiter.record_failure("a");
  }
  EXPECT_TRUE(limiter.is_blocked("a"));
  EXPECT_FALSE(limiter.is_blocked("b"));
  clock.advance(std::chrono::seconds(1));
  EXPECT_FALSE(limiter.is_blocked("a"));
}

}  // namespace
}  // namespace plumb
