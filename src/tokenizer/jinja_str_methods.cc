// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_operators.h"
#include "tokenizer/jinja_text.h"

namespace plumb::jinja {

namespace {

Status wrong_type(std::string_view method, const Value& got) {
  return raise(std::string(method) + ": unexpected argument of type '" +
               std::string(type_name(got)) + "'");
}

// An optional integer argument; none and missing give the fallback where allowed.
Status take_int(const Args& args, std::size_t i, std::int64_t fallback, bool none_allowed,
                std::int64_t* out) {
  *out = fallback;
  const Value& value = arg(args, i);
  if (value.is_missing() || (none_allowed && value.is_none())) {
    return {};
  }
  return to_index(value, out) ? Status() : wrong_type("string method", value);
}

struct Window {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool empty_range = false;  ///< start lies behind end
};

// The bytes selected by optional start and end arguments (code points).
Status take_window(const Value& text, const Args& args, std::size_t first, Window* out) {
  out->end = text.size;
  if (arg(args, first).is_missing() && arg(args, first + 1).is_missing()) {
    return {};
  }
  std::int64_t length = 0;
  length_of(text, &length);
  std::int64_t start = 0;
  std::int64_t end = length;
  PLUMB_RETURN_IF_ERROR(take_int(args, first, 0, true, &start));
  PLUMB_RETURN_IF_ERROR(take_int(args, first + 1, length, true, &end));
  const auto clamp = [length](std::int64_t i) { return i < -length ? 0 : i < 0 ? i + length : i; };
  start = clamp(start);
  end = std::min(clamp(end), length);
  out->empty_range = start > end;
  out->begin = byte_offset(text.str(), std::min(start, length));
  out->end = std::max(out->begin, byte_offset(text.str(), end));
  return {};
}

Result<Value> str_case(Interpreter& in, const Value& self, CaseMap map) {
  return map_case(in, self, map);
}

Result<Value> str_lower(Interpreter& in, const Value& self, const Args&) {
  return str_case(in, self, CaseMap::kLower);
}

Result<Value> str_upper(Interpreter& in, const Value& self, const Args&) {
  return str_case(in, self, CaseMap::kUpper);
}

Result<Value> str_title(Interpreter& in, const Value& self, const Args&) {
  return str_case(in, self, CaseMap::kTitle);
}

Result<Value> str_casefold(Interpreter& in, const Value& self, const Args&) {
  return str_case(in, self, CaseMap::kFold);
}

Result<Value> str_capitalize(Interpreter& in, const Value& self, const Args&) {
  return capitalize(in, self);
}

Result<Value> str_swapcase(Interpreter& in, const Value& self, const Args&) {
  StrBuilder out(in.heap());
  const std::string_view bytes = self.str();
  for (std::size_t at = 0; at < bytes.size() && !out.exhausted();) {
    const std::size_t begin = at;
    const char32_t c = next_code_point(bytes, &at);
    std::string piece;
    append_mapped(&piece, c == 0x3A3 ? lower_sigma(bytes, begin) : c,
                  is_upper(c)   ? CaseMap::kLower
                  : is_lower(c) ? CaseMap::kUpper
                                : CaseMap::kFold);
    if (is_upper(c) || is_lower(c)) {
      out.append(piece, is_data_at(self, begin));
    } else {
      out.append(self, begin, at - begin);
    }
  }
  Value result = out.take();
  result.markup = self.markup;
  return result;
}

Result<Value> strip(const Value& self, const Args& args, Side side) {
  const Value& chars = arg(args, 0);
  Span span{};
  if (chars.is_missing() || chars.is_none()) {
    span = strip_space(self.str(), side);
  } else if (chars.is_string()) {
    span = strip_chars(self.str(), chars.str(), side);
  } else {
    return wrong_type("strip", chars);
  }
  return substring(self, span.begin, span.end - span.begin);
}

Result<Value> str_strip(Interpreter&, const Value& self, const Args& args) {
  return strip(self, args, Side::kBoth);
}

Result<Value> str_lstrip(Interpreter&, const Value& self, const Args& args) {
  return strip(self, args, Side::kLeft);
}

Result<Value> str_rstrip(Interpreter&, const Value& self, const Args& args) {
  return strip(self, args, Side::kRight);
}

Result<Value> split(Interpreter& in, const Value& self, const Args& args, bool from_right) {
  std::int64_t max_splits = -1;
  PLUMB_RETURN_IF_ERROR(take_int(args, 1, -1, false, &max_splits));
  return split_string(in, self, arg(args, 0), max_splits, from_right);
}

Result<Value> str_split(Interpreter& in, const Value& self, const Args& args) {
  return split(in, self, args, false);
}

Result<Value> str_rsplit(Interpreter& in, const Value& self, const Args& args) {
  return split(in, self, args, true);
}

Result<Value> str_splitlines(Interpreter& in, const Value& self, const Args& args) {
  const Value& keep = arg(args, 0);
  return in.heap().make_list(split_lines(self, !keep.is_missing() && truthy(keep)));
}

Result<bool> has_affix(const Value& self, const Window& window, const Value& affix, bool prefix) {
  if (affix.is(Kind::kTuple)) {
    for (const Value& option : affix.list().items) {
      if (!option.is_string()) {
        return wrong_type(prefix ? "startswith" : "endswith", option);
      }
      PLUMB_ASSIGN(const bool found, has_affix(self, window, option, prefix));
      if (found) {
        return true;
      }
    }
    return false;
  }
  if (!affix.is_string()) {
    return wrong_type(prefix ? "startswith" : "endswith", affix);
  }
  const std::string_view part = self.str().substr(window.begin, window.end - window.begin);
  const std::string_view wanted = affix.str();
  if (window.empty_range || part.size() < wanted.size()) {
    return false;
  }
  return part.substr(prefix ? 0 : part.size() - wanted.size(), wanted.size()) == wanted;
}

Result<Value> affix_test(const Value& self, const Args& args, bool prefix) {
  Window window;
  PLUMB_RETURN_IF_ERROR(take_window(self, args, 1, &window));
  PLUMB_ASSIGN(const bool found, has_affix(self, window, arg(args, 0), prefix));
  return Value::boolean(found);
}

Result<Value> str_startswith(Interpreter&, const Value& self, const Args& args) {
  return affix_test(self, args, true);
}

Result<Value> str_endswith(Interpreter&, const Value& self, const Args& args) {
  return affix_test(self, args, false);
}

Result<std::int64_t> locate(const Value& self, const Args& args, bool last) {
  if (!arg(args, 0).is_string()) {
    return wrong_type("find", arg(args, 0));
  }
  Window window;
  PLUMB_RETURN_IF_ERROR(take_window(self, args, 1, &window));
  const std::string_view part = self.str().substr(window.begin, window.end - window.begin);
  const std::string_view wanted = arg(args, 0).str();
  const std::size_t found = last ? part.rfind(wanted) : part.find(wanted);
  if (window.empty_range || found == std::string_view::npos) {
    return -1;
  }
  return num_code_points(self.str().substr(0, window.begin + found));
}

Result<Value> find_result(const Value& self, const Args& args, bool last, bool must_exist) {
  PLUMB_ASSIGN(const std::int64_t at, locate(self, args, last));
  if (at < 0 && must_exist) {
    return raise("substring not found");
  }
  return Value::integer(at);
}

Result<Value> str_find(Interpreter&, const Value& self, const Args& args) {
  return find_result(self, args, false, false);
}

Result<Value> str_rfind(Interpreter&, const Value& self, const Args& args) {
  return find_result(self, args, true, false);
}

Result<Value> str_index(Interpreter&, const Value& self, const Args& args) {
  return find_result(self, args, false, true);
}

Result<Value> str_rindex(Interpreter&, const Value& self, const Args& args) {
  return find_result(self, args, true, true);
}

Result<Value> str_count(Interpreter&, const Value& self, const Args& args) {
  if (!arg(args, 0).is_string()) {
    return wrong_type("count", arg(args, 0));
  }
  Window window;
  PLUMB_RETURN_IF_ERROR(take_window(self, args, 1, &window));
  const std::string_view part = self.str().substr(window.begin, window.end - window.begin);
  const std::string_view wanted = arg(args, 0).str();
  if (window.empty_range) {
    return Value::integer(0);
  }
  if (wanted.empty()) {
    return Value::integer(num_code_points(part) + 1);
  }
  std::int64_t count = 0;
  for (std::size_t at = part.find(wanted); at != std::string_view::npos;
       at = part.find(wanted, at + wanted.size())) {
    ++count;
  }
  return Value::integer(count);
}

Result<Value> str_replace(Interpreter& in, const Value& self, const Args& args) {
  if (!arg(args, 0).is_string() || !(arg(args, 1).is_string() || self.markup)) {
    return wrong_type("replace", arg(args, 0).is_string() ? arg(args, 1) : arg(args, 0));
  }
  std::int64_t count = -1;
  PLUMB_RETURN_IF_ERROR(take_int(args, 2, -1, false, &count));
  const Value to = self.markup ? in.escape(arg(args, 1)) : arg(args, 1);
  Value out = replace_all(in, self, arg(args, 0), to, count);
  out.markup = self.markup;
  return out;
}

Result<Value> str_join(Interpreter& in, const Value& self, const Args& args) {
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(arg(args, 0), &items));
  StrBuilder out(in.heap());
  for (std::size_t i = 0; i < items.size() && !out.exhausted(); ++i) {
    if (!items[i].is_string() && !self.markup) {
      return wrong_type("join", items[i]);
    }
    if (i > 0) {
      out.append(self);
    }
    out.append(self.markup ? in.escape(items[i]) : items[i]);
  }
  Value result = out.take();
  result.markup = self.markup;
  return result;
}

Result<Value> str_format(Interpreter& in, const Value& self, const Args& args) {
  return format_braces(in, self, args, nullptr);
}

Result<Value> str_format_map(Interpreter& in, const Value& self, const Args& args) {
  return format_braces(in, self, {}, &args.positional[0]);
}

Result<Value> pad(Interpreter& in, const Value& self, const Args& args, Side side) {
  std::int64_t width = 0;
  PLUMB_RETURN_IF_ERROR(take_int(args, 0, 0, false, &width));
  Value fill = arg(args, 1);
  if (fill.is_missing()) {
    fill = in.heap().make_string(" ", false);
  }
  if (!fill.is_string() || num_code_points(fill.str()) != 1) {
    return raise("the fill character must be exactly one character long");
  }
  if (self.markup) {
    fill = in.escape(fill);
    if (num_code_points(fill.str()) != 1) {
      return raise("the fill character must be exactly one character long");
    }
  }
  std::int64_t length = 0;
  length_of(self, &length);
  if (width <= length) {
    return self;
  }
  const std::int64_t total = width - length;
  if (!in.heap().has_room(total)) {
    return Status(Code::kResourceExhausted, "padding needs more memory than allowed");
  }
  const std::int64_t left = side == Side::kLeft    ? total
                            : side == Side::kRight ? 0
                                                   : total / 2 + (total & width & 1);
  return repeat_fill(in, self, left, total - left, fill);
}

Result<Value> str_center(Interpreter& in, const Value& self, const Args& args) {
  return pad(in, self, args, Side::kBoth);
}

Result<Value> str_ljust(Interpreter& in, const Value& self, const Args& args) {
  return pad(in, self, args, Side::kRight);
}

Result<Value> str_rjust(Interpreter& in, const Value& self, const Args& args) {
  return pad(in, self, args, Side::kLeft);
}

Result<Value> str_zfill(Interpreter& in, const Value& self, const Args& args) {
  std::int64_t width = 0;
  PLUMB_RETURN_IF_ERROR(take_int(args, 0, 0, false, &width));
  std::int64_t length = 0;
  length_of(self, &length);
  if (width <= length) {
    return self;
  }
  if (!in.heap().has_room(width - length)) {
    return Status(Code::kResourceExhausted, "padding needs more memory than allowed");
  }
  const bool sign = self.size > 0 && (self.str()[0] == '-' || self.str()[0] == '+');
  const std::size_t head = sign ? 1 : 0;
  StrBuilder out(in.heap());
  out.append(self, 0, head);
  out.append(std::string(static_cast<std::size_t>(width - length), '0'), false);
  out.append(self, head, self.size - head);
  Value result = out.take();
  result.markup = self.markup;
  return result;
}

Result<Value> str_removeprefix(Interpreter&, const Value& self, const Args& args) {
  if (!arg(args, 0).is_string()) {
    return wrong_type("removeprefix", arg(args, 0));
  }
  PLUMB_ASSIGN(const bool found, has_affix(self, {0, self.size, false}, arg(args, 0), true));
  const std::size_t cut = found ? arg(args, 0).size : 0;
  return substring(self, cut, self.size - cut);
}

Result<Value> str_removesuffix(Interpreter&, const Value& self, const Args& args) {
  if (!arg(args, 0).is_string()) {
    return wrong_type("removesuffix", arg(args, 0));
  }
  PLUMB_ASSIGN(const bool found, has_affix(self, {0, self.size, false}, arg(args, 0), false));
  return substring(self, 0, self.size - (found ? arg(args, 0).size : 0));
}

Result<Value> partition(Interpreter& in, const Value& self, const Args& args, bool last) {
  const Value& separator = arg(args, 0);
  if (!separator.is_string() || separator.size == 0) {
    return separator.is_string() ? raise("partition: empty separator")
                                 : wrong_type("partition", separator);
  }
  const std::string_view text = self.str();
  const std::size_t at = last ? text.rfind(separator.str()) : text.find(separator.str());
  const Value empty = substring(self, 0, 0);
  if (at == std::string_view::npos) {
    return in.heap().make_list(
        last ? std::vector<Value>{empty, empty, self} : std::vector<Value>{self, empty, empty},
        Kind::kTuple);
  }
  const std::size_t after = at + separator.size;
  return in.heap().make_list({substring(self, 0, at), substring(self, at, separator.size),
                              substring(self, after, self.size - after)},
                             Kind::kTuple);
}

Result<Value> str_partition(Interpreter& in, const Value& self, const Args& args) {
  return partition(in, self, args, false);
}

Result<Value> str_rpartition(Interpreter& in, const Value& self, const Args& args) {
  return partition(in, self, args, true);
}

Result<Value> str_expandtabs(Interpreter& in, const Value& self, const Args& args) {
  std::int64_t tab_size = 8;
  PLUMB_RETURN_IF_ERROR(take_int(args, 0, 8, false, &tab_size));
  if (!in.heap().has_room(std::max<std::int64_t>(tab_size, 0))) {
    return Status(Code::kResourceExhausted, "tab size needs more memory than allowed");
  }
  StrBuilder out(in.heap());
  const std::string_view bytes = self.str();
  std::int64_t column = 0;
  for (std::size_t at = 0; at < bytes.size() && !out.exhausted();) {
    const std::size_t begin = at;
    const char32_t c = next_code_point(bytes, &at);
    if (c != '\t') {
      out.append(self, begin, at - begin);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    } else if (tab_size > 0) {
      const std::int64_t blanks = tab_size - column % tab_size;
      out.append(std::string(static_cast<std::size_t>(blanks), ' '), false);
      column += blanks;
    }
  }
  Value result = out.take();
  result.markup = self.markup;
  return result;
}

template <bool (*kPredicate)(char32_t)>
Result<Value> str_all(Interpreter&, const Value& self, const Args&) {
  const std::string_view bytes = self.str();
  for (std::size_t at = 0; at < bytes.size();) {
    if (!kPredicate(next_code_point(bytes, &at))) {
      return Value::boolean(false);
    }
  }
  return Value::boolean(!bytes.empty());
}

bool is_alphanumeric(char32_t c) {
  return is_alphabetic(c) || is_decimal(c) || is_digit(c) || is_numeric(c);
}

Result<Value> str_isascii(Interpreter&, const Value& self, const Args&) {
  return Value::boolean(is_ascii(self));
}

Result<Value> str_isprintable(Interpreter& in, const Value& self, const Args& args) {
  return self.size == 0 ? Value::boolean(true) : str_all<is_printable>(in, self, args);
}

Result<Value> str_isidentifier(Interpreter& in, const Value& self, const Args& args) {
  std::size_t at = 0;
  if (self.size == 0 || !is_identifier_start(next_code_point(self.str(), &at))) {
    return Value::boolean(false);
  }
  return str_all<is_identifier_part>(in, self, args);
}

Result<Value> str_istitle(Interpreter&, const Value& self, const Args&) {
  const std::string_view bytes = self.str();
  bool any = false;
  bool previous_cased = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const char32_t c = next_code_point(bytes, &at);
    const bool starts = is_upper(c) || is_title(c);
    if ((starts && previous_cased) || (is_lower(c) && !previous_cased)) {
      return Value::boolean(false);
    }
    previous_cased = starts || is_lower(c);
    any = any || previous_cased;
  }
  return Value::boolean(any);
}

