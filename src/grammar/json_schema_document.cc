// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_schema_document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/json_surrogates.h"
#include "base/text.h"
#include "grammar/json_number_set.h"
#include "grammar/uri_reference.h"

namespace plumb {

namespace {

/// What the value of a keyword must be.
enum class Form : unsigned char {
  kAnnotation,  ///< anything; it constrains nothing
  kSchema,
  kSchemas,
  kSchemaMap,
  kNumber,
  kPositive,
  kNatural,
  kBool,
  kText,
  kTexts,
  kTextsMap,
  kType,
  kValues,
  kValue,
};

enum : std::uint32_t { kDraft7 = 1, kDraft2019 = 2, kDraft2020 = 4, kAllDrafts = 7, kLater = 6 };

struct Keyword {
  std::string_view name;
  Form form;
  std::uint32_t drafts = kAllDrafts;  ///< where it has the meaning of 2020-12
};

constexpr auto kKeywords = std::to_array<Keyword>({
    {"$anchor", Form::kText, kLater},
    {"$comment", Form::kAnnotation},
    {"$defs", Form::kSchemaMap},
    {"$dynamicAnchor", Form::kText, kDraft2020},
    {"$dynamicRef", Form::kText, kDraft2020},
    {"$id", Form::kText},
    {"$ref", Form::kText},
    {"$schema", Form::kText},
    {"$vocabulary", Form::kAnnotation},
    {"additionalProperties", Form::kSchema},
    {"allOf", Form::kSchemas},
    {"anyOf", Form::kSchemas},
    {"const", Form::kValue},
    {"contains", Form::kSchema},
    {"contentEncoding", Form::kAnnotation},
    {"contentMediaType", Form::kAnnotation},
    {"contentSchema", Form::kAnnotation},
    {"default", Form::kAnnotation},
    {"definitions", Form::kSchemaMap},
    {"dependentRequired", Form::kTextsMap, kLater},
    {"dependentSchemas", Form::kSchemaMap, kLater},
    {"deprecated", Form::kAnnotation},
    {"description", Form::kAnnotation},
    {"discriminator", Form::kAnnotation},
    {"else", Form::kSchema},
    {"enum", Form::kValues},
    {"example", Form::kAnnotation},
    {"examples", Form::kAnnotation},
    {"exclusiveMaximum", Form::kNumber},
    {"exclusiveMinimum", Form::kNumber},
    {"externalDocs", Form::kAnnotation},
    {"format", Form::kText},
    {"if", Form::kSchema},
    {"items", Form::kSchema},
    {"maxContains", Form::kNatural, kLater},
    {"maxItems", Form::kNatural},
    {"maxLength", Form::kNatural},
    {"maxProperties", Form::kNatural},
    {"maximum", Form::kNumber},
    {"minContains", Form::kNatural, kLater},
    {"minItems", Form::kNatural},
    {"minLength", Form::kNatural},
    {"minProperties", Form::kNatural},
    {"minimum", Form::kNumber},
    {"multipleOf", Form::kPositive},
    {"not", Form::kSchema},
    {"oneOf", Form::kSchemas},
    {"pattern", Form::kText},
    {"patternProperties", Form::kSchemaMap},
    {"prefixItems", Form::kSchemas, kDraft2020},
    {"properties", Form::kSchemaMap},
    {"propertyNames", Form::kSchema},
    {"readOnly", Form::kAnnotation},
    {"required", Form::kTexts},
    {"then", Form::kSchema},
    {"title", Form::kAnnotation},
    {"type", Form::kType},
    {"unevaluatedItems", Form::kSchema, kDraft2020},
    {"unevaluatedProperties", Form::kSchema, kLater},
    {"uniqueItems", Form::kBool},
    {"writeOnly", Form::kAnnotation},
    {"xml", Form::kAnnotation},
});

constexpr std::array<std::string_view, 7> kTypes = {"null",   "boolean", "object", "array",
                                                    "number", "string",  "integer"};

const Keyword* find_keyword(std::string_view name) {
  const auto* const it = std::lower_bound(
      kKeywords.begin(), kKeywords.end(), name,
      [](const Keyword& keyword, std::string_view wanted) { return keyword.name < wanted; });
  return it != kKeywords.end() && it->name == name ? &*it : nullptr;
}

/// Bytes of the schema's own texts in a message.
constexpr std::size_t kMaxQuoted = 256;
/// Bytes of a base URI: each reference under it copies it.
constexpr std::size_t kMaxUri = 2'048;
constexpr std::size_t kMaxIgnored = 100;

/// The text, or its beginning if it is too long for a message.
std::string quoted(std::string_view text) {
  return text.size() <= kMaxQuoted ? std::string(text)
                                   : to_valid_utf8(text.substr(0, kMaxQuoted)) + "...";
}

bool is_schema(const Json& value) {
  return value.is_bool() || value.is_object();
}

bool all_texts(const Json& value) {
  return value.is_array() && std::all_of(value.as_array().begin(), value.as_array().end(),
                                         [](const Json& item) { return item.is_string(); });
}

bool is_type_name(const Json& value) {
  return value.is_string() &&
         std::find(kTypes.begin(), kTypes.end(), value.as_string()) != kTypes.end();
}

/// Counts stay exact in doubles, and sums of them in 64 bits.
constexpr std::int64_t kMaxNatural = std::int64_t{1} << 53;

bool is_natural(const Json& value) {
  std::int64_t number = 0;
  return value.to_int64(&number) && number >= 0 && number <= kMaxNatural;
}

template <class Test>
bool all_members(const Json& value, Test test) {
  return value.is_object() &&
         std::all_of(value.as_object().begin(), value.as_object().end(),
                     [&](const JsonMember& member) { return test(member.value); });
}

template <class Test>
bool all_items(const Json& value, bool may_be_empty, Test test) {
  return value.is_array() && (may_be_empty || !value.as_array().empty()) &&
         std::all_of(value.as_array().begin(), value.as_array().end(), test);
}

bool has_form(const Json& value, Form form) {
  switch (form) {
    case Form::kAnnotation:
    case Form::kValue:
      return true;
    case Form::kSchema:
      return is_schema(value);
    case Form::kSchemas:
      return all_items(value, false, is_schema);
    case Form::kSchemaMap:
      return all_members(value, is_schema);
    case Form::kNumber:
      return value.is_number();
    case Form::kPositive:
      return value.is_number() && value.as_double() > 0;
    case Form::kNatural:
      return is_natural(value);
    case Form::kBool:
      return value.is_bool();
    case Form::kText:
      return value.is_string();
    case Form::kTexts:
      return all_texts(value);
    case Form::kTextsMap:
      return all_members(value, all_texts);
    case Form::kType:
      return is_type_name(value) || all_items(value, false, is_type_name);
    case Form::kValues:
      return value.is_array();
  }
  return false;
}

std::string_view form_name(Form form) {
  switch (form) {
    case Form::kAnnotation:
    case Form::kValue:
      return "any value";
    case Form::kSchema:
      return "a schema (an object or a boolean)";
    case Form::kSchemas:
      return "a non-empty array of schemas";
    case Form::kSchemaMap:
      return "an object of schemas";
    case Form::kNumber:
      return "a number";
    case Form::kPositive:
      return "a number above 0";
    case Form::kNatural:
      return "an integer from 0 to 2^53";
    case Form::kBool:
      return "a boolean";
    case Form::kText:
      return "a string";
    case Form::kTexts:
      return "an array of strings";
    case Form::kTextsMap:
      return "an object of arrays of strings";
    case Form::kType:
      return "one of null, boolean, object, array, number, string, integer, or an array of these";
    case Form::kValues:
      return "an array";
  }
  return "";
}

/// Whether every number in the value keeps its digits when it is read.
bool has_exact_numbers(const Json& value) {
  if (value.is_array()) {
    return std::all_of(value.as_array().begin(), value.as_array().end(), has_exact_numbers);
  }
  if (value.is_object()) {
    return all_members(value, has_exact_numbers);
  }
  constexpr double kFirstInexact = 9223372036854775808.0;  // 2^63: larger integers are doubles
  return !value.is_number() || value.is_int() || value.kind() == Json::Kind::kUint ||
         (std::abs(value.as_double()) < kFirstInexact && parse_decimal(to_text(value)).ok());
}

bool holds_numbers(Form form) {
  return form == Form::kNumber || form == Form::kPositive || form == Form::kValue ||
         form == Form::kValues;
}

std::uint32_t dialect_of(std::string_view uri) {
  while (uri.ends_with('#')) {
    uri.remove_suffix(1);
  }
  if (uri == "https://json-schema.org/draft/2020-12/schema") {
    return kDraft2020;
  }
  if (uri == "https://json-schema.org/draft/2019-09/schema") {
    return kDraft2019;
  }
  return uri == "http://json-schema.org/draft-07/schema" ? std::uint32_t{kDraft7} : 0;
}

}  // namespace

std::string pointer_step(std::string_view name) {
  std::string out = "/";
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

Result<std::unique_ptr<JsonSchemaDocument>> JsonSchemaDocument::parse(
    std::string_view text, const JsonSchemaOptions& options) {
  if (static_cast<std::int64_t>(text.size()) > options.max_schema_bytes) {
    return Status{Code::kInvalidArgument, "schema: " + std::to_string(text.size()) +
                                              " bytes exceed the limit of " +
                                              std::to_string(options.max_schema_bytes)};
  }
  if (has_lone_surrogate(text)) {
    return Status{
        Code::kInvalidArgument,
        "schema: holds half of a surrogate pair, which no text has; write the whole pair"};
  }
  Result<Json> json =
      parse_json(text, {.max_depth = options.max_depth, .duplicates = JsonDuplicates::kReject});
  if (!json.ok()) {
    return std::move(json).status().with("schema");
  }
  if (!is_schema(json.value())) {
    return Status{Code::kInvalidArgument, "schema: must be a schema (an object or a boolean)"};
  }
  std::unique_ptr<JsonSchemaDocument> document(
      new JsonSchemaDocument(std::move(json).value(), options));
  document->resources_.push_back({.uri = "",
                                  .root = SchemaId{0},
                                  .anchors = {},
                                  .dynamic_anchors = {},
                                  .dialect = kDraft2020});
  document->uris_[""] = SchemaResourceId{0};
  PLUMB_RETURN_IF_ERROR(
      document->add_schema(document->json_, {SchemaId{0}, "#"}, SchemaResourceId{0}));
  return document;
}

Status JsonSchemaDocument::add_schema(const Json& json, Place place, SchemaResourceId resource) {
  if (ids_.contains(&json)) {
    return {};
  }
  const auto id = static_cast<SchemaId>(entries_.size());
  ids_[&json] = id;
  entries_.push_back({&json, std::move(place), resource});
  if (!json.is_object()) {
    return {};
  }
  const JsonObject& object = json.as_object();
  PLUMB_RETURN_IF_ERROR(enter_resource(object, id, &resource));
  entries_[static_cast<std::size_t>(id)].resource = resource;
  PLUMB_RETURN_IF_ERROR(add_anchors(object, id, resource));
  if (options_.strict) {
    PLUMB_RETURN_IF_ERROR(check_strict(object, id));
  }
  for (const JsonMember& member : object) {
    PLUMB_RETURN_IF_ERROR(add_keyword(member, id, resource));
  }
  return {};
}

std::string JsonSchemaDocument::pointer(SchemaId id) const {
  std::vector<std::string_view> steps;
  std::size_t num_bytes = 0;
  while (true) {
    steps.push_back(entry(id).place.step);
    num_bytes += steps.back().size();
    if (id == root()) {
      break;
    }
    id = entry(id).place.parent;
  }
  std::string out;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    out += num_bytes > kMaxQuoted ? quoted(*step) : std::string(*step);
  }
  return out;
}

void JsonSchemaDocument::ignore(SchemaId id, std::string_view keyword) {
  std::string entry = quoted(keyword) + " at " + pointer(id);
  if (ignored_.size() < kMaxIgnored &&
      std::find(ignored_.begin(), ignored_.end(), entry) == ignored_.end()) {
    ignored_.push_back(std::move(entry));
  }
}

Status JsonSchemaDocument::error(Code code, SchemaId id, std::string_view keyword,
                                 std::string_view message) const {
  return {code, pointer(id) + quoted(pointer_step(keyword)) + ": " + std::string(message)};
}

Status JsonSchemaDocument::enter_resource(const JsonObject& object, SchemaId id,
                                          SchemaResourceId* resource) {
  const Json* const name = object.find("$id");
  if (name != nullptr && name->is_string()) {
    const Resource& outer = resources_[static_cast<std::size_t>(*resource)];
    if (!uri_fragment(name->as_string()).empty()) {
      return error(Code::kInvalidArgument, id, "$id", "a fragment is not allowed; use $anchor");
    }
    std::string uri = resolve_uri(outer.uri, name->as_string());
    if (uri.size() > kMaxUri) {
      return error(Code::kInvalidArgument, id, "$id",
                   "longer than " + std::to_string(kMaxUri) + " bytes");
    }
    const auto entered = static_cast<SchemaResourceId>(resources_.size());
    if (!uris_.try_emplace(uri, entered).second && id != root()) {
      return error(Code::kInvalidArgument, id, "$id", quoted(uri) + " is used twice");
    }
    uris_[uri] = entered;
    resources_.push_back({.uri = std::move(uri),
                          .root = id,
                          .anchors = {},
                          .dynamic_anchors = {},
                          .dialect = outer.dialect});
    *resource = entered;
  }
  const Json* const dialect = object.find("$schema");
  if (dialect != nullptr && dialect->is_string()) {
    Resource& entered = resources_[static_cast<std::size_t>(*resource)];
    entered.dialect = dialect_of(dialect->as_string());
    if (entered.dialect == 0 && !options_.lenient) {
      return error(Code::kUnsupported, id, "$schema",
                   quoted(dialect->as_string()) +
                       " is not supported; use https://json-schema.org/draft/2020-12/schema");
    }
    if (entered.dialect == 0) {
      ignore(id, "$schema");
      entered.dialect = kDraft2020;
    }
  }
  return {};
}

Status JsonSchemaDocument::add_anchors(const JsonObject& object, SchemaId id,
                                       SchemaResourceId resource) {
  Resource& owner = resources_[static_cast<std::size_t>(resource)];
  for (const std::string_view keyword : {"$anchor", "$dynamicAnchor"}) {
    const Json* const name = object.find(keyword);
    if (name == nullptr || !name->is_string()) {
      continue;
    }
    const auto [known, fresh] = owner.anchors.try_emplace(name->as_string(), id);
    if (!fresh && known->second != id) {
      return error(Code::kInvalidArgument, id, keyword,
                   quoted(name->as_string()) + " is used twice");
    }
    if (keyword == "$dynamicAnchor") {
      owner.dynamic_anchors.try_emplace(name->as_string(), id);
    }
  }
  return {};
}

Status JsonSchemaDocument::add_keyword(const JsonMember& member, SchemaId id,
                                       SchemaResourceId resource) {
  const std::uint32_t dialect = resources_[static_cast<std::size_t>(resource)].dialect;
  const Keyword* const keyword = find_keyword(member.key);
  if (keyword == nullptr || (keyword->drafts & dialect) == 0) {
    if (member.key.starts_with("x-")) {
      return {};
    }
    if (options_.lenient) {
      ignore(id, member.key);
      return {};
    }
    return error(Code::kUnsupported, id, member.key,
                 "keyword " + quoted(member.key) + " is not supported; remove it");
  }
  if (!has_form(member.value, keyword->form)) {
    return error(Code::kInvalidArgument, id, member.key,
                 "must be " + std::string(form_name(keyword->form)));
  }
  if (holds_numbers(keyword->form) && !has_exact_numbers(member.value)) {
    return error(Code::kUnsupported, id, member.key,
                 "holds a number beyond 64-bit integers or of more than " +
                     std::to_string(kMaxNumberChars) + " characters");
  }
  const std::string step = pointer_step(member.key);
  switch (keyword->form) {
    case Form::kSchema:
      return add_schema(member.value, {id, step}, resource);
    case Form::kSchemas:
    case Form::kSchemaMap:
      return add_subschemas(member.value, {id, step}, resource);
    default:
      return {};
  }
}

Status JsonSchemaDocument::add_subschemas(const Json& value, const Place& place,
                                          SchemaResourceId resource) {
  if (value.is_object()) {
    for (const JsonMember& member : value.as_object()) {
      PLUMB_RETURN_IF_ERROR(add_schema(
          member.value, {place.parent, place.step + pointer_step(member.key)}, resource));
    }
    return {};
  }
  const JsonArray& items = value.as_array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(
        add_schema(items[i], {place.parent, place.step + "/" + std::to_string(i)}, resource));
  }
  return {};
}

