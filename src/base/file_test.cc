// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "support/no_room.h"

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
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(write_file_atomic(path, "x").code(), Code::kInvalidArgument);
  EXPECT_EQ(check_private_file(path).code(), Code::kInvalidArgument);
  EXPECT_EQ(MappedFile::open(path).status().code(), Code::kInvalidArgument);
  ::unlink(path.c_str());
}

TEST(File, a_private_file_may_be_reached_through_one_link_only) {
  const std::string path = scratch("private");
  const std::string link = scratch("link");
  const std::string far_link = scratch("link2");
  ASSERT_TRUE(write_file_atomic(path, "key").ok());
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  for (const std::string& old : {link, far_link}) {
    ::unlink(old.c_str());
  }
  // Relative to the folder of the link, as `ln -s` makes them.
  ASSERT_EQ(::symlink(path.substr(path.rfind('/') + 1).c_str(), link.c_str()), 0);
  ASSERT_EQ(::symlink(link.c_str(), far_link.c_str()), 0);
  EXPECT_TRUE(check_private_file(path).ok());
  EXPECT_TRUE(check_private_file(link).ok()) << check_private_file(link).message();
  EXPECT_EQ(check_private_file(far_link).message(),
            far_link + ": is a link to a link; give the file itself or one link to it");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(check_private_file(link).code(), Code::kInvalidArgument);
  ::unlink(path.c_str());
  EXPECT_EQ(check_private_file(link).code(), Code::kNotFound);
}

TEST(File, lines_are_read_up_to_a_limit_that_names_the_line) {
  const std::string path = scratch("lines");
  const std::string content = "ab\n" + std::string(100'000, 'c') + "\nd";
  ASSERT_TRUE(write_file_atomic(path, content).ok());
  EXPECT_EQ(read_lines_file(path, 100'000, 200'000).value(), content);
  EXPECT_EQ(read_lines_file(path, 99'999, 200'000).status().message(),
            path + ": line 2 is longer than the limit of 99999 bytes");
  EXPECT_EQ(read_lines_file(path, 100'000, 1000).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(read_lines_file("/dev/zero", 1000, 1 << 20).status().message(),
            "/dev/zero: line 1 is longer than the limit of 1000 bytes");
  EXPECT_EQ(read_lines_file(testing::TempDir(), 10, 10).status().code(), Code::kInvalidArgument);
}

TEST(File, lines_of_a_pipe_are_waited_for) {
  const std::string path = scratch("pipe");
  ::unlink(path.c_str());
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  Thread writer("writer", [&path] {
    std::FILE* out = std::fopen(path.c_str(), "w");
    std::fputs("one\nhalf of tw", out);
    std::fclose(out);
  });
  EXPECT_EQ(read_lines_file(path, 100, 100).value(), "one\nhalf of tw");
  writer.join();
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

TEST(AppendFile, RefusesAPipeWithoutWaitingForItsReader) {
  const std::string path = scratch("pipe");
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(AppendFile::open(path).status(),
            (Status{Code::kInvalidArgument, path + ": is not a regular file"}));
}

TEST(AppendFile, LeavesNothingOfWhatDoesNotFit) {
  const std::string path = scratch("no_room");
  ASSERT_TRUE(write_file_atomic(path, "").ok());
  Result<AppendFile> file = AppendFile::open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file.value().append("one\n").ok());
  {
    const NoRoom no_room(10);
    const Status status = file.value().append("two and more\n");
    EXPECT_EQ(status.message(), path + ": cannot write: File too large");
    EXPECT_EQ(file.value().size(), 4U);
    EXPECT_EQ(read_file(path).value(), "one\n");
    ASSERT_TRUE(file.value().append("three\n").ok());
    EXPECT_FALSE(file.value().append("4\n").ok());
  }
  ASSERT_TRUE(file.value().append("four\n").ok());
  EXPECT_EQ(read_file(path).value(), "one\nthree\nfour\n");
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
