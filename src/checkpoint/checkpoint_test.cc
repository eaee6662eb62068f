// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "checkpoint/gguf_writer.h"
#include "checkpoint/identity.h"
#include "checkpoint/inspect.h"
#include "checkpoint/safetensors_writer.h"

namespace plumb {
namespace {

class CheckpointFiles : public testing::Test {
 protected:
  CheckpointFiles()
      : folder_(testing::TempDir() + "plumb_checkpoint_" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }

  ~CheckpointFiles() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file_atomic(path(name), text).ok());
  }

  void write_gguf(const std::string& name) {
    std::vector<std::string> tokens(20, "t\xFF");
    const GgufPairs pairs{{"general.architecture", std::string("llama")},
                          {"tokens", tokens},
                          {"template", std::string("line\n") + std::string(200, 'x')}};
    Result<GgufWriter> writer = GgufWriter::create(
        path(name), pairs, {{"a", DType::kQ4_0, {2, 32}}, {"b", DType::kF32, {3}}});
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    ASSERT_TRUE(writer.value().append(std::vector<std::byte>(36 + 12, std::byte{5})).ok());
    ASSERT_TRUE(writer.value().finish().ok());
  }

  void write_safetensors(const std::string& name, const std::string& tensor) {
    Result<SafetensorsWriter> writer =
        SafetensorsWriter::create(path(name), {{tensor, DType::kBF16, {2, 3}}});
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    ASSERT_TRUE(writer.value().append(std::vector<std::byte>(12, std::byte{6})).ok());
    ASSERT_TRUE(writer.value().finish().ok());
  }

  std::string folder_;
};

TEST_F(CheckpointFiles, the_identity_is_that_of_the_content) {
  write_gguf("m.gguf");
  write_gguf("copy.gguf");
  const std::string whole = read_file(path("m.gguf")).value();
  for (const IdentityBytes which : {IdentityBytes::kSamples, IdentityBytes::kAll}) {
    const auto identity = [&](const std::string& name) {
      return checkpoint_identity(*Checkpoint::open(path(name)).value(), which);
    };
    write("m.gguf", whole);
    const std::string first = identity("m.gguf");
    EXPECT_EQ(first.size(), 64U);
    EXPECT_EQ(identity("copy.gguf"), first);
    std::string content = whole;
    content[content.rfind('\x05')] = '\x04';  // one bit of a weight
    write("m.gguf", content);
    EXPECT_NE(identity("m.gguf"), first);
  }
}

