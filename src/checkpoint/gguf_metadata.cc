// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf_metadata.h"

#include <bit>
#include <limits>
#include <type_traits>

#include "checkpoint/gguf_types.h"

namespace plumb {
namespace {

constexpr std::uint64_t kMaxKeyBytes = 65535;
constexpr std::uint64_t kMaxMemory = std::uint64_t{512} << 20;
constexpr std::uint64_t kPairCost = 128;  // of a map node, about

// Bytes of one element in the file; 0 for strings, arrays and unknown types.
std::uint64_t element_size(GgufValueType type) {
  switch (type) {
    case GgufValueType::kU8:
    case GgufValueType::kI8:
    case GgufValueType::kBool:
      return 1;
    case GgufValueType::kU16:
    case GgufValueType::kI16:
      return 2;
    case GgufValueType::kU32:
    case GgufValueType::kI32:
    case GgufValueType::kF32:
      return 4;
    case GgufValueType::kU64:
    case GgufValueType::kI64:
    case GgufValueType::kF64:
      return 8;
    default:
      return 0;
  }
}

/// Reads values one by one and keeps count of the memory that they take.
class MetadataReader {
 public:
  MetadataReader(ByteCursor* cursor, Metadata* metadata) : cursor_(cursor), metadata_(metadata) {}

  Status read_pair(std::uint64_t* alignment);

 private:
  Result<Metadata::Value> read_value(GgufValueType type, std::uint64_t type_offset);
  Result<Metadata::Value> read_array();
  Result<Metadata::Value> read_strings(std::uint64_t count);
  Result<Metadata::Value> read_integers(GgufValueType type, std::uint64_t count);
  Status spend(std::uint64_t num_bytes);

  template <class File, class Stored>
  Result<Metadata::Value> read_scalars(std::uint64_t count);
  template <class Element>
  static Result<Metadata::Value> first_of(Result<Metadata::Value> list);

  ByteCursor* cursor_;
  Metadata* metadata_;
  std::uint64_t spent_ = 0;
};

Status MetadataReader::spend(std::uint64_t num_bytes) {
  if (num_bytes > kMaxMemory - spent_) {
    return malformed(cursor_->offset(), "metadata that fits in 512 MiB of memory", "more");
  }
  spent_ += num_bytes;
  return {};
}

template <class File, class Stored>
Result<Metadata::Value> MetadataReader::read_scalars(std::uint64_t count) {
  const std::uint64_t at = cursor_->offset();
  if (count > cursor_->remaining() / sizeof(File)) {
    return malformed(at,
                     "at most " + std::to_string(cursor_->remaining() / sizeof(File)) +
                         " array elements (the rest of the file)",
                     std::to_string(count));
  }
  PLUMB_RETURN_IF_ERROR(spend(count * sizeof(Stored)));
  PLUMB_ASSIGN(const std::span<const std::byte> raw, cursor_->take(count * sizeof(File), "values"));
  std::vector<Stored> values;
  values.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    File value;
    std::memcpy(&value, raw.data() + i * sizeof(File), sizeof value);
    if constexpr (std::is_same_v<File, std::uint64_t>) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return malformed(at + i * sizeof(File), "an integer below 2^63", std::to_string(value));
      }
    }
    if constexpr (std::is_same_v<Stored, bool>) {
      values.push_back(value != 0);
    } else {
      values.push_back(static_cast<Stored>(value));
    }
  }
  return Metadata::Value(std::move(values));
}

Result<Metadata::Value> MetadataReader::read_strings(std::uint64_t count) {
  if (count > cursor_->remaining() / 8) {
    return malformed(
        cursor_->offset(),
        "at most " + std::to_string(cursor_->remaining() / 8) + " strings (the rest of the file)",
        std::to_string(count));
  }
  PLUMB_RETURN_IF_ERROR(spend(count * sizeof(std::string)));
  std::vector<std::string> values;
  values.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    PLUMB_ASSIGN(const std::string_view text, cursor_->read_string("a string"));
    PLUMB_RETURN_IF_ERROR(spend(text.size()));
    values.emplace_back(text);
  }
  return Metadata::Value(std::move(values));
}

Result<Metadata::Value> MetadataReader::read_integers(GgufValueType type, std::uint64_t count) {
  switch (type) {
    case GgufValueType::kU8:
      return read_scalars<std::uint8_t, std::int64_t>(count);
    case GgufValueType::kI8:
      return read_scalars<std::int8_t, std::int64_t>(count);
    case GgufValueType::kU16:
      return read_scalars<std::uint16_t, std::int64_t>(count);
    case GgufValueType::kI16:
      return read_scalars<std::int16_t, std::int64_t>(count);
    case GgufValueType::kU32:
      return read_scalars<std::uint32_t, std::int64_t>(count);
    case GgufValueType::kI32:
      return read_scalars<std::int32_t, std::int64_t>(count);
    case GgufValueType::kU64:
      return read_scalars<std::uint64_t, std::int64_t>(count);
    default:
      return read_scalars<std::int64_t, std::int64_t>(count);
  }
}

