// SPDX-License-Identifier: Apache-2.0
#include "net/http_parser.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace plumb {
namespace {

const HttpLimits kSmall{.max_url_bytes = 64, .max_header_bytes = 256, .max_body_bytes = 32};

/// Feeds in pieces of at most piece_bytes; what is left over goes in front of the next piece.
int status_of(std::string_view text, std::size_t piece_bytes, const HttpLimits& limits = kSmall) {
  RequestParser parser(limits);
  std::string in;
  while (!text.empty()) {
    in += text.substr(0, piece_bytes);
    text.remove_prefix(std::min(piece_bytes, text.size()));
    const ParseOutcome outcome = parser.feed(in);
    if (outcome.step == ParseStep::kDone) {
      return 200;
    }
    if (outcome.step == ParseStep::kFailed) {
      return parser.error_status();
    }
    in.erase(0, static_cast<std::size_t>(outcome.num_consumed));
  }
  return 0;
}

struct HeadCase {
  const char* text;
  int status;  // 0 = more is needed
};

const std::vector<HeadCase> kHeads = {
    {"GET / HTTP/1.1\r\nhost: x\r\n\r\n", 200},
    {"\r\n\r\nGET / HTTP/1.1\r\nhost: x\r\n\r\n", 200},
    {"GET / HTTP/1.0\r\n\r\n", 200},
    {"GET http://a.b/c?d HTTP/1.1\r\nhost: x\r\n\r\n", 200},
    {"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n", 200},
    {"GET / HTTP/1.1\r\nhost: x\r\n", 0},
    {"GET / HTTP/1.1\r\n\r\n", 400},                        // no host
    {"GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n", 400},  // two hosts
    {"GET / HTTP/2.0\r\nhost: x\r\n\r\n", 400},
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
    {"GET  / HTTP/1.1\r\nhost: x\r\n\r\n", 400},
    {"GET /\r\nhost: x\r\n\r\n", 400},
    {"GET / HTTP/1.1\nhost: x\r\n\r\n", 400},
    {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400},  // a TLS hello on a plain port
    {"GET /a b HTTP/1.1\r\nhost: x\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nhost : x\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n: x\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nhost: x\r\nno colon\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nhost: a\x01z\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1x\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, gzip\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n", 501},
    {"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 32\r\n\r\n", 0},
    {"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 33\r\n\r\n", 413},
    {"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n21\r\n", 413},
    {"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabcd\r\n", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\nexpect: magic\r\ncontent-length: 1\r\n\r\n", 417},
    {"POST / HTTP/1.1\r\nhost: x\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\n", 415},
    {"POST / HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip, zstd\r\ncontent-length: 1\r\n\r\n",
     415},
    {"POST / HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc", 400},
    {"POST / HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip\r\ncontent-length: 0\r\n\r\n", 200},
};

TEST(RequestParser, heads_get_the_same_status_however_they_are_cut) {
  for (const HeadCase& test : kHeads) {
    for (std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{4096}}) {
      EXPECT_EQ(status_of(test.text, piece), test.status) << test.text << " in pieces of " << piece;
    }
  }
}

TEST(RequestParser, a_long_url_is_414_and_long_headers_are_431) {
  const std::string end = " HTTP/1.1\r\nhost: x\r\n\r\n";
  for (std::size_t piece : {std::size_t{1}, std::size_t{50}, std::size_t{100000}}) {
    EXPECT_EQ(status_of("GET /" + std::string(63, 'a') + end, piece), 200);
    EXPECT_EQ(status_of("GET /" + std::string(64, 'a') + end, piece), 414);
    EXPECT_EQ(status_of("GET /" + std::string(5000, 'a'), piece), 414);
    const std::string start = "GET / HTTP/1.1\r\nhost: x\r\n";
    EXPECT_EQ(status_of(start + "a: " + std::string(200, 'b') + "\r\n\r\n", piece), 200);
    EXPECT_EQ(status_of(start + "a: " + std::string(300, 'b') + "\r\n\r\n", piece), 431);
    std::string many = start;
    for (int i = 0; i < 100; ++i) {
      many += "a: b\r\n";
    }
    EXPECT_EQ(status_of(many + "\r\n", piece), 431);
  }
}

TEST(RequestParser, default_limits_are_8_kib_64_kib_and_32_mib) {
  const HttpLimits limits;
  const std::string end = " HTTP/1.1\r\nhost: x\r\n\r\n";
  EXPECT_EQ(status_of("GET /" + std::string(8191, 'a') + end, 65536, limits), 200);
  EXPECT_EQ(status_of("GET /" + std::string(8192, 'a') + end, 65536, limits), 414);
  const std::string start = "GET / HTTP/1.1\r\nhost: x\r\n";
  EXPECT_EQ(status_of(start + "a: " + std::string(65000, 'b') + "\r\n\r\n", 65536, limits), 200);
  EXPECT_EQ(status_of(start + "a: " + std::string(65536, 'b') + "\r\n\r\n", 65536, limits), 431);
  const std::string post = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ";
  EXPECT_EQ(status_of(post + "33554432\r\n\r\n", 65536, limits), 0);
  EXPECT_EQ(status_of(post + "33554433\r\n\r\n", 65536, limits), 413);
}

TEST(RequestParser, trailers_and_chunk_extensions_are_bounded) {
  const std::string start = "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  for (std::size_t piece : {std::size_t{1}, std::size_t{64}}) {
    EXPECT_EQ(status_of(start + "1;" + std::string(1000, 'e'), piece), 400);
    EXPECT_EQ(status_of(start + "0\r\na: " + std::string(1000, 't'), piece), 400);
    EXPECT_EQ(status_of(start + "0\r\na: b\r\n\r\n", piece), 200);
  }
}