// A tensor of 20,000 bytes with one byte changed at a time.
TEST_F(CheckpointFiles, samples_are_the_beginning_the_middle_and_the_end_of_a_tensor) {
  constexpr std::size_t kNumBytes = 20'000;
  const auto identity_with = [this](std::size_t changed, IdentityBytes which) {
    Result<GgufWriter> writer =
        GgufWriter::create(path("m.gguf"), {{"general.architecture", std::string("llama")}},
                           {{"a", DType::kF32, {static_cast<std::int64_t>(kNumBytes / 4)}}});
    std::vector<std::byte> bytes(kNumBytes);
    bytes[changed] = std::byte{1};
    EXPECT_TRUE(writer.value().append(bytes).ok());
    EXPECT_TRUE(writer.value().finish().ok());
    return checkpoint_identity(*Checkpoint::open(path("m.gguf")).value(), which);
  };
  const std::string unseen = identity_with(5'000, IdentityBytes::kSamples);
  EXPECT_EQ(identity_with(15'000, IdentityBytes::kSamples), unseen);
  for (const std::size_t place : {0, 4'095, 7'952, 12'047, 15'904, 19'999}) {
    EXPECT_NE(identity_with(place, IdentityBytes::kSamples), unseen) << place;
  }
  EXPECT_NE(identity_with(5'000, IdentityBytes::kAll), identity_with(15'000, IdentityBytes::kAll));
}

// Bytes of a mapped file that count as this process's memory.
std::int64_t resident_bytes(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::int64_t sum = 0;
  bool is_of_file = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ')) {  // the head of a mapping
      is_of_file = line.ends_with(path);
    } else if (is_of_file && line.starts_with("Rss:")) {
      sum += std::stoll(line.substr(4)) * 1024;
    }
  }
  return sum;
}

TEST_F(CheckpointFiles, the_identity_leaves_no_pages_of_the_weights_in_memory) {
  constexpr std::size_t kNumBytes = 1 << 20;
  std::vector<GgufTensorSpec> tensors;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    tensors.push_back({name, DType::kF32, {static_cast<std::int64_t>(kNumBytes / 4)}});
  }
  Result<GgufWriter> writer =
      GgufWriter::create(path("m.gguf"), {{"general.architecture", std::string("llama")}}, tensors);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  ASSERT_TRUE(writer.value().append(std::vector<std::byte>(8 * kNumBytes, std::byte{5})).ok());
  ASSERT_TRUE(writer.value().finish().ok());
  const auto checkpoint = Checkpoint::open(path("m.gguf")).value();
  for (const IdentityBytes which : {IdentityBytes::kSamples, IdentityBytes::kAll}) {
    EXPECT_EQ(checkpoint_identity(*checkpoint, which).size(), 64U);
    EXPECT_LE(resident_bytes(path("m.gguf")), 64 << 10);
  }
}

TEST_F(CheckpointFiles, a_gguf_file_gives_packed_matrices_slowest_dimension_first) {
  write_gguf("m.gguf");
  const auto checkpoint = Checkpoint::open(path("m.gguf"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  const Checkpoint& c = *checkpoint.value();
  EXPECT_EQ(c.kind(), Checkpoint::Kind::kGguf);
  EXPECT_EQ(c.folder(), folder_);
  EXPECT_TRUE(c.config().is_null());
  EXPECT_EQ(c.metadata().get<std::string>("general.architecture").value(), "llama");
  const Result<RawTensor> a = c.tensor("a");
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a.value().shape, (Shape{2, 32}));
  EXPECT_EQ(a.value().dtype, DType::kQ4_0);
  EXPECT_EQ(a.value().bytes.size(), 36U);
  EXPECT_EQ(a.value().bytes[35], std::byte{5});
  EXPECT_EQ(c.total_tensor_bytes(), 48U);
  EXPECT_EQ(c.total_file_bytes(), std::filesystem::file_size(path("m.gguf")));
  EXPECT_EQ(c.tensor("absent").status().code(), Code::kNotFound);
  c.release_pages("a");
  EXPECT_EQ(a.value().bytes[35], std::byte{5});
}

TEST_F(CheckpointFiles, a_folder_gives_weights_and_descriptions) {
  write_safetensors("model.safetensors", "w");
  write("config.json", R"({"model_type":"llama"})");
  for (const std::string& p : {folder_, folder_ + "/", path("model.safetensors")}) {
    const auto checkpoint = Checkpoint::open(p);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    const Checkpoint& c = *checkpoint.value();
    EXPECT_EQ(c.kind(), Checkpoint::Kind::kSafetensors);
    EXPECT_EQ(c.folder(), folder_);
    EXPECT_EQ(c.config().find("model_type")->as_string(), "llama");
    EXPECT_EQ(c.tensor("w").value().shape, (Shape{2, 3}));
    EXPECT_EQ(c.tensor("w").value().dtype, DType::kBF16);
    EXPECT_TRUE(c.metadata().values().empty());
    EXPECT_EQ(c.read_json("generation_config.json").status().code(), Code::kNotFound);
  }
}

TEST_F(CheckpointFiles, a_folder_with_an_index_gives_all_shards) {
  write_safetensors("model-00001-of-00002.safetensors", "w1");
  write_safetensors("model-00002-of-00002.safetensors", "w2");
  write("model.safetensors.index.json", R"({"weight_map":{"w1":"model-00001-of-00002.safetensors",)"
                                        R"("w2":"model-00002-of-00002.safetensors"}})");
  for (const std::string& p : {folder_, path("model.safetensors.index.json")}) {
    const auto checkpoint = Checkpoint::open(p);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    EXPECT_EQ(checkpoint.value()->num_files(), 2);
    EXPECT_TRUE(checkpoint.value()->tensor("w2").ok());
    EXPECT_TRUE(checkpoint.value()->config().is_null());
  }
}

TEST_F(CheckpointFiles, what_is_no_checkpoint_is_a_named_error) {
  const auto status = [](const std::string& p) { return Checkpoint::open(p).status(); };
  EXPECT_EQ(status(path("absent.gguf")).code(), Code::kNotFound);
  EXPECT_EQ(status(folder_).code(), Code::kNotFound);
  write("empty.gguf", "");
  EXPECT_NE(status(path("empty.gguf")).message().find("byte 0: expected the magic"),
            std::string::npos);
  write("page.html", "<!DOCTYPE html><html></html>");
  EXPECT_NE(status(path("page.html")).message().find("expected a GGUF file"), std::string::npos);
  write("model.safetensors", "garbage!garbage!");
  EXPECT_NE(status(path("model.safetensors")).message().find("byte 0: expected a header length"),
            std::string::npos);
  write_safetensors("model.safetensors", "w");
  write("config.json", "{");
  EXPECT_NE(status(folder_).message().find("config.json: invalid JSON"), std::string::npos);
}

TEST_F(CheckpointFiles, a_gguf_file_with_another_name_is_recognised) {
  write_gguf("model.bin");
  EXPECT_TRUE(Checkpoint::open(path("model.bin")).ok());
}

TEST_F(CheckpointFiles, tensors_that_cannot_be_loaded_are_listed) {
  std::string header = R"({"f8":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]},)"
                       R"("deep":{"dtype":"U8","shape":[1,1,1,1,2],"data_offsets":[2,4]}})";
  const std::uint64_t length = header.size();
  write("model.safetensors",
        std::string(reinterpret_cast<const char*>(&length), 8) + header + "1234");
  const auto checkpoint = Checkpoint::open(path("model.safetensors"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint.value()->tensors().size(), 2U);
  EXPECT_EQ(checkpoint.value()->tensor("f8").status().code(), Code::kUnsupported);
  EXPECT_NE(checkpoint.value()->tensor("f8").status().message().find("F8_E4M3"), std::string::npos);
  EXPECT_EQ(checkpoint.value()->tensor("deep").status().code(), Code::kUnsupported);
  const Inspection inspection = inspect(*checkpoint.value());
  const Json* list = inspection.json.find("tensors");
  EXPECT_FALSE(list->as_array()[0].find("loadable")->as_bool());
  EXPECT_EQ(inspection.tensors[1][1], "F8_E4M3 (unsupported)");
}

TEST_F(CheckpointFiles, inspection_shows_the_header_and_cuts_long_values) {
  write_gguf("m.gguf");
  const auto checkpoint = Checkpoint::open(path("m.gguf"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  const Inspection inspection = inspect(*checkpoint.value());
  const Json& json = inspection.json;
  EXPECT_EQ(json.find("format")->as_string(), "gguf");
  EXPECT_EQ(json.find("parameters")->as_int(), 67);
  EXPECT_EQ(json.find("types")->find("Q4_0")->find("bytes")->as_int(), 36);
  EXPECT_EQ(json.find("metadata")->find("tokens")->find("length")->as_int(), 20);
  EXPECT_EQ(json.find("metadata")->find("tokens")->find("first")->as_array()[0].as_string(),
            "t\xEF\xBF\xBD");
  EXPECT_EQ(json.find("metadata")->find("template")->as_string().size(), 205U);
  EXPECT_EQ(inspection.tensors[1], (std::vector<std::string>{"a", "Q4_0", "[2, 32]", "36"}));
  EXPECT_TRUE(parse_json(to_text(json)).ok());
  const std::string text = table_text(inspection.metadata);
  EXPECT_NE(text.find("template              line\\nxxx"), std::string::npos) << text;
  EXPECT_NE(text.find("bytes)"), std::string::npos);
}

}  // namespace
}  // namespace plumb
