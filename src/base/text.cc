// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace plumb {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Unicode table 3-7: allowed range of the second byte for each lead byte.
struct SecondByte {
  unsigned low;
  unsigned high;
};

SecondByte second_byte_range(unsigned lead) {
  switch (lead) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {0x80, 0xBF};
  }
}

int sequence_len(unsigned lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return 2;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    return 4;
  }
  return 0;
}

// Number of leading bytes that are well-formed so far, and whether they make a whole character.
struct Scan {
  int num_bytes;
  bool whole;
};

Scan scan_char(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  const int len = sequence_len(lead);
  if (len == 0) {
    return {1, false};
  }
  int taken = 1;
  while (taken < len && static_cast<std::size_t>(taken) < text.size()) {
    const unsigned c = byte_at(text, static_cast<std::size_t>(taken));
    const SecondByte range = taken == 1 ? second_byte_range(lead) : SecondByte{0x80, 0xBF};
    if (c < range.low || c > range.high) {
      break;
    }
    ++taken;
  }
  return {taken, taken == len};
}

}  // namespace

Utf8Char decode_utf8(std::string_view text) {
  const Scan scan = scan_char(text);
  if (!scan.whole) {
    return {0xFFFD, scan.num_bytes, false};
  }
  const unsigned lead = byte_at(text, 0);
  if (scan.num_bytes == 1) {
    return {lead, 1, true};
  }
  constexpr std::array<unsigned, 5> kLeadMask{0, 0, 0x1F, 0x0F, 0x07};
  char32_t code_point = lead & kLeadMask[static_cast<std::size_t>(scan.num_bytes)];
  for (int i = 1; i < scan.num_bytes; ++i) {
    code_point = (code_point << 6) | (byte_at(text, static_cast<std::size_t>(i)) & 0x3F);
  }
  return {code_point, scan.num_bytes, true};
}

void append_utf8(std::string* out, char32_t code_point) {
  const auto put = [&](char32_t byte) {
    out->push_back(static_cast<char>(static_cast<unsigned char>(byte)));
  };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::int64_t num_code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const Scan scan = scan_char(text);
    if (!scan.whole) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(scan.num_bytes));
  }
  return true;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Scan scan = scan_char(text);
    const auto len = static_cast<std::size_t>(scan.num_bytes);
    out.append(scan.whole ? text.substr(0, len) : std::string_view("\xEF\xBF\xBD"));
    text.remove_prefix(len);
  }
  return out;
}

std::size_t complete_utf8_len(std::string_view text) {
  const std::size_t first = text.size() > 3 ? text.size() - 3 : 0;
  for (std::size_t i = text.size(); i-- > first;) {
    const unsigned c = byte_at(text, i);
    if ((c & 0xC0) == 0x80) {
      continue;
    }
    const std::string_view tail = text.substr(i);
    const Scan scan = scan_char(tail);
    const bool is_prefix = !scan.whole && sequence_len(c) > 0 &&
                           static_cast<std::size_t>(scan.num_bytes) == tail.size();
    return is_prefix ? i : text.size();
  }
  return text.size();
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t at = text.find(separator); at != std::string_view::npos;
       at = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string to_lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return out;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) {
      out += separator;
    }
    out += parts[i];
  }
  return out;
}

std::string bytes_to_text(std::uint64_t num_bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(num_bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s",
                value, kUnits[unit]);
  return buffer.data();
}

bool parse_int64(std::string_view text, std::int64_t* out) {
  const char* end = text.data() + text.size();
  const auto [ptr, ec] = std::from_chars(text.data(), end, *out);
  return ec == std::errc() && ptr == end && !text.empty();
}

bool parse_double(std::string_view text, double* out) {
  const char* end = text.data() + text.size();
  const auto [ptr, ec] = std::from_chars(text.data(), end, *out);
  return ec == std::errc() && ptr == end && !text.empty();
}

}  // namespace plumb
