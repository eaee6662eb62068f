// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf_writer.h"

#include <algorithm>
#include <type_traits>

#include "base/check.h"
#include "checkpoint/gguf_types.h"
#include "checkpoint/tensor_record.h"

namespace plumb {
namespace {

std::uint64_t padding_after(std::uint64_t size) {
  return (kGgufDefaultAlignment - size % kGgufDefaultAlignment) % kGgufDefaultAlignment;
}

template <class T>
constexpr GgufValueType type_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return GgufValueType::kBool;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return GgufValueType::kString;
  } else if constexpr (std::is_same_v<T, float>) {
    return GgufValueType::kF32;
  } else if constexpr (std::is_same_v<T, double>) {
    return GgufValueType::kF64;
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    return GgufValueType::kU8;
  } else if constexpr (std::is_same_v<T, std::int8_t>) {
    return GgufValueType::kI8;
  } else if constexpr (std::is_same_v<T, std::uint16_t>) {
    return GgufValueType::kU16;
  } else if constexpr (std::is_same_v<T, std::int16_t>) {
    return GgufValueType::kI16;
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return GgufValueType::kU32;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return GgufValueType::kI32;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return GgufValueType::kU64;
  } else {
    static_assert(std::is_same_v<T, std::int64_t>);
    return GgufValueType::kI64;
  }
}

template <class T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put(std::string* out, const std::string& text) {
  put(out, static_cast<std::uint64_t>(text.size()));
  out->append(text);
}

void put(std::string* out, bool value) {
  out->push_back(value ? '\1' : '\0');
}

/// Appends type and value.
struct ValueWriter {
  std::string* out;

  template <class T>
  void operator()(const T& value) const {
    put(out, static_cast<std::int32_t>(type_of<T>()));
    put(out, value);
  }

  template <class T>
  void operator()(const std::vector<T>& values) const {
    put(out, static_cast<std::int32_t>(GgufValueType::kArray));
    put(out, static_cast<std::int32_t>(type_of<T>()));
    put(out, static_cast<std::uint64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      put(out, static_cast<T>(values[i]));
    }
  }
};

Status check_spec(const GgufTensorSpec& spec) {
  const bool fits =
      spec.name.size() < 64 && spec.dims.size() <= kMaxRank && gguf_type_id(spec.dtype).has_value();
  const std::int64_t cols = spec.dims.empty() ? 1 : spec.dims.back();
  std::int64_t product = 0;
  const bool valid_dims =
      std::all_of(spec.dims.begin(), spec.dims.end(), [](std::int64_t d) { return d >= 0; }) &&
      multiply_dims(spec.dims, &product) && cols % traits(spec.dtype).block_elems == 0;
  if (!fits || !valid_dims) {
    return {Code::kInvalidArgument, "tensor '" + spec.name + "' " +
                                        std::string(to_text(spec.dtype)) + " " +
                                        dims_to_text(spec.dims) + " does not fit in a GGUF file"};
  }
  return {};
}

void put_tensor(const GgufTensorSpec& spec, std::uint64_t offset, std::string* out) {
  put(out, spec.name);
  put(out, static_cast<std::uint32_t>(spec.dims.size()));
  for (std::size_t i = spec.dims.size(); i > 0; --i) {
    put(out, spec.dims[i - 1]);
  }
  put(out, *gguf_type_id(spec.dtype));
  put(out, offset);
}

std::uint64_t data_bytes(const GgufTensorSpec& spec) {
  std::int64_t product = 0;
  multiply_dims(spec.dims, &product);
  const DTypeTraits& t = traits(spec.dtype);
  return static_cast<std::uint64_t>(product / t.block_elems * t.block_bytes);
}

}  // namespace

Result<GgufWriter> GgufWriter::create(const std::string& path, const GgufPairs& metadata,
                                      std::vector<GgufTensorSpec> tensors) {
  std::string header;
  put(&header, kGgufMagic);
  put(&header, kGgufVersion);
  put(&header, static_cast<std::int64_t>(tensors.size()));
  put(&header, static_cast<std::int64_t>(metadata.size()));
  for (const auto& [key, value] : metadata) {
    put(&header, key);
    std::visit(ValueWriter{&header}, value);
  }
  std::vector<std::uint64_t> sizes;
  std::uint64_t offset = 0;
  for (const GgufTensorSpec& spec : tensors) {
    PLUMB_RETURN_IF_ERROR(check_spec(spec));
    put_tensor(spec, offset, &header);
    sizes.push_back(data_bytes(spec));
    offset += sizes.back() + padding_after(sizes.back());
  }
  if (!tensors.empty()) {
    header.append(padding_after(header.size()), '\0');
  }
  PLUMB_ASSIGN(OutputFile file, OutputFile::create(path));
  PLUMB_RETURN_IF_ERROR(file.append(header));
  GgufWriter writer(std::move(file));
  writer.sizes_ = std::move(sizes);
  PLUMB_RETURN_IF_ERROR(writer.pad_if_complete());
  return writer;
}

Status GgufWriter::pad_if_complete() {
  while (current_ < sizes_.size() && written_ == sizes_[current_]) {
    PLUMB_RETURN_IF_ERROR(file_.append_zeros(padding_after(written_)));
    ++current_;
    written_ = 0;
  }
  return {};
}

Status GgufWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    PLUMB_CHECK(current_ < sizes_.size(), "more bytes than the tensors have");
    const std::uint64_t part = std::min<std::uint64_t>(bytes.size(), sizes_[current_] - written_);
    PLUMB_RETURN_IF_ERROR(file_.append(bytes.first(part)));
    written_ += part;
    bytes = bytes.subspan(part);
    PLUMB_RETURN_IF_ERROR(pad_if_complete());
  }
  return {};
}

Status GgufWriter::finish() {
  PLUMB_CHECK(current_ == sizes_.size(), "tensor " + std::to_string(current_) + " of " +
                                             std::to_string(sizes_.size()) + " is not complete");
  return file_.commit();
}

}  // namespace plumb
