// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors_writer.h"

#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "checkpoint/tensor_record.h"

namespace plumb {
namespace {

Result<std::int64_t> bytes_of(const SafetensorsSpec& spec) {
  std::int64_t product = 0;
  const bool valid =
      traits(spec.dtype).block_elems == 1 &&
      std::all_of(spec.dims.begin(), spec.dims.end(), [](std::int64_t d) { return d >= 0; }) &&
      multiply_dims(spec.dims, &product) && spec.name != "__metadata__";
  if (!valid) {
    return Status{Code::kInvalidArgument,
                  "tensor '" + spec.name + "' " + std::string(to_text(spec.dtype)) + " " +
                      dims_to_text(spec.dims) + " does not fit in a safetensors file"};
  }
  return product * traits(spec.dtype).block_bytes;
}

}  // namespace

std::vector<SafetensorsSpec> safetensors_order(std::vector<SafetensorsSpec> specs) {
  std::sort(specs.begin(), specs.end(), [](const SafetensorsSpec& a, const SafetensorsSpec& b) {
    const std::int64_t size_a = traits(a.dtype).block_bytes;
    const std::int64_t size_b = traits(b.dtype).block_bytes;
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
  return specs;
}

Result<SafetensorsWriter> SafetensorsWriter::create(
    const std::string& path, const std::vector<SafetensorsSpec>& tensors,
    const std::map<std::string, std::string>& metadata) {
  JsonObject header;
  if (!metadata.empty()) {
    JsonObject texts;
    for (const auto& [key, value] : metadata) {
      texts.append(key, value);
    }
    header.append("__metadata__", std::move(texts));
  }
  std::int64_t offset = 0;
  for (const SafetensorsSpec& spec : tensors) {
    PLUMB_ASSIGN(const std::int64_t num_bytes, bytes_of(spec));
    JsonArray shape(spec.dims.begin(), spec.dims.end());
    header.append(spec.name, JsonObject{{"dtype", Json(to_text(spec.dtype))},
                                        {"shape", Json(std::move(shape))},
                                        {"data_offsets", JsonArray{offset, offset + num_bytes}}});
    offset += num_bytes;
  }
  std::string text = to_text(Json(std::move(header)));
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  PLUMB_ASSIGN(OutputFile file, OutputFile::create(path));
  PLUMB_RETURN_IF_ERROR(
      file.append(std::string_view(reinterpret_cast<const char*>(&length), sizeof length)));
  PLUMB_RETURN_IF_ERROR(file.append(text));
  SafetensorsWriter writer(std::move(file));
  writer.final_size_ = writer.file_.size() + static_cast<std::uint64_t>(offset);
  return writer;
}

Status SafetensorsWriter::finish() {
  PLUMB_CHECK(file_.size() == final_size_, "the file has " + std::to_string(file_.size()) +
                                               " bytes instead of " + std::to_string(final_size_));
  return file_.commit();
}

}  // namespace plumb
