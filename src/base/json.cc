// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <unordered_map>

#include "base/json_surrogates.h"
#include "base/text.h"

namespace plumb {

JsonObject::JsonObject(std::initializer_list<JsonMember> members) : members_(members) {}

const Json* JsonObject::find(std::string_view key) const {
  for (const JsonMember& member : members_) {
    if (member.key == key) {
      return &member.value;
    }
  }
  return nullptr;
}

Json* JsonObject::find(std::string_view key) {
  for (JsonMember& member : members_) {
    if (member.key == key) {
      return &member.value;
    }
  }
  return nullptr;
}

void JsonObject::set(std::string_view key, Json value) {
  if (Json* old = find(key)) {
    *old = std::move(value);
    return;
  }
  members_.push_back({std::string(key), std::move(value)});
}

void JsonObject::append(std::string key, Json value) {
  members_.push_back({std::move(key), std::move(value)});
}

bool JsonObject::erase(std::string_view key) {
  const auto it = std::find_if(members_.begin(), members_.end(),
                               [&](const JsonMember& m) { return m.key == key; });
  if (it == members_.end()) {
    return false;
  }
  members_.erase(it);
  return true;
}

std::size_t JsonObject::size() const {
  return members_.size();
}

bool JsonObject::empty() const {
  return members_.empty();
}

std::vector<JsonMember>::const_iterator JsonObject::begin() const {
  return members_.begin();
}

std::vector<JsonMember>::const_iterator JsonObject::end() const {
  return members_.end();
}

std::vector<JsonMember>::iterator JsonObject::begin() {
  return members_.begin();
}

std::vector<JsonMember>::iterator JsonObject::end() {
  return members_.end();
}

Json::Json(std::uint64_t u) {
  if (u <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    v_ = static_cast<std::int64_t>(u);
  } else {
    v_ = u;
  }
}

double Json::as_double() const {
  switch (kind()) {
    case Kind::kInt:
      return static_cast<double>(as_int());
    case Kind::kUint:
      return static_cast<double>(as_uint());
    default:
      return std::get<double>(v_);
  }
}

const Json* Json::find(std::string_view key) const {
  return is_object() ? as_object().find(key) : nullptr;
}

bool Json::to_int64(std::int64_t* out) const {
  if (is_int()) {
    *out = as_int();
    return true;
  }
  if (kind() == Kind::kDouble) {
    const double d = as_double();
    // Not -2^63 itself: to it are rounded the integers just below, which do not fit.
    if (d == std::floor(d) && d > -9223372036854775808.0 && d < 9223372036854775808.0) {
      *out = static_cast<std::int64_t>(d);
      return true;
    }
  }
  return false;
}

bool Json::operator==(const Json& other) const {
  if (is_object() && other.is_object()) {
    const JsonObject& a = as_object();
    const JsonObject& b = other.as_object();
    return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const JsonMember& m) {
             const Json* value = b.find(m.key);
             return value != nullptr && *value == m.value;
           });
  }
  if (is_array() && other.is_array()) {
    const JsonArray& a = as_array();
    const JsonArray& b = other.as_array();
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  if (is_object() || other.is_object() || is_array() || other.is_array()) {
    return false;
  }
  switch (kind()) {
    case Kind::kNull:
      return other.is_null();
    case Kind::kBool:
      return other.is_bool() && as_bool() == other.as_bool();
    case Kind::kString:
      return other.is_string() && as_string() == other.as_string();
    case Kind::kInt:
      return other.is_int() ? as_int() == other.as_int()
                            : other.is_number() && as_double() == other.as_double();
    default:
      return other.is_number() && as_double() == other.as_double();
  }
}

namespace {

// Builds the value from the parser's events. The stack holds the open containers, so depth costs
// heap, not C++ stack.
class Builder {
 public:
  constexpr static std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  constexpr static std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  constexpr static std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
  constexpr static std::size_t max_string_size = std::numeric_limits<std::size_t>::max();
  using Error = boost::system::error_code;

  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool on_document_begin(Error&) { return true; }

  bool on_document_end(Error&) { return true; }

  bool on_object_begin(Error&) {
    open_.push_back({Json(JsonObject()), {}, false, {}});
    return true;
  }

  bool on_object_end(std::size_t, Error& ec) { return close(ec); }

  bool on_array_begin(Error&) {
    open_.push_back({Json(JsonArray()), {}, false, {}});
    return true;
  }

