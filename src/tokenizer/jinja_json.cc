// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_json.h"

#include <algorithm>
#include <cmath>

#include "tokenizer/jinja_filters.h"
#include "tokenizer/jinja_number.h"
#include "tokenizer/jinja_operators.h"
#include "tokenizer/jinja_text.h"

namespace plumb::jinja {

namespace {

constexpr int kMaxDepth = 400;

struct Owned : Object {
  Json json;
};

/// Prints one value; the text is data as soon as one string in it is.
class JsonPrinter {
 public:
  explicit JsonPrinter(Interpreter& in) : in_(in) {}

  bool ensure_ascii = false;
  bool sort_keys = false;
  bool indented = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";

  Status print(const Value& value, int depth);

  Value take() { return in_.heap().make_string(out_, data_); }

 private:
  Status print_list(const Value& value, int depth);
  Status print_dict(const DictObj& dict, int depth);
  Result<std::vector<DictEntry>> ordered(const DictObj& dict);
  Status print_key(const Value& key);
  void print_string(const Value& value);
  void print_escape(char32_t c);
  void new_line(int depth);
  static std::string number_text(const Value& value);

  Interpreter& in_;
  std::string out_;
  bool data_ = false;
};

void append_hex4(std::string* out, std::uint32_t unit) {
  out->append("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) {
    out->push_back("0123456789abcdef"[(unit >> shift) & 0xFU]);
  }
}

void JsonPrinter::print_escape(char32_t c) {
  constexpr std::string_view kFrom = "\"\\\b\f\n\r\t";
  constexpr std::string_view kTo = "\"\\bfnrt";
  const auto code = static_cast<std::uint32_t>(c);
  const std::size_t i = code < 0x80 ? kFrom.find(static_cast<char>(c)) : std::string_view::npos;
  if (i != std::string_view::npos) {
    out_ += '\\';
    out_ += kTo[i];
  } else if (code >= 0x10000) {
    append_hex4(&out_, 0xD800 + ((code - 0x10000) >> 10));
    append_hex4(&out_, 0xDC00 + ((code - 0x10000) & 0x3FFU));
  } else {
    append_hex4(&out_, code);
  }
}

void JsonPrinter::print_string(const Value& value) {
  const std::string_view text = value.str();
  data_ = data_ || has_data(value);
  out_ += '"';
  std::size_t plain = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool escape =
        byte < 0x20 || byte == '"' || byte == '\\' || (ensure_ascii && byte >= 0x7F);
    if (!escape || byte == 0x7F) {
      ++at;
      continue;
    }
    out_.append(text.substr(plain, begin - plain));
    print_escape(next_code_point(text, &at));
    plain = at;
  }
  out_.append(text.substr(plain));
  out_ += '"';
}

void JsonPrinter::new_line(int depth) {
  if (!indented) {
    return;
  }
  out_ += '\n';
  for (int i = 0; i < depth; ++i) {
    out_ += indent;
  }
}

std::string JsonPrinter::number_text(const Value& value) {
  if (value.is(Kind::kBool)) {
    return value.i != 0 ? "true" : "false";
  }
  if (!value.is(Kind::kFloat)) {
    return integer_text(value);
  }
  if (std::isnan(value.f)) {
    return "NaN";
  }
  return std::isinf(value.f) ? (value.f > 0 ? "Infinity" : "-Infinity") : float_text(value.f);
}

Status JsonPrinter::print(const Value& value, int depth) {
  in_.heap().charge_steps(1);
  if (in_.heap().exhausted() || !in_.heap().has_room(static_cast<std::int64_t>(out_.size()))) {
    return {Code::kResourceExhausted, "tojson needs more memory or steps than allowed"};
  }
  if (depth > kMaxDepth) {
    return raise("tojson: nested deeper than " + std::to_string(kMaxDepth) + " levels");
  }
  switch (value.kind) {
    case Kind::kNone:
      out_ += "null";
      return {};
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kBigInt:
    case Kind::kFloat:
      out_ += number_text(value);
      return {};
    case Kind::kString:
      print_string(value);
      return {};
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kIterator:
      return print_list(value, depth);
    case Kind::kDict:
      return print_dict(value.dict(), depth);
    case Kind::kUndefined:
      return raise("tojson: value is undefined");
    default:
      return raise("tojson: '" + std::string(type_name(value)) + "' is not JSON serializable");
  }
}

Status JsonPrinter::print_list(const Value& value, int depth) {
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in_.collect(value, &items));
  if (items.empty()) {
    out_ += "[]";
    return {};
  }
  out_ += '[';
  for (std::size_t i = 0; i < items.size(); ++i) {
    out_ += i > 0 ? item_separator : "";
    new_line(depth + 1);
    PLUMB_RETURN_IF_ERROR(print(items[i], depth + 1));
  }
  new_line(depth);
  out_ += ']';
  return {};
}

Status JsonPrinter::print_key(const Value& key) {
  if (key.is_string()) {
    print_string(key);
    return {};
  }
  if (!key.is_none() && !key.is_number()) {
    return raise("tojson: keys must be strings, numbers, booleans or none, not '" +
                 std::string(type_name(key)) + "'");
  }
  out_ += '"' + (key.is_none() ? "null" : number_text(key)) + '"';
  return {};
}

