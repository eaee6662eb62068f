// SPDX-License-Identifier: Apache-2.0
#include "base/options.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace plumb {
namespace {

// Shows what was given, cut: it may be anything.
std::string shown(const Json& json) {
  constexpr std::size_t kMaxShown = 64;
  std::string text = to_text(json);
  if (text.size() > kMaxShown) {
    text.resize(kMaxShown);
    text.resize(complete_utf8_len(text));
    text += "...";
  }
  return text;
}

Status invalid(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

Status outside(const Json& json, OptionKind kind, double min, double max) {
  return invalid(shown(json) + " is outside " + option_detail::range_text(kind, min, max));
}

std::string number_text(double value) {
  if (std::abs(value) < 0x1p53 && value == std::floor(value)) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  return to_text(Json(value));
}

// Length of the number at the front of "1.5GiB".
std::size_t number_len(std::string_view text) {
  const std::size_t len = text.find_first_not_of("0123456789.");
  return len == std::string_view::npos ? text.size() : len;
}

Json text_to_json(OptionKind kind, std::string_view text) {
  std::int64_t integer = 0;
  double number = 0;
  switch (kind) {
    case OptionKind::kBool:
      if (text == "true" || text == "1" || text == "on" || text == "yes") {
        return {true};
      }
      if (text == "false" || text == "0" || text == "off" || text == "no") {
        return {false};
      }
      break;
    case OptionKind::kInt:
      if (parse_int64(text, &integer)) {
        return {integer};
      }
      break;
    case OptionKind::kDouble:
      if (parse_double(text, &number) && std::isfinite(number)) {  // JSON has no other
        return {number};
      }
      break;
    case OptionKind::kTextList: {
      JsonArray array;
      for (const std::string_view part : split(text, ',')) {
        if (!part.empty()) {
          array.emplace_back(part);
        }
      }
      return {std::move(array)};
    }
    default:
      break;
  }
  return {text};
}

}  // namespace

namespace option_detail {

Status read_bool(const Json& json, bool* out) {
  if (!json.is_bool()) {
    return invalid(shown(json) + " is not true or false");
  }
  *out = json.as_bool();
  return {};
}

Status read_int(const Json& json, double min, double max, std::int64_t* out) {
  std::int64_t value = 0;
  if (!json.to_int64(&value)) {
    return invalid(shown(json) + " is not an integer in " + range_text(OptionKind::kInt, min, max));
  }
  if (static_cast<double>(value) < min || static_cast<double>(value) > max) {
    return outside(json, OptionKind::kInt, min, max);
  }
  *out = value;
  return {};
}

Status read_bytes(const Json& json, double min, double max, std::int64_t* out) {
  std::int64_t value = 0;
  const bool is_number =
      json.is_string() ? parse_bytes(json.as_string(), &value) : json.to_int64(&value);
  if (!is_number) {
    return invalid(shown(json) + " is not a number of bytes (4096, 512KiB, 1.5GiB)");
  }
  if (static_cast<double>(value) < min || static_cast<double>(value) > max) {
    return outside(json, OptionKind::kBytes, min, max);
  }
  *out = value;
  return {};
}

Status read_double(const Json& json, double min, double max, double* out) {
  if (!json.is_number()) {
    return invalid(shown(json) + " is not a number in " +
                   range_text(OptionKind::kDouble, min, max));
  }
  const double value = json.as_double();
  if (!(value >= min && value <= max)) {
    return outside(json, OptionKind::kDouble, min, max);
  }
  *out = value;
  return {};
}

Status read_text(const Json& json, std::string* out) {
  if (!json.is_string()) {
    return invalid(shown(json) + " is not a text");
  }
  if (json.as_string().find('\0') != std::string::npos) {
    return invalid("a text must not hold a zero byte");
  }
  *out = json.as_string();
  return {};
}

Status read_text_list(const Json& json, std::vector<std::string>* out) {
  if (!json.is_array()) {
    return invalid(shown(json) + " is not a list of texts");
  }
  std::vector<std::string> texts;
  for (const Json& item : json.as_array()) {
    std::string text;
    PLUMB_RETURN_IF_ERROR(read_text(item, &text));
    texts.push_back(std::move(text));
  }
  *out = std::move(texts);
  return {};
}

Status read_duration(const Json& json, double min, double max, std::chrono::nanoseconds* out) {
  const std::string text = json.is_string() ? json.as_string() : to_text(json);
  std::chrono::nanoseconds value{};
  if ((!json.is_string() && !json.is_number()) || !parse_duration(text, &value)) {
    return invalid(shown(json) + " is not a duration (250ms, 1.5s, 2m, 1h)");
  }
  const double seconds = std::chrono::duration<double>(value).count();
  if (seconds < min || seconds > max) {
    return outside(json, OptionKind::kDuration, min, max);
  }
  *out = value;
  return {};
}

Status read_choice(const Json& json, std::span<const std::string_view> names, std::size_t* out) {
  const auto found =
      json.is_string() ? std::find(names.begin(), names.end(), json.as_string()) : names.end();
  if (found == names.end()) {
    std::vector<std::string> all(names.begin(), names.end());
    return invalid(shown(json) + " is none of " + join(all, ", "));
  }
  *out = static_cast<std::size_t>(found - names.begin());
  return {};
}

std::string range_text(OptionKind kind, double min, double max) {
  const auto bounds = [&](double widest_min, double widest_max, const auto& show) {
    const bool has_min = min > widest_min;
    const bool has_max = max < widest_max;
    return (has_min ? show(min) : std::string()) + (has_min || has_max ? ".." : "") +
           (has_max ? show(max) : std::string());
  };
  switch (kind) {
    case OptionKind::kInt:
      return number_text(min) + ".." + (max >= 0x1p53 ? std::string() : number_text(max));
    case OptionKind::kDouble:
      return bounds(-3e38, 3e38, number_text);
    case OptionKind::kDuration:
      return bounds(-1, 0x1p31, [](double seconds) {
        return duration_to_text(std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::duration<double>(seconds)));
      });
    case OptionKind::kBytes:
      return bounds(-1, 0x1p62, number_text);
    default:
      return {};
  }
}

}  // namespace option_detail

