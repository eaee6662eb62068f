// SPDX-License-Identifier: Apache-2.0
#include "server/models_catalog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace plumb {
namespace {

std::string catalog_file(const std::string& text) {
  const std::string path = testing::TempDir() + "catalog_" + std::to_string(::getpid()) + ".json";
  EXPECT_TRUE(write_file_atomic(path, text).ok());
  return path;
}

std::string error_of_catalog(const std::string& text) {
  return read_models_catalog(catalog_file(text)).status().message();
}

TEST(ModelsCatalog, an_array_or_an_object_with_one_is_taken_as_it_is) {
  for (const char* text : {R"([{"slug":"m","x":[1]}])", R"({"models":[{"slug":"m","x":[1]}]})"}) {
    const Result<JsonArray> models = read_models_catalog(catalog_file(text));
    ASSERT_TRUE(models.ok()) << models.status().message();
    EXPECT_EQ(to_text(Json(models.value())), R"([{"slug":"m","x":[1]}])");
  }
  EXPECT_TRUE(read_models_catalog("").value().empty());
}

TEST(ModelsCatalog, anything_else_is_refused_with_the_reason) {
  EXPECT_NE(error_of_catalog("{\"models\": 3}").find("expected an array"), std::string::npos);
  EXPECT_NE(error_of_catalog("[1]").find("holds 1, expected objects"), std::string::npos);
  EXPECT_NE(error_of_catalog("[{]").find("--models-catalog"), std::string::npos);
  EXPECT_EQ(read_models_catalog("/nowhere/catalog.json").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace plumb