  bool on_array_end(std::size_t, Error& ec) { return close(ec); }

  bool on_key_part(boost::json::string_view part, std::size_t, Error&) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool on_key(boost::json::string_view part, std::size_t, Error& ec) {
    text_.append(part.data(), part.size());
    Open& object = open_.back();
    object.key = std::move(text_);
    text_.clear();
    if (limits_.duplicates == JsonDuplicates::kReject && object.index_of(object.key) >= 0) {
      problem = "duplicate key '" + object.key.substr(0, 32) + "'";
      return fail(ec);
    }
    return true;
  }

  bool on_string_part(boost::json::string_view part, std::size_t, Error&) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool on_string(boost::json::string_view part, std::size_t, Error& ec) {
    text_.append(part.data(), part.size());
    Json value(std::move(text_));
    text_.clear();
    return add(std::move(value), ec);
  }

  bool on_number_part(boost::json::string_view part, Error&) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool on_int64(std::int64_t i, boost::json::string_view, Error& ec) {
    text_.clear();
    return add(Json(i), ec);
  }

  bool on_uint64(std::uint64_t u, boost::json::string_view, Error& ec) {
    text_.clear();
    return add(Json(u), ec);
  }

  // The library's own conversion may be off by a few units in the last place.
  bool on_double(double d, boost::json::string_view part, Error& ec) {
    text_.append(part.data(), part.size());
    std::from_chars(text_.data(), text_.data() + text_.size(), d);
    text_.clear();
    return add(Json(d), ec);
  }

  bool on_bool(bool b, Error& ec) { return add(Json(b), ec); }

  bool on_null(Error& ec) { return add(Json(), ec); }

  bool on_comment_part(boost::json::string_view, Error&) { return true; }

  bool on_comment(boost::json::string_view, Error&) { return true; }

  Json root;
  std::string problem;

 private:
  struct Open {
    Json value;
    std::string key;
    bool has_mixed_items = false;
    std::unordered_map<std::string, std::size_t>
        index;  // filled once an object has more than a few members

    std::ptrdiff_t index_of(const std::string& k) {
      const JsonObject& object = value.as_object();
      if (object.size() <= 16) {
        std::ptrdiff_t i = 0;
        for (const JsonMember& m : object) {
          if (m.key == k) {
            return i;
          }
          ++i;
        }
        return -1;
      }
      if (index.empty()) {
        std::size_t i = 0;
        for (const JsonMember& m : object) {
          index.emplace(m.key, i++);
        }
      }
      const auto it = index.find(k);
      return it == index.end() ? -1 : static_cast<std::ptrdiff_t>(it->second);
    }
  };

  static bool fail(Error& ec) {
    ec = boost::json::error::exception;
    return false;
  }

  bool add(Json value, Error& ec) {
    if (open_.empty()) {
      root = std::move(value);
      return true;
    }
    Open& parent = open_.back();
    const std::size_t size =
        parent.value.is_array() ? parent.value.as_array().size() : parent.value.as_object().size();
    parent.has_mixed_items =
        parent.has_mixed_items || parent.value.is_object() || (value.kind() != Json::Kind::kInt);
    const std::int64_t limit = parent.has_mixed_items
                                   ? std::min(limits_.max_items, limits_.max_mixed_items)
                                   : limits_.max_items;
    if (static_cast<std::int64_t>(size) >= limit) {
      problem = "more than " + std::to_string(limit) + " items in one container";
      return fail(ec);
    }
    if (parent.value.is_array()) {
      parent.value.as_array().push_back(std::move(value));
      return true;
    }
    JsonObject& object = parent.value.as_object();
    const std::ptrdiff_t at = parent.index_of(parent.key);
    if (at >= 0) {
      (object.begin() + at)->value = std::move(value);
    } else {
      if (object.size() > 16) {
        parent.index.emplace(parent.key, object.size());
      }
      object.append(std::move(parent.key), std::move(value));
    }
    return true;
  }

  bool close(Error& ec) {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value), ec);
  }

  JsonLimits limits_;
  std::vector<Open> open_;
  std::string text_;
};

