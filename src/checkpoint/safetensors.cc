// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "checkpoint/byte_cursor.h"

namespace plumb {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::int64_t kMaxTokens = 4'000'000;
constexpr std::uint64_t kPrefixBytes = 8;

struct FileType {
  std::string_view name;
  std::int64_t bits;
  std::optional<DType> dtype;
};

constexpr std::array<FileType, 22> kTypes{{
    {"F32", 32, DType::kF32},
    {"F16", 16, DType::kF16},
    {"BF16", 16, DType::kBF16},
    {"F64", 64, DType::kF64},
    {"I8", 8, DType::kI8},
    {"U8", 8, DType::kU8},
    {"I16", 16, DType::kI16},
    {"I32", 32, DType::kI32},
    {"I64", 64, DType::kI64},
    {"BOOL", 8, std::nullopt},
    {"U16", 16, std::nullopt},
    {"U32", 32, std::nullopt},
    {"U64", 64, std::nullopt},
    {"C64", 64, std::nullopt},
    {"F8_E4M3", 8, std::nullopt},
    {"F8_E5M2", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt},
    {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt},
    {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},
    {"F4", 4, std::nullopt},
}};

bool is_hex4(std::string_view text, unsigned* value) {
  *value = 0;
  if (text.size() < 4) {
    return false;
  }
  for (const char c : text.substr(0, 4)) {
    const char lower = static_cast<char>(c | 0x20);
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (lower < 'a' || lower > 'f')) {
      return false;
    }
    *value = *value * 16 + static_cast<unsigned>(digit ? c - '0' : lower - 'a' + 10);
  }
  return true;
}

// parse_json would turn lone surrogate escapes into U+FFFD; here they are errors. Also bounds the
// number of values, so that the parsed header stays small.
Status scan_header(std::string_view json) {
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    tokens += c == ',' || c == '[' || c == '{' ? 1 : 0;
    if (c != '\\') {
      continue;
    }
    unsigned unit = 0;
    if (json.substr(i + 1, 1) != "u" || !is_hex4(json.substr(i + 2, 4), &unit)) {
      ++i;
      continue;
    }
    unsigned next = 0;
    const bool high = unit >= 0xD800 && unit <= 0xDBFF;
    const bool paired = high && json.substr(i + 6, 2) == "\\u" &&
                        is_hex4(json.substr(i + 8, 4), &next) && next >= 0xDC00 && next <= 0xDFFF;
    if (!paired && unit >= 0xD800 && unit <= 0xDFFF) {
      return malformed(kPrefixBytes + i, "valid UTF-16 escapes", "a lone surrogate");
    }
    i += paired ? 11 : 5;
  }
  if (tokens > kMaxTokens) {
    return malformed(kPrefixBytes, "a header of at most " + std::to_string(kMaxTokens) + " values",
                     std::to_string(tokens));
  }
  return {};
}

/// Turns the members of the header into records.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Status read_metadata(const Json& value, SafetensorsHeader* header) const;
  Result<TensorRecord> read_entry(const std::string& name, const Json& value) const;
  Status check_layout(std::uint64_t buffer_start, std::uint64_t buffer_size,
                      SafetensorsHeader* header) const;

 private:
  // Where the member stands in the file: its quoted name, or the header if it is spelled with
  // escapes.
  std::uint64_t offset_of(std::string_view name) const {
    std::string literal;
    append_json_string(&literal, name);
    const std::size_t at = text_.find(literal);
    return kPrefixBytes + (at == std::string_view::npos ? 0 : at);
  }

  Status read_offsets(const std::string& name, const Json* value, TensorRecord* record) const;
  Status read_shape(const std::string& name, const Json* value, TensorRecord* record) const;
  Status read_type(const std::string& name, const Json* value, TensorRecord* record) const;

  std::string_view text_;
};

Status HeaderReader::read_metadata(const Json& value, SafetensorsHeader* header) const {
  if (value.is_null()) {
    return {};
  }
  if (!value.is_object()) {
    return malformed(offset_of("__metadata__"), "__metadata__ to be an object of strings",
                     "another type");
  }
  for (const JsonMember& member : value.as_object()) {
    if (!member.value.is_string()) {
      return malformed(offset_of("__metadata__"),
                       "a string for __metadata__ key " + quoted_name(member.key), "another type");
    }
    header->metadata.emplace(member.key, member.value.as_string());
  }
  return {};
}

Status HeaderReader::read_shape(const std::string& name, const Json* value,
                                TensorRecord* record) const {
  if (value == nullptr || !value->is_array()) {
    return malformed(offset_of(name), "an array 'shape' of tensor " + quoted_name(name),
                     value == nullptr ? "none" : "another type");
  }
  for (const Json& dim : value->as_array()) {
    if (!dim.is_int() || dim.as_int() < 0) {
      return malformed(offset_of(name),
                       "dimensions of tensor " + quoted_name(name) + " that are integers >= 0",
                       to_text(dim).substr(0, 32));
    }
    record->dims.push_back(dim.as_int());
  }
  return {};
}