std::string json_key(const BoundOption& option) {
  std::string key = option.flag;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

std::string environment_name(const BoundOption& option) {
  std::string name = "PLUMB_" + json_key(option);
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

Status set_from_text(const BoundOption& option, std::string_view text, std::string source) {
  Status status = option.set(text_to_json(option.kind, text));
  if (!status.ok() && option.is_secret) {
    status = invalid("the value cannot be used (it is not shown)");
  }
  return status.ok() ? status : std::move(status).with(std::move(source));
}

std::vector<Status> set_from_json(std::span<const BoundOption> options, const JsonObject& object) {
  std::vector<Status> violations;
  for (const JsonMember& member : object) {
    const auto option = std::find_if(options.begin(), options.end(), [&](const BoundOption& o) {
      return json_key(o) == member.key;
    });
    if (option == options.end()) {
      violations.push_back(invalid("unknown option " + shown(Json(member.key))));
      continue;
    }
    Status status = option->set(member.value);
    if (!status.ok() && option->is_secret) {
      status = invalid("the value cannot be used (it is not shown)");
    }
    if (!status.ok()) {
      violations.push_back(std::move(status).with(member.key));
    }
  }
  return violations;
}

std::vector<Status> validate_options(std::span<const BoundOption> options) {
  std::vector<Status> violations;
  for (const BoundOption& option : options) {
    // Setting a value to itself runs its checks and changes nothing.
    Status status = option.set(option.get());
    if (!status.ok()) {
      violations.push_back(std::move(status).with("--" + option.flag));
    }
  }
  return violations;
}

Status join_violations(std::span<const Status> violations) {
  if (violations.empty()) {
    return {};
  }
  std::vector<std::string> messages;
  for (const Status& violation : violations) {
    messages.push_back(violation.message());
  }
  return invalid(join(messages, "; "));
}

JsonObject options_to_json(std::span<const BoundOption> options) {
  JsonObject object;
  for (const BoundOption& option : options) {
    const Json value = option.get();
    const bool hidden = option.is_secret && !(value.is_string() && value.as_string().empty());
    object.append(json_key(option), hidden ? Json("***") : value);
  }
  return object;
}

std::string options_to_table(std::span<const BoundOption> options) {
  std::size_t width = 0;
  for (const BoundOption& option : options) {
    width = std::max(width, option.flag.size());
  }
  std::string table;
  for (const JsonMember& member : options_to_json(options)) {
    std::string flag = member.key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    table += flag + std::string(width - flag.size() + 2, ' ');
    table += member.value.is_string() ? member.value.as_string() : to_text(member.value);
    table += '\n';
  }
  return table;
}

std::string options_to_markdown(std::span<const BoundOption> options) {
  std::string text = "| flag | default | range | meaning |\n|---|---|---|---|\n";
  for (const BoundOption& option : options) {
    std::string range = option.range;
    for (std::size_t at = range.find('|'); at != std::string::npos; at = range.find('|', at + 2)) {
      range.insert(at, "\\");
    }
    const std::string negative =
        option.kind == OptionKind::kBool ? ", `--no-" + option.flag + "`" : "";
    text += "| `--" + option.flag + "`" + negative + " | `" + to_text(option.get()) + "` | " +
            range + " | " + option.help + " |\n";
  }
  return text;
}

bool parse_duration(std::string_view text, std::chrono::nanoseconds* out) {
  struct Unit {
    std::string_view name;
    double seconds;
  };

  constexpr std::array kUnits = {Unit{"", 1},   Unit{"s", 1},    Unit{"ms", 1e-3},
                                 Unit{"m", 60}, Unit{"h", 3600}, Unit{"us", 1e-6}};
  const std::size_t len = number_len(text);
  double number = 0;
  if (len == 0 || !parse_double(text.substr(0, len), &number)) {
    return false;
  }
  for (const Unit& unit : kUnits) {
    if (unit.name == text.substr(len)) {
      const double nanos = number * unit.seconds * 1e9;
      if (nanos > 0x1p62) {
        return false;
      }
      *out = std::chrono::nanoseconds(std::llround(nanos));
      return true;
    }
  }
  return false;
}

std::string duration_to_text(std::chrono::nanoseconds duration) {
  const std::int64_t nanos = duration.count();
  if (nanos % 1'000'000'000 == 0) {
    return std::to_string(nanos / 1'000'000'000) + "s";
  }
  if (nanos % 1'000'000 == 0) {
    return std::to_string(nanos / 1'000'000) + "ms";
  }
  return number_text(static_cast<double>(nanos) / 1e3) + "us";
}

bool parse_bytes(std::string_view text, std::int64_t* out) {
  struct Unit {
    std::string_view name;
    double bytes;
  };

  constexpr std::array kUnits = {Unit{"", 1},         Unit{"B", 1},        Unit{"KiB", 0x1p10},
                                 Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40},
                                 Unit{"KB", 1e3},     Unit{"MB", 1e6},     Unit{"GB", 1e9},
                                 Unit{"TB", 1e12}};
  const std::size_t len = number_len(text);
  double number = 0;
  if (len == 0 || !parse_double(text.substr(0, len), &number)) {
    return false;
  }
  for (const Unit& unit : kUnits) {
    const bool is_divisible = unit.bytes > 1 || number == std::floor(number);
    if (unit.name == text.substr(len) && is_divisible && number * unit.bytes <= 0x1p62) {
      *out = static_cast<std::int64_t>(number * unit.bytes);
      return true;
    }
  }
  return false;
}

}  // namespace plumb