template <bool (*kWanted)(char32_t), bool (*kOther)(char32_t)>
Result<Value> str_one_case(Interpreter&, const Value& self, const Args&) {
  const std::string_view bytes = self.str();
  bool any = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const char32_t c = next_code_point(bytes, &at);
    if (kOther(c) || is_title(c)) {
      return Value::boolean(false);
    }
    any = any || kWanted(c);
  }
  return Value::boolean(any);
}

Result<Value> str_unsupported(Interpreter&, const Value&, const Args&) {
  return Status(Code::kUnsupported,
                "string methods encode, translate and maketrans are not supported");
}

constexpr Signature kStripArgs{{"chars"}, 0, false};
constexpr Signature kSplitArgs{{"sep", "maxsplit"}, 0, true};
constexpr Signature kFindArgs{{"sub", "start", "end"}, 1, false};
constexpr Signature kPadArgs{{"width", "fillchar"}, 1, false};
constexpr Signature kOneArg{{"value"}, 1, false};

constexpr MethodEntry kStrMethods[] = {
    {"strip", str_strip, kStripArgs},
    {"split", str_split, kSplitArgs},
    {"lstrip", str_lstrip, kStripArgs},
    {"rstrip", str_rstrip, kStripArgs},
    {"startswith", str_startswith, kFindArgs},
    {"endswith", str_endswith, kFindArgs},
    {"replace", str_replace, {{"old", "new", "count"}, 2, false}},
    {"format", str_format, kAnyArgs},
    {"lower", str_lower, kNoArgs},
    {"upper", str_upper, kNoArgs},
    {"join", str_join, kOneArg},
    {"find", str_find, kFindArgs},
    {"rsplit", str_rsplit, kSplitArgs},
    {"splitlines", str_splitlines, {{"keepends"}, 0, true}},
    {"title", str_title, kNoArgs},
    {"capitalize", str_capitalize, kNoArgs},
    {"casefold", str_casefold, kNoArgs},
    {"swapcase", str_swapcase, kNoArgs},
    {"rfind", str_rfind, kFindArgs},
    {"index", str_index, kFindArgs},
    {"rindex", str_rindex, kFindArgs},
    {"count", str_count, kFindArgs},
    {"format_map", str_format_map, kOneArg},
    {"center", str_center, kPadArgs},
    {"ljust", str_ljust, kPadArgs},
    {"rjust", str_rjust, kPadArgs},
    {"zfill", str_zfill, {{"width"}, 1, false}},
    {"removeprefix", str_removeprefix, kOneArg},
    {"removesuffix", str_removesuffix, kOneArg},
    {"partition", str_partition, kOneArg},
    {"rpartition", str_rpartition, kOneArg},
    {"expandtabs", str_expandtabs, {{"tabsize"}, 0, true}},
    {"isalpha", str_all<is_alphabetic>, kNoArgs},
    {"isdecimal", str_all<is_decimal>, kNoArgs},
    {"isdigit", str_all<is_digit>, kNoArgs},
    {"isnumeric", str_all<is_numeric>, kNoArgs},
    {"isalnum", str_all<is_alphanumeric>, kNoArgs},
    {"isspace", str_all<is_space>, kNoArgs},
    {"isascii", str_isascii, kNoArgs},
    {"isprintable", str_isprintable, kNoArgs},
    {"isidentifier", str_isidentifier, kNoArgs},
    {"islower", str_one_case<is_lower, is_upper>, kNoArgs},
    {"isupper", str_one_case<is_upper, is_lower>, kNoArgs},
    {"istitle", str_istitle, kNoArgs},
    {"encode", str_unsupported, kAnyArgs},
    {"translate", str_unsupported, kAnyArgs},
    {"maketrans", str_unsupported, kAnyArgs},
};

}  // namespace

const MethodEntry* find_str_method(std::string_view name) {
  for (const MethodEntry& entry : kStrMethods) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace plumb::jinja
