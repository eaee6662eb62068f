// SPDX-License-Identifier: Apache-2.0
// HTTP requests and responses, event streams and URLs from arbitrary bytes. What is accepted whole
// must be accepted in pieces too, with the same meaning.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/http_parser.h"
#include "net/sse.h"

namespace {

constexpr plumb::HttpLimits kLimits{
    .max_url_bytes = 256, .max_header_bytes = 2048, .max_body_bytes = 4096};

std::string to_text(const plumb::HttpRequest& request) {
  std::string text = request.method + " " + request.target + " " + request.path + "?" +
                     request.query + (request.head_only ? " head" : "") + "\n";
  for (const plumb::HeaderField& field : request.headers) {
    plumb::append_header(&text, field.name, field.value);
  }
  return text + "\n" + request.body;
}

std::optional<std::string> parse_request(std::string_view bytes, std::size_t piece_bytes) {
  plumb::RequestParser parser(kLimits);
  std::string in;
  while (!bytes.empty()) {
    in += bytes.substr(0, piece_bytes);
    bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
    const plumb::ParseOutcome outcome = parser.feed(in);
    PLUMB_CHECK(outcome.num_consumed <= static_cast<std::int64_t>(in.size()), "consumed too much");
    if (outcome.step == plumb::ParseStep::kFailed) {
      PLUMB_CHECK(parser.error_status() >= 400, "a failure has a status");
      return std::nullopt;
    }
    if (outcome.step == plumb::ParseStep::kDone) {
      const plumb::HttpRequest request = parser.take_request();
      PLUMB_CHECK(static_cast<std::int64_t>(request.body.size()) <= kLimits.max_body_bytes,
                  "the body limit holds");
      return to_text(request);
    }
    in.erase(0, static_cast<std::size_t>(outcome.num_consumed));
    PLUMB_CHECK(in.size() < 8192, "what is asked for again is bounded");
  }
  return std::nullopt;
}

void parse_response(std::string_view bytes, std::size_t piece_bytes) {
  plumb::ResponseParser parser(kLimits, false);
  std::string in;
  while (!bytes.empty()) {
    in += bytes.substr(0, piece_bytes);
    bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
    const plumb::ParseOutcome outcome = parser.feed(in);
    if (outcome.step != plumb::ParseStep::kNeedMore) {
      return;
    }
    in.erase(0, static_cast<std::size_t>(outcome.num_consumed));
    parser.take_body();
  }
  parser.feed_end();
}

std::vector<plumb::SseEvent> parse_events(std::string_view bytes, std::size_t piece_bytes) {
  plumb::SseParser parser(1 << 20);
  std::vector<plumb::SseEvent> events;
  while (!bytes.empty()) {
    PLUMB_CHECK(parser.feed(bytes.substr(0, piece_bytes), &events).ok(), "the limit is far");
    bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
  }
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > (1 << 16)) {
    return 0;
  }
  const std::size_t piece_bytes = 1 + data[0] % 64;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::optional<std::string> whole = parse_request(bytes, 1 << 16);
  if (whole) {
    PLUMB_CHECK(parse_request(bytes, piece_bytes) == whole, "pieces change the meaning");
  } else {
    parse_request(bytes, piece_bytes);
  }
  parse_response(bytes, piece_bytes);
  PLUMB_CHECK(parse_events(bytes, piece_bytes) == parse_events(bytes, 1 << 16),
              "pieces change the events");
  plumb::parse_url(bytes);
  return 0;
}
