// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "tokenizer/jinja_filters.h"
#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_operators.h"

namespace plumb::jinja {

namespace {

Value plain(Value text) {
  text.markup = false;
  return text;
}

Status needs_text(std::string_view filter, const Value& value) {
  if (value.is_undefined()) {
    return Interpreter::undefined_error(value);
  }
  return raise(std::string(filter) + ": expected a string, got '" + std::string(type_name(value)) +
               "'");
}

Result<Value> filter_upper(Interpreter& in, const Value& value, const Args&) {
  return map_case(in, to_str(value, in.heap()), CaseMap::kUpper);
}

Result<Value> filter_lower(Interpreter& in, const Value& value, const Args&) {
  return map_case(in, to_str(value, in.heap()), CaseMap::kLower);
}

Result<Value> filter_capitalize(Interpreter& in, const Value& value, const Args&) {
  return capitalize(in, to_str(value, in.heap()));
}

Result<Value> filter_string(Interpreter& in, const Value& value, const Args&) {
  return to_str(value, in.heap());
}

Result<Value> filter_safe(Interpreter& in, const Value& value, const Args&) {
  Value text = to_str(value, in.heap());
  text.markup = true;
  return text;
}

Result<Value> filter_escape(Interpreter& in, const Value& value, const Args&) {
  return in.escape(value);
}

Result<Value> filter_forceescape(Interpreter& in, const Value& value, const Args&) {
  return in.escape(plain(to_str(value, in.heap())));
}

Result<Value> filter_trim(Interpreter& in, const Value& value, const Args& args) {
  return find_str_method("strip")->fn(in, to_str(value, in.heap()), args);
}

Result<Value> filter_center(Interpreter& in, const Value& value, const Args& args) {
  Args width;
  width.positional = {arg(args, 0).is_missing() ? Value::integer(80) : arg(args, 0),
                      Value::missing()};
  return find_str_method("center")->fn(in, to_str(value, in.heap()), width);
}

Result<Value> filter_replace(Interpreter& in, const Value& value, const Args& args) {
  std::int64_t count = -1;
  const Value& limit = arg(args, 2);
  if (!limit.is_missing() && !limit.is_none() && !to_index(limit, &count)) {
    return raise("replace: count must be an integer");
  }
  return plain(replace_all(in, plain(to_str(value, in.heap())), to_str(arg(args, 0), in.heap()),
                           to_str(arg(args, 1), in.heap()), count));
}

Result<Value> filter_title(Interpreter& in, const Value& value, const Args&) {
  const Value text = to_str(value, in.heap());
  const std::string_view bytes = text.str();
  const auto separates = [](char32_t c) {
    return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  StrBuilder out(in.heap());
  for (std::size_t begin = 0; begin < bytes.size() && !out.exhausted();) {
    std::size_t first_end = begin;
    const bool separator = separates(next_code_point(bytes, &first_end));
    std::size_t end = first_end;
    while (end < bytes.size()) {
      std::size_t next = end;
      if (separates(next_code_point(bytes, &next)) != separator) {
        break;
      }
      end = next;
    }
    out.append(map_case(in, substring(text, begin, first_end - begin), CaseMap::kUpper));
    out.append(map_case(in, substring(text, first_end, end - first_end), CaseMap::kLower));
    begin = end;
  }
  return out.take();
}

Result<Value> filter_wordcount(Interpreter& in, const Value& value, const Args&) {
  const Value text = to_str(value, in.heap());
  const std::string_view bytes = text.str();
  std::int64_t count = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const char32_t c = next_code_point(bytes, &at);
    const bool word = c == '_' || is_alphabetic(c) || is_numeric(c);
    count += word && !in_word ? 1 : 0;
    in_word = word;
  }
  return Value::integer(count);
}

Result<Value> filter_format(Interpreter& in, const Value& value, const Args& args) {
  if (!args.positional.empty() && !args.named.empty()) {
    return raise("format: cannot take positional and keyword arguments at the same time");
  }
  const Value text = to_str(value, in.heap());
  if (args.named.empty()) {
    return format_percent(in, text, in.heap().make_list(args.positional, Kind::kTuple));
  }
  auto* dict = in.heap().make<DictObj>();
  for (const auto& [key, item] : args.named) {
    dict->set(key, item, in.heap());
  }
  return format_percent(in, text, Value::object(Kind::kDict, dict));
}

Result<Value> indentation(Interpreter& in, const Value& width) {
  if (width.is_string()) {
    return width;
  }
  std::int64_t blanks = 4;
  if (!width.is_missing() && !to_index(width, &blanks)) {
    return raise("indent: width must be an integer or a string");
  }
  blanks = std::max<std::int64_t>(blanks, 0);
  if (!in.heap().has_room(blanks)) {
    return Status(Code::kResourceExhausted, "indent: width needs more memory than allowed");
  }
  return in.heap().make_string(std::string(static_cast<std::size_t>(blanks), ' '), false);
}

Result<Value> filter_indent(Interpreter& in, const Value& value, const Args& args) {
  PLUMB_ASSIGN(Value indent, indentation(in, arg(args, 0)));
  if (!value.is_string()) {
    return needs_text("indent", value);
  }
  const bool first = flag(args, 1);
  const bool blank = flag(args, 2);
  // A line break is added before splitting, so a text that ends with one keeps its last, empty
  // line.
  const Value newline = in.heap().make_string("\n", false);
  StrBuilder with_break(in.heap());
  with_break.append(value);
  with_break.append(newline);
  const std::vector<Value> lines = split_lines(with_break.take(), false);
  StrBuilder out(in.heap());
  for (std::size_t i = 0; i < lines.size() && !out.exhausted(); ++i) {
    if (i > 0) {
      out.append(newline);
    }
    if (i == 0 ? first : blank || lines[i].size > 0) {
      out.append(indent);
    }
    out.append(lines[i]);
  }
  Value text = out.take();
  text.markup = value.markup;
  return text;
}

Result<Value> filter_truncate(Interpreter& in, const Value& value, const Args& args) {
  std::int64_t length = 255;
  std::int64_t leeway = 5;
  const bool length_ok = arg(args, 0).is_missing() || to_index(arg(args, 0), &length);
  const bool leeway_ok =
      arg(args, 3).is_missing() || arg(args, 3).is_none() || to_index(arg(args, 3), &leeway);
  const Value end = arg(args, 2).is_missing() ? in.heap().make_string("...", false) : arg(args, 2);
  std::int64_t end_length = 0;
  std::int64_t size = 0;
  if (!length_ok || !leeway_ok || !end.is_string() || !length_of(end, &end_length) ||
      length < end_length || leeway < 0) {
    return raise("truncate: length must be an integer not below the length of the end");
  }
  if (!length_of(value, &size)) {
    return needs_text("truncate", value);
  }
  if (size <= length + leeway) {
    return value;
  }
  if (!value.is_string()) {
    return needs_text("truncate", value);
  }
  PLUMB_ASSIGN(Value head,
               slice(in, value, Value::none(), Value::integer(length - end_length), Value::none()));
  if (!flag(args, 1)) {
    const std::size_t blank = head.str().rfind(' ');
    head = substring(head, 0, blank == std::string_view::npos ? head.size : blank);
  }
  return binary(in, BinaryOp::kAdd, head, end);
}

void append_quoted_byte(std::string* out, unsigned char c, bool query) {
  const bool keep =
      std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !query);
  if (keep) {
    out->push_back(static_cast<char>(c));
  } else if (c == ' ' && query) {
    out->push_back('+');
  } else {
    out->push_back('%');
    out->push_back("0123456789ABCDEF"[c >> 4U]);
    out->push_back("0123456789ABCDEF"[c & 15U]);
  }
}

void append_url_quoted(Interpreter& in, StrBuilder* out, const Value& value, bool query) {
  const Value text = to_str(value, in.heap());
  std::string quoted;
  for (const char c : text.str()) {
    append_quoted_byte(&quoted, static_cast<unsigned char>(c), query);
  }
  out->append(quoted, has_data(text));
}

Result<Value> filter_urlencode(Interpreter& in, const Value& value, const Args&) {
  StrBuilder out(in.heap());
  const bool iterable = Iteration::over(value).ok();
  if (value.is_string() || !iterable) {
    append_url_quoted(in, &out, value, false);
    return out.take();
  }
  Value pairs = value;
  if (value.is(Kind::kDict)) {
    PLUMB_ASSIGN(pairs, find_method(Kind::kDict, "items")->fn(in, value, {}));
  }
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(pairs, &items));
  for (std::size_t i = 0; i < items.size() && !out.exhausted(); ++i) {
    std::vector<Value> pair;
    PLUMB_RETURN_IF_ERROR(in.collect(items[i], &pair));
    if (pair.size() != 2) {
      return raise("urlencode: expected pairs of key and value");
    }
    out.append(i > 0 ? "&" : "", false);
    append_url_quoted(in, &out, pair[0], true);
    out.append("=", false);
    append_url_quoted(in, &out, pair[1], true);
  }
  return out.take();
}

