// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <unistd.h>

#include "checkpoint/safetensors_writer.h"

namespace plumb {
namespace {

std::string framed(const std::string& header, std::size_t buffer_bytes, std::uint64_t length) {
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file + header + std::string(buffer_bytes, '\1');
}

std::string framed(const std::string& header, std::size_t buffer_bytes) {
  return framed(header, buffer_bytes, header.size());
}

Result<SafetensorsHeader> parse(const std::string& file) {
  return parse_safetensors({reinterpret_cast<const std::byte*>(file.data()), file.size()});
}

// One entry without its braces.
std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

std::string object(const std::string& members) {
  return "{" + members + "}";
}

TEST(Safetensors, the_example_header_is_read) {
  std::string header =
      object(entry("a", "F16", "[2,3]", "[0,12]") + "," + entry("b", "F32", "[]", "[12,16]"));
  EXPECT_EQ(header.size(), 111U);
  header += " ";
  const std::string file = framed(header, 16);
  EXPECT_EQ(file.size(), 136U);
  const Result<SafetensorsHeader> parsed = parse(file);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const std::vector<TensorRecord>& t = parsed.value().tensors;
  ASSERT_EQ(t.size(), 2U);
  EXPECT_EQ(t[0].dtype, DType::kF16);
  EXPECT_EQ(t[0].dims, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(t[0].file_offset, 120U);
  EXPECT_EQ(t[1].dims, (std::vector<std::int64_t>{}));
  EXPECT_EQ(t[1].file_offset, 132U);
  EXPECT_EQ(t[1].num_bytes, 4U);
}

struct Case {
  std::string what;
  std::string header;
  std::size_t buffer_bytes;
};

TEST(Safetensors, valid_headers_are_accepted) {
  const std::vector<Case> cases{
      {"nothing", "{}", 0},
      {"trailing blanks", "{}   \t\n\r", 0},
      {"rank 0", object(entry("a", "U8", "[]", "[0,1]")), 1},
      {"a zero dimension", object(entry("a", "F32", "[3,0]", "[0,0]")), 0},
      {"zero-length tensors before and after",
       object(entry("z", "F32", "[0]", "[4,4]") + "," + entry("a", "F32", "[1]", "[0,4]") + "," +
              entry("y", "F32", "[0]", "[0,0]")),
       4},
      {"entries out of order",
       object(entry("b", "U8", "[2]", "[1,3]") + "," + entry("a", "U8", "[1]", "[0,1]")), 3},
      {"fields in another order", R"({"a":{"data_offsets":[0,1],"shape":[1],"dtype":"U8"}})", 1},
      {"unknown fields", R"({"a":{"dtype":"U8","x":[{}],"shape":[1],"data_offsets":[0,1]}})", 1},
      {"metadata", R"({"__metadata__":{"format":"pt","":""}})", 0},
      {"null metadata", R"({"__metadata__":null})", 0},
      {"an escaped name",
       R"({"\u0061\ud83d\ude00":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1},
      {"an empty name", object(entry("", "U8", "[1]", "[0,1]")), 1},
      {"packed F4", object(entry("a", "F4", "[3,2]", "[0,3]")), 3},
      {"packed F6", object(entry("a", "F6_E2M3", "[4]", "[0,3]")), 3},
      {"more dimensions than can be loaded", object(entry("a", "U8", "[1,1,1,1,1,1]", "[0,1]")), 1},
      {"a huge product times zero", object(entry("a", "U8", "[4611686018427387904,4,0]", "[0,0]")),
       0},
  };
  for (const Case& c : cases) {
    const Result<SafetensorsHeader> parsed = parse(framed(c.header, c.buffer_bytes));
    EXPECT_TRUE(parsed.ok()) << c.what << ": " << parsed.status().message();
  }
}

TEST(Safetensors, invalid_headers_are_refused) {
  const std::string a = entry("a", "U8", "[1]", "[0,1]");
  const std::vector<Case> cases{
      {"an array", "[]", 0},
      {"a number", "1", 0},
      {"blanks before the object", " {}", 0},
      {"a byte order mark", "\xEF\xBB\xBF{}", 0},
      {"a trailing NUL", std::string("{}\0", 3), 0},
      {"two objects", "{}{}", 0},
      {"no end", "{", 0},
      {"a trailing comma", "{" + a + ",}", 1},
      {"invalid UTF-8", "{\"\xFF\":1}", 0},
      {"a lone surrogate", R"({"\ud800":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1},
      {"a lone low surrogate", R"({"\udc00x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1},
      {"two high surrogates", R"({"\ud800\ud800":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       1},
      {"a repeated name", object(a + "," + entry("a", "U8", "[1]", "[1,2]")), 2},
      {"a name repeated through an escape",
       object(a + R"(,"\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]})"), 2},
      {"a repeated field", R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       1},
      {"an entry that is no object", R"({"a":1})", 0},
      {"no dtype", R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1},
      {"no shape", R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1},
      {"no offsets", R"({"a":{"dtype":"U8","shape":[1]}})", 1},
      {"lower-case dtype", object(entry("a", "u8", "[1]", "[0,1]")), 1},
      {"unknown dtype", object(entry("a", "C128", "[1]", "[0,16]")), 16},
      {"a float dimension", object(entry("a", "U8", "[1.0]", "[0,1]")), 1},
      {"a negative dimension", object(entry("a", "U8", "[-1]", "[0,1]")), 1},
      {"a text dimension", object(entry("a", "U8", "[\"1\"]", "[0,1]")), 1},
      {"an exponent", object(entry("a", "U8", "[1e0]", "[0,1]")), 1},
      {"a dimension above 2^64", object(entry("a", "U8", "[18446744073709551616]", "[0,1]")), 1},
      {"an overflowing product", object(entry("a", "U8", "[4294967296,4294967296]", "[0,0]")), 0},
      {"overflowing bits", object(entry("a", "F64", "[288230376151711744]", "[0,0]")), 0},
      {"one offset", object(entry("a", "U8", "[1]", "[0]")), 1},
      {"three offsets", object(entry("a", "U8", "[1]", "[0,1,2]")), 1},
      {"float offsets", object(entry("a", "U8", "[1]", "[0,1.0]")), 1},
      {"negative offset", object(entry("a", "U8", "[1]", "[-1,0]")), 1},
      {"reversed offsets", object(entry("a", "U8", "[1]", "[1,0]")), 1},
      {"too few bytes for the shape", object(entry("a", "F32", "[2]", "[0,4]")), 4},
      {"too many bytes for the shape", object(entry("a", "F32", "[1]", "[0,8]")), 8},
      {"an odd count of F4", object(entry("a", "F4", "[3]", "[0,2]")), 2},
      {"F6 not in fours", object(entry("a", "F6_E3M2", "[3]", "[0,2]")), 2},
      {"a hole at the start", object(entry("a", "U8", "[1]", "[1,2]")), 2},
      {"a hole", object(a + "," + entry("b", "U8", "[1]", "[2,3]")), 3},
      {"an overlap",
       object(entry("a", "U8", "[2]", "[0,2]") + "," + entry("b", "U8", "[2]", "[1,3]")), 3},
      {"the same bytes twice", object(a + "," + entry("b", "U8", "[1]", "[0,1]")), 1},
      {"a truncated buffer", object(entry("a", "U8", "[4]", "[0,4]")), 3},
      {"bytes after the last tensor", object(a), 2},
      {"bytes without tensors", "{}", 1},
      {"metadata with a number", R"({"__metadata__":{"a":1}})", 0},
      {"metadata that is a list", R"({"__metadata__":[]})", 0},
  };
  for (const Case& c : cases) {
    const Result<SafetensorsHeader> parsed = parse(framed(c.header, c.buffer_bytes));
    ASSERT_FALSE(parsed.ok()) << c.what;
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument) << c.what;
    EXPECT_NE(parsed.status().message().find("byte "), std::string::npos)
        << c.what << ": " << parsed.status().message();
  }
}

TEST(Safetensors, lengths_are_checked_before_anything_is_allocated) {
  EXPECT_FALSE(parse("").ok());
  EXPECT_FALSE(parse("1234567").ok());
  EXPECT_FALSE(parse(framed("", 0, 0)).ok());
  EXPECT_FALSE(parse(framed("{}", 0, 3)).ok());
  EXPECT_FALSE(parse(framed("{}", 0, ~std::uint64_t{0})).ok());
  EXPECT_EQ(parse(framed("{}", 0, 200)).status().message(),
            "byte 0: expected a header length between 1 and 2, found 200");
  EXPECT_EQ(parse(framed(object(entry("a", "U8", "[4]", "[0,4]")), 3)).status().message(),
            "byte 64: expected the data of tensor 'a' (until byte 65), found the end of the file: "
            "it is truncated, fetch it again");
}

TEST(Safetensors, deep_nesting_and_floods_of_values_are_refused) {
  EXPECT_FALSE(parse(framed("{\"a\":" + std::string(100000, '['), 0)).ok());
  std::string flood = "{\"a\":[";
  for (int i = 0; i < 5'000'000; ++i) {
    flood += "0,";
  }
  EXPECT_NE(parse(framed(flood + "0]}", 0)).status().message().find("at most 4000000 values"),
            std::string::npos);
}

TEST(Safetensors, every_truncation_and_any_flipped_byte_is_survived) {
  std::string file = framed(
      object(entry("a", "F16", "[2,3]", "[0,12]") + "," + entry("b", "F32", "[]", "[12,16]")), 16);
  for (std::size_t n = 0; n < file.size(); ++n) {
    EXPECT_FALSE(parse(file.substr(0, n)).ok()) << n;
  }
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const int value : {0x00, 0x22, 0x5B, 0x7F, 0xFF}) {
      std::string changed = file;
      changed[i] = static_cast<char>(value);
      (void)parse(changed).ok();
    }
  }
}

/// A scratch folder of its own.
class SafetensorsFolder : public testing::Test {
 protected:
  std::string path(const std::string& name) const {
    return testing::TempDir() + "plumb_st_" + std::to_string(::getpid()) + "_" + name;
  }

