// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb {

/// One header field; names keep their spelling and are compared without regard to case.
struct HeaderField {
  std::string name;
  std::string value;
};

/// Header fields in their order. Thread: any (a value).
class Headers {
 public:
  Headers() = default;

  Headers(std::initializer_list<HeaderField> fields) : fields_(fields) {}

  void add(std::string name, std::string value) {
    fields_.push_back({std::move(name), std::move(value)});
  }

  /// Replaces every field of that name.
  void set(std::string_view name, std::string value);
  void erase(std::string_view name);
  /// The first value of that name; valid until the headers change.
  std::optional<std::string_view> find(std::string_view name) const;

  bool contains(std::string_view name) const { return find(name).has_value(); }

  bool empty() const { return fields_.empty(); }

  std::int64_t size() const { return static_cast<std::int64_t>(fields_.size()); }

  auto begin() const { return fields_.begin(); }

  auto end() const { return fields_.end(); }

 private:
  std::vector<HeaderField> fields_;
};

/// True if both are equal but for the case of ASCII letters.
bool equals_ignore_case(std::string_view a, std::string_view b);

/// A request whose body has been read and decoded in full.
struct HttpRequest {
  std::string method;        ///< HEAD arrives as GET with head_only set
  std::string target;        ///< as sent
  std::string path;          ///< target before '?', not percent-decoded; scheme and host removed
  std::string query;         ///< after '?', not percent-decoded
  Headers headers;           ///< content-encoding is gone once the body is decoded
  std::string body;          ///< decoded
  std::string peer_address;  ///< without port
  bool head_only = false;    ///< the body of the response will not be sent
};

struct HttpResponse {
  int status = 200;
  Headers headers;
  std::string body;
};

/// Bounds on what a peer may send; see the status each one answers.
struct HttpLimits {
  std::int64_t max_url_bytes = 8 << 10;      ///< 414
  std::int64_t max_header_bytes = 64 << 10;  ///< 431; all fields together
  std::int64_t max_body_bytes = 32 << 20;    ///< 413; on the wire and decoded
};

/// "Not Found" for 404; "Unknown" for a status without a registered phrase.
std::string_view reason_phrase(int status);

/// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7).
std::string http_date(std::chrono::system_clock::time_point at);

/// Appends "name: value\r\n"; control characters, which would end the field, become spaces.
void append_header(std::string* out, std::string_view name, std::string_view value);

/// Splits an absolute http or https URL. The port is explicit or the scheme's own; the target
/// starts with '/'.
struct Url {
  bool is_tls = false;
  std::string host;
  int port = 0;
  std::string target;
};

std::optional<Url> parse_url(std::string_view text);

}  // namespace plumb
