// SPDX-License-Identifier: Apache-2.0
#include "grammar/uri_reference.h"

#include <gtest/gtest.h>
#include <string_view>
#include <utility>

namespace plumb {
namespace {

// The examples of RFC 3986 §5.4.
TEST(UriReference, resolves_against_a_base) {
  constexpr std::string_view kBase = "http://a/b/c/d;p?q";
  for (const auto& [reference, target] :
       {std::pair<std::string_view, std::string_view>{"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"g/../h", "http://a/b/c/h"}}) {
    EXPECT_EQ(resolve_uri(kBase, reference), target) << reference;
  }
}

TEST(UriReference, fragments_are_decoded) {
  EXPECT_EQ(uri_fragment("a#/x%25y%2"), "/x%y%2");
  EXPECT_EQ(uri_fragment("a"), "");
}

}  // namespace
}  // namespace plumb
