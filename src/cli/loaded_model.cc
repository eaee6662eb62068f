// SPDX-License-Identifier: Apache-2.0
#include "cli/loaded_model.h"

#include <utility>

#include "base/file.h"

namespace plumb {
namespace {

// A JSON file beside the weights; null if there is none.
Result<Json> optional_json(const Checkpoint& checkpoint, const char* file_name) {
  Result<Json> json = checkpoint.read_json(file_name);
  if (!json.ok() && json.status().code() == Code::kNotFound) {
    return Json();
  }
  return json;
}

double number_or(const Json& json, const char* key, double fallback) {
  const Json* field = json.find(key);
  return field != nullptr && field->is_number() ? field->as_double() : fallback;
}

SamplingDefaults defaults_of(const Json& generation_config) {
  SamplingDefaults defaults;
  const Json* do_sample = generation_config.find("do_sample");
  if (do_sample != nullptr && do_sample->is_bool() && !do_sample->as_bool()) {
    return defaults;
  }
  defaults.temperature = number_or(generation_config, "temperature", defaults.temperature);
  defaults.top_p = number_or(generation_config, "top_p", defaults.top_p);
  defaults.top_k = static_cast<std::int64_t>(number_or(generation_config, "top_k", 0));
  defaults.min_p = number_or(generation_config, "min_p", 0);
  defaults.repetition_penalty = number_or(generation_config, "repetition_penalty", 1);
  return defaults;
}

// The "default" entry of a list of named templates, or the template itself.
std::optional<std::string> template_of(const Json& tokenizer_config) {
  const Json* field = tokenizer_config.find("chat_template");
  if (field != nullptr && field->is_string()) {
    return field->as_string();
  }
  if (field == nullptr || !field->is_array()) {
    return std::nullopt;
  }
  for (const Json& entry : field->as_array()) {
    const Json* name = entry.find("name");
    const Json* source = entry.find("template");
    if (name != nullptr && source != nullptr && source->is_string() && *name == Json("default")) {
      return source->as_string();
    }
  }
  return std::nullopt;
}

// The variables by which templates name special tokens.
ChatTemplate::SpecialTokens special_texts(const Tokenizer& tokenizer) {
  ChatTemplate::SpecialTokens out;
  const auto add = [&](const char* name, std::optional<TokenId> id) {
    if (id.has_value()) {
      out.emplace_back(name, tokenizer.token_text(*id));
    }
  };
  add("bos_token", tokenizer.special_ids().bos);
  add("eos_token", tokenizer.special_ids().eos);
  add("unk_token", tokenizer.special_ids().unknown);
  add("pad_token", tokenizer.special_ids().padding);
  return out;
}

}  // namespace

Result<std::optional<std::string>> chat_template_source(const Checkpoint& checkpoint) {
  if (checkpoint.kind() == Checkpoint::Kind::kGguf) {
    const auto* source = checkpoint.metadata().find<std::string>("tokenizer.chat_template");
    return source == nullptr ? std::optional<std::string>() : std::optional(*source);
  }
  const std::string file = checkpoint.folder() + "/chat_template.jinja";
  if (file_exists(file)) {
    PLUMB_ASSIGN(std::string source, read_file(file));
    return std::optional(std::move(source));
  }
  PLUMB_ASSIGN(const Json config, optional_json(checkpoint, "tokenizer_config.json"));
  return template_of(config);
}

Result<std::unique_ptr<Tokenizer>> load_tokenizer(const Checkpoint& checkpoint) {
  if (checkpoint.kind() == Checkpoint::Kind::kGguf) {
    return Tokenizer::from_metadata(checkpoint.metadata());
  }
  const auto optional_text = [&](const char* name) -> Result<std::string> {
    const std::string path = checkpoint.folder() + "/" + name;
    return file_exists(path) ? read_file(path) : Result<std::string>(std::string());
  };
  PLUMB_ASSIGN(const std::string tokenizer, read_file(checkpoint.folder() + "/tokenizer.json"));
  PLUMB_ASSIGN(const std::string config, optional_text("tokenizer_config.json"));
  PLUMB_ASSIGN(const std::string generation, optional_text("generation_config.json"));
  return Tokenizer::from_tokenizer_json(tokenizer, config, generation);
}

Result<std::unique_ptr<ChatTemplate>> load_chat_template(const Checkpoint& checkpoint,
                                                         const Tokenizer& tokenizer) {
  PLUMB_ASSIGN(const std::optional<std::string> source, chat_template_source(checkpoint));
  if (!source.has_value()) {
    return std::unique_ptr<ChatTemplate>();
  }
  Result<ChatTemplate> parsed = ChatTemplate::parse(*source, special_texts(tokenizer));
  if (!parsed.ok()) {
    return parsed.status().with(checkpoint.path() + ": chat template");
  }
  return std::make_unique<ChatTemplate>(std::move(parsed).value());
}

Result<TextParts> load_text_parts(const Checkpoint& checkpoint) {
  TextParts parts;
  PLUMB_ASSIGN(parts.tokenizer, load_tokenizer(checkpoint));
  PLUMB_ASSIGN(parts.chat_template, load_chat_template(checkpoint, *parts.tokenizer));
  PLUMB_ASSIGN(const std::optional<std::string> source, chat_template_source(checkpoint));
  parts.template_source = source.value_or("");
  if (checkpoint.kind() != Checkpoint::Kind::kGguf) {
    PLUMB_ASSIGN(const Json generation, optional_json(checkpoint, "generation_config.json"));
    parts.defaults = defaults_of(generation);
  }
  return parts;
}

}  // namespace plumb
