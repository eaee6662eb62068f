// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/synthesize.h"
#include "kernels/ref/ref_backend.h"
#include "model/families.h"
#include "model/weight_loader.h"

namespace plumb {

/// A folder for generated checkpoints, gone with the test.
class ModelTest : public testing::Test {
 protected:
  ModelTest() : folder_(testing::TempDir() + "plumb_model_" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }

  ~ModelTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::unique_ptr<Checkpoint> gguf(const SynthesisSpec& spec) {
    const std::string file = path("model" + std::to_string(num_files_++) + ".gguf");
    expect_ok(synthesize_gguf(spec, file));
    return open(file);
  }

  std::unique_ptr<Checkpoint> hf_folder(const SynthesisSpec& spec) {
    const std::string name = path("model" + std::to_string(num_files_++));
    expect_ok(synthesize_folder(spec, name));
    return open(name);
  }

  static std::unique_ptr<Checkpoint> open(const std::string& file) {
    Result<std::unique_ptr<Checkpoint>> checkpoint = Checkpoint::open(file);
    expect_ok(checkpoint.status());
    return checkpoint.ok() ? std::move(checkpoint).value() : nullptr;
  }

  static SynthesisSpec tiny(const std::string& architecture) {
    return *synthesis_preset("tiny-" + architecture);
  }

  static void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.message(); }

  std::string folder_;
  int num_files_ = 0;
};

}  // namespace plumb
