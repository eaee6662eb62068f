// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/compare.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "checkpoint/synthesize.h"

namespace plumb {
namespace {

class CheckpointCompare : public testing::Test {
 protected:
  ~CheckpointCompare() override {
    for (const std::string& path : paths_) {
      ::unlink(path.c_str());
    }
  }

  std::unique_ptr<Checkpoint> checkpoint(const SynthesisSpec& spec) {
    paths_.push_back(testing::TempDir() + "plumb_compare_" + std::to_string(::getpid()) + "_" +
                     std::to_string(paths_.size()) + ".gguf");
    EXPECT_TRUE(synthesize_gguf(spec, paths_.back()).ok());
    return Checkpoint::open(paths_.back()).value();
  }

  std::string difference(const SynthesisSpec& other) {
    return check_same_tensors(*checkpoint({}), *checkpoint(other)).message();
  }

  std::vector<std::string> paths_;
};

TEST_F(CheckpointCompare, values_make_no_difference) {
  EXPECT_EQ(difference({.seed = 9}), "");
}

TEST_F(CheckpointCompare, the_first_difference_is_named) {
  EXPECT_EQ(difference({.vocab_size = 520}),
            "tensor token_embd.weight: is [520, 64], expected [512, 64]");
  EXPECT_EQ(difference({.quant = "BF16"}), "tensor token_embd.weight: is BF16, expected F32");
  EXPECT_TRUE(difference({.num_layers = 1}).ends_with(": missing"));
  EXPECT_TRUE(difference({.num_layers = 3}).ends_with(": not expected"));
}

}  // namespace
}  // namespace plumb
