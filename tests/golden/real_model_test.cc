// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "golden.h"

namespace plumb {
namespace {

// Where `plumb model fetch` leaves models.
std::string model_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");  // NOLINT(concurrency-mt-unsafe): no setenv
  if (cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/plumb/models";
  }
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): no setenv
  return std::string(home != nullptr ? home : "") + "/.cache/plumb/models";
}

class RealModel : public testing::TestWithParam<const char*> {};

// Weights in 4 bits leave a distance between 8-bit activations and float32 of a few tenths of a
// nat; where the recorded lead is smaller, either token is right and the recorded one is fed on.
constexpr double kClearLead = 0.5;

void expect_greedy(Loaded& loaded, const Json& prompt, std::int64_t chunk) {
  std::vector<TokenId> ids = token_ids(*prompt.find("ids"));
  const std::vector<TokenId> greedy = token_ids(*prompt.find("greedy"));
  const std::vector<double> leads = doubles(*prompt.find("leads"));
  const std::size_t first = ids.size() - 1;
  ids.insert(ids.end(), greedy.begin(), greedy.end() - 1);
  const std::vector<std::vector<float>> rows = loaded.logits(ids, chunk);
  ASSERT_EQ(rows.size(), ids.size());
  for (std::size_t i = 0; i < greedy.size(); ++i) {
    if (leads[i] > kClearLead) {
      EXPECT_EQ(argmax(rows[first + i]), greedy[i])
          << "token " << i << " after '" << prompt.find("text")->as_string() << "', lead "
          << leads[i] << ", chunk " << chunk;
    }
  }
}

TEST_P(RealModel, greedy_ids_are_those_of_the_independent_forward) {
  const Golden golden(GetParam());
  ASSERT_TRUE(golden.ok());
  const std::string path = model_folder() + "/" + golden.text("file");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is absent: plumb model fetch " << GetParam();
  }
  ASSERT_EQ(file_digest(path), golden.text("sha256"));
  for (const char* backend : {"cpu_avx2", "cpu_avx512"}) {
    if (Loaded::make_backend(backend) == nullptr) {
      continue;
    }
    SCOPED_TRACE(backend);
    Loaded loaded;
    ASSERT_TRUE(loaded.load(backend, path, DType::kF16));
    const JsonArray& prompts = golden["prompts"].as_array();
    for (const Json& prompt : prompts) {
      expect_greedy(loaded, prompt, 512);
    }
    expect_greedy(loaded, prompts.front(), 1);
  }
}

std::string model_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, RealModel,
                         testing::Values("smollm2-135m-instruct", "gemma-3-270m"), model_name);

}  // namespace
}  // namespace plumb
