// SPDX-License-Identifier: Apache-2.0
#include "api/constraint.h"

#include <utility>

namespace plumb {
namespace {

using Kind = ConstraintSpec::Kind;

constexpr std::size_t kMaxTextBytes = 1 << 20;
constexpr std::int64_t kMaxChoices = 100'000;
constexpr std::size_t kMaxNameBytes = 64;

// Takes the first constraint; a second one is an error.
class Collector {
 public:
  explicit Collector(FieldReader& fields) : fields_(fields) {}

  void take(FieldReader& reader, std::string_view name, Kind kind, bool strict = false) {
    const Json* value = reader.find(name);
    if (value == nullptr) {
      return;
    }
    ConstraintSpec spec;
    spec.kind = kind;
    spec.strict = strict;
    spec.param = reader.path(name);
    switch (kind) {
      case Kind::kJsonObject:
        take_flag(*value, std::move(spec));
        return;
      case Kind::kJsonSchema:
        take_json(*value, "a JSON schema", /*is_bool_allowed=*/true, std::move(spec));
        return;
      case Kind::kStructuralTag:
        take_json(*value, "a structural tag", /*is_bool_allowed=*/false, std::move(spec));
        return;
      case Kind::kChoice:
        take_choices(*value, std::move(spec));
        return;
      default:
        take_text(*value, std::move(spec));
        return;
    }
  }

  void take_flag(const Json& value, ConstraintSpec spec) {
    if (!value.is_bool()) {
      fields_.fail(ApiError::wrong_type(spec.param, "true or false"));
    } else if (value.as_bool()) {
      add(std::move(spec));
    }
  }

  // A schema or tag, or its text.
  void take_json(const Json& value, std::string_view what, bool is_bool_allowed,
                 ConstraintSpec spec) {
    if (!value.is_string() && !value.is_object() && !(is_bool_allowed && value.is_bool())) {
      fields_.fail(ApiError::wrong_type(spec.param, std::string(what)));
      return;
    }
    spec.text = value.is_string() ? value.as_string() : to_text(value);
    if (is_short(spec.text, spec.param)) {
      add(std::move(spec));
    }
  }

  void take_choices(const Json& value, ConstraintSpec spec) {
    if (!value.is_array()) {
      fields_.fail(ApiError::wrong_type(spec.param, "an array of strings"));
      return;
    }
    const JsonArray& items = value.as_array();
    if (items.empty() || std::ssize(items) > kMaxChoices) {
      fields_.fail(ApiError::invalid("invalid_value", spec.param,
                                     "'" + spec.param + "' has " + std::to_string(items.size()) +
                                         " choices, expected 1 to " + std::to_string(kMaxChoices)));
      return;
    }
    std::size_t num_bytes = 0;
    for (const Json& item : items) {
      if (!item.is_string()) {
        fields_.fail(ApiError::wrong_type(spec.param, "an array of strings"));
        return;
      }
      num_bytes += item.as_string().size();
      spec.choices.push_back(item.as_string());
    }
    if (is_short(num_bytes, spec.param)) {
      add(std::move(spec));
    }
  }

  void take_text(const Json& value, ConstraintSpec spec) {
    if (!value.is_string()) {
      fields_.fail(ApiError::wrong_type(spec.param, "a string"));
      return;
    }
    if (is_short(value.as_string(), spec.param)) {
      spec.text = value.as_string();
      add(std::move(spec));
    }
  }

  void add(ConstraintSpec spec) {
    if (!found_.is_none()) {
      fields_.fail(ApiError::invalid("invalid_value", spec.param,
                                     "'" + found_.param + "' and '" + spec.param +
                                         "' both constrain the answer, expected at most one"));
      return;
    }
    found_ = std::move(spec);
  }

  /// Notes a wish about how JSON is written, whichever field holds the constraint.
  void wish(bool ConstraintSpec::*flag, std::string param) {
    wishes_.*flag = true;
    wishes_.param = std::move(param);
  }

