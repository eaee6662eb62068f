// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace plumb {
namespace {

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{256} << 20;
constexpr std::string_view kIndexSuffix = ".safetensors.index.json";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

Result<Json> parse_file(const std::string& path) {
  PLUMB_ASSIGN(const std::string text, read_file(path, kMaxJsonBytes));
  Result<Json> json = parse_json(text);
  if (!json.ok()) {
    return json.status().with(path);
  }
  return json;
}

Result<SafetensorsFiles> open_folder(const std::string& folder) {
  const std::string index = folder + "/model.safetensors.index.json";
  if (file_exists(index)) {
    return SafetensorsFiles::open_index(index);
  }
  const std::string single = folder + "/model.safetensors";
  if (file_exists(single)) {
    return SafetensorsFiles::open_file(single);
  }
  return Status{Code::kNotFound,
                folder +
                    ": holds neither model.safetensors.index.json nor model.safetensors; give "
                    "a GGUF file or a folder in Hugging Face layout"};
}

Result<bool> starts_like_gguf(const std::string& path) {
  PLUMB_ASSIGN(const MappedFile file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file.bytes();
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0;
}

// Which reader takes a plain file: the name decides only where the first bytes do not.
Result<std::variant<GgufFile, SafetensorsFiles>> open_file(const std::string& path) {
  PLUMB_ASSIGN(const bool gguf, starts_like_gguf(path));
  if (gguf || path.ends_with(".gguf")) {
    PLUMB_ASSIGN(GgufFile file, GgufFile::open(path));
    return std::variant<GgufFile, SafetensorsFiles>(std::move(file));
  }
  if (path.ends_with(kIndexSuffix)) {
    PLUMB_ASSIGN(SafetensorsFiles files, SafetensorsFiles::open_index(path));
    return std::variant<GgufFile, SafetensorsFiles>(std::move(files));
  }
  Result<SafetensorsFiles> files = SafetensorsFiles::open_file(path);
  if (!files.ok() && !path.ends_with(".safetensors")) {
    return Status{Code::kInvalidArgument,
                  path +
                      ": byte 0: expected a GGUF file (\"GGUF\") or a safetensors file (header "
                      "length, then '{'), found neither"};
  }
  PLUMB_ASSIGN(SafetensorsFiles opened, std::move(files));
  return std::variant<GgufFile, SafetensorsFiles>(std::move(opened));
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> Checkpoint::open(const std::string& path) {
  std::unique_ptr<Checkpoint> checkpoint;
  if (is_folder(path)) {
    PLUMB_ASSIGN(SafetensorsFiles files, open_folder(path));
    checkpoint.reset(new Checkpoint(std::move(files)));
    checkpoint->folder_ =
        path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  } else {
    PLUMB_ASSIGN(auto files, open_file(path));
    checkpoint.reset(new Checkpoint(std::move(files)));
    checkpoint->folder_ = folder_of(path);
  }
  checkpoint->path_ = path;
  if (checkpoint->kind() == Kind::kSafetensors) {
    Result<Json> config = checkpoint->read_json("config.json");
    if (!config.ok() && config.status().code() != Code::kNotFound) {
      return config.status();
    }
    if (config.ok()) {
      checkpoint->config_ = std::move(config).value();
    }
  }
  return checkpoint;
}

const Metadata& Checkpoint::metadata() const {
  const GgufFile* gguf = std::get_if<GgufFile>(&files_);
  return gguf != nullptr ? gguf->metadata() : no_metadata_;
}

Result<Json> Checkpoint::read_json(std::string_view file_name) const {
  return parse_file(folder_ + "/" + std::string(file_name));
}

std::span<const TensorRecord> Checkpoint::tensors() const {
  return std::visit([](const auto& files) { return files.tensors(); }, files_);
}

const TensorRecord* Checkpoint::find(std::string_view name) const {
  return std::visit([&](const auto& files) { return files.find(name); }, files_);
}

Result<RawTensor> Checkpoint::tensor(std::string_view name) const {
  const TensorRecord* record = find(name);
  if (record == nullptr) {
    return Status{Code::kNotFound, path_ + ": has no tensor '" + std::string(name) + "'"};
  }
  return tensor(*record);
}

Result<RawTensor> Checkpoint::tensor(const TensorRecord& record) const {
  if (!record.dtype) {
    return Status{Code::kUnsupported, path_ + ": tensor '" + record.name + "' has type " +
                                          record.type_name + ", which cannot be loaded"};
  }
  Result<Shape> shape = shape_of(record);
  if (!shape.ok()) {
    return shape.status().with(path_);
  }
  return RawTensor{record.name, *record.dtype, shape.value(),
                   std::visit([&](const auto& files) { return files.bytes(record); }, files_),
                   record.file_offset};
}

void Checkpoint::release_pages(std::string_view name) const {
  if (const TensorRecord* record = find(name)) {
    std::visit([&](const auto& files) { files.release_pages(*record); }, files_);
  }
}

const std::vector<MappedFile>& Checkpoint::files() const {
  return std::visit(
      [](const auto& files) -> const std::vector<MappedFile>& { return files.files(); }, files_);
}

std::uint64_t Checkpoint::total_tensor_bytes() const {
  std::uint64_t total = 0;
  for (const TensorRecord& record : tensors()) {
    total += record.num_bytes;
  }
  return total;
}

std::uint64_t Checkpoint::total_file_bytes() const {
  std::uint64_t total = 0;
  for (const MappedFile& file : files()) {
    total += file.bytes().size();
  }
  return total;
}

std::int64_t Checkpoint::num_files() const {
  return static_cast<std::int64_t>(files().size());
}

}  // namespace plumb
