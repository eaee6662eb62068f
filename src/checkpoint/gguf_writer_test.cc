// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "checkpoint/gguf.h"

namespace plumb {
namespace {

std::string scratch(const std::string& name) {
  return testing::TempDir() + "plumb_gguf_" + std::to_string(::getpid()) + "_" + name;
}

std::vector<std::byte> pattern(std::size_t n, int seed) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) {
    bytes[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(seed)) % 251);
  }
  return bytes;
}

void expect_bytes(const GgufFile& file, const std::string& name,
                  const std::vector<std::byte>& expected) {
  const TensorRecord* record = file.find(name);
  ASSERT_NE(record, nullptr) << name;
  const auto bytes = file.bytes(*record);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end())) << name;
}

Status write_file(const std::string& path, const GgufPairs& pairs,
                  const std::vector<GgufTensorSpec>& specs, int seed) {
  PLUMB_ASSIGN(GgufWriter writer, GgufWriter::create(path, pairs, specs));
  for (const GgufTensorSpec& spec : specs) {
    std::size_t rows = 1;
    for (std::size_t i = 0; i + 1 < spec.dims.size(); ++i) {
      rows *= static_cast<std::size_t>(spec.dims[i]);
    }
    const std::size_t n = rows * static_cast<std::size_t>(row_bytes(spec.dtype, spec.dims.back()));
    PLUMB_RETURN_IF_ERROR(writer.append(pattern(n, seed++)));
  }
  return writer.finish();
}

TEST(GgufWriter, what_is_written_is_read_back) {
  const std::string path = scratch("all.gguf");
  const GgufPairs pairs{{"general.architecture", std::string("llama")},
                        {"flag", true},
                        {"count", std::uint32_t{7}},
                        {"negative", std::int32_t{-7}},
                        {"factor", 0.5F},
                        {"tokens", std::vector<std::string>{"a", "", "é"}},
                        {"types", std::vector<std::int32_t>{1, 3}},
                        {"scores", std::vector<float>{-1.5F}}};
  const std::vector<GgufTensorSpec> specs{{"a", DType::kF32, {3}},
                                          {"b", DType::kQ4_0, {5, 32}},
                                          {"empty", DType::kF32, {0, 4}},
                                          {"c", DType::kF16, {2, 3, 5}}};
  {
    Result<GgufWriter> writer = GgufWriter::create(path, pairs, specs);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    // All tensors as one stream, in pieces that do not respect their borders.
    std::vector<std::byte> all = pattern(12, 1);
    const auto b = pattern(90, 2);
    const auto c = pattern(60, 3);
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), c.begin(), c.end());
    std::span<const std::byte> left = all;
    while (!left.empty()) {
      const std::size_t part = std::min<std::size_t>(17, left.size());
      ASSERT_TRUE(writer.value().append(left.first(part)).ok());
      left = left.subspan(part);
    }
    EXPECT_FALSE(file_exists(path));
    ASSERT_TRUE(writer.value().finish().ok());
  }
  const Result<GgufFile> file = GgufFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Metadata& m = file.value().metadata();
  EXPECT_EQ(m.values().size(), pairs.size());
  EXPECT_TRUE(m.get<bool>("flag").value());
  EXPECT_EQ(m.get<std::int64_t>("negative").value(), -7);
  EXPECT_EQ(m.get<double>("factor").value(), 0.5);
  EXPECT_EQ(m.get<std::vector<std::string>>("tokens").value()[2], "é");
  EXPECT_EQ(file.value().tensors()[3].dims, (std::vector<std::int64_t>{2, 3, 5}));
  expect_bytes(file.value(), "a", pattern(12, 1));
  expect_bytes(file.value(), "b", pattern(90, 2));
  expect_bytes(file.value(), "c", pattern(60, 3));
  EXPECT_EQ(file.value().find("d"), nullptr);
  ::unlink(path.c_str());
}