Result<Value> filter_xmlattr(Interpreter& in, const Value& value, const Args& args) {
  if (!value.is(Kind::kDict)) {
    return value.is_undefined() ? Interpreter::undefined_error(value)
                                : raise("xmlattr: expected a mapping");
  }
  StrBuilder out(in.heap());
  bool any = false;
  for (const auto& [key, item] : value.dict().items) {
    if (item.is_none() || item.is_undefined()) {
      continue;
    }
    if (!key.is_string() || key.str().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos) {
      return raise("xmlattr: invalid character in an attribute name");
    }
    const bool space = any || arg(args, 0).is_missing() || truthy(arg(args, 0));
    out.append(space ? " " : "", false);
    out.append(in.escape(key));
    out.append("=\"", false);
    out.append(in.escape(item));
    out.append("\"", false);
    any = true;
  }
  Value text = out.take();
  text.markup = in.autoescape();
  return text;
}

// The entities that text escaped by this engine can contain; others stay as they are.
std::string unescape(std::string_view text) {
  constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&amp;", '&'}, {"&lt;", '<'},   {"&gt;", '>'},   {"&#39;", '\''},
      {"&#34;", '"'}, {"&quot;", '"'}, {"&apos;", '\''}};
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto* it = std::find_if(std::begin(kEntities), std::end(kEntities), [&](const auto& e) {
      return text.substr(at, e.first.size()) == e.first;
    });
    const bool entity = it != std::end(kEntities);
    out.push_back(entity ? it->second : text[at]);
    at += entity ? it->first.size() : 1;
  }
  return out;
}

