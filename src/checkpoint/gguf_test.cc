// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf.h"

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <unistd.h>

#include "checkpoint/gguf_writer.h"

namespace plumb {
namespace {

/// Builds the bytes of a GGUF file field by field, so that any field can be wrong.
class Image {
 public:
  template <class T>
  Image& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }

  Image& text(const std::string& s) {
    put<std::uint64_t>(s.size());
    bytes_ += s;
    return *this;
  }

  Image& head(std::int64_t num_tensors, std::int64_t num_pairs, std::uint32_t version = 3) {
    bytes_ += "GGUF";
    return put(version).put(num_tensors).put(num_pairs);
  }

  Image& u32_pair(const std::string& key, std::uint32_t value) {
    return text(key).put<std::int32_t>(4).put(value);
  }

  Image& string_pair(const std::string& key, const std::string& value) {
    return text(key).put<std::int32_t>(8).text(value);
  }

  /// Dimensions fastest first, as in the file.
  Image& tensor(const std::string& name, std::initializer_list<std::int64_t> dims,
                std::int32_t type, std::uint64_t offset) {
    text(name).put(static_cast<std::uint32_t>(dims.size()));
    for (const std::int64_t d : dims) {
      put(d);
    }
    return put(type).put(offset);
  }

  /// Pads to `alignment` and appends that many bytes of data.
  Image& pad_and_data(std::size_t num_bytes, std::size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    bytes_.append(num_bytes, '\x11');
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

  Result<GgufHeader> parse() const {
    return parse_gguf({reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()});
  }

 private:
  std::string bytes_;
};

Image example() {
  Image image;
  image.head(1, 1).string_pair("general.architecture", "qwen3").tensor("t", {32}, 2, 0);
  return image;
}

void expect_error(const Image& image, const std::string& part) {
  const Result<GgufHeader> header = image.parse();
  ASSERT_FALSE(header.ok()) << "accepted, expected: " << part;
  EXPECT_EQ(header.status().code(), Code::kInvalidArgument);
  EXPECT_NE(header.status().message().find(part), std::string::npos) << header.status().message();
}

TEST(Gguf, the_example_header_is_102_bytes_and_its_data_start_at_128) {
  Image image = example();
  EXPECT_EQ(image.bytes().size(), 102U);
  image.pad_and_data(18);
  EXPECT_EQ(image.bytes().size(), 146U);
  const Result<GgufHeader> header = image.parse();
  ASSERT_TRUE(header.ok()) << header.status().message();
  const GgufHeader& h = header.value();
  EXPECT_EQ(h.data_start, 128U);
  EXPECT_EQ(h.version, 3U);
  EXPECT_EQ(h.metadata.get<std::string>("general.architecture").value(), "qwen3");
  ASSERT_EQ(h.tensors.size(), 1U);
  EXPECT_EQ(h.tensors[0].name, "t");
  EXPECT_EQ(h.tensors[0].dtype, DType::kQ4_0);
  EXPECT_EQ(h.tensors[0].dims, (std::vector<std::int64_t>{32}));
  EXPECT_EQ(h.tensors[0].file_offset, 128U);
  EXPECT_EQ(h.tensors[0].num_bytes, 18U);
}

TEST(Gguf, every_truncation_of_the_example_is_an_error) {
  Image image = example();
  image.pad_and_data(18);
  const std::string& bytes = image.bytes();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const auto header = parse_gguf({reinterpret_cast<const std::byte*>(bytes.data()), n});
    EXPECT_FALSE(header.ok()) << n;
  }
}

TEST(Gguf, trailing_bytes_are_allowed) {
  EXPECT_TRUE(example().pad_and_data(1000).parse().ok());
}

TEST(Gguf, errors_say_where_what_was_expected_and_what_was_found) {
  Image image = example();
  image.pad_and_data(17);
  EXPECT_EQ(image.parse().status().message(),
            "byte 145: expected the data of tensor 't' (18 bytes from byte 128), found the end of "
            "the file: it is truncated, fetch it again");
  EXPECT_EQ(Image().head(0, 0, 4).parse().status().message(),
            "byte 4: expected version 2 or 3, found 4");
}

TEST(Gguf, magic_and_version_are_checked) {
  expect_error(Image().put(std::uint32_t{0x47475546}).put<std::uint32_t>(3),
               "byte 0: expected the "
               "magic");
  expect_error(Image().head(0, 0, 0), "byte 4: expected version 2 or 3, found 0");
  expect_error(Image().head(0, 0, 1), "byte 4: expected version 2 or 3, found 1");
  expect_error(Image().head(0, 0, 0x03000000), "endianness mismatch");
  EXPECT_TRUE(Image().head(0, 0, 2).parse().ok());
  EXPECT_TRUE(Image().head(0, 0, 3).parse().ok());
}

TEST(Gguf, absurd_counts_are_refused_before_anything_is_allocated) {
  expect_error(Image().head(std::int64_t{1} << 62, 0), "byte 8: expected a tensor count");
  expect_error(Image().head(std::numeric_limits<std::int64_t>::min(), 0),
               "byte 8: expected a tensor count");  // 2^63 as unsigned
  expect_error(Image().head(0, -1), "byte 16: expected a metadata count");
  expect_error(Image().head(0, std::int64_t{1} << 60), "byte 16: expected a metadata count");
  expect_error(Image().head(1, 0), "byte 8: expected a tensor count between 0 and 0, found 1");
}

TEST(Gguf, string_lengths_are_bounded_by_the_file) {
  for (const std::uint64_t length :
       {std::uint64_t{1} << 40, ~std::uint64_t{0}, std::uint64_t{99}}) {
    Image key;
    key.head(0, 1).put(length).put<std::uint64_t>(0).put<std::uint64_t>(0);
    expect_error(key, "byte 24: expected the length of a metadata key, at most 16");
    Image value;
    value.head(0, 1).text("k").put<std::int32_t>(8).put(length).put<std::uint64_t>(0);
    expect_error(value, "byte 37: expected the length of a string, at most 8");
    Image item;
    item.head(0, 1).text("k").put<std::int32_t>(9).put<std::int32_t>(8).put<std::uint64_t>(1);
    item.put(length);
    expect_error(item, "byte 49: expected the length of a string, at most 0");
    Image name;
    name.head(1, 0).put(length).put<std::uint64_t>(0).put<std::uint64_t>(0);
    expect_error(name, "byte 24: expected the length of a tensor name, at most 16");
  }
}

TEST(Gguf, array_lengths_are_bounded_by_the_file) {
  for (const std::int32_t type : {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12}) {
    Image image;
    image.head(0, 1).text("k").put<std::int32_t>(9).put(type).put(~std::uint64_t{0} >> 1);
    image.put<std::uint64_t>(0);
    expect_error(image, "byte 49: expected at most");
  }
}

TEST(Gguf, arrays_do_not_nest_and_unknown_value_types_are_refused) {
  Image nested;
  nested.head(0, 1).text("k").put<std::int32_t>(9).put<std::int32_t>(9).put<std::uint64_t>(1);
  nested.put<std::int32_t>(4).put<std::uint64_t>(0);
  expect_error(nested, "byte 37: expected an array element type");
  for (const std::int32_t type : {13, 99, -1}) {
    expect_error(Image().head(0, 1).text("k").put(type).put<std::uint64_t>(0),
                 "byte 33: expected a value type 0..12, found " + std::to_string(type));
  }
}

TEST(Gguf, all_value_types_are_read) {
  Image image;
  image.head(0, 15);
  image.text("u8").put<std::int32_t>(0).put<std::uint8_t>(200);
  image.text("i8").put<std::int32_t>(1).put<std::int8_t>(-3);
  image.text("u16").put<std::int32_t>(2).put<std::uint16_t>(60000);
  image.text("i16").put<std::int32_t>(3).put<std::int16_t>(-300);
  image.text("u32").put<std::int32_t>(4).put<std::uint32_t>(4000000000U);
  image.text("i32").put<std::int32_t>(5).put<std::int32_t>(-5);
  image.text("f32").put<std::int32_t>(6).put(0.1F);
  image.text("bool").put<std::int32_t>(7).put<std::uint8_t>(2);
  image.text("string").put<std::int32_t>(8).text("né");
  image.text("u64").put<std::int32_t>(10).put(std::uint64_t{1} << 62);
  image.text("i64").put<std::int32_t>(11).put(std::int64_t{-7});
  image.text("f64").put<std::int32_t>(12).put(0.1);
  image.text("bools").put<std::int32_t>(9).put<std::int32_t>(7).put<std::uint64_t>(2);
  image.put<std::uint8_t>(0).put<std::uint8_t>(1);
  image.text("ints").put<std::int32_t>(9).put<std::int32_t>(1).put<std::uint64_t>(2);
  image.put<std::int8_t>(-1).put<std::int8_t>(7);
  image.text("texts").put<std::int32_t>(9).put<std::int32_t>(8).put<std::uint64_t>(2);
  image.text("").text("b");
  const Result<GgufHeader> header = image.parse();
  ASSERT_TRUE(header.ok()) << header.status().message();
  const Metadata& m = header.value().metadata;
  EXPECT_EQ(m.get<std::int64_t>("u8").value(), 200);
  EXPECT_EQ(m.get<std::int64_t>("i8").value(), -3);
  EXPECT_EQ(m.get<std::int64_t>("u16").value(), 60000);
  EXPECT_EQ(m.get<std::int64_t>("i16").value(), -300);
  EXPECT_EQ(m.get<std::int64_t>("u32").value(), 4000000000);
  EXPECT_EQ(m.get<std::int64_t>("i32").value(), -5);
  EXPECT_EQ(m.get<double>("f32").value(), static_cast<double>(0.1F));
  EXPECT_TRUE(m.get<bool>("bool").value());
  EXPECT_EQ(m.get<std::string>("string").value(), "né");
  EXPECT_EQ(m.get<std::int64_t>("u64").value(), std::int64_t{1} << 62);
  EXPECT_EQ(m.get<std::int64_t>("i64").value(), -7);
  EXPECT_EQ(m.get<double>("f64").value(), 0.1);
  EXPECT_EQ(m.get<std::vector<bool>>("bools").value(), (std::vector<bool>{false, true}));
  EXPECT_EQ(m.get<std::vector<std::int64_t>>("ints").value(), (std::vector<std::int64_t>{-1, 7}));
  EXPECT_EQ(m.get<std::vector<std::string>>("texts").value(), (std::vector<std::string>{"", "b"}));
}

TEST(Gguf, integers_above_int64_are_refused) {
  expect_error(Image().head(0, 1).text("k").put<std::int32_t>(10).put(std::uint64_t{1} << 63),
               "byte 37: expected an integer below 2^63, found 9223372036854775808");
}

TEST(Gguf, keys_are_unique_not_empty_and_at_most_65535_bytes) {
  expect_error(Image().head(0, 2).u32_pair("a", 1).u32_pair("a", 1),
               "byte 41: expected a new metadata key, found a second 'a'");
  expect_error(Image().head(0, 1).u32_pair("", 1), "byte 24: expected a metadata key of 1 to");
  EXPECT_TRUE(Image().head(0, 1).u32_pair(std::string(65535, 'k'), 1).parse().ok());
  expect_error(Image().head(0, 1).u32_pair(std::string(65536, 'k'), 1), "65536 bytes");
}

TEST(Gguf, the_alignment_is_a_u32_power_of_two) {
  const auto with = [](std::uint32_t alignment) {
    Image image;
    image.head(1, 1).u32_pair("general.alignment", alignment).tensor("t", {4}, 0, 0);
    return image;
  };
  expect_error(with(0).pad_and_data(16), "expected a power of two for general.alignment, found 0");
  expect_error(with(24).pad_and_data(16), "found 24");
  const Result<GgufHeader> unaligned = with(1).pad_and_data(16, 1).parse();
  ASSERT_TRUE(unaligned.ok());
  EXPECT_EQ(unaligned.value().data_start, with(1).bytes().size());
  EXPECT_EQ(with(4096).pad_and_data(16, 4096).parse().value().data_start, 4096U);
  EXPECT_FALSE(with(0x80000000U).pad_and_data(16).parse().ok());
  Image wide;
  wide.head(0, 1).text("general.alignment").put<std::int32_t>(10).put<std::uint64_t>(32);
  expect_error(wide, "byte 49: expected type 4 (u32) for general.alignment, found type 10");
}

TEST(Gguf, dimensions_are_checked) {
  expect_error(Image().head(1, 0).tensor("t", {1, 1, 1, 1, 1}, 0, 0).pad_and_data(4),
               "expected at most 4 dimensions of tensor 't', found 5");
  expect_error(Image().head(1, 0).tensor("t", {-1}, 0, 0).pad_and_data(4),
               "byte 37: expected a dimension that is not negative, found -1");
  expect_error(Image()
                   .head(1, 0)
                   .tensor("t", {std::int64_t{1} << 32, std::int64_t{1} << 32}, 0, 0)
                   .pad_and_data(4),
               "whose product is below 2^63");
  expect_error(Image().head(1, 0).tensor("t", {std::int64_t{1} << 62}, 0, 0).pad_and_data(4),
               "of less than 2^63 bytes");
  expect_error(Image().head(1, 0).tensor("t", {std::int64_t{1} << 60}, 0, 0).pad_and_data(4),
               "truncated");
  expect_error(Image().head(1, 0).tensor("t", {33}, 2, 0).pad_and_data(64),
               "a multiple of 32 elements for type Q4_0, found 33");
  const Result<GgufHeader> scalar = Image().head(1, 0).tensor("", {}, 0, 0).pad_and_data(4).parse();
  ASSERT_TRUE(scalar.ok()) << scalar.status().message();
  EXPECT_EQ(scalar.value().tensors[0].num_bytes, 4U);
  const Result<GgufHeader> empty =
      Image().head(1, 0).tensor("e", {0, 7}, 0, 0).pad_and_data(0).parse();
  ASSERT_TRUE(empty.ok()) << empty.status().message();
  EXPECT_EQ(empty.value().tensors[0].dims, (std::vector<std::int64_t>{7, 0}));
  EXPECT_EQ(empty.value().tensors[0].num_bytes, 0U);
}

TEST(Gguf, names_are_unique_and_shorter_than_64_bytes) {
  expect_error(Image().head(2, 0).tensor("t", {8}, 0, 0).tensor("t", {8}, 0, 32).pad_and_data(64),
               "byte 57: expected a new tensor name, found a second 't'");
  EXPECT_TRUE(
      Image().head(1, 0).tensor(std::string(63, 'n'), {8}, 0, 0).pad_and_data(32).parse().ok());
  expect_error(Image().head(1, 0).tensor(std::string(64, 'n'), {8}, 0, 0).pad_and_data(32),
               "byte 24: expected a tensor name of less than 64 bytes, found 64");
}

TEST(Gguf, types_are_known_or_refused) {
  for (const std::int32_t type : {4, 5, 31, 32, 33, 36, 37, 38, 43, 1000, -1}) {
    expect_error(Image().head(1, 0).tensor("t", {256}, type, 0).pad_and_data(4096),
                 "expected a known tensor type for 't', found " + std::to_string(type));
  }
  const Result<GgufHeader> listed =
      Image().head(1, 0).tensor("t", {256}, 16, 0).pad_and_data(66).parse();
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed.value().tensors[0].type_name, "IQ2_XXS");
  EXPECT_FALSE(listed.value().tensors[0].dtype.has_value());
}