Status HeaderReader::read_type(const std::string& name, const Json* value,
                               TensorRecord* record) const {
  if (value == nullptr || !value->is_string()) {
    return malformed(offset_of(name), "a string 'dtype' of tensor " + quoted_name(name),
                     value == nullptr ? "none" : "another type");
  }
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const FileType& t) { return t.name == value->as_string(); });
  if (type == kTypes.end()) {
    return malformed(offset_of(name), "a known dtype of tensor " + quoted_name(name),
                     quoted_name(value->as_string()));
  }
  record->type_name = type->name;
  record->dtype = type->dtype;
  std::int64_t product = 0;
  std::int64_t bits = 0;
  if (!multiply_dims(record->dims, &product) ||
      __builtin_mul_overflow(product, type->bits, &bits)) {
    return malformed(offset_of(name), "a tensor " + quoted_name(name) + " of less than 2^63 bits",
                     dims_to_text(record->dims).substr(0, 128));
  }
  if (bits % 8 != 0 || static_cast<std::uint64_t>(bits / 8) != record->num_bytes) {
    return malformed(offset_of(name),
                     "data_offsets of tensor " + quoted_name(name) + " that span " +
                         std::to_string(bits) + " bits (" + record->type_name + " " +
                         dims_to_text(record->dims).substr(0, 128) + ")",
                     std::to_string(record->num_bytes) + " bytes");
  }
  return {};
}

Status HeaderReader::read_offsets(const std::string& name, const Json* value,
                                  TensorRecord* record) const {
  const bool pair = value != nullptr && value->is_array() && value->as_array().size() == 2;
  if (!pair || !value->as_array()[0].is_int() || !value->as_array()[1].is_int()) {
    return malformed(offset_of(name),
                     "two integers as 'data_offsets' of tensor " + quoted_name(name),
                     value == nullptr ? "none" : to_text(*value).substr(0, 64));
  }
  const std::int64_t begin = value->as_array()[0].as_int();
  const std::int64_t end = value->as_array()[1].as_int();
  if (begin < 0 || end < begin) {
    return malformed(offset_of(name),
                     "data_offsets of tensor " + quoted_name(name) + " with 0 <= begin <= end",
                     to_text(*value).substr(0, 64));
  }
  record->file_offset = static_cast<std::uint64_t>(begin);
  record->num_bytes = static_cast<std::uint64_t>(end - begin);
  return {};
}

Result<TensorRecord> HeaderReader::read_entry(const std::string& name, const Json& value) const {
  if (!value.is_object()) {
    return malformed(offset_of(name), "an object for tensor " + quoted_name(name), "another type");
  }
  TensorRecord record;
  record.name = name;
  PLUMB_RETURN_IF_ERROR(read_offsets(name, value.find("data_offsets"), &record));
  PLUMB_RETURN_IF_ERROR(read_shape(name, value.find("shape"), &record));
  PLUMB_RETURN_IF_ERROR(read_type(name, value.find("dtype"), &record));
  return record;
}

Status HeaderReader::check_layout(std::uint64_t buffer_start, std::uint64_t buffer_size,
                                  SafetensorsHeader* header) const {
  std::vector<TensorRecord>& tensors = header->tensors;
  std::sort(tensors.begin(), tensors.end(), [](const TensorRecord& a, const TensorRecord& b) {
    return a.file_offset != b.file_offset ? a.file_offset < b.file_offset
                                          : a.num_bytes < b.num_bytes;
  });
  std::uint64_t next = 0;
  for (TensorRecord& record : tensors) {
    if (record.file_offset != next) {
      return malformed(offset_of(record.name),
                       "tensor " + quoted_name(record.name) + " to begin at " +
                           std::to_string(next) + ", where its predecessor ends",
                       std::to_string(record.file_offset));
    }
    next += record.num_bytes;  // both below 2^63
    if (next > buffer_size) {
      return malformed(buffer_start + buffer_size,
                       "the data of tensor " + quoted_name(record.name) + " (until byte " +
                           std::to_string(buffer_start + next) + ")",
                       "the end of the file: it is truncated, fetch it again");
    }
    record.file_offset += buffer_start;
  }
  if (next != buffer_size) {
    return malformed(buffer_start + next, "the end of the file",
                     std::to_string(buffer_size - next) + " more bytes");
  }
  return {};
}