  std::string name(const std::string& n) const { return path(n).substr(testing::TempDir().size()); }

  void write_shard(const std::string& n, const std::vector<SafetensorsSpec>& specs, char fill) {
    Result<SafetensorsWriter> writer =
        SafetensorsWriter::create(path(n), specs, {{"format", "pt"}});
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    for (const SafetensorsSpec& spec : specs) {
      std::int64_t elements = 1;
      for (const std::int64_t d : spec.dims) {
        elements *= d;
      }
      const std::vector<std::byte> bytes(static_cast<std::size_t>(row_bytes(spec.dtype, elements)),
                                         static_cast<std::byte>(fill));
      ASSERT_TRUE(writer.value().append(bytes).ok());
    }
    ASSERT_TRUE(writer.value().finish().ok());
  }

  Result<SafetensorsFiles> open_with_index(const std::string& index) {
    EXPECT_TRUE(write_file_atomic(path("model.safetensors.index.json"), index).ok());
    return SafetensorsFiles::open_index(path("model.safetensors.index.json"));
  }
};

TEST_F(SafetensorsFolder, what_is_written_is_read_back_in_the_format_order) {
  const std::vector<SafetensorsSpec> specs = safetensors_order(
      {{"b", DType::kF16, {3}}, {"a", DType::kF16, {1}}, {"z", DType::kF32, {2, 2}}});
  EXPECT_EQ(specs[0].name, "z");
  EXPECT_EQ(specs[1].name, "a");
  write_shard("one", specs, 7);
  const Result<SafetensorsFiles> files = SafetensorsFiles::open_file(path("one"));
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(files.value().metadata().at("format"), "pt");
  const TensorRecord* z = files.value().find("z");
  ASSERT_NE(z, nullptr);
  EXPECT_EQ(z->file_offset % 8, 0U);
  EXPECT_EQ(files.value().bytes(*z).size(), 16U);
  EXPECT_EQ(files.value().find("absent"), nullptr);
}

TEST_F(SafetensorsFolder, shards_are_opened_through_their_index) {
  write_shard("s1", {{"a", DType::kF32, {2}}}, 1);
  write_shard("s2", {{"b", DType::kF32, {3}}}, 2);
  const Result<SafetensorsFiles> files =
      open_with_index("{\"metadata\":{\"total_size\":20},\"weight_map\":{\"a\":\"" + name("s1") +
                      "\",\"b\":\"" + name("s2") + "\"}}");
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(files.value().tensors().size(), 2U);
  EXPECT_EQ(files.value().bytes(*files.value().find("b"))[0], std::byte{2});
}

TEST_F(SafetensorsFolder, wrong_indices_are_refused) {
  write_shard("s1", {{"a", DType::kF32, {2}}}, 1);
  write_shard("s2", {{"b", DType::kF32, {3}}}, 2);
  write_shard("s3", {{"a", DType::kF32, {2}}}, 3);
  const auto map = [&](const std::string& a, const std::string& b) {
    return "{\"weight_map\":{\"a\":\"" + a + "\",\"b\":\"" + b + "\"}}";
  };
  const auto message = [&](const std::string& index) {
    return open_with_index(index).status().message();
  };
  EXPECT_NE(message(map(name("s2"), name("s1"))).find("tensor 'a' is not in"), std::string::npos);
  EXPECT_NE(message(map(name("s1"), name("s3"))).find("is in two files"), std::string::npos);
  EXPECT_NE(message(map("../x", name("s2"))).find("a file in the same folder"), std::string::npos);
  EXPECT_NE(message("{}").find("weight_map"), std::string::npos);
  EXPECT_NE(message("{\"weight_map\":{\"a\":1}}").find("'a'"), std::string::npos);
  EXPECT_NE(message("{\"weight_map\":{\"a\":\"x\",\"a\":\"x\"}}").find("duplicate"),
            std::string::npos);
  EXPECT_EQ(open_with_index(map(name("absent"), name("s2"))).status().code(), Code::kNotFound);
}

TEST_F(SafetensorsFolder, block_formats_cannot_be_written) {
  EXPECT_EQ(SafetensorsWriter::create(path("bad"), {{"a", DType::kQ4_0, {32}}}).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace plumb
