// SPDX-License-Identifier: Apache-2.0
#include "base/sqlite.h"

#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

namespace plumb {
namespace {

std::string database_path(const char* name) {
  const std::string path =
      testing::TempDir() + "plumb_sqlite_" + std::to_string(::getpid()) + "_" + name;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    ::unlink((path + suffix).c_str());
  }
  return path;
}

std::unique_ptr<SqliteDatabase> open_ok(const std::string& path) {
  Result<std::unique_ptr<SqliteDatabase>> database = SqliteDatabase::open(path);
  EXPECT_TRUE(database.ok()) << database.status().message();
  return std::move(database).value();
}

TEST(Sqlite, keeps_texts_and_numbers_as_they_are) {
  const auto database = open_ok("");
  ASSERT_TRUE(database->run("CREATE TABLE t (a TEXT, b INTEGER)").ok());
  auto insert = std::move(database->prepare("INSERT INTO t VALUES (?, ?)")).value();
  const std::string text("zero \0 byte, 'quote', \xF0\x9F\x98\x80", 26);
  ASSERT_TRUE(insert.bind(1, text).bind(2, std::int64_t{-1} << 62).run().ok());
  ASSERT_TRUE(insert.bind(1, "").bind(2, std::int64_t{7}).run().ok());
  auto select = std::move(database->prepare("SELECT a, b FROM t ORDER BY b")).value();
  ASSERT_TRUE(select.step().value());
  EXPECT_EQ(select.text(0), text);
  EXPECT_EQ(select.number(1), std::int64_t{-1} << 62);
  ASSERT_TRUE(select.step().value());
  EXPECT_EQ(select.text(0), "");
  EXPECT_FALSE(select.step().value());
}

TEST(Sqlite, a_file_is_private_and_kept) {
  const std::string path = database_path("kept");
  {
    const auto database = open_ok(path);
    ASSERT_TRUE(database->run("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x')").ok());

    struct stat about {};

    for (const char* suffix : {"", "-wal"}) {
      ASSERT_EQ(::stat((path + suffix).c_str(), &about), 0) << suffix;
      EXPECT_EQ(about.st_mode & 0777U, 0600U) << suffix;
    }
  }
  const auto database = open_ok(path);
  auto select = std::move(database->prepare("SELECT a FROM t")).value();
  ASSERT_TRUE(select.step().value());
  EXPECT_EQ(select.text(0), "x");
}

TEST(Sqlite, a_second_opener_is_refused) {
  const std::string path = database_path("twice");
  const auto database = open_ok(path);
  const auto second = SqliteDatabase::open(path);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
}

TEST(Sqlite, what_is_no_database_is_refused) {
  const std::string path = database_path("text");
  ASSERT_TRUE(write_file_atomic(path, std::string(4096, 'x')).ok());
  EXPECT_EQ(SqliteDatabase::open(path).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(SqliteDatabase::open(testing::TempDir()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(SqliteDatabase::open("/no-such-folder/x").status().code(), Code::kInvalidArgument);
}

TEST(Sqlite, errors_say_what_is_wrong) {
  const auto database = open_ok("");
  const Status status = database->run("SELECT nothing");
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("nothing"), std::string::npos);
  EXPECT_FALSE(database->prepare("no sql").ok());
}

}  // namespace
}  // namespace plumb