Status syntax_error(std::string_view text, std::size_t offset, const std::string& what) {
  std::string shown(text.substr(std::min(offset, text.size()), 32));
  return {Code::kInvalidArgument,
          "invalid JSON at byte " + std::to_string(offset) + ": " + what +
              (shown.empty() ? " (end of text)" : ", near '" + to_valid_utf8(shown) + "'")};
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  std::string repaired;
  // The library rejects lone surrogate escapes; the API accepts them. Same length, so that offsets
  // stay true.
  if (has_lone_surrogate(text)) {
    repaired = replace_lone_surrogates(text, "fffd");
    text = repaired;
  }
  boost::json::parse_options options;
  options.max_depth = static_cast<std::size_t>(limits.max_depth);
  boost::json::basic_parser<Builder> parser(options, limits);
  boost::system::error_code ec;
  std::size_t used = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && used < text.size()) {
    return syntax_error(text, used, "unexpected text after the value");
  }
  if (ec) {
    const std::string& problem = parser.handler().problem;
    return syntax_error(text, used, problem.empty() ? ec.message() : problem);
  }
  if (!parser.done()) {
    return syntax_error(text, text.size(), "incomplete");
  }
  return std::move(parser.handler().root);
}

void append_json_string(std::string* out, std::string_view utf8) {
  out->push_back('"');
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(utf8[i]);
    const auto next = [&](std::size_t k) {
      return i + k < utf8.size() ? static_cast<unsigned char>(utf8[i + k]) : 0U;
    };
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(static_cast<char>(c));
    } else if (c < 0x20 || c == 0x7F) {
      constexpr std::string_view kShort = "btn fr";  // U+0008 .. U+000D, U+000B has no short form
      if (c >= 8 && c <= 13 && c != 11) {
        out->push_back('\\');
        out->push_back(kShort[c - 8U]);
      } else if (c == 0x7F) {
        out->push_back(static_cast<char>(c));
      } else {
        char buffer[8];
        std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
        out->append(buffer);
      }
    } else if (c == 0xC2 && next(1) == 0x85) {
      out->append("\\u0085");
      i += 1;
    } else if (c == 0xE2 && next(1) == 0x80 && (next(2) == 0xA8 || next(2) == 0xA9)) {
      out->append(next(2) == 0xA8 ? "\\u2028" : "\\u2029");
      i += 2;
    } else {
      out->push_back(static_cast<char>(c));
    }
  }
  out->push_back('"');
}

namespace {

void append_double(std::string* out, double d) {
  if (!std::isfinite(d)) {
    out->append("null");
    return;
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, d).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  out->append(text);
  if (text.find_first_of(".e") == std::string_view::npos) {
    out->append(".0");
  }
}

// "[…]" or "{…}" with one item a line; indent < 0: compact.
template <class Items, class AppendItem>
void append_items(std::string* out, std::string_view brackets, const Items& items, int indent,
                  int level, const AppendItem& append_item) {
  const auto newline = [&](int at) {
    if (indent >= 0) {
      out->push_back('\n');
      out->append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(at), ' ');
    }
  };
  out->push_back(brackets[0]);
  bool first = true;
  for (const auto& item : items) {
    if (!first) {
      out->push_back(',');
    }
    first = false;
    newline(level + 1);
    append_item(item);
  }
  if (!first) {
    newline(level);
  }
  out->push_back(brackets[1]);
}

// Values come from parse_json (depth-limited) or from our own code.
// NOLINTNEXTLINE(misc-no-recursion): bounded
void append_value(std::string* out, const Json& value, int indent, int level) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      out->append("null");
      break;
    case Json::Kind::kBool:
      out->append(value.as_bool() ? "true" : "false");
      break;
    case Json::Kind::kInt:
      out->append(std::to_string(value.as_int()));
      break;
    case Json::Kind::kUint:
      out->append(std::to_string(value.as_uint()));
      break;
    case Json::Kind::kDouble:
      append_double(out, value.as_double());
      break;
    case Json::Kind::kString:
      append_json_string(out, value.as_string());
      break;
    case Json::Kind::kArray:
      append_items(out, "[]", value.as_array(), indent, level,
                   [&](const Json& item) { append_value(out, item, indent, level + 1); });
      break;
    case Json::Kind::kObject:
      append_items(out, "{}", value.as_object(), indent, level, [&](const JsonMember& member) {
        append_json_string(out, member.key);
        out->append(indent >= 0 ? ": " : ":");
        append_value(out, member.value, indent, level + 1);
      });
      break;
  }
}

}  // namespace

std::string to_text(const Json& value) {
  std::string out;
  append_value(&out, value, -1, 0);
  return out;
}

std::string to_pretty_text(const Json& value) {
  std::string out;
  append_value(&out, value, 2, 0);
  return out;
}

}  // namespace plumb
