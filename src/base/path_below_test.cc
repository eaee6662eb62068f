// SPDX-License-Identifier: Apache-2.0
#include "base/path_below.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace plumb {
namespace {

class PathBelow : public testing::Test {
 protected:
  PathBelow() {
    std::filesystem::create_directories(root_ + "/in/deep");
    std::filesystem::create_directories(top_ + "/outside");
    std::filesystem::create_directories(top_ + "/roots");
    EXPECT_TRUE(write_file_atomic(root_ + "/in/a", "x").ok());
    EXPECT_TRUE(write_file_atomic(top_ + "/outside/b", "x").ok());
    std::filesystem::create_symlink(top_ + "/outside/b", root_ + "/link-out");
    std::filesystem::create_symlink("in/a", root_ + "/link-in");
    std::filesystem::create_directory_symlink("../outside", root_ + "/folder-out");
    std::filesystem::create_directory_symlink(root_, top_ + "/root-link");
  }

  ~PathBelow() override { std::filesystem::remove_all(top_); }

  std::string found(const std::string& path) const {
    const Result<std::string> result = path_below(root_, path);
    return result.ok() ? result.value() : result.status().message();
  }

  std::string nothing(const std::string& path) const {
    return "'" + path + "' is nothing in the folder that is allowed";
  }

  std::string top_ = std::filesystem::canonical(testing::TempDir()).string() +
                     "/plumb_path_below_" + std::to_string(::getpid());
  std::string root_ = top_ + "/root";
};

TEST_F(PathBelow, what_lies_below_is_found_without_links_and_dots) {
  EXPECT_EQ(found("in/a"), root_ + "/in/a");
  EXPECT_EQ(found(root_ + "/in/a"), root_ + "/in/a");
  EXPECT_EQ(found("in/deep/../a"), root_ + "/in/a");
  EXPECT_EQ(found("link-in"), root_ + "/in/a");
  EXPECT_EQ(path_below(top_ + "/root-link", "in/a").value(), root_ + "/in/a");
}

TEST_F(PathBelow, nothing_leads_out) {
  for (const std::string& path :
       {std::string("../outside/b"), top_ + "/outside/b", std::string("link-out"),
        std::string("folder-out/b"), std::string("."), std::string(""), std::string("../roots"),
        std::string("missing"), top_ + "/outside/missing"}) {
    EXPECT_EQ(found(path), nothing(path));
  }
  EXPECT_EQ(path_below(root_, std::string("in/a\0b", 6)).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(path_below(top_ + "/none", "a").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace plumb