Result<std::string_view> header_text(std::span<const std::byte> file) {
  ByteCursor cursor(file);
  PLUMB_ASSIGN(const std::uint64_t length, cursor.read<std::uint64_t>("the header length"));
  const std::uint64_t limit = std::min(kMaxHeaderBytes, cursor.remaining());
  if (length == 0 || length > limit) {
    return malformed(0, "a header length between 1 and " + std::to_string(limit),
                     std::to_string(length));
  }
  PLUMB_ASSIGN(const std::span<const std::byte> raw, cursor.take(length, "the header"));
  const std::string_view text(reinterpret_cast<const char*>(raw.data()), raw.size());
  if (text[0] != '{') {
    return malformed(kPrefixBytes, "'{'", quoted_name(text.substr(0, 1)));
  }
  return text;
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file) {
  PLUMB_ASSIGN(const std::string_view text, header_text(file));
  PLUMB_RETURN_IF_ERROR(scan_header(text));
  JsonLimits limits;
  limits.duplicates = JsonDuplicates::kReject;
  Result<Json> json = parse_json(text, limits);
  if (!json.ok()) {
    return json.status().with("header from byte 8");
  }
  SafetensorsHeader header;
  const HeaderReader reader(text);
  for (const JsonMember& member : json.value().as_object()) {
    if (member.key == "__metadata__") {
      PLUMB_RETURN_IF_ERROR(reader.read_metadata(member.value, &header));
      continue;
    }
    PLUMB_ASSIGN(TensorRecord record, reader.read_entry(member.key, member.value));
    header.tensors.push_back(std::move(record));
  }
  const std::uint64_t buffer_start = kPrefixBytes + text.size();
  PLUMB_RETURN_IF_ERROR(reader.check_layout(buffer_start, file.size() - buffer_start, &header));
  return header;
}

Status SafetensorsFiles::add_file(const std::string& path) {
  PLUMB_ASSIGN(MappedFile file, MappedFile::open(path));
  Result<SafetensorsHeader> header = parse_safetensors(file.bytes());
  if (!header.ok()) {
    return header.status().with(path);
  }
  for (TensorRecord& record : header.value().tensors) {
    record.file_index = static_cast<int>(files_.size());
    tensors_.push_back(std::move(record));
  }
  if (files_.empty()) {
    metadata_ = std::move(header.value().metadata);
  }
  files_.push_back(std::move(file));
  return {};
}

Status SafetensorsFiles::index_names() {
  order_ = order_by_name(tensors_);
  for (std::size_t i = 1; i < order_.size(); ++i) {
    const TensorRecord& a = tensors_[order_[i - 1]];
    const TensorRecord& b = tensors_[order_[i]];
    if (a.name == b.name) {
      return {Code::kInvalidArgument,
              "tensor " + quoted_name(a.name) +
                  " is in two files: " + files_[static_cast<std::size_t>(a.file_index)].path() +
                  " and " + files_[static_cast<std::size_t>(b.file_index)].path()};
    }
  }
  return {};
}

Result<SafetensorsFiles> SafetensorsFiles::open_file(const std::string& path) {
  SafetensorsFiles files;
  PLUMB_RETURN_IF_ERROR(files.add_file(path));
  PLUMB_RETURN_IF_ERROR(files.index_names());
  return files;
}

namespace {

// Tensor name to file name, checked.
Result<std::map<std::string, std::string>> read_weight_map(const std::string& path) {
  PLUMB_ASSIGN(const std::string text, read_file(path, kMaxHeaderBytes));
  JsonLimits limits;
  limits.duplicates = JsonDuplicates::kReject;
  Result<Json> json = parse_json(text, limits);
  if (!json.ok()) {
    return json.status().with(path);
  }
  const Json* map = json.value().find("weight_map");
  if (map == nullptr || !map->is_object() || map->as_object().empty()) {
    return Status{Code::kInvalidArgument,
                  path + ": expected an object 'weight_map' with at least one member"};
  }
  std::map<std::string, std::string> weight_map;
  for (const JsonMember& member : map->as_object()) {
    const std::string* file = member.value.is_string() ? &member.value.as_string() : nullptr;
    if (file == nullptr || file->empty() || file->find('/') != std::string::npos ||
        file->find('\0') != std::string::npos || *file == "." || *file == "..") {
      return Status{Code::kInvalidArgument, path + ": weight_map of " + quoted_name(member.key) +
                                                " must be the name of a file in the same folder"};
    }
    weight_map.emplace(member.key, *file);
  }
  return weight_map;
}

}  // namespace

Result<SafetensorsFiles> SafetensorsFiles::open_index(const std::string& path) {
  PLUMB_ASSIGN(const auto weight_map, read_weight_map(path));
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::map<std::string, int> file_indices;
  for (const auto& [name, file] : weight_map) {
    file_indices.emplace(file, 0);
  }
  SafetensorsFiles files;
  int index = 0;
  for (auto& [file, file_index] : file_indices) {
    file_index = index++;
    PLUMB_RETURN_IF_ERROR(files.add_file(folder + file));
  }
  PLUMB_RETURN_IF_ERROR(files.index_names());
  for (const auto& [name, file] : weight_map) {
    const TensorRecord* record = files.find(name);
    if (record == nullptr || record->file_index != file_indices[file]) {
      return Status{Code::kInvalidArgument,
                    path + ": tensor " + quoted_name(name) + " is not in " + file};
    }
  }
  return files;
}

std::span<const std::byte> SafetensorsFiles::bytes(const TensorRecord& record) const {
  return files_[static_cast<std::size_t>(record.file_index)].bytes().subspan(record.file_offset,
                                                                             record.num_bytes);
}

void SafetensorsFiles::release_pages(const TensorRecord& record) const {
  files_[static_cast<std::size_t>(record.file_index)].release_pages(record.file_offset,
                                                                    record.num_bytes);
}

}  // namespace plumb
