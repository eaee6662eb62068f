// SPDX-License-Identifier: Apache-2.0
#include "grammar/tag_parameters.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_surrogates.h"
#include "grammar/json_schema_document.h"

namespace plumb {
namespace {

// Keywords of the object that are enforced here, or say nothing about its members.
constexpr std::array<std::string_view, 12> kObjectKeywords = {
    "type",    "properties",  "required", "additionalProperties",
    "title",   "description", "$defs",    "definitions",
    "$schema", "$comment",    "default",  "examples"};

// What stands before and behind a value.
struct Marks {
  std::string before;
  std::string behind;
};

class ParameterWriter {
 public:
  ParameterWriter(TagStyle style, const JsonSchemaOptions& options, Cfg* cfg, CompileBudget* budget,
                  std::vector<std::string>* ignored)
      : style_(style), options_(options), cfg_(*cfg), budget_(*budget), ignored_(*ignored) {
    RegexSet& set = cfg_.regexes();
    line_end_ = cfg_.terminal(set.repeat(set.literal("\n"), 0, 1));
  }

  Result<SymbolId> write(std::string_view text) {
    if (has_lone_surrogate(text)) {
      return Status{
          Code::kInvalidArgument,
          "schema: holds half of a surrogate pair, which no text has; write the whole pair"};
    }
    PLUMB_ASSIGN(schema_, parse_json(text));
    PLUMB_RETURN_IF_ERROR(check_object());
    std::vector<SymbolId> parts{line_end_};
    const Json* properties = schema_.find("properties");
    if (properties == nullptr) {
      return cfg_.sequence(std::move(parts));
    }
    for (const JsonMember& member : properties->as_object()) {
      PLUMB_RETURN_IF_ERROR(budget_.poll_now());
      PLUMB_ASSIGN(const SymbolId parameter, parameter_of(member));
      parts.push_back(required_.contains(member.key) ? parameter : cfg_.optional(parameter));
    }
    return cfg_.sequence(std::move(parts));
  }

 private:
  static Status unsupported(const std::string& what) {
    return {Code::kUnsupported, what + " is not supported in this style; use the style json"};
  }

  Status check_object() {
    if (!schema_.is_object()) {
      return {Code::kInvalidArgument, "expected the schema of an object"};
    }
    for (const JsonMember& member : schema_.as_object()) {
      if (std::find(kObjectKeywords.begin(), kObjectKeywords.end(), member.key) ==
          kObjectKeywords.end()) {
        return unsupported("the keyword '" + member.key.substr(0, 64) + "' of the object");
      }
    }
    const Json* type = schema_.find("type");
    const Json* properties = schema_.find("properties");
    if ((type != nullptr && *type != Json("object")) ||
        (properties != nullptr && !properties->is_object())) {
      return {Code::kInvalidArgument, "expected the schema of an object with properties"};
    }
    PLUMB_RETURN_IF_ERROR(read_required(properties));
    return check_references();
  }

  Status read_required(const Json* properties) {
    const Json* required = schema_.find("required");
    if (required == nullptr) {
      return {};
    }
    if (!required->is_array()) {
      return {Code::kInvalidArgument, "required: expected an array"};
    }
    std::set<std::string_view> names;
    if (properties != nullptr) {
      for (const JsonMember& member : properties->as_object()) {
        PLUMB_RETURN_IF_ERROR(budget_.poll());
        names.insert(member.key);
      }
    }
    for (const Json& name : required->as_array()) {
      PLUMB_RETURN_IF_ERROR(budget_.poll());
      if (!name.is_string() || !names.contains(name.as_string())) {
        return {Code::kInvalidArgument, "required: each entry has to name a property"};
      }
      required_.insert(name.as_string());
    }
    return {};
  }

  // A property is compiled alone, with the definitions only.
  Status check_references() const {
    std::vector<const Json*> todo{&schema_};
    while (!todo.empty()) {
      PLUMB_RETURN_IF_ERROR(budget_.poll());
      const Json& json = *todo.back();
      todo.pop_back();
      if (json.is_array()) {
        for (const Json& item : json.as_array()) {
          todo.push_back(&item);
        }
      }
      if (!json.is_object()) {
        continue;
      }
      for (const JsonMember& member : json.as_object()) {
        todo.push_back(&member.value);
        const bool is_reference = member.key == "$ref" || member.key == "$dynamicRef";
        if (is_reference && member.value.is_string() &&
            !member.value.as_string().starts_with("#/$defs/") &&
            !member.value.as_string().starts_with("#/definitions/")) {
          return unsupported("a reference to other places than $defs");
        }
      }
    }
    return {};
  }