Result<Metadata::Value> MetadataReader::read_array() {
  const std::uint64_t at = cursor_->offset();
  PLUMB_ASSIGN(const std::int32_t raw_type, cursor_->read<std::int32_t>("array element type"));
  PLUMB_ASSIGN(const std::uint64_t count, cursor_->read<std::uint64_t>("array length"));
  const GgufValueType type{raw_type};
  switch (type) {
    case GgufValueType::kString:
      return read_strings(count);
    case GgufValueType::kBool:
      return read_scalars<std::uint8_t, bool>(count);
    case GgufValueType::kF32:
      return read_scalars<float, double>(count);
    case GgufValueType::kF64:
      return read_scalars<double, double>(count);
    default:
      break;
  }
  if (element_size(type) == 0) {
    return malformed(at, "an array element type 0..8 or 10..12 (arrays do not nest)",
                     std::to_string(raw_type));
  }
  return read_integers(type, count);
}

template <class Element>
Result<Metadata::Value> MetadataReader::first_of(Result<Metadata::Value> list) {
  PLUMB_ASSIGN(const Metadata::Value value, std::move(list));
  return Metadata::Value(Element{std::get<std::vector<Element>>(value)[0]});
}

Result<Metadata::Value> MetadataReader::read_value(GgufValueType type, std::uint64_t type_offset) {
  switch (type) {
    case GgufValueType::kArray:
      return read_array();
    case GgufValueType::kString: {
      PLUMB_ASSIGN(const std::string_view text, cursor_->read_string("a string"));
      PLUMB_RETURN_IF_ERROR(spend(text.size()));
      return Metadata::Value(std::string(text));
    }
    case GgufValueType::kBool:
      return first_of<bool>(read_scalars<std::uint8_t, bool>(1));
    case GgufValueType::kF32:
      return first_of<double>(read_scalars<float, double>(1));
    case GgufValueType::kF64:
      return first_of<double>(read_scalars<double, double>(1));
    default:
      break;
  }
  if (element_size(type) == 0) {
    return malformed(type_offset, "a value type 0..12",
                     std::to_string(static_cast<std::int32_t>(type)));
  }
  return first_of<std::int64_t>(read_integers(type, 1));
}

// The alignment must be a u32 and a power of two.
Status check_alignment(const Metadata& metadata, GgufValueType type, std::uint64_t type_offset,
                       std::uint64_t* alignment) {
  if (type != GgufValueType::kU32) {
    return malformed(type_offset, "type 4 (u32) for general.alignment",
                     "type " + std::to_string(static_cast<std::int32_t>(type)));
  }
  const std::uint64_t value =
      static_cast<std::uint64_t>(metadata.get_or<std::int64_t>("general.alignment", 0));
  if (!std::has_single_bit(value)) {
    return malformed(type_offset + 4, "a power of two for general.alignment",
                     std::to_string(value));
  }
  *alignment = value;
  return {};
}

Status MetadataReader::read_pair(std::uint64_t* alignment) {
  const std::uint64_t key_offset = cursor_->offset();
  PLUMB_ASSIGN(const std::string_view key, cursor_->read_string("a metadata key"));
  if (key.empty() || key.size() > kMaxKeyBytes) {
    return malformed(key_offset, "a metadata key of 1 to 65535 bytes",
                     std::to_string(key.size()) + " bytes");
  }
  if (metadata_->has(key)) {
    return malformed(key_offset, "a new metadata key",
                     "a second '" + std::string(key.substr(0, 64)) + "'");
  }
  PLUMB_RETURN_IF_ERROR(spend(kPairCost + key.size()));
  const std::uint64_t type_offset = cursor_->offset();
  PLUMB_ASSIGN(const std::int32_t raw_type, cursor_->read<std::int32_t>("a value type"));
  PLUMB_ASSIGN(Metadata::Value value, read_value(GgufValueType{raw_type}, type_offset));
  metadata_->set(std::string(key), std::move(value));
  if (key == "general.alignment") {
    return check_alignment(*metadata_, GgufValueType{raw_type}, type_offset, alignment);
  }
  return {};
}

}  // namespace

Status read_gguf_metadata(ByteCursor* cursor, std::int64_t count, Metadata* metadata,
                          std::uint64_t* alignment) {
  MetadataReader reader(cursor, metadata);
  for (std::int64_t i = 0; i < count; ++i) {
    PLUMB_RETURN_IF_ERROR(reader.read_pair(alignment));
  }
  return {};
}

}  // namespace plumb
