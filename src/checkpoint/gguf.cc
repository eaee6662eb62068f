// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "checkpoint/byte_cursor.h"
#include "checkpoint/gguf_metadata.h"
#include "checkpoint/gguf_types.h"

namespace plumb {
namespace {

constexpr std::int64_t kMinPairBytes = 8 + 1 + 4 + 1;        // key, type, smallest value
constexpr std::int64_t kMinTensorBytes = 8 + 0 + 4 + 4 + 8;  // name, rank, type, offset
constexpr std::int64_t kMaxTensors = std::int64_t{1} << 20;
constexpr std::uint64_t kMaxNameBytes = 63;

bool align_up(std::uint64_t value, std::uint64_t alignment, std::uint64_t* out) {
  if (__builtin_add_overflow(value, alignment - 1, out)) {
    return false;
  }
  *out &= ~(alignment - 1);
  return true;
}

Status read_preamble(ByteCursor* cursor, GgufHeader* header) {
  PLUMB_ASSIGN(const std::uint32_t magic, cursor->read<std::uint32_t>("the magic number GGUF"));
  if (magic != kGgufMagic) {
    char found[16];
    std::snprintf(found, sizeof found, "0x%08x", magic);
    return malformed(0, "the magic number GGUF (0x46554747)", found);
  }
  PLUMB_ASSIGN(header->version, cursor->read<std::uint32_t>("the version"));
  if ((header->version & 0xFFFFU) == 0 && header->version != 0) {
    return malformed(4, "a little-endian version",
                     std::to_string(header->version) +
                         " (endianness mismatch: the file was written big-endian)");
  }
  if (header->version < 2 || header->version > kGgufVersion) {
    return malformed(4, "version 2 or 3", std::to_string(header->version));
  }
  return {};
}

Result<std::int64_t> read_count(ByteCursor* cursor, const char* what, std::int64_t min_bytes,
                                std::int64_t limit) {
  const std::uint64_t at = cursor->offset();
  PLUMB_ASSIGN(const std::int64_t count, cursor->read<std::int64_t>(what));
  const std::int64_t fitting =
      std::min(limit, static_cast<std::int64_t>(cursor->remaining()) / min_bytes);
  if (count < 0 || count > fitting) {
    return malformed(at, std::string(what) + " between 0 and " + std::to_string(fitting),
                     std::to_string(count));
  }
  return count;
}

Status read_dims(ByteCursor* cursor, TensorRecord* record) {
  const std::uint64_t at = cursor->offset();
  PLUMB_ASSIGN(const std::uint32_t rank, cursor->read<std::uint32_t>("the number of dimensions"));
  if (rank > kMaxRank) {
    return malformed(at, "at most 4 dimensions of tensor " + quoted_name(record->name),
                     std::to_string(rank));
  }
  record->dims.resize(rank);
  for (std::uint32_t i = 0; i < rank; ++i) {
    PLUMB_ASSIGN(const std::int64_t dim, cursor->read<std::int64_t>("a dimension"));
    if (dim < 0) {
      return malformed(cursor->offset() - 8, "a dimension that is not negative",
                       std::to_string(dim));
    }
    record->dims[rank - 1 - i] = dim;
  }
  std::int64_t product = 0;
  if (!multiply_dims(record->dims, &product)) {
    return malformed(
        at + 4,
        "dimensions of tensor " + quoted_name(record->name) + " whose product is below 2^63",
        dims_to_text(record->dims));
  }
  return {};
}

Status read_type(ByteCursor* cursor, TensorRecord* record) {
  const std::uint64_t at = cursor->offset();
  PLUMB_ASSIGN(const std::int32_t id, cursor->read<std::int32_t>("the tensor type"));
  const GgufTensorType* type = gguf_tensor_type(id);
  if (type == nullptr) {
    return malformed(at, "a known tensor type for " + quoted_name(record->name),
                     std::to_string(id));
  }
  record->type_name = type->name;
  record->dtype = type->dtype;
  const std::int64_t cols = record->dims.empty() ? 1 : record->dims.back();
  if (cols % type->block_elems != 0) {
    return malformed(at,
                     "rows of " + quoted_name(record->name) + " of a multiple of " +
                         std::to_string(type->block_elems) + " elements for type " +
                         record->type_name,
                     std::to_string(cols));
  }
  std::int64_t num_bytes = 0;
  if (__builtin_mul_overflow(num_elements(*record) / type->block_elems, type->block_bytes,
                             &num_bytes)) {
    return malformed(at, "tensor " + quoted_name(record->name) + " of less than 2^63 bytes",
                     dims_to_text(record->dims));
  }
  record->num_bytes = static_cast<std::uint64_t>(num_bytes);
  return {};
}

// Reads one tensor info; *next is the offset that it must have and then that of its successor.
Result<TensorRecord> read_tensor(ByteCursor* cursor, std::uint64_t alignment, std::uint64_t* next) {
  TensorRecord record;
  const std::uint64_t at = cursor->offset();
  PLUMB_ASSIGN(const std::string_view name, cursor->read_string("a tensor name"));
  if (name.size() > kMaxNameBytes) {
    return malformed(at, "a tensor name of less than 64 bytes",
                     std::to_string(name.size()) + " bytes");
  }
  record.name = name;
  PLUMB_RETURN_IF_ERROR(read_dims(cursor, &record));
  PLUMB_RETURN_IF_ERROR(read_type(cursor, &record));
  const std::uint64_t offset_at = cursor->offset();
  PLUMB_ASSIGN(record.file_offset, cursor->read<std::uint64_t>("the tensor offset"));
  if (record.file_offset != *next) {
    return malformed(offset_at,
                     "offset " + std::to_string(*next) + " for tensor " + quoted_name(name) +
                         " (tensors follow each other without gaps)",
                     std::to_string(record.file_offset));
  }
  std::uint64_t end = 0;
  if (__builtin_add_overflow(*next, record.num_bytes, &end) || !align_up(end, alignment, next)) {
    return malformed(
        offset_at, "tensor data that ends below 2^64",
        std::to_string(record.file_offset) + " + " + std::to_string(record.num_bytes) + " bytes");
  }
  return record;
}

// Turns offsets into file positions and proves that the data are there.
Status place_tensors(std::uint64_t header_end, std::uint64_t file_size, GgufHeader* header) {
  if (!align_up(header_end, header->alignment, &header->data_start)) {
    return malformed(header_end, "a data start below 2^64", "an overflow");
  }
  for (TensorRecord& record : header->tensors) {
    std::uint64_t end = 0;
    const bool overflow =
        __builtin_add_overflow(record.file_offset, header->data_start, &record.file_offset) ||
        __builtin_add_overflow(record.file_offset, record.num_bytes, &end);
    if (overflow || end > file_size) {
      return malformed(file_size,
                       "the data of tensor " + quoted_name(record.name) + " (" +
                           std::to_string(record.num_bytes) + " bytes from byte " +
                           std::to_string(record.file_offset) + ")",
                       "the end of the file: it is truncated, fetch it again");
    }
  }
  return {};
}

Status check_unique(const std::vector<TensorRecord>& records,
                    const std::vector<std::uint32_t>& order,
                    const std::vector<std::uint64_t>& name_offsets) {
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (records[order[i - 1]].name == records[order[i]].name) {
      return malformed(name_offsets[order[i]], "a new tensor name",
                       "a second " + quoted_name(records[order[i]].name));
    }
  }
  return {};
}

}  // namespace

