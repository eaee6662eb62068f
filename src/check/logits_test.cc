// SPDX-License-Identifier: Apache-2.0
#include "check/logits.h"

#include <cmath>
#include <gmock/gmock.h>

#include "base/file.h"
#include "kernels/meta/meta_backend.h"
#include "kernels/ref/ref_backend.h"
#include "model/model_test_scene.h"

namespace plumb {
namespace {

using testing::HasSubstr;

class CheckLogits : public ModelTest {
 protected:
  CheckLogits() {
    checkpoint_ = gguf(tiny("llama"));
    model_ = load_model({*checkpoint_, *ref_, {}, DType::kF32, 32}).value();
    forward_ = Forward::create(*model_, *ref_, ref_->ops(), *meta_, 8, 8).value();
  }

  Result<LogitsReport> check(const LogitsFiles& files) {
    return check_logits(*forward_, ids_, 512, files);
  }

  // What --dump wrote, changed by `change(position, row)`.
  template <class Change>
  std::string changed(const std::string& dump, Change change) {
    std::string bytes = read_file(dump).value();
    auto* values = reinterpret_cast<float*>(bytes.data());
    for (std::size_t t = 0; t < ids_.size(); ++t) {
      change(t, std::span<float>(values + t * 512, 512));
    }
    std::string file = path("changed.f32");
    expect_ok(write_file_atomic(file, bytes));
    return file;
  }

  std::vector<TokenId> ids_{5, 53, 175, 371, 129, 473, 379, 359};
  std::unique_ptr<Backend> ref_ = make_ref_backend();
  std::unique_ptr<Backend> meta_ = make_meta_backend();
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Forward> forward_;
};

TEST_F(CheckLogits, what_was_dumped_compares_as_equal) {
  const std::string dump = path("dump.f32");
  const Result<LogitsReport> first = check({"", dump});
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_FALSE(first.value().has_reference);
  const LogitsReport again = check({dump, ""}).value();
  EXPECT_TRUE(again.has_reference);
  EXPECT_EQ(again.num_positions, 8);
  EXPECT_EQ(again.max_relative_error, 0);
  EXPECT_NEAR(again.mean_kl, 0, 1e-12);
  EXPECT_EQ(again.num_clear, again.num_clear_equal);
  EXPECT_DOUBLE_EQ(again.perplexity, again.reference_perplexity);
  EXPECT_DOUBLE_EQ(again.perplexity, first.value().perplexity);
}

TEST_F(CheckLogits, a_difference_is_measured_where_it_is) {
  const std::string dump = path("dump.f32");
  ASSERT_TRUE(check({"", dump}).ok());
  float largest = 0;
  const std::string reference = changed(dump, [&](std::size_t t, std::span<float> row) {
    if (t == 3) {
      row[7] += 0.25F;
      for (const float value : row) {
        largest = std::max(largest, std::abs(value));
      }
    }
  });
  const LogitsReport report = check({reference, ""}).value();
  EXPECT_EQ(report.worst_position, 3);
  EXPECT_NEAR(report.max_relative_error, 0.25 / static_cast<double>(largest), 1e-6);
  EXPECT_GT(report.max_kl, 0);
  EXPECT_NEAR(report.mean_kl, report.max_kl / 8, 1e-9);
}

TEST_F(CheckLogits, a_constant_on_all_logits_is_no_divergence) {
  const std::string dump = path("dump.f32");
  ASSERT_TRUE(check({"", dump}).ok());
  const std::string reference = changed(dump, [](std::size_t, std::span<float> row) {
    for (float& value : row) {
      value += 2.0F;
    }
  });
  const LogitsReport report = check({reference, ""}).value();
  EXPECT_GT(report.max_relative_error, 0.1);
  EXPECT_NEAR(report.mean_kl, 0, 1e-6);
}

TEST_F(CheckLogits, another_first_choice_at_a_clear_position_is_counted) {
  const std::string dump = path("dump.f32");
  ASSERT_TRUE(check({"", dump}).ok());
  const std::string reference = changed(dump, [](std::size_t t, std::span<float> row) {
    row[t == 2 ? 11 : 0] = t == 2 ? 100.0F : row[0];
  });
  const LogitsReport report = check({reference, ""}).value();
  EXPECT_EQ(report.num_clear - report.num_clear_equal, 1);
}

TEST_F(CheckLogits, uniform_logits_have_the_perplexity_of_the_vocabulary) {
  const std::string dump = path("dump.f32");
  ASSERT_TRUE(check({"", dump}).ok());
  const std::string reference = changed(
      dump, [](std::size_t, std::span<float> row) { std::fill(row.begin(), row.end(), 1.0F); });
  EXPECT_NEAR(check({reference, ""}).value().reference_perplexity, 512, 1e-6);
}

TEST_F(CheckLogits, wrong_files_and_ids_are_errors) {
  const std::string file = path("short.f32");
  expect_ok(write_file_atomic(file, "1234"));
  EXPECT_THAT(check({file, ""}).status().message(), HasSubstr("has 4 bytes, expected 16384"));
  EXPECT_FALSE(check({path("absent.f32"), ""}).ok());
  ids_[1] = 512;
  EXPECT_THAT(check({}).status().message(), HasSubstr("token id 512, expected less than 512"));
}

TEST_F(CheckLogits, id_files_hold_one_array) {
  const auto ids_of = [&](const std::string& text) {
    expect_ok(write_file_atomic(path("ids.json"), text));
    return read_ids(path("ids.json"));
  };
  EXPECT_EQ(ids_of("[1, 2,3]\n").value(), (std::vector<TokenId>{1, 2, 3}));
  for (const char* bad : {"", "[]", "{}", "[1.5]", "[-1]", "[\"a\"]", "[4294967296]", "7"}) {
    const Result<std::vector<TokenId>> ids = ids_of(bad);
    EXPECT_FALSE(ids.ok()) << bad;
    EXPECT_THAT(ids.status().message(), HasSubstr("ids.json")) << bad;
  }
}

}  // namespace
}  // namespace plumb
