// SPDX-License-Identifier: Apache-2.0
#include "e2e/served_scene.h"

namespace plumb {
namespace {

TEST(ServedModels, a_row_has_the_members_of_both_apis) {
  ServedScene scene;
  const Json list = parse_json(scene.send("GET", "/v1/models").body).value();
  EXPECT_EQ(text_at(list, {"object"}), "list");
  EXPECT_FALSE(at(list, {"has_more"}).as_bool());
  EXPECT_EQ(text_at(list, {"first_id"}), "tiny");
  EXPECT_EQ(text_at(list, {"last_id"}), "tiny");
  const Json row = at(list, {"data", 0});
  EXPECT_EQ(text_at(row, {"object"}), "model");
  EXPECT_EQ(text_at(row, {"type"}), "model");
  EXPECT_EQ(text_at(row, {"display_name"}), "tiny");
  EXPECT_EQ(text_at(row, {"lifecycle"}), "active");
  EXPECT_EQ(int_at(row, {"max_input_tokens"}), 2048);
  EXPECT_EQ(int_at(row, {"max_tokens"}), 2048);
  EXPECT_EQ(text_at(row, {"created_at"}).size(), 20U);
  EXPECT_EQ(text_at(row, {"created_at"}).back(), 'Z');
  EXPECT_EQ(scene.send("GET", "/v1/models/tiny").body, to_text(row));
}

TEST(ServedModels, pages_are_those_of_a_list_of_one) {
  ServedScene scene;
  const auto count = [&](const std::string& query) {
    const HttpResponse response = scene.send("GET", "/v1/models?" + query);
    EXPECT_EQ(response.status, 200) << response.body;
    return array_at(parse_json(response.body).value(), {"data"}).size();
  };
  EXPECT_EQ(count("limit=1"), 1U);
  EXPECT_EQ(count("limit=1000&after_id=other"), 1U);
  EXPECT_EQ(count("after_id=tiny"), 0U);
  EXPECT_EQ(count("before_id=t%69ny"), 0U);
  EXPECT_EQ(count("lifecycle%5B%5D=active&lifecycle%5B%5D=retired"), 1U);
  EXPECT_EQ(count("lifecycle[]=retired"), 0U);
  for (const char* limit : {"0", "1001", "x"}) {
    const HttpResponse response = scene.send("GET", std::string("/v1/models?limit=") + limit);
    EXPECT_EQ(response.status, 400);
    EXPECT_NE(response.body.find("from 1 to 1000"), std::string::npos);
  }
}

}  // namespace
}  // namespace plumb