TEST(GgufWriter, an_unfinished_file_leaves_nothing_behind) {
  const std::string path = scratch("unfinished.gguf");
  {
    Result<GgufWriter> writer = GgufWriter::create(path, {}, {{"a", DType::kF32, {3}}});
    ASSERT_TRUE(writer.ok());
  }
  EXPECT_FALSE(file_exists(path));
  EXPECT_FALSE(file_exists(path + ".tmp." + std::to_string(::getpid())));
}

TEST(GgufWriter, specs_that_the_format_cannot_hold_are_errors) {
  const auto status = [](GgufTensorSpec spec) {
    return GgufWriter::create(scratch("bad"), {}, {std::move(spec)}).status().code();
  };
  EXPECT_EQ(status({std::string(64, 'n'), DType::kF32, {1}}), Code::kInvalidArgument);
  EXPECT_EQ(status({"t", DType::kQ4_0, {33}}), Code::kInvalidArgument);
  EXPECT_EQ(status({"t", DType::kF32, {1, 1, 1, 1, 1}}), Code::kInvalidArgument);
  EXPECT_EQ(status({"t", DType::kU8, {1}}), Code::kInvalidArgument);
  EXPECT_EQ(status({"t", DType::kF32, {-1}}), Code::kInvalidArgument);
}

/// A model in two parts; `count` and `total` are what the parts say.
class SplitModel {
 public:
  explicit SplitModel(const std::string& name, std::uint16_t count = 2, std::int32_t total = 3)
      : stem_(scratch(name)) {
    const GgufPairs split{{"split.count", count}, {"split.tensors.count", total}};
    GgufPairs first = split;
    first.emplace_back("split.no", std::uint16_t{0});
    first.emplace_back("general.architecture", std::string("llama"));
    GgufPairs second = split;
    second.emplace_back("split.no", std::uint16_t{1});
    const std::string second_name = name == "twice" ? "a" : "c";
    EXPECT_TRUE(
        write_file(part(1), first, {{"a", DType::kF32, {3}}, {"b", DType::kF16, {2, 2}}}, 1).ok());
    EXPECT_TRUE(write_file(part(2), second, {{second_name, DType::kF32, {5}}}, 9).ok());
  }

  ~SplitModel() {
    ::unlink(part(1).c_str());
    ::unlink(part(2).c_str());
  }

  std::string part(int number) const {
    return stem_ + "-0000" + std::to_string(number) + "-of-00002.gguf";
  }

 private:
  std::string stem_;
};

TEST(GgufFile, a_split_model_opens_from_any_part) {
  const SplitModel model("split");
  for (const int number : {1, 2}) {
    const Result<GgufFile> file = GgufFile::open(model.part(number));
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file.value().tensors().size(), 3U);
    EXPECT_EQ(file.value().metadata().get<std::string>("general.architecture").value(), "llama");
    expect_bytes(file.value(), "b", pattern(8, 2));
    expect_bytes(file.value(), "c", pattern(20, 9));
  }
}

TEST(GgufFile, parts_that_do_not_belong_together_are_named) {
  const auto message = [](const SplitModel& model, int part) {
    return GgufFile::open(model.part(part)).status().message();
  };
  EXPECT_NE(message(SplitModel("total", 2, 4), 1).find("split.tensors.count is 4"),
            std::string::npos);
  EXPECT_NE(message(SplitModel("count", 3, 3), 1).find("-00001-of-00003.gguf"), std::string::npos);
  EXPECT_NE(message(SplitModel("twice"), 1).find("tensor 'a' is also in part 1"),
            std::string::npos);
  SplitModel missing("missing");
  ::unlink(missing.part(2).c_str());
  EXPECT_EQ(GgufFile::open(missing.part(1)).status().code(), Code::kNotFound);
  SplitModel swapped("swapped");
  ::rename(swapped.part(1).c_str(), swapped.part(2).c_str());
  EXPECT_NE(message(swapped, 2).find("its name must end in '-00001-of-00002.gguf'"),
            std::string::npos);
}

}  // namespace
}  // namespace plumb