Status JsonSchemaDocument::check_strict(const JsonObject& object, SchemaId id) const {
  const Json* const type = object.find("type");
  const Json* const properties = object.find("properties");
  const bool is_object = type != nullptr && *type == Json("object");
  if (!is_object && properties == nullptr) {
    return {};
  }
  const Json* const additional = object.find("additionalProperties");
  if (additional == nullptr || *additional != Json(false)) {
    return error(Code::kInvalidArgument, id, "additionalProperties",
                 "must be false in strict mode");
  }
  if (properties == nullptr || !properties->is_object()) {
    return {};
  }
  std::set<std::string_view> names;
  const Json* const required = object.find("required");
  if (required != nullptr && all_texts(*required)) {
    for (const Json& name : required->as_array()) {
      names.insert(name.as_string());
    }
  }
  for (const JsonMember& member : properties->as_object()) {
    if (!names.contains(member.key)) {
      return error(Code::kInvalidArgument, id, "required",
                   "must list " + quoted(member.key) + " in strict mode");
    }
  }
  return {};
}

Result<SchemaTarget> JsonSchemaDocument::resolve(SchemaId from, std::string_view reference) {
  const Resource& base = resources_[static_cast<std::size_t>(resource(from))];
  const auto found = uris_.find(resolve_uri(base.uri, reference));
  if (found == uris_.end()) {
    return Status{Code::kUnsupported, pointer(from) + ": reference " + quoted(reference) +
                                          " leaves the schema, and nothing is fetched; put its "
                                          "target under $defs with its $id"};
  }
  const Resource& target = resources_[static_cast<std::size_t>(found->second)];
  const std::string fragment = uri_fragment(reference);
  if (fragment.empty()) {
    return SchemaTarget{target.root, ""};
  }
  if (fragment.starts_with('/')) {
    PLUMB_ASSIGN(const SchemaId schema, follow_pointer(from, found->second, fragment));
    return SchemaTarget{schema, ""};
  }
  const auto anchor = target.anchors.find(fragment);
  if (anchor == target.anchors.end()) {
    return Status{Code::kInvalidArgument,
                  pointer(from) + ": reference " + quoted(reference) + " names no anchor"};
  }
  const auto dynamic = target.dynamic_anchors.find(fragment);
  const bool redirects =
      dynamic != target.dynamic_anchors.end() && dynamic->second == anchor->second;
  return SchemaTarget{anchor->second, redirects ? fragment : ""};
}

