// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plumb {
namespace {

std::string scratch(const char* name) {
  return testing::TempDir() + "plumb_file_test_" + std::to_string(::getpid()) + "_" + name;
}

TEST(File, an_atomic_write_is_read_back_and_mapped) {
  const std::string path = scratch("atomic");
  ASSERT_TRUE(write_file_atomic(path, "hello").ok());
  EXPECT_EQ(read_file(path).value(), "hello");
  const Result<MappedFile> file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(std::memcmp(file.value().bytes().data(), "hello", 5), 0);
}

TEST(File, a_missing_file_a_folder_and_an_oversized_file_are_named_errors) {
  EXPECT_EQ(MappedFile::open(scratch("absent")).status().code(), Code::kNotFound);
  EXPECT_EQ(MappedFile::open(testing::TempDir()).status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(write_file_atomic(scratch("big"), "12345").ok());
  EXPECT_EQ(read_file(scratch("big"), 4).status().code(), Code::kResourceExhausted);
}

TEST(File, what_is_no_regular_file_is_neither_waited_for_nor_replaced) {
  const std::string path = scratch("fifo");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(write_file_atomic(path, "x").code(), Code::kInvalidArgument);
  EXPECT_EQ(check_private_file(path).code(), Code::kInvalidArgument);
  EXPECT_EQ(MappedFile::open(path).status().code(), Code::kInvalidArgument);
  ::unlink(path.c_str());
}

TEST(File, appended_lines_survive_reopening_and_can_be_cut) {
  const std::string path = scratch("append");
  ASSERT_TRUE(write_file_atomic(path, "").ok());
  {
    Result<AppendFile> file = AppendFile::open(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file.value().append("one\ntwo").ok());
    ASSERT_TRUE(file.value().sync().ok());
  }
  Result<AppendFile> file = AppendFile::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file.value().size(), 7U);
  ASSERT_TRUE(file.value().truncate(4).ok());
  ASSERT_TRUE(file.value().append("2\n").ok());
  EXPECT_EQ(read_file(path).value(), "one\n2\n");
}

TEST(AppendFile, IsWrittenByOneAtATime) {
  const std::string path = scratch("locked");
  {
    const Result<AppendFile> first = AppendFile::open(path);
    ASSERT_TRUE(first.ok());
    const Result<AppendFile> second = AppendFile::open(path);
    EXPECT_EQ(second.status().message(), path + ": another process is writing it");
  }
  EXPECT_TRUE(AppendFile::open(path).ok());
}

}  // namespace
}  // namespace plumb