Result<std::vector<DictEntry>> JsonPrinter::ordered(const DictObj& dict) {
  if (!sort_keys) {
    return dict.items;
  }
  std::vector<Value> keys;
  for (const DictEntry& entry : dict.items) {
    keys.push_back(in_.heap().make_list({entry.key, entry.value}, Kind::kTuple));
  }
  Args args;
  args.positional = {Value::boolean(false), Value::boolean(true), Value::integer(0)};
  PLUMB_ASSIGN(const Value sorted, find_filter("sort")->fn(in_, in_.heap().make_list(keys), args));
  std::vector<DictEntry> out;
  for (const Value& pair : sorted.list().items) {
    out.push_back({pair.list().items[0], pair.list().items[1]});
  }
  return out;
}

Status JsonPrinter::print_dict(const DictObj& dict, int depth) {
  if (dict.items.empty()) {
    out_ += "{}";
    return {};
  }
  PLUMB_ASSIGN(const std::vector<DictEntry> entries, ordered(dict));
  out_ += '{';
  for (std::size_t i = 0; i < entries.size(); ++i) {
    out_ += i > 0 ? item_separator : "";
    new_line(depth + 1);
    PLUMB_RETURN_IF_ERROR(print_key(entries[i].key));
    out_ += key_separator;
    PLUMB_RETURN_IF_ERROR(print(entries[i].value, depth + 1));
  }
  new_line(depth);
  out_ += '}';
  return {};
}

Status read_indent(const Value& value, JsonPrinter* printer) {
  std::int64_t blanks = 0;
  if (value.is_missing() || value.is_none()) {
    return {};
  }
  printer->indented = true;
  printer->item_separator = ",";
  if (value.is_string()) {
    printer->indent = value.str();
    return {};
  }
  if (!to_index(value, &blanks) || blanks > 1000) {
    return raise("tojson: indent must be a string or an integer up to 1000");
  }
  printer->indent.assign(static_cast<std::size_t>(std::max<std::int64_t>(blanks, 0)), ' ');
  return {};
}

}  // namespace

Result<Value> to_json(Interpreter& in, const Value& value, const Args& args) {
  JsonPrinter printer(in);
  const auto flag = [&](std::size_t i) {
    return !args.positional[i].is_missing() && truthy(args.positional[i]);
  };
  printer.ensure_ascii = flag(0);
  printer.sort_keys = flag(3);
  PLUMB_RETURN_IF_ERROR(read_indent(args.positional[1], &printer));
  const Value& separators = args.positional[2];
  if (!separators.is_missing() && !separators.is_none()) {
    std::vector<Value> pair;
    PLUMB_RETURN_IF_ERROR(in.collect(separators, &pair));
    if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      return raise("tojson: separators must be a pair of strings");
    }
    printer.item_separator = pair[0].str();
    printer.key_separator = pair[1].str();
  }
  PLUMB_RETURN_IF_ERROR(printer.print(value, 0));
  return printer.take();
}

Result<Value> from_json(Interpreter& in, const Value& value, const Args&) {
  if (!value.is_string()) {
    return raise("from_json: expected a string, got '" + std::string(type_name(value)) + "'");
  }
  auto* owned = in.heap().make<Owned>();
  in.heap().charge_bytes(4 * static_cast<std::int64_t>(value.size));
  PLUMB_ASSIGN(owned->json, parse_json(value.str()));
  return value_from_json(owned->json, has_data(value), {}, in.heap());
}

Result<Value> value_from_json(const Json& json, bool data, const Trust& trust, Heap& heap) {
  switch (json.kind()) {
    case Json::Kind::kNull:
      return Value::none();
    case Json::Kind::kBool:
      return Value::boolean(json.as_bool());
    case Json::Kind::kInt:
      return Value::integer(json.as_int());
    case Json::Kind::kUint:
      return heap.make_integer(BigInt::from_digits(std::to_string(json.as_uint()), 10));
    case Json::Kind::kDouble:
      return Value::floating(json.as_double());
    case Json::Kind::kString:
      if (json.as_string().size() > (std::size_t{1} << 30U)) {
        return Status(Code::kResourceExhausted, "template variable is larger than 1 GiB");
      }
      return heap.borrow_string(json.as_string(), data);
    case Json::Kind::kArray: {
      std::vector<Value> items;
      items.reserve(json.as_array().size());
      for (const Json& item : json.as_array()) {
        PLUMB_ASSIGN(const Value value, value_from_json(item, data, trust, heap));
        items.push_back(value);
      }
      return heap.make_list(std::move(items));
    }
    case Json::Kind::kObject: {
      auto* dict = heap.make<DictObj>();
      for (const JsonMember& member : json.as_object()) {
        const bool known_role =
            trust.roles != nullptr && member.key == "role" && member.value.is_string() &&
            std::find(trust.roles->begin(), trust.roles->end(), member.value.as_string()) !=
                trust.roles->end();
        PLUMB_ASSIGN(const Value value,
                     value_from_json(member.value, data && !known_role, trust, heap));
        dict->set(heap.borrow_string(member.key, data), value, heap);
      }
      return Value::object(Kind::kDict, dict);
    }
  }
  return Value::none();
}

}  // namespace plumb::jinja
