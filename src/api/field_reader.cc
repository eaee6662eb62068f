// SPDX-License-Identifier: Apache-2.0
#include "api/field_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plumb {
namespace {

std::string number_text(double value) {
  return std::isfinite(value) ? to_text(Json(value)) : "too large for a number";
}

// An integer that no int64 holds; its digits are lost where it was read as a floating point number.
std::string beyond_int64(double value) {
  return value < 0 ? "below -9223372036854775808" : "above 9223372036854775807";
}

}  // namespace

FieldReader::FieldReader(const JsonObject& object, std::string path)
    : object_(object), path_(std::move(path)) {}

std::string FieldReader::path(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

const Json* FieldReader::find(std::string_view name) {
  read_.emplace(name);
  const Json* field = object_.find(name);
  return field == nullptr || field->is_null() ? nullptr : field;
}

void FieldReader::fail(ApiError error) {
  if (!error_.has_value()) {
    error_ = std::move(error);
  }
}

std::optional<std::int64_t> FieldReader::integer(std::string_view name, std::int64_t min,
                                                 std::int64_t max) {
  const Json* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const bool fits = field->to_int64(&value);
  const bool is_integral =
      field->is_number() && field->as_double() == std::floor(field->as_double());
  if (!fits && !is_integral) {
    fail(ApiError::wrong_type(path(name), "an integer"));
    return std::nullopt;
  }
  if (!fits || value < min || value > max) {
    fail(ApiError::invalid("invalid_value", path(name),
                           "'" + path(name) + "' is " +
                               (fits ? std::to_string(value) : beyond_int64(field->as_double())) +
                               ", expected an integer from " + std::to_string(min) + " to " +
                               std::to_string(max)));
    return std::nullopt;
  }
  return value;
}

std::optional<double> FieldReader::number(std::string_view name, double min, double max) {
  const Json* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (!field->is_number()) {
    fail(ApiError::wrong_type(path(name), "a number"));
    return std::nullopt;
  }
  const double value = field->as_double();
  if (!(value >= min && value <= max)) {
    fail(ApiError::invalid("invalid_value", path(name),
                           "'" + path(name) + "' is " + number_text(value) +
                               ", expected a number from " + number_text(min) + " to " +
                               number_text(max)));
    return std::nullopt;
  }
  return value;
}

std::optional<bool> FieldReader::boolean(std::string_view name) {
  const Json* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (!field->is_bool()) {
    fail(ApiError::wrong_type(path(name), "true or false"));
    return std::nullopt;
  }
  return field->as_bool();
}

std::optional<std::string> FieldReader::text(std::string_view name) {
  const Json* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (!field->is_string()) {
    fail(ApiError::wrong_type(path(name), "a string"));
    return std::nullopt;
  }
  return field->as_string();
}

std::string FieldReader::needed_text(std::string_view name) {
  std::optional<std::string> value = text(name);
  if (ok() && !value.has_value()) {
    fail(ApiError::missing(path(name)));
  }
  return value.value_or("");
}

std::optional<std::string> FieldReader::choice(std::string_view name,
                                               const std::vector<std::string>& words) {
  std::optional<std::string> value = text(name);
  if (value.has_value() && std::find(words.begin(), words.end(), *value) == words.end()) {
    std::string known;
    for (const std::string& word : words) {
      known += (known.empty() ? "'" : ", '") + word + "'";
    }
    fail(ApiError::invalid(
        "invalid_value", path(name),
        "'" + path(name) + "' is '" + value->substr(0, 64) + "', expected one of " + known));
    return std::nullopt;
  }
  return value;
}

const JsonArray* FieldReader::array(std::string_view name, std::int64_t max_items) {
  const Json* field = find(name);
  if (field == nullptr) {
    return nullptr;
  }
  if (!field->is_array()) {
    fail(ApiError::wrong_type(path(name), "an array"));
    return nullptr;
  }
  const auto size = static_cast<std::int64_t>(field->as_array().size());
  if (size > max_items) {
    fail(ApiError::invalid("invalid_value", path(name),
                           "'" + path(name) + "' has " + std::to_string(size) +
                               " items, expected at most " + std::to_string(max_items)));
    return nullptr;
  }
  return &field->as_array();
}

const JsonObject* FieldReader::object(std::string_view name) {
  const Json* field = find(name);
  if (field == nullptr) {
    return nullptr;
  }
  if (!field->is_object()) {
    fail(ApiError::wrong_type(path(name), "an object"));
    return nullptr;
  }
  return &field->as_object();
}

void FieldReader::absorb(const FieldReader& inner) {
  constexpr std::size_t kMaxNested = 100;
  if (!inner.ok()) {
    fail(*inner.error());
  }
  for (std::string& name : inner.ignored()) {
    if (nested_.size() < kMaxNested) {
      nested_.push_back(std::move(name));
    }
  }
}

std::vector<std::string> FieldReader::ignored() const {
  std::vector<std::string> paths;
  for (const std::string& name : unread()) {
    paths.push_back(path(name));
  }
  paths.insert(paths.end(), nested_.begin(), nested_.end());
  return paths;
}

std::vector<std::string> FieldReader::unread() const {
  std::vector<std::string> names;
  for (const JsonMember& member : object_) {
    if (read_.find(member.key) == read_.end()) {
      names.push_back(member.key);
    }
  }
  return names;
}

}  // namespace plumb
