// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/inspect.h"

#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>

#include "base/text.h"

namespace plumb {
namespace {

constexpr std::size_t kShownItems = 8;
constexpr std::size_t kShownBytes = 96;

template <class T>
std::string_view element_name() {
  if constexpr (std::is_same_v<T, bool>) {
    return "bool";
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return "integer";
  } else if constexpr (std::is_same_v<T, double>) {
    return "float";
  } else {
    return "string";
  }
}

/// Metadata values as JSON.
struct ToJson {
  Json operator()(bool v) const { return v; }

  Json operator()(std::int64_t v) const { return v; }

  Json operator()(double v) const { return v; }

  Json operator()(const std::string& v) const { return to_valid_utf8(v); }

  template <class T>
  Json operator()(const std::vector<T>& values) const {
    JsonArray first;
    for (std::size_t i = 0; i < std::min(values.size(), kShownItems); ++i) {
      first.push_back((*this)(static_cast<T>(values[i])));
    }
    if (values.size() <= kShownItems) {
      return first;
    }
    return JsonObject{{"type", Json(element_name<T>())},
                      {"length", Json(static_cast<std::int64_t>(values.size()))},
                      {"first", Json(std::move(first))}};
  }
};

std::string cut(std::string_view text) {
  text = text.substr(0, kShownBytes);
  return std::string(text.substr(0, complete_utf8_len(text)));
}

std::string shortened(std::string text) {
  return text.size() <= kShownBytes ? text
                                    : cut(text) + "… (" + std::to_string(text.size()) + " bytes)";
}

// One line: control characters stay escaped as in JSON.
std::string shown(const Json& value) {
  const Json* first = value.find("first");
  const Json* length = value.find("length");
  if (first != nullptr && length != nullptr) {  // a long array
    return cut(to_text(*first)) + "… (" + to_text(*length) + " items)";
  }
  std::string text = to_text(value);
  if (value.is_string()) {
    text = text.substr(1, text.size() - 2);
  }
  return shortened(std::move(text));
}

struct TypeTotal {
  std::int64_t tensors = 0;
  std::uint64_t bytes = 0;
};

void add_tensors(const Checkpoint& checkpoint, Inspection* out, JsonObject* json) {
  std::map<std::string, TypeTotal> totals;
  std::int64_t parameters = 0;
  JsonArray list;
  out->tensors.push_back({"tensor", "type", "shape", "bytes"});
  for (const TensorRecord& record : checkpoint.tensors()) {
    TypeTotal& total = totals[record.type_name];
    ++total.tensors;
    total.bytes += record.num_bytes;
    if (__builtin_add_overflow(parameters, num_elements(record), &parameters)) {
      parameters = std::numeric_limits<std::int64_t>::max();
    }
    const bool loadable = record.dtype.has_value() && record.dims.size() <= kMaxRank;
    list.push_back(JsonObject{{"name", Json(to_valid_utf8(record.name))},
                              {"type", Json(record.type_name)},
                              {"shape", Json(JsonArray(record.dims.begin(), record.dims.end()))},
                              {"bytes", Json(record.num_bytes)},
                              {"offset", Json(record.file_offset)},
                              {"file", Json(record.file_index)},
                              {"loadable", Json(loadable)}});
    out->tensors.push_back({shown(Json(to_valid_utf8(record.name))),
                            record.type_name + (loadable ? "" : " (unsupported)"),
                            dims_to_text(record.dims), std::to_string(record.num_bytes)});
  }
  JsonObject types;
  std::string mix;
  for (const auto& [name, total] : totals) {
    types.append(name, JsonObject{{"tensors", Json(total.tensors)}, {"bytes", Json(total.bytes)}});
    mix += (mix.empty() ? "" : ", ") + std::to_string(total.tensors) + " " + name + " (" +
           bytes_to_text(total.bytes) + ")";
  }
  json->append("parameters", parameters);
  json->append("types", std::move(types));
  json->append("tensors", std::move(list));
  out->summary.push_back({"parameters", std::to_string(parameters)});
  out->summary.push_back({"tensors", mix.empty() ? "none" : mix});
}

void add_metadata(const Checkpoint& checkpoint, Inspection* out, JsonObject* json) {
  JsonObject metadata;
  for (const auto& [key, value] : checkpoint.metadata().values()) {
    metadata.append(to_valid_utf8(key), std::visit(ToJson{}, value));
  }
  if (checkpoint.config().is_object()) {
    metadata = checkpoint.config().as_object();
  }
  for (const JsonMember& member : metadata) {
    out->metadata.push_back({shown(Json(member.key)), shown(member.value)});
  }
  json->append("metadata", std::move(metadata));
}

}  // namespace

Inspection inspect(const Checkpoint& checkpoint) {
  Inspection out;
  const bool gguf = checkpoint.kind() == Checkpoint::Kind::kGguf;
  JsonObject json{{"path", Json(to_valid_utf8(checkpoint.path()))},
                  {"format", Json(gguf ? "gguf" : "safetensors")},
                  {"files", Json(checkpoint.num_files())},
                  {"file_bytes", Json(checkpoint.total_file_bytes())},
                  {"tensor_bytes", Json(checkpoint.total_tensor_bytes())}};
  out.summary = {{"path", shown(Json(to_valid_utf8(checkpoint.path())))},
                 {"format", gguf ? "gguf" : "safetensors"},
                 {"files", std::to_string(checkpoint.num_files()) + " (" +
                               bytes_to_text(checkpoint.total_file_bytes()) + ")"}};
  add_metadata(checkpoint, &out, &json);
  add_tensors(checkpoint, &out, &json);
  out.json = std::move(json);
  return out;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) {
        text.append(widths[i] - row[i].size() + 2, ' ');
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace plumb
