// SPDX-License-Identifier: Apache-2.0
#include "server/compat.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(Compat, names_are_known_and_given_once) {
  EXPECT_TRUE(check_compat({}).ok());
  EXPECT_TRUE(check_compat({"llamacpp"}).ok());
  EXPECT_EQ(check_compat({"moon"}).message(),
            "--compat: 'moon' is not known, expected a list of llamacpp");
  EXPECT_EQ(check_compat({"llamacpp", "llamacpp"}).message(),
            "--compat: 'llamacpp' is given twice");
  EXPECT_TRUE(is_compat({"llamacpp"}, "llamacpp"));
  EXPECT_FALSE(is_compat({}, "llamacpp"));
}

TEST(Compat, a_route_that_is_off_names_its_option) {
  for (const char* path : {"/completion", "/completion/"}) {
    const std::optional<ApiError> error = compat_route_error(path);
    ASSERT_TRUE(error.has_value()) << path;
    EXPECT_EQ(error->http_status, 404);
    EXPECT_NE(error->message.find("--compat llamacpp"), std::string::npos);
  }
  EXPECT_FALSE(compat_route_error("/completions").has_value());
}

}  // namespace
}  // namespace plumb