Result<GgufHeader> parse_gguf(std::span<const std::byte> file) {
  GgufHeader header;
  ByteCursor cursor(file);
  PLUMB_RETURN_IF_ERROR(read_preamble(&cursor, &header));
  PLUMB_ASSIGN(const std::int64_t num_tensors,
               read_count(&cursor, "a tensor count", kMinTensorBytes, kMaxTensors));
  PLUMB_ASSIGN(const std::int64_t num_pairs, read_count(&cursor, "a metadata count", kMinPairBytes,
                                                        std::numeric_limits<std::int64_t>::max()));
  PLUMB_RETURN_IF_ERROR(
      read_gguf_metadata(&cursor, num_pairs, &header.metadata, &header.alignment));
  std::vector<std::uint64_t> name_offsets;
  std::uint64_t next = 0;
  for (std::int64_t i = 0; i < num_tensors; ++i) {
    name_offsets.push_back(cursor.offset());
    PLUMB_ASSIGN(TensorRecord record, read_tensor(&cursor, header.alignment, &next));
    header.tensors.push_back(std::move(record));
  }
  PLUMB_RETURN_IF_ERROR(check_unique(header.tensors, order_by_name(header.tensors), name_offsets));
  header.data_start = cursor.offset();
  if (num_tensors > 0) {
    PLUMB_RETURN_IF_ERROR(place_tensors(cursor.offset(), file.size(), &header));
  }
  return header;
}

