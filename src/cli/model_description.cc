// SPDX-License-Identifier: Apache-2.0
#include "cli/model_description.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <variant>

#include "base/text.h"

namespace plumb {
namespace {

// A value of a file's header; null for a list.
struct ScalarToJson {
  Json operator()(bool value) const { return value; }

  Json operator()(std::int64_t value) const { return value; }

  Json operator()(double value) const { return value; }

  Json operator()(const std::string& value) const { return to_valid_utf8(value); }

  template <class T>
  Json operator()(const std::vector<T>& /*values*/) const {
    return {};
  }
};

// The type that most bytes of the tensors have.
std::string main_type(const Checkpoint& checkpoint) {
  std::map<std::string, std::uint64_t> num_bytes;
  for (const TensorRecord& record : checkpoint.tensors()) {
    num_bytes[std::string(record.type_name)] += record.num_bytes;
  }
  const auto most =
      std::max_element(num_bytes.begin(), num_bytes.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == num_bytes.end() ? "" : most->first;
}

JsonObject metadata_of(const Checkpoint& checkpoint, const ModelFacts& facts) {
  JsonObject out;
  for (const auto& [key, value] : checkpoint.metadata().values()) {
    if (key != "tokenizer.chat_template") {
      out.set(key, std::visit(ScalarToJson(), value));
    }
  }
  const auto add = [&out](const std::string& key, const Json& value) {
    if (out.find(key) == nullptr) {
      out.set(key, value);
    }
  };
  add("general.architecture", facts.family);
  add("general.parameter_count", facts.num_parameters);
  add(facts.family + ".context_length", facts.max_context_len);
  add(facts.family + ".embedding_length", facts.hidden_size);
  add(facts.family + ".block_count", facts.num_layers);
  add(facts.family + ".vocab_size", facts.vocab_size);
  return out;
}

}  // namespace

ModelDescription describe_model(const Checkpoint& checkpoint, const ModelFacts& facts,
                                const std::string& chat_template) {
  ModelDescription out;
  out.family = facts.family;
  out.format = checkpoint.kind() == Checkpoint::Kind::kGguf ? "gguf" : "safetensors";
  out.quantization = main_type(checkpoint);
  out.license = checkpoint.metadata().get_or<std::string>("general.license", "");
  out.chat_template = chat_template;
  const Json* architectures = checkpoint.config().find("architectures");
  out.architectures = architectures != nullptr && architectures->is_array()
                          ? architectures->as_array()
                          : JsonArray{facts.family};
  out.metadata = metadata_of(checkpoint, facts);
  return out;
}

}  // namespace plumb