TEST(RequestParser, splits_the_target_and_keeps_headers_in_order) {
  RequestParser parser(HttpLimits{});
  const std::string text =
      "HEAD http://h:1/a%2Fb/?x[]=1&y=%20 HTTP/1.1\r\nHost: h\r\nX-Two:  b c "
      "\r\nx-one:\r\n\r\nrest";
  const ParseOutcome outcome = parser.feed(text);
  ASSERT_EQ(outcome.step, ParseStep::kDone);
  EXPECT_EQ(outcome.num_consumed, static_cast<std::int64_t>(text.size()) - 4);
  const HttpRequest request = parser.take_request();
  EXPECT_EQ(request.method, "GET");
  EXPECT_TRUE(request.head_only);
  EXPECT_EQ(request.path, "/a%2Fb/");
  EXPECT_EQ(request.query, "x[]=1&y=%20");
  EXPECT_EQ(request.headers.find("x-two"), "b c");
  EXPECT_EQ(request.headers.find("X-ONE"), "");
  EXPECT_EQ(request.headers.find("absent"), std::nullopt);
  EXPECT_EQ(request.headers.begin()->name, "Host");
}

TEST(ResponseParser, reads_lengths_chunks_and_bodies_up_to_the_close) {
  const HttpLimits limits;
  {
    ResponseParser parser(limits, false);
    EXPECT_EQ(parser.feed("HTTP/1.1 201 Created\r\ncontent-length: 3\r\nX-A: b\r\n\r\nabcd").step,
              ParseStep::kDone);
    EXPECT_EQ(parser.status(), 201);
    EXPECT_EQ(parser.take_body(), "abc");
    EXPECT_EQ(parser.headers().find("x-a"), "b");
    EXPECT_TRUE(parser.keep_alive());
  }
  {
    ResponseParser parser(limits, false);
    EXPECT_EQ(parser.feed("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n").step,
              ParseStep::kNeedMore);
    EXPECT_EQ(parser.take_body(), "ab");
    EXPECT_EQ(parser.feed_end(), ParseStep::kFailed);
  }
  {
    ResponseParser parser(limits, false);
    EXPECT_EQ(parser.feed("HTTP/1.1 200 OK\r\n\r\nall of it").step, ParseStep::kNeedMore);
    EXPECT_EQ(parser.feed_end(), ParseStep::kDone);
    EXPECT_EQ(parser.take_body(), "all of it");
    EXPECT_FALSE(parser.keep_alive());
  }
  {
    ResponseParser parser(limits, /*no_body=*/true);
    EXPECT_EQ(parser.feed("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n").step, ParseStep::kDone);
  }
  for (const char* bad : {"HTTP/3.1 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "<html>\r\n\r\n",
                          "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n"}) {
    ResponseParser parser(limits, false);
    EXPECT_EQ(parser.feed(bad).step, ParseStep::kFailed) << bad;
  }
}

}  // namespace
}  // namespace plumb
