// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "grammar/json_schema.h"

namespace plumb {

/// A schema inside one JsonSchemaDocument.
enum class SchemaId : std::uint32_t {};

/// What shares one base URI: the document or a subschema with $id.
enum class SchemaResourceId : std::uint32_t {};

/// Where a reference leads.
struct SchemaTarget {
  SchemaId schema{};
  /// The name by which $dynamicRef may be redirected; empty if it was reached in another way.
  std::string dynamic_anchor;
};

/// A JSON Schema text with its subschemas found, its keywords checked for form, and its references
/// resolvable. Nothing is fetched: a reference that leaves the document is an error.
///
/// Ownership  owns the JSON; pointers into it live as long as the document.
/// Thread     one at a time.
class JsonSchemaDocument {
 public:
  /// Errors  kInvalidArgument: no JSON, too long, too deep, a keyword of the wrong form, a failed
  ///         `strict` rule; kUnsupported: a keyword or dialect that Plumb does not enforce. Each
  ///         names the place by JSON pointer.
  static Result<std::unique_ptr<JsonSchemaDocument>> parse(std::string_view text,
                                                           const JsonSchemaOptions& options);

  SchemaId root() const { return SchemaId{0}; }

  const Json& json(SchemaId id) const { return *entry(id).json; }

  /// JSON pointer with a leading '#'; long steps are cut short.
  std::string pointer(SchemaId id) const;

  SchemaResourceId resource(SchemaId id) const { return entry(id).resource; }

  /// Requires json is a subschema of this document.
  SchemaId id_of(const Json& json) const { return ids_.at(&json); }

  /// Errors  kInvalidArgument: no such place; kUnsupported: outside the document.
  Result<SchemaTarget> resolve(SchemaId from, std::string_view reference);

  /// $dynamicAnchor names of a resource with their schemas.
  const std::map<std::string, SchemaId>& dynamic_anchors(SchemaResourceId resource) const {
    return resources_[static_cast<std::size_t>(resource)].dynamic_anchors;
  }

  /// Notes what `lenient` dropped.
  void ignore(SchemaId id, std::string_view keyword);

  /// "KEYWORD at POINTER" of the first hundred of these.
  std::vector<std::string>& ignored() { return ignored_; }

  /// An error about a keyword.
  Status error(Code code, SchemaId id, std::string_view keyword, std::string_view message) const;

 private:
  /// The pointer of a schema relative to another one. Whole pointers would multiply long names.
  struct Place {
    SchemaId parent{};
    std::string step;
  };

  struct Entry {
    const Json* json = nullptr;
    Place place;
    SchemaResourceId resource{};
  };

  struct Resource {
    std::string uri;
    SchemaId root{};
    std::map<std::string, SchemaId> anchors;
    std::map<std::string, SchemaId> dynamic_anchors;
    std::uint32_t dialect = 0;
  };

  explicit JsonSchemaDocument(Json json, const JsonSchemaOptions& options)
      : json_(std::move(json)), options_(options) {}

  const Entry& entry(SchemaId id) const { return entries_[static_cast<std::size_t>(id)]; }

  Status add_schema(const Json& json, Place place, SchemaResourceId resource);
  Status enter_resource(const JsonObject& object, SchemaId id, SchemaResourceId* resource);
  Status add_anchors(const JsonObject& object, SchemaId id, SchemaResourceId resource);
  Status add_keyword(const JsonMember& member, SchemaId id, SchemaResourceId resource);
  Status add_subschemas(const Json& value, const Place& place, SchemaResourceId resource);
  Status check_strict(const JsonObject& object, SchemaId id) const;
  Result<SchemaId> follow_pointer(SchemaId from, SchemaResourceId resource,
                                  std::string_view fragment);

  Json json_;
  JsonSchemaOptions options_;
  std::vector<Entry> entries_;
  std::vector<Resource> resources_;
  std::unordered_map<const Json*, SchemaId> ids_;
  std::map<std::string, SchemaResourceId> uris_;
  std::vector<std::string> ignored_;
};

/// A member name as one step of a JSON pointer.
std::string pointer_step(std::string_view name);

}  // namespace plumb
