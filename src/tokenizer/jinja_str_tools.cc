// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_text.h"

namespace plumb::jinja {

namespace {

// Applies f(out, code point, byte offset) to each code point; the result keeps origins.
template <class F>
Value map_code_points(Interpreter& in, const Value& text, const F& f) {
  StrBuilder out(in.heap());
  const std::string_view bytes = text.str();
  std::string piece;
  bool data = text.size > 0 && is_data_at(text, 0);
  for (std::size_t at = 0; at < bytes.size() && !out.exhausted();) {
    const bool here = is_data_at(text, at);
    if (here != data) {
      out.append(piece, data);
      piece.clear();
      data = here;
    }
    const std::size_t begin = at;
    const char32_t c = next_code_point(bytes, &at);
    f(&piece, c, begin);
  }
  out.append(piece, data);
  Value result = out.take();
  result.markup = text.markup;
  return result;
}

Value plain_part(const Value& text, std::size_t begin, std::size_t end) {
  return substring(text, begin, end - begin);
}

void split_space_right(const Value& text, std::int64_t max_splits, std::vector<Value>* out) {
  const std::string_view bytes = text.str();
  std::size_t end = strip_space(bytes, Side::kRight).end;
  while (end > 0) {
    if (max_splits >= 0 && static_cast<std::int64_t>(out->size()) == max_splits) {
      out->push_back(plain_part(text, strip_space(bytes.substr(0, end), Side::kLeft).begin, end));
      break;
    }
    std::size_t begin = end;
    while (begin > 0) {
      std::size_t at = begin;
      if (is_space(previous_code_point(bytes, &at))) {
        break;
      }
      begin = at;
    }
    out->push_back(plain_part(text, begin, end));
    end = strip_space(bytes.substr(0, begin), Side::kRight).end;
  }
  std::reverse(out->begin(), out->end());
}

void split_space(const Value& text, std::int64_t max_splits, std::vector<Value>* out) {
  const std::string_view bytes = text.str();
  std::size_t begin = strip_space(bytes, Side::kLeft).begin;
  while (begin < bytes.size()) {
    if (max_splits >= 0 && static_cast<std::int64_t>(out->size()) == max_splits) {
      out->push_back(plain_part(text, begin, strip_space(bytes, Side::kRight).end));
      break;
    }
    std::size_t end = begin;
    while (end < bytes.size()) {
      std::size_t at = end;
      if (is_space(next_code_point(bytes, &at))) {
        break;
      }
      end = at;
    }
    out->push_back(plain_part(text, begin, end));
    begin = end + strip_space(bytes.substr(end), Side::kLeft).begin;
  }
}

void split_right(const Value& text, std::string_view separator, std::int64_t max_splits,
                 std::vector<Value>* out) {
  const std::string_view bytes = text.str();
  std::size_t end = bytes.size();
  while (max_splits < 0 || static_cast<std::int64_t>(out->size()) < max_splits) {
    const std::size_t found = end < separator.size()
                                  ? std::string_view::npos
                                  : bytes.rfind(separator, end - separator.size());
    if (found == std::string_view::npos) {
      break;
    }
    out->push_back(plain_part(text, found + separator.size(), end));
    end = found;
  }
  out->push_back(plain_part(text, 0, end));
  std::reverse(out->begin(), out->end());
}

void split_left(const Value& text, std::string_view separator, std::int64_t max_splits,
                std::vector<Value>* out) {
  const std::string_view bytes = text.str();
  std::size_t begin = 0;
  while (max_splits < 0 || static_cast<std::int64_t>(out->size()) < max_splits) {
    const std::size_t found = bytes.find(separator, begin);
    if (found == std::string_view::npos) {
      break;
    }
    out->push_back(plain_part(text, begin, found));
    begin = found + separator.size();
  }
  out->push_back(plain_part(text, begin, bytes.size()));
}

}  // namespace

Result<Value> split_string(Interpreter& in, const Value& text, const Value& separator,
                           std::int64_t max_splits, bool from_right) {
  std::vector<Value> parts;
  if (separator.is_missing() || separator.is_none()) {
    (from_right ? split_space_right : split_space)(text, max_splits, &parts);
  } else if (!separator.is_string()) {
    return raise("split: separator must be a string, not '" + std::string(type_name(separator)) +
                 "'");
  } else if (separator.size == 0) {
    return raise("split: empty separator");
  } else {
    (from_right ? split_right : split_left)(text, separator.str(), max_splits, &parts);
  }
  return in.heap().make_list(std::move(parts));
}

std::vector<Value> split_lines(const Value& text, bool keep_ends) {
  std::vector<Value> lines;
  const std::string_view bytes = text.str();
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = at;
    const char32_t c = next_code_point(bytes, &at);
    if (!is_line_break(c)) {
      continue;
    }
    if (c == '\r' && at < bytes.size() && bytes[at] == '\n') {
      ++at;
    }
    lines.push_back(plain_part(text, begin, keep_ends ? at : end));
    begin = at;
  }
  if (begin < bytes.size()) {
    lines.push_back(plain_part(text, begin, bytes.size()));
  }
  return lines;
}

