// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace plumb {

class Json;
struct JsonMember;

/// Members in the order of the text (or of insertion); keys are unique.
class JsonObject {
 public:
  // Defined where JsonMember is complete, below.
  JsonObject() noexcept;
  JsonObject(const JsonObject& other);
  JsonObject(JsonObject&& other) noexcept;
  JsonObject& operator=(const JsonObject& other);
  JsonObject& operator=(JsonObject&& other) noexcept;
  ~JsonObject();
  JsonObject(std::initializer_list<JsonMember> members);

  const Json* find(std::string_view key) const;  ///< nullptr if absent
  Json* find(std::string_view key);
  /// Replaces the value of an existing key in place, else appends.
  void set(std::string_view key, Json value);
  /// Appends without looking for the key. Requires key is absent.
  void append(std::string key, Json value);
  bool erase(std::string_view key);

  std::size_t size() const;
  bool empty() const;
  std::vector<JsonMember>::const_iterator begin() const;
  std::vector<JsonMember>::const_iterator end() const;
  std::vector<JsonMember>::iterator begin();
  std::vector<JsonMember>::iterator end();

 private:
  std::vector<JsonMember> members_;
};

using JsonArray = std::vector<Json>;

/// A JSON value. Numbers keep their kind: 3 is an integer, 3.0 a double; integers above int64 are
/// kUint, above uint64 doubles. Strings are valid UTF-8 when they come from parse(). Thread: any (a
/// value).
class Json {
 public:
  enum class Kind : unsigned char { kNull, kBool, kInt, kUint, kDouble, kString, kArray, kObject };

  Json() = default;

  // Implicit on purpose: Json values are built from literals everywhere.
  Json(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)

  Json(bool b) : v_(b) {}  // NOLINT(google-explicit-constructor)

  Json(int i) : v_(static_cast<std::int64_t>(i)) {}  // NOLINT(google-explicit-constructor)

  Json(std::int64_t i) : v_(i) {}  // NOLINT(google-explicit-constructor)

  Json(std::uint64_t u);  // NOLINT(google-explicit-constructor)

  Json(double d) : v_(d) {}  // NOLINT(google-explicit-constructor)

  Json(const char* s) : v_(std::string(s)) {}  // NOLINT(google-explicit-constructor)

  Json(std::string_view s) : v_(std::string(s)) {}  // NOLINT(google-explicit-constructor)

  Json(std::string s) : v_(std::move(s)) {}  // NOLINT(google-explicit-constructor)

  Json(JsonArray a) : v_(std::move(a)) {}  // NOLINT(google-explicit-constructor)

  Json(JsonObject o) : v_(std::move(o)) {}  // NOLINT(google-explicit-constructor)

  Kind kind() const { return static_cast<Kind>(v_.index()); }

  bool is_null() const { return kind() == Kind::kNull; }

  bool is_bool() const { return kind() == Kind::kBool; }

  bool is_int() const { return kind() == Kind::kInt; }

  bool is_number() const {
    return kind() == Kind::kInt || kind() == Kind::kUint || kind() == Kind::kDouble;
  }

  bool is_string() const { return kind() == Kind::kString; }

  bool is_array() const { return kind() == Kind::kArray; }

  bool is_object() const { return kind() == Kind::kObject; }

  /// Requires the matching kind (a check, not an error: test the kind first).
  bool as_bool() const { return std::get<bool>(v_); }

  std::int64_t as_int() const { return std::get<std::int64_t>(v_); }

  std::uint64_t as_uint() const { return std::get<std::uint64_t>(v_); }

  double as_double() const;  ///< any number kind

  const std::string& as_string() const { return std::get<std::string>(v_); }

  std::string& as_string() { return std::get<std::string>(v_); }

  const JsonArray& as_array() const { return std::get<JsonArray>(v_); }

  JsonArray& as_array() { return std::get<JsonArray>(v_); }

  const JsonObject& as_object() const { return std::get<JsonObject>(v_); }

  JsonObject& as_object() { return std::get<JsonObject>(v_); }

  /// Member of an object; nullptr if this is no object or the key is absent.
  const Json* find(std::string_view key) const;
  /// An integer field in the API's sense: 32 and 32.0 are integers; 32.5, "32", true are not. False
  /// if not one.
  bool to_int64(std::int64_t* out) const;

  bool operator==(const Json& other) const;

 private:
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, JsonArray,
               JsonObject>
      v_;
};

struct JsonMember {
  std::string key;
  Json value;
};

inline JsonObject::JsonObject() noexcept = default;
inline JsonObject::JsonObject(const JsonObject& other) = default;
inline JsonObject::JsonObject(JsonObject&& other) noexcept = default;
inline JsonObject& JsonObject::operator=(const JsonObject& other) = default;
inline JsonObject& JsonObject::operator=(JsonObject&& other) noexcept = default;
inline JsonObject::~JsonObject() = default;

enum class JsonDuplicates : unsigned char { kLastWins, kReject };

struct JsonLimits {
  int max_depth = 128;
  std::int64_t max_items = 4'000'000;        ///< elements of one array, members of one object
  std::int64_t max_mixed_items = 4'000'000;  ///< the same, where they are not all integers
  JsonDuplicates duplicates = JsonDuplicates::kLastWins;
};

/// Parses exactly one JSON value (RFC 8259; no NaN, comments or trailing commas), surrounded by
/// blanks only.
///
/// A lone surrogate escape becomes U+FFFD. Errors name the byte offset and echo at most 32 bytes of
/// the text. Errors    kInvalidArgument: not JSON, not UTF-8, too deep, too many items, duplicate
/// key when rejected. Thread    any. Cost: linear.
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// Compact text: no spaces, raw UTF-8, '/' unescaped; escaped are control characters, U+0085,
/// U+2028, U+2029. A double prints shortest round-trip with ".0" or an exponent; NaN and infinities
/// print null.
std::string to_text(const Json& value);
/// Appends the text of a string literal with its quotes, escaped as in to_text.
void append_json_string(std::string* out, std::string_view utf8);
/// Indented by two blanks, for files that people read.
std::string to_pretty_text(const Json& value);

}  // namespace plumb