Result<SchemaId> JsonSchemaDocument::follow_pointer(SchemaId from, SchemaResourceId resource,
                                                    std::string_view fragment) {
  std::string_view pointer = fragment;
  const SchemaId start = resources_[static_cast<std::size_t>(resource)].root;
  const Json* json = entry(start).json;
  std::string place;
  while (!pointer.empty() && json != nullptr) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    std::string step;
    for (std::size_t i = 0; i < end; ++i) {
      const bool escaped = pointer[i] == '~' && i + 1 < end;
      step += !escaped ? pointer[i] : pointer[++i] == '1' ? '/' : '~';
    }
    pointer.remove_prefix(end);
    place += pointer_step(step);
    if (json->is_array()) {
      std::int64_t index = 0;
      const bool inside = parse_int64(step, &index) && index >= 0 &&
                          index < static_cast<std::int64_t>(json->as_array().size());
      json = inside ? &json->as_array()[static_cast<std::size_t>(index)] : nullptr;
    } else {
      json = json->find(step);
    }
    if (json != nullptr && ids_.contains(json)) {
      resource = entry(ids_.at(json)).resource;
    }
  }
  if (json == nullptr || !is_schema(*json)) {
    return Status{Code::kInvalidArgument, this->pointer(from) + ": reference #" +
                                              std::string(fragment) + " leads to no schema"};
  }
  PLUMB_RETURN_IF_ERROR(add_schema(*json, {start, std::move(place)}, resource));
  return id_of(*json);
}

}  // namespace plumb