Result<Value> filter_striptags(Interpreter& in, const Value& value, const Args&) {
  const Value text = to_str(value, in.heap());
  const std::string_view bytes = text.str();
  std::string kept;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t open = bytes.find('<', at);
    if (open == std::string_view::npos) {
      break;
    }
    const bool comment = bytes.substr(open, 4) == "<!--";
    const std::size_t close = comment ? bytes.find("-->", open + 4) : bytes.find('>', open);
    if (close == std::string_view::npos) {
      break;
    }
    kept += bytes.substr(at, open - at);
    at = close + (comment ? 3 : 1);
  }
  kept += bytes.substr(std::min(at, bytes.size()));
  const Value joined = in.heap().make_string(kept, false);
  PLUMB_ASSIGN(const Value words, split_string(in, joined, Value::none(), -1, false));
  std::vector<std::string> parts;
  for (const Value& word : words.list().items) {
    parts.emplace_back(word.str());
  }
  return in.heap().make_string(unescape(join(parts, " ")), has_data(text));
}

constexpr FilterEntry kTextFilters[] = {
    {"trim", filter_trim, {{"chars"}}},
    {"string", filter_string, kNoArgs},
    {"lower", filter_lower, kNoArgs},
    {"upper", filter_upper, kNoArgs},
    {"safe", filter_safe, kNoArgs},
    {"replace", filter_replace, {{"old", "new", "count"}, 2}},
    {"indent", filter_indent, {{"width", "first", "blank"}}},
    {"capitalize", filter_capitalize, kNoArgs},
    {"title", filter_title, kNoArgs},
    {"escape", filter_escape, kNoArgs},
    {"e", filter_escape, kNoArgs},
    {"forceescape", filter_forceescape, kNoArgs},
    {"format", filter_format, {{}, 0, true, true}},
    {"center", filter_center, {{"width"}}},
    {"wordcount", filter_wordcount, kNoArgs},
    {"truncate", filter_truncate, {{"length", "killwords", "end", "leeway"}}},
    {"urlencode", filter_urlencode, kNoArgs},
    {"xmlattr", filter_xmlattr, {{"autospace"}}},
    {"striptags", filter_striptags, kNoArgs},
};

}  // namespace

const FilterEntry* find_text_filter(std::string_view name) {
  const auto* it = std::find_if(std::begin(kTextFilters), std::end(kTextFilters),
                                [name](const FilterEntry& entry) { return entry.name == name; });
  return it == std::end(kTextFilters) ? nullptr : it;
}

}  // namespace plumb::jinja
