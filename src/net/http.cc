// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace plumb {
namespace {

char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

struct Phrase {
  int status;
  std::string_view text;
};

constexpr std::array kPhrases = {
    Phrase{100, "Continue"},
    Phrase{200, "OK"},
    Phrase{201, "Created"},
    Phrase{202, "Accepted"},
    Phrase{204, "No Content"},
    Phrase{301, "Moved Permanently"},
    Phrase{302, "Found"},
    Phrase{304, "Not Modified"},
    Phrase{307, "Temporary Redirect"},
    Phrase{308, "Permanent Redirect"},
    Phrase{400, "Bad Request"},
    Phrase{401, "Unauthorized"},
    Phrase{403, "Forbidden"},
    Phrase{404, "Not Found"},
    Phrase{405, "Method Not Allowed"},
    Phrase{408, "Request Timeout"},
    Phrase{409, "Conflict"},
    Phrase{413, "Content Too Large"},
    Phrase{414, "URI Too Long"},
    Phrase{415, "Unsupported Media Type"},
    Phrase{417, "Expectation Failed"},
    Phrase{422, "Unprocessable Content"},
    Phrase{429, "Too Many Requests"},
    Phrase{431, "Request Header Fields Too Large"},
    Phrase{499, "Client Closed Request"},
    Phrase{500, "Internal Server Error"},
    Phrase{501, "Not Implemented"},
    Phrase{502, "Bad Gateway"},
    Phrase{503, "Service Unavailable"},
    Phrase{504, "Gateway Timeout"},
    Phrase{529, "Overloaded"},
};

void append_two_digits(std::string* out, unsigned value) {
  *out += static_cast<char>('0' + value / 10 % 10);
  *out += static_cast<char>('0' + value % 10);
}

}  // namespace

bool equals_ignore_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return to_lower(x) == to_lower(y);
         });
}

void Headers::set(std::string_view name, std::string value) {
  erase(name);
  fields_.push_back({std::string(name), std::move(value)});
}

void Headers::erase(std::string_view name) {
  std::erase_if(fields_, [name](const HeaderField& f) { return equals_ignore_case(f.name, name); });
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const HeaderField& field : fields_) {
    if (equals_ignore_case(field.name, name)) {
      return field.value;
    }
  }
  return std::nullopt;
}

std::string_view reason_phrase(int status) {
  for (const Phrase& phrase : kPhrases) {
    if (phrase.status == status) {
      return phrase.text;
    }
  }
  return "Unknown";
}

std::string http_date(std::chrono::system_clock::time_point at) {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  using namespace std::chrono;
  const sys_days day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(floor<seconds>(at - day));
  std::string out = kDays[weekday(day).c_encoding()];
  out += ", ";
  append_two_digits(&out, static_cast<unsigned>(date.day()));
  out += ' ';
  out += kMonths[static_cast<unsigned>(date.month()) - 1];
  out += ' ';
  out += std::to_string(static_cast<int>(date.year()));
  out += ' ';
  append_two_digits(&out, static_cast<unsigned>(time.hours().count()));
  out += ':';
  append_two_digits(&out, static_cast<unsigned>(time.minutes().count()));
  out += ':';
  append_two_digits(&out, static_cast<unsigned>(time.seconds().count()));
  return out + " GMT";
}

void append_header(std::string* out, std::string_view name, std::string_view value) {
  const auto append_safe = [out](std::string_view text) {
    for (char c : text) {
      *out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  };
  append_safe(name);
  *out += ": ";
  append_safe(value);
  *out += "\r\n";
}

std::optional<Url> parse_url(std::string_view text) {
  Url url;
  if (text.starts_with("https://")) {
    url.is_tls = true;
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  const std::size_t end = std::min(text.find_first_of("/?#"), text.size());
  std::string_view authority = text.substr(0, end);
  std::string_view target = text.substr(end);
  target = target.substr(0, target.find('#'));
  url.target = target.starts_with('/') ? std::string(target) : "/" + std::string(target);
  url.port = url.is_tls ? 443 : 80;
  std::size_t port_at = authority.rfind(':');
  if (authority.starts_with('[')) {  // [::1]:8000
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) {
      return std::nullopt;
    }
    url.host = authority.substr(1, close - 1);
    port_at = close + 1 < authority.size() ? close + 1 : std::string_view::npos;
  } else {
    url.host = authority.substr(0, port_at);
  }
  if (port_at != std::string_view::npos) {
    std::int64_t port = 0;
    if (authority[port_at] != ':' || !parse_int64(authority.substr(port_at + 1), &port) ||
        port < 1 || port > 65535) {
      return std::nullopt;
    }
    url.port = static_cast<int>(port);
  }
  const auto is_bad = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; };
  if (url.host.empty() || url.host.find('@') != std::string::npos ||
      std::any_of(url.host.begin(), url.host.end(), is_bad) ||
      std::any_of(url.target.begin(), url.target.end(), is_bad)) {
    return std::nullopt;
  }
  return url;
}

}  // namespace plumb