  Result<SymbolId> parameter_of(const JsonMember& member) {
    if (member.key.empty() || member.key.find_first_of("<>\"\n") != std::string::npos) {
      return Status{Code::kInvalidArgument, "properties: the name '" + member.key.substr(0, 64) +
                                                "' cannot be written in this style"};
    }
    place_ = "#/properties" + pointer_step(member.key);
    if (style_ != TagStyle::kDeepseekXml) {
      return value(marks(member.key, ""), member.value, true);
    }
    // Strings and other values have different marks; one of them may have no value.
    const Result<SymbolId> text =
        value(marks(member.key, "true"), restricted(member.value, true), true);
    const Result<SymbolId> other =
        value(marks(member.key, "false"), restricted(member.value, false), false);
    if (text.ok() && other.ok()) {
      return cfg_.any_of(std::array{text.value(), other.value()});
    }
    return text.ok() || text.status().code() != Code::kInvalidArgument ? text : other;
  }

  static Json restricted(const Json& schema, bool to_strings) {
    const Json type = JsonObject{{"type", "string"}};
    return JsonObject{
        {"allOf", JsonArray{schema, to_strings ? type : Json(JsonObject{{"not", type}})}}};
  }

  Marks marks(const std::string& name, const std::string& is_string) const {
    switch (style_) {
      case TagStyle::kQwenXml:
        return {"<parameter=" + name + ">", "</parameter>"};
      case TagStyle::kGlmXml:
        return {"<arg_key>" + name + "</arg_key>", "</arg_value>"};
      default:
        return {"<｜DSML｜parameter name=\"" + name + "\" string=\"" + is_string + "\">",
                "</｜DSML｜parameter>"};
    }
  }

  Result<SymbolId> value(const Marks& marks, const Json& schema, bool is_raw) {
    JsonSchemaOptions options = options_;
    options.raw_end = is_raw ? marks.behind : "";
    options.strict = false;  // a rule about the whole object
    Result<JsonSchemaGrammar> compiled =
        compile_json_schema(to_text(with_definitions(schema)), options, &budget_);
    if (!compiled.ok()) {
      return Status{compiled.status().code(), placed(compiled.status().message())};
    }
    JsonSchemaGrammar grammar = std::move(compiled).value();
    for (const std::string& entry : grammar.ignored) {
      const std::size_t at = entry.rfind(" at #") + 4;
      ignored_.push_back(entry.substr(0, at) + placed(entry.substr(at)));
    }
    std::vector<SymbolId> parts{cfg_.terminal(marks.before)};
    if (style_ == TagStyle::kGlmXml) {
      parts.push_back(line_end_);
      parts.push_back(cfg_.terminal("<arg_value>"));
    }
    const bool has_lines = style_ == TagStyle::kQwenXml;
    if (has_lines) {
      parts.push_back(line_end_);
    }
    parts.push_back(cfg_.absorb(std::move(grammar.cfg)));
    if (has_lines) {
      parts.push_back(line_end_);
    }
    parts.push_back(cfg_.terminal(marks.behind));
    parts.push_back(line_end_);
    return cfg_.sequence(std::move(parts));
  }

  // What begins with a pointer into the schema of a property, with one into the whole schema.
  std::string placed(std::string_view text) const {
    if (!text.starts_with('#') || text.starts_with("#/$defs/") ||
        text.starts_with("#/definitions/")) {
      return std::string(text);
    }
    text.remove_prefix(1);
    constexpr std::string_view kWrapped = "/allOf/0";  // by restricted()
    if (style_ == TagStyle::kDeepseekXml && text.starts_with(kWrapped)) {
      text.remove_prefix(kWrapped.size());
    }
    return place_ + std::string(text);
  }

  Json with_definitions(const Json& schema) const {
    if (!schema.is_object()) {
      return schema;
    }
    JsonObject out = schema.as_object();
    for (const char* name : {"$defs", "definitions"}) {
      const Json* definitions = schema_.find(name);
      if (definitions != nullptr && out.find(name) == nullptr) {
        out.set(name, *definitions);
      }
    }
    return out;
  }

  TagStyle style_;
  const JsonSchemaOptions& options_;
  Cfg& cfg_;
  CompileBudget& budget_;
  std::vector<std::string>& ignored_;
  std::string place_;  // of the property that is written
  Json schema_;
  std::set<std::string_view> required_;  // into schema_
  SymbolId line_end_{};
};

}  // namespace

Result<SymbolId> write_tag_parameters(std::string_view schema, TagStyle style,
                                      const JsonSchemaOptions& options, Cfg* cfg,
                                      CompileBudget* budget, std::vector<std::string>* ignored) {
  return ParameterWriter(style, options, cfg, budget, ignored).write(schema);
}

}  // namespace plumb