namespace {

Result<GgufHeader> parse_mapped(const MappedFile& file) {
  Result<GgufHeader> header = parse_gguf(file.bytes());
  if (!header.ok()) {
    return header.status().with(file.path());
  }
  return header;
}

// "-00002-of-00003.gguf".
std::string part_suffix(std::int64_t number, std::int64_t count) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05lld-of-%05lld.gguf", static_cast<long long>(number),
                static_cast<long long>(count));
  return text;
}

Status check_part(const GgufHeader& part, std::int64_t number, std::int64_t count,
                  const std::string& path) {
  PLUMB_ASSIGN(const std::int64_t own_number, part.metadata.get<std::int64_t>("split.no"));
  PLUMB_ASSIGN(const std::int64_t own_count, part.metadata.get<std::int64_t>("split.count"));
  if (own_number != number || own_count != count) {
    return {Code::kInvalidArgument, path + ": says it is part " + std::to_string(own_number) +
                                        " of " + std::to_string(own_count) + ", expected part " +
                                        std::to_string(number) + " of " + std::to_string(count)};
  }
  return {};
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::string& path) {
  GgufFile gguf;
  PLUMB_ASSIGN(MappedFile file, MappedFile::open(path));
  PLUMB_ASSIGN(gguf.header_, parse_mapped(file));
  const std::int64_t count = gguf.metadata().get_or<std::int64_t>("split.count", 1);
  if (count > 1) {
    PLUMB_RETURN_IF_ERROR(gguf.open_parts(path, count));
  } else {
    gguf.files_.push_back(std::move(file));
  }
  PLUMB_RETURN_IF_ERROR(gguf.index_names());
  return gguf;
}

Status GgufFile::open_parts(const std::string& path, std::int64_t count) {
  if (count > 65535) {
    return {Code::kInvalidArgument,
            path + ": split.count is " + std::to_string(count) + ", at most 65535 is possible"};
  }
  PLUMB_ASSIGN(const std::int64_t opened, header_.metadata.get<std::int64_t>("split.no"));
  const std::string suffix = part_suffix(opened + 1, count);
  if (!path.ends_with(suffix)) {
    return {Code::kInvalidArgument, path + ": is part of a split model, so its name must end in '" +
                                        suffix + "' for the other parts to be found"};
  }
  const std::string stem = path.substr(0, path.size() - suffix.size());
  std::vector<TensorRecord> tensors;
  for (std::int64_t i = 0; i < count; ++i) {
    PLUMB_ASSIGN(MappedFile file, MappedFile::open(stem + part_suffix(i + 1, count)));
    PLUMB_ASSIGN(GgufHeader part, parse_mapped(file));
    PLUMB_RETURN_IF_ERROR(check_part(part, i, count, file.path()));
    for (TensorRecord& record : part.tensors) {
      record.file_index = static_cast<int>(i);
      tensors.push_back(std::move(record));
    }
    files_.push_back(std::move(file));
    if (i == 0) {
      header_ = std::move(part);
    }
  }
  header_.tensors = std::move(tensors);
  PLUMB_ASSIGN(const std::int64_t expected,
               header_.metadata.get<std::int64_t>("split.tensors.count"));
  if (expected != static_cast<std::int64_t>(header_.tensors.size())) {
    return {Code::kInvalidArgument, path + ": split.tensors.count is " + std::to_string(expected) +
                                        ", the parts hold " +
                                        std::to_string(header_.tensors.size()) + " tensors"};
  }
  return {};
}

Status GgufFile::index_names() {
  order_ = order_by_name(header_.tensors);
  for (std::size_t i = 1; i < order_.size(); ++i) {
    const TensorRecord& a = header_.tensors[order_[i - 1]];
    const TensorRecord& b = header_.tensors[order_[i]];
    if (a.name == b.name) {
      return {Code::kInvalidArgument, files_[static_cast<std::size_t>(b.file_index)].path() +
                                          ": tensor " + quoted_name(b.name) + " is also in part " +
                                          std::to_string(a.file_index + 1)};
    }
  }
  return {};
}

std::span<const std::byte> GgufFile::bytes(const TensorRecord& record) const {
  return files_[static_cast<std::size_t>(record.file_index)].bytes().subspan(record.file_offset,
                                                                             record.num_bytes);
}

void GgufFile::release_pages(const TensorRecord& record) const {
  files_[static_cast<std::size_t>(record.file_index)].release_pages(record.file_offset,
                                                                    record.num_bytes);
}

}  // namespace plumb
