// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.h"
#include "base/json.h"

namespace plumb {

/// Reads the fields of one JSON object by the rules of the API: null counts as absent, an integer
/// may be written 32.0, nothing is converted between types. The first error sticks; reading goes on
/// with the fallback.
///
/// Remembers which fields were read, so that the rest can be named as ignored.
class FieldReader {
 public:
  /// `path` is put before the names in messages: "messages[2]" gives "messages[2].content".
  explicit FieldReader(const JsonObject& object, std::string path = "");

  /// The field, or nullptr when absent or null.
  const Json* find(std::string_view name);

  bool has(std::string_view name) { return find(name) != nullptr; }

  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max);
  std::optional<double> number(std::string_view name, double min, double max);
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  /// A text that must be there; empty after an error.
  std::string needed_text(std::string_view name);
  /// One of the given words.
  std::optional<std::string> choice(std::string_view name, const std::vector<std::string>& words);
  const JsonArray* array(std::string_view name, std::int64_t max_items);
  const JsonObject* object(std::string_view name);

  void fail(ApiError error);
  /// Full path of a field.
  std::string path(std::string_view name) const;

  bool ok() const { return !error_.has_value(); }

  const std::optional<ApiError>& error() const { return error_; }

  /// Takes over what the reader of a nested object found: its error and its ignored fields.
  void absorb(const FieldReader& inner);

  /// Names of the object's fields that were never asked for, in order.
  std::vector<std::string> unread() const;
  /// Paths of those fields, then of the nested objects' ones, of which the first 100 are kept.
  std::vector<std::string> ignored() const;

 private:
  const JsonObject& object_;
  std::string path_;
  std::set<std::string, std::less<>> read_;
  std::vector<std::string> nested_;  // paths of ignored fields of absorbed readers
  std::optional<ApiError> error_;
};

}  // namespace plumb