  ConstraintSpec found() && {
    if (!wishes_.param.empty() && !found_.is_json()) {
      fields_.fail(ApiError::invalid(
          "invalid_value", wishes_.param,
          "'" + wishes_.param + "' needs a JSON schema or a JSON object as the constraint"));
    }
    found_.lenient = wishes_.lenient;
    found_.any_order = wishes_.any_order;
    found_.compact = wishes_.compact;
    return std::move(found_);
  }

 private:
  bool is_short(const std::string& text, const std::string& param) {
    if (text.empty()) {
      fields_.fail(ApiError::invalid("invalid_value", param, "'" + param + "' is empty"));
      return false;
    }
    return is_short(text.size(), param);
  }

  bool is_short(std::size_t num_bytes, const std::string& param) {
    if (num_bytes > kMaxTextBytes) {
      fields_.fail(ApiError::invalid("invalid_schema", param,
                                     "'" + param + "' has " + std::to_string(num_bytes) +
                                         " bytes, expected at most " +
                                         std::to_string(kMaxTextBytes)));
      return false;
    }
    return true;
  }

  FieldReader& fields_;
  ConstraintSpec found_;
  ConstraintSpec wishes_;  // its flags and the last field that set one
};

// {name, schema, strict?, description?}
void read_json_schema(const FieldReader& format, const Json& value, FieldReader& fields,
                      Collector& collector) {
  const std::string path = format.path("json_schema");
  if (!value.is_object()) {
    fields.fail(ApiError::wrong_type(path, "an object with name and schema"));
    return;
  }
  FieldReader inner(value.as_object(), path);
  const std::optional<std::string> name = inner.text("name");
  if (inner.ok() && (!name || name->empty())) {
    inner.fail(ApiError::missing(inner.path("name")));
  } else if (name && name->size() > kMaxNameBytes) {
    inner.fail(ApiError::invalid("invalid_value", inner.path("name"),
                                 "'" + inner.path("name") + "' has " +
                                     std::to_string(name->size()) + " bytes, expected at most " +
                                     std::to_string(kMaxNameBytes)));
  }
  inner.text("description");
  const bool strict = inner.boolean("strict").value_or(false);
  if (!inner.has("schema")) {
    inner.fail(ApiError::missing(inner.path("schema")));
  }
  fields.absorb(inner);
  if (inner.ok()) {
    collector.take(inner, "schema", Kind::kJsonSchema, strict);  // enforced either way
  }
}

void read_response_format(FieldReader& fields, Collector& collector) {
  const JsonObject* object = fields.object("response_format");
  if (object == nullptr) {
    return;
  }
  FieldReader format(*object, fields.path("response_format"));
  const std::string type = format
                               .choice("type", {"text", "json_object", "json_schema", "grammar",
                                                "regex", "structural_tag"})
                               .value_or("");
  const bool has_schema = type == "json_object" && format.has("schema");  // as other servers do
  if (format.ok() && type.empty()) {
    format.fail(ApiError::missing(format.path("type")));
  }
  if (format.ok() && type == "structural_tag") {
    collector.take(fields, "response_format", Kind::kStructuralTag);
    return;
  }
  const std::string member = type == "regex" && format.has("pattern") ? "pattern" : type;
  const bool has_member = type != "text" && type != "json_object";
  if (format.ok() && has_member && !format.has(member)) {
    format.fail(ApiError::missing(format.path(member)));
  }
  fields.absorb(format);
  if (!format.ok()) {
    return;
  }
  if (has_schema) {
    collector.take(format, "schema", Kind::kJsonSchema);
    return;
  }
  if (type == "json_object") {
    ConstraintSpec spec;
    spec.kind = Kind::kJsonObject;
    spec.param = fields.path("response_format");
    collector.add(std::move(spec));
  } else if (type == "json_schema") {
    read_json_schema(format, *format.find("json_schema"), fields, collector);
  } else if (has_member) {
    collector.take(format, member, type == "regex" ? Kind::kRegex : Kind::kGrammar);
  }
}

void read_whitespace_pattern(FieldReader& reader, const char* name, Collector& collector) {
  const std::optional<std::string> pattern = reader.text(name);
  if (!pattern) {
    return;
  }
  if (!pattern->empty()) {
    reader.fail(ApiError::unsupported(
        reader.path(name),
        "expected \"\", which is no white space; without it each gap has at most two characters"));
    return;
  }
  collector.wish(&ConstraintSpec::compact, reader.path(name));
}

void read_wishes(FieldReader& inner, Collector& collector) {
  const auto read = [&](const char* name, bool ConstraintSpec::*flag) {
    if (inner.boolean(name).value_or(false)) {
      collector.wish(flag, inner.path(name));
    }
  };
  read("lenient", &ConstraintSpec::lenient);
  read("any_order", &ConstraintSpec::any_order);
  read("disable_any_whitespace", &ConstraintSpec::compact);
  read_whitespace_pattern(inner, "whitespace_pattern", collector);
}

void read_structured_outputs(FieldReader& fields, Collector& collector) {
  const JsonObject* object = fields.object("structured_outputs");
  if (object == nullptr) {
    return;
  }
  FieldReader inner(*object, fields.path("structured_outputs"));
  collector.take(inner, "json", Kind::kJsonSchema);
  collector.take(inner, "regex", Kind::kRegex);
  collector.take(inner, "choice", Kind::kChoice);
  collector.take(inner, "grammar", Kind::kGrammar);
  collector.take(inner, "json_object", Kind::kJsonObject);
  collector.take(inner, "structural_tag", Kind::kStructuralTag);
  read_wishes(inner, collector);
  for (const std::string& name : inner.unread()) {
    if (!object->find(name)->is_null()) {
      inner.fail(ApiError::unsupported(
          inner.path(name.substr(0, 64)),
          "expected json, regex, choice, grammar, json_object or structural_tag, and lenient, "
          "any_order, disable_any_whitespace or whitespace_pattern"));
    }
  }
  if (!inner.ok()) {
    fields.fail(*inner.error());
  }
}

}  // namespace

ConstraintSpec read_constraint(FieldReader& fields) {
  Collector collector(fields);
  read_response_format(fields, collector);
  read_structured_outputs(fields, collector);
  for (const char* name : {"guided_json", "json_schema"}) {
    collector.take(fields, name, Kind::kJsonSchema);
  }
  for (const char* name : {"guided_regex", "regex"}) {
    collector.take(fields, name, Kind::kRegex);
  }
  for (const char* name : {"guided_grammar", "ebnf", "grammar"}) {
    collector.take(fields, name, Kind::kGrammar);
  }
  collector.take(fields, "guided_choice", Kind::kChoice);
  collector.take(fields, "structural_tag", Kind::kStructuralTag);
  read_whitespace_pattern(fields, "guided_whitespace_pattern", collector);
  return std::move(collector).found();
}

ConstraintSpec read_output_format(FieldReader& fields, const char* name) {
  const JsonObject* object = fields.object(name);
  if (object == nullptr) {
    return {};
  }
  FieldReader format(*object, fields.path(name));
  Collector collector(format);
  if (!format.choice("type", {"json_schema"}) && format.ok()) {
    format.fail(ApiError::missing(format.path("type")));
  }
  if (format.ok() && !format.has("schema")) {
    format.fail(ApiError::missing(format.path("schema")));
  }
  collector.take(format, "schema", Kind::kJsonSchema);
  fields.absorb(format);
  return std::move(collector).found();
}

ConstraintSpec read_schema(FieldReader& fields, std::string_view name) {
  Collector collector(fields);
  collector.take(fields, name, Kind::kJsonSchema);
  return std::move(collector).found();
}

}  // namespace plumb
