// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "tokenizer/jinja_interpreter.h"
#include "tokenizer/jinja_number.h"
#include "tokenizer/jinja_text.h"
#include "tokenizer/jinja_value.h"

namespace plumb::jinja {

namespace {

constexpr int kMaxReprDepth = 400;

void append_hex(std::string* out, std::uint32_t value, int digits) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
    out->push_back("0123456789abcdef"[(value >> shift) & 0xFU]);
  }
}

void append_escaped(std::string* out, char32_t c, char quote) {
  const auto code = static_cast<std::uint32_t>(c);
  if (c == static_cast<char32_t>(quote) || c == '\\') {
    out->push_back('\\');
    out->push_back(static_cast<char>(c));
  } else if (c == '\n' || c == '\r' || c == '\t') {
    out->append(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
  } else if (is_printable(c)) {
    append_utf8(out, c);
  } else if (code <= 0xFF) {
    out->append("\\x");
    append_hex(out, code, 2);
  } else if (code <= 0xFFFF) {
    out->append("\\u");
    append_hex(out, code, 4);
  } else {
    out->append("\\U");
    append_hex(out, code, 8);
  }
}

void append_string_repr(StrBuilder* out, const Value& value) {
  const std::string_view text = value.str();
  const bool use_double =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = use_double ? '"' : '\'';
  std::string escaped;
  escaped.reserve(text.size() + 2);
  escaped.push_back(quote);
  for (std::size_t at = 0; at < text.size();) {
    append_escaped(&escaped, next_code_point(text, &at), quote);
  }
  escaped.push_back(quote);
  out->append(value.markup ? "Markup(" : "", false);
  out->append(escaped, has_data(value));
  out->append(value.markup ? ")" : "", false);
}

void append_items(StrBuilder* out, const std::vector<Value>& items, std::string_view open,
                  std::string_view close, int depth) {
  out->append(open, false);
  for (std::size_t i = 0; i < items.size() && !out->exhausted(); ++i) {
    out->append(i > 0 ? ", " : "", false);
    append_repr(out, items[i], depth + 1);
  }
  out->append(close, false);
}

void append_dict(StrBuilder* out, const DictObj& dict, int depth) {
  out->append("{", false);
  for (std::size_t i = 0; i < dict.items.size() && !out->exhausted(); ++i) {
    out->append(i > 0 ? ", " : "", false);
    append_repr(out, dict.items[i].key, depth + 1);
    out->append(": ", false);
    append_repr(out, dict.items[i].value, depth + 1);
  }
  out->append("}", false);
}

void append_view(StrBuilder* out, const ViewObj& view, int depth) {
  constexpr std::array<std::string_view, 3> kNames = {"dict_keys([", "dict_values([",
                                                      "dict_items(["};
  out->append(kNames[static_cast<std::size_t>(view.which)], false);
  bool first = true;
  for (const DictEntry& entry : view.dict->items) {
    if (out->exhausted()) {
      break;
    }
    out->append(first ? "" : ", ", false);
    first = false;
    if (view.which == ViewKind::kItems) {
      append_items(out, {entry.key, entry.value}, "(", ")", depth + 1);
    } else {
      append_repr(out, view.which == ViewKind::kKeys ? entry.key : entry.value, depth + 1);
    }
  }
  out->append("])", false);
}

void append_range(StrBuilder* out, const RangeObj& range) {
  std::string text = "range(" + std::to_string(range.start) + ", " + std::to_string(range.stop);
  if (range.step != 1) {
    text += ", " + std::to_string(range.step);
  }
  out->append(text + ")", false);
}

void append_object(StrBuilder* out, const Value& value, int depth) {
  switch (value.kind) {
    case Kind::kNamespace:
      out->append("<Namespace ", false);
      append_dict(out, static_cast<NamespaceObj*>(value.ptr)->attributes, depth);
      out->append(">", false);
      return;
    case Kind::kLoop:
      out->append(static_cast<LoopObj*>(value.ptr)->to_text(), false);
      return;
    case Kind::kMacro:
      out->append(macro_text(*static_cast<MacroObj*>(value.ptr)), false);
      return;
    default:
      out->append("<" + std::string(type_name(value)) + " object>", false);
  }
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  std::array<char, 40> buffer{};
  const auto scientific = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                        std::chars_format::scientific);
  const std::string_view text(buffer.data(),
                              static_cast<std::size_t>(scientific.ptr - buffer.data()));
  const std::size_t e = text.find('e');
  int exponent = 0;
  const char* digits = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) {
    return std::string(text);
  }
  std::array<char, 40> fixed{};
  const auto plain =
      std::to_chars(fixed.data(), fixed.data() + fixed.size(), value, std::chars_format::fixed);
  std::string out(fixed.data(), static_cast<std::size_t>(plain.ptr - fixed.data()));
  if (out.find('.') == std::string::npos) {
    out += ".0";
  }
  return out;
}

std::string integer_text(const Value& value) {
  return value.is(Kind::kBigInt) ? value.big().to_text() : std::to_string(value.i);
}

void append_repr(StrBuilder* out, const Value& value, int depth) {
  if (depth > kMaxReprDepth) {
    out->append("...", false);
    return;
  }
  switch (value.kind) {
    case Kind::kString:
      append_string_repr(out, value);
      return;
    case Kind::kUndefined:
      out->append("Undefined", false);
      return;
    case Kind::kList:
      append_items(out, value.list().items, "[", "]", depth);
      return;
    case Kind::kTuple:
      append_items(out, value.list().items, "(", value.list().items.size() == 1 ? ",)" : ")",
                   depth);
      return;
    case Kind::kDict:
      append_dict(out, value.dict(), depth);
      return;
    case Kind::kDictView:
      append_view(out, value.view(), depth);
      return;
    case Kind::kRange:
      append_range(out, value.range());
      return;
    case Kind::kNone:
      out->append("None", false);
      return;
    case Kind::kBool:
      out->append(value.i != 0 ? "True" : "False", false);
      return;
    case Kind::kInt:
    case Kind::kBigInt:
      out->append(integer_text(value), false);
      return;
    case Kind::kFloat:
      out->append(float_text(value.f), false);
      return;
    default:
      append_object(out, value, depth);
  }
}

void append_str(StrBuilder* out, const Value& value) {
  if (value.is_string()) {
    out->append(value);
  } else if (!value.is_undefined() && !value.is_missing()) {
    append_repr(out, value);
  }
}

Value to_str(const Value& value, Heap& heap) {
  if (value.is_string()) {
    return value;
  }
  StrBuilder out(heap);
  append_str(&out, value);
  return out.take();
}

}  // namespace plumb::jinja
