// SPDX-License-Identifier: Apache-2.0
#include "web/assets.h"

#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxBytes = 1 << 20;
constexpr std::int64_t kMaxLines = 400;

const std::string kFolder = std::string(PLUMB_SOURCE_DIR) + "/src/web/static";

// The names that follow `before` in the text, up to the quote.
std::vector<std::string> names_after(std::string_view text, std::string_view before) {
  std::vector<std::string> names;
  for (std::size_t at = text.find(before); at != std::string_view::npos;
       at = text.find(before, at + 1)) {
    const std::string_view rest = text.substr(at + before.size());
    names.emplace_back(rest.substr(0, rest.find('"')));
  }
  return names;
}

TEST(WebAssets, every_file_is_there_with_its_bytes_type_and_digest) {
  const std::map<std::string, std::string> types{{".css", "text/css; charset=utf-8"},
                                                 {".html", "text/html; charset=utf-8"},
                                                 {".js", "text/javascript; charset=utf-8"},
                                                 {".svg", "image/svg+xml"}};
  std::set<std::string> expected;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    expected.insert(name);
    const WebAsset* asset = find_web_asset(name);
    ASSERT_NE(asset, nullptr) << name;
    const Result<std::string> content = read_file(entry.path().string(), kMaxBytes);
    ASSERT_TRUE(content.ok()) << content.status().message();
    EXPECT_TRUE(asset->content == content.value()) << name << " is not what was embedded";
    EXPECT_EQ(asset->sha256, to_hex(sha256(content.value()))) << name;
    EXPECT_EQ(asset->content_type, types.at(entry.path().extension().string())) << name;
  }
  std::vector<std::string> names;
  for (const WebAsset& asset : web_assets()) {
    names.emplace_back(asset.name);
  }
  EXPECT_THAT(names, testing::ElementsAreArray(expected));
}

TEST(WebAssets, an_unknown_name_is_not_found) {
  for (const char* name : {"", "chat", "CHAT.JS", "../assets.h", "static/chat.js", "chat.js "}) {
    EXPECT_EQ(find_web_asset(name), nullptr) << name;
  }
}

TEST(WebAssets, what_a_file_asks_for_is_there) {
  const std::string_view page = find_web_asset("index.html")->content;
  std::vector<std::string> wanted;
  for (const char* attribute : {"href=\"web/", "src=\"web/"}) {
    const std::vector<std::string> names = names_after(page, attribute);
    EXPECT_FALSE(names.empty()) << attribute;
    wanted.insert(wanted.end(), names.begin(), names.end());
  }
  for (const WebAsset& asset : web_assets()) {
    const std::vector<std::string> names = names_after(asset.content, "from \"./");
    wanted.insert(wanted.end(), names.begin(), names.end());
  }
  for (const std::string& name : wanted) {
    EXPECT_NE(find_web_asset(name), nullptr) << name;
  }
  // And nothing is there that nobody asks for.
  for (const WebAsset& asset : web_assets()) {
    EXPECT_TRUE(asset.name == "index.html" ||
                std::find(wanted.begin(), wanted.end(), asset.name) != wanted.end())
        << asset.name;
  }
}

// What the content security policy would refuse, and markup made of text.
TEST(WebAssets, nothing_is_inline_nor_from_elsewhere_nor_made_of_markup) {
  for (const WebAsset& asset : web_assets()) {
    for (const char* word :
         {"<style", " style=\"", " onclick=", " onload=", "<script>", "javascript:", "innerHTML",
          "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "src=\"//",
          "src=\"http", "href=\"http", "@import", "url(http"}) {
      EXPECT_EQ(asset.content.find(word), std::string_view::npos) << asset.name << ": " << word;
    }
  }
}

TEST(WebAssets, files_are_short_and_say_their_licence) {
  for (const WebAsset& asset : web_assets()) {
    EXPECT_LE(std::count(asset.content.begin(), asset.content.end(), '\n'), kMaxLines)
        << asset.name;
    EXPECT_TRUE(is_valid_utf8(asset.content)) << asset.name;
    if (!asset.name.ends_with(".svg")) {
      EXPECT_NE(asset.content.find("SPDX-License-Identifier: Apache-2.0"), std::string_view::npos)
          << asset.name;
    }
  }
}

}  // namespace
}  // namespace plumb