Value map_case(Interpreter& in, const Value& text, CaseMap map) {
  const std::string_view bytes = text.str();
  bool previous_cased = false;
  return map_code_points(in, text, [&](std::string* out, char32_t c, std::size_t at) {
    const bool lowers = map == CaseMap::kLower || (map == CaseMap::kTitle && previous_cased);
    if (lowers && c == 0x3A3) {
      append_utf8(out, lower_sigma(bytes, at));
    } else {
      append_mapped(out, c, lowers ? CaseMap::kLower : map);
    }
    previous_cased = map == CaseMap::kTitle && is_cased(c);
  });
}

Value capitalize(Interpreter& in, const Value& text) {
  const std::string_view bytes = text.str();
  return map_code_points(in, text, [&](std::string* out, char32_t c, std::size_t at) {
    if (at > 0 && c == 0x3A3) {
      append_utf8(out, lower_sigma(bytes, at));
    } else {
      append_mapped(out, c, at == 0 ? CaseMap::kTitle : CaseMap::kLower);
    }
  });
}

Value replace_all(Interpreter& in, const Value& text, const Value& from, const Value& to,
                  std::int64_t max_count) {
  const std::string_view bytes = text.str();
  const std::string_view wanted = from.str();
  StrBuilder out(in.heap());
  std::size_t begin = 0;
  std::int64_t count = 0;
  if (!wanted.empty() && bytes.find(wanted) == std::string_view::npos) {
    return text;
  }
  while ((max_count < 0 || count < max_count) && !out.exhausted()) {
    // An empty pattern matches before every character and at the end.
    std::size_t found = 0;
    if (wanted.empty()) {
      found = begin;
      if (count > 0) {
        if (begin >= bytes.size()) {
          break;
        }
        next_code_point(bytes, &found);
      }
    } else {
      found = bytes.find(wanted, begin);
    }
    if (found == std::string_view::npos) {
      break;
    }
    out.append(text, begin, found - begin);
    out.append(to);
    begin = found + wanted.size();
    ++count;
  }
  out.append(text, begin, bytes.size() - begin);
  Value result = out.take();
  result.markup = text.markup;
  return result;
}

Value repeat_fill(Interpreter& in, const Value& text, std::int64_t left, std::int64_t right,
                  const Value& fill) {
  if (left <= 0 && right <= 0) {
    return text;
  }
  StrBuilder out(in.heap());
  for (std::int64_t i = 0; i < left && !out.exhausted(); ++i) {
    out.append(fill);
  }
  out.append(text);
  for (std::int64_t i = 0; i < right && !out.exhausted(); ++i) {
    out.append(fill);
  }
  Value result = out.take();
  result.markup = text.markup;
  return result;
}

}  // namespace plumb::jinja