TEST(Gguf, tensors_follow_each_other_without_gaps) {
  const auto second_at = [](std::uint64_t offset) {
    Image image;
    image.head(2, 0).tensor("a", {9}, 0, 0).tensor("b", {8}, 0, offset).pad_and_data(256);
    return image;
  };
  const Result<GgufHeader> header = second_at(64).parse();
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header.value().tensors[1].file_offset, header.value().data_start + 64);
  expect_error(second_at(36), "expected offset 64 for tensor 'b'");
  expect_error(second_at(32), "found 32");
  expect_error(second_at(96), "found 96");
  expect_error(second_at(0), "found 0");
  expect_error(Image().head(1, 0).tensor("a", {8}, 0, 32).pad_and_data(256),
               "expected offset 0 for tensor 'a' (tensors follow each other without gaps), found "
               "32");
}

TEST(Gguf, a_vocabulary_file_ends_unpadded_after_its_last_pair) {
  const Result<GgufHeader> header = Image().head(0, 1).u32_pair("k", 5).parse();
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header.value().metadata.get<std::int64_t>("k").value(), 5);
}

TEST(Gguf, a_huge_sparse_file_is_refused_without_memory_for_its_claims) {
  Image image;
  image.head(0, 1).text("k").put<std::int32_t>(9).put<std::int32_t>(8);
  image.put<std::uint64_t>(std::uint64_t{1} << 27);  // 128 Mi empty strings, all in the file
  const std::string path = testing::TempDir() + "plumb_gguf_sparse_" + std::to_string(::getpid());
  ASSERT_TRUE(write_file_atomic(path, image.bytes()).ok());
  ASSERT_TRUE(AppendFile::open(path).value().truncate(std::uint64_t{2} << 30).ok());
  const Status status = GgufFile::open(path).status();
  EXPECT_NE(status.message().find("metadata that fits in 512 MiB"), std::string::npos)
      << status.message();
  ::unlink(path.c_str());
}

TEST(Gguf, flipping_any_byte_never_crashes) {
  Image image = example();
  image.pad_and_data(18);
  std::string bytes = image.bytes();
  for (std::size_t i = 0; i < 102; ++i) {
    const char original = bytes[i];
    for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
      bytes[i] = static_cast<char>(value);
      const auto header =
          parse_gguf({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
      if (!header.ok()) {
        EXPECT_NE(header.status().message().find("byte "), std::string::npos);
      }
    }
    bytes[i] = original;
  }
}

}  // namespace
}  // namespace plumb
