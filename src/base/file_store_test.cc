// SPDX-License-Identifier: Apache-2.0
#include "base/file_store.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plumb {
namespace {

class FileStoreTest : public testing::Test {
 protected:
  FileStoreTest() : folder_(testing::TempDir() + "plumb_file_store_" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
  }

  ~FileStoreTest() override { std::filesystem::remove_all(folder_); }

  static int mode_of(const std::string& path) {
    struct stat st {};

    EXPECT_EQ(::stat(path.c_str(), &st), 0);
    return static_cast<int>(st.st_mode & 0777);
  }

  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
  }

  std::string folder_;
  FileStore& files_ = system_files();
};

TEST_F(FileStoreTest, folders_and_files_are_this_users_alone) {
  ASSERT_TRUE(files_.make_folder(folder_ + "/a/b").ok());
  ASSERT_TRUE(files_.make_folder(folder_ + "/a/b").ok());
  EXPECT_EQ(mode_of(folder_ + "/a/b"), 0700);
  ASSERT_TRUE(files_.create(folder_ + "/a/b/file").ok());
  EXPECT_EQ(mode_of(folder_ + "/a/b/file"), 0600);
}

TEST_F(FileStoreTest, a_file_is_read_where_it_was_written) {
  ASSERT_TRUE(files_.make_folder(folder_).ok());
  const std::unique_ptr<RandomFile> file = files_.create(folder_ + "/x").value();
  ASSERT_TRUE(file->write_at(3, bytes("hello")).ok());
  ASSERT_TRUE(file->truncate(7).ok());
  EXPECT_EQ(file->size().value(), 7U);
  const std::unique_ptr<RandomFile> again = files_.open(folder_ + "/x").value();
  std::string text(4, '?');
  ASSERT_TRUE(again->read_at(3, std::as_writable_bytes(std::span(text))).ok());
  EXPECT_EQ(text, "hell");
  EXPECT_EQ(again->read_at(4, std::as_writable_bytes(std::span(text))).code(), Code::kDataLoss);
}

TEST_F(FileStoreTest, what_exists_is_not_made_again_and_what_is_missing_is_named) {
  ASSERT_TRUE(files_.make_folder(folder_).ok());
  ASSERT_TRUE(files_.create(folder_ + "/x").ok());
  EXPECT_FALSE(files_.create(folder_ + "/x").ok());
  EXPECT_EQ(files_.open(folder_ + "/y").status().code(), Code::kNotFound);
  EXPECT_EQ(files_.remove(folder_ + "/y").code(), Code::kNotFound);
  EXPECT_EQ(files_.make_folder(folder_ + "/x").code(), Code::kInvalidArgument);
}

TEST_F(FileStoreTest, a_listing_holds_regular_files_only_and_is_bounded) {
  ASSERT_TRUE(files_.make_folder(folder_ + "/folder").ok());
  ASSERT_TRUE(files_.create(folder_ + "/b").value()->write_at(0, bytes("12")).ok());
  ASSERT_TRUE(files_.create(folder_ + "/a").ok());
  std::filesystem::create_symlink(folder_ + "/a", folder_ + "/link");
  EXPECT_FALSE(files_.open(folder_ + "/link").ok());
  const std::vector<FolderEntry> entries = files_.list(folder_, 2).value();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[1].name, "b");
  EXPECT_EQ(entries[1].num_bytes, 2U);
  EXPECT_EQ(files_.list(folder_, 1).status().code(), Code::kResourceExhausted);
}

TEST_F(FileStoreTest, a_folder_has_one_holder_at_a_time) {
  ASSERT_TRUE(files_.make_folder(folder_).ok());
  {
    const Result<std::unique_ptr<FolderLock>> first = files_.lock(folder_);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(files_.lock(folder_).status().code(), Code::kUnavailable);
  }
  EXPECT_TRUE(files_.lock(folder_).ok());
}

}  // namespace
}  // namespace plumb
