// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"

#include <gtest/gtest.h>

#include "net/sse.h"

namespace plumb {
namespace {

TEST(HttpDate, matches_the_example_of_rfc_9110) {
  EXPECT_EQ(http_date(std::chrono::system_clock::time_point(std::chrono::seconds(784111777))),
            "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(std::chrono::system_clock::time_point()), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(http_date(std::chrono::system_clock::time_point(std::chrono::seconds(1709210096))),
            "Thu, 29 Feb 2024 12:34:56 GMT");
}

TEST(Headers, set_and_erase_ignore_case_and_touch_every_field_of_the_name) {
  Headers headers{{"A", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(headers.find("a"), "1");
  headers.set("a", "4");
  EXPECT_EQ(headers.size(), 2);
  EXPECT_EQ(headers.find("A"), "4");
  headers.erase("B");
  EXPECT_FALSE(headers.contains("b"));
}

TEST(Url, is_split_into_its_parts) {
  const auto plain = parse_url("http://example.com/a?b=c#frag");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "example.com");
  EXPECT_EQ(plain->port, 80);
  EXPECT_EQ(plain->target, "/a?b=c");
  const auto secure = parse_url("https://[::1]:8443");
  ASSERT_TRUE(secure);
  EXPECT_TRUE(secure->is_tls);
  EXPECT_EQ(secure->host, "::1");
  EXPECT_EQ(secure->port, 8443);
  EXPECT_EQ(secure->target, "/");
  EXPECT_EQ(parse_url("http://h?q")->target, "/?q");
  for (const char* bad :
       {"", "ftp://a", "http://", "http://:80/", "http://h:0/", "http://h:65536/", "http://h:x/",
        "http://u@h/", "http://h/a b", "http://h\r\nx/", "http://[::1/"}) {
    EXPECT_FALSE(parse_url(bad)) << bad;
  }
}

std::vector<SseEvent> parse_in_pieces(std::string_view text, std::size_t piece) {
  SseParser parser;
  std::vector<SseEvent> events;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    EXPECT_TRUE(parser.feed(text.substr(at, piece), &events).ok());
  }
  return events;
}

// The examples of the WHATWG text, with each of the three line ends.
TEST(SseParser, reads_the_examples_of_the_specification_however_they_are_cut) {
  struct Case {
    std::string text;
    std::vector<SseEvent> events;
  };

  const std::vector<Case> cases = {
      {"data: YHOO\ndata: +2\ndata: 10\n\n", {{"", "YHOO\n+2\n10", ""}}},
      {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third "
       "event\n\n",
       {{"", "first event", "1"}, {"", "second event", ""}, {"", " third event", ""}}},
      {"data\n\ndata\ndata\n\ndata:", {{"", "", ""}, {"", "\n", ""}}},
      {"data:test\n\ndata: test\n\n", {{"", "test", ""}, {"", "test", ""}}},
      {"event: add\ndata: 73857293\n\nevent: none\n\ndata: x\n\n",
       {{"add", "73857293", ""}, {"", "x", ""}}},
      {"\xef\xbb\xbf"
       "data: bom\n\nretry: 10\nother: 1\n\n",
       {{"", "bom", ""}}},
  };
  for (const Case& test : cases) {
    for (const char* line_end : {"\n", "\r", "\r\n"}) {
      std::string text;
      for (char c : test.text) {
        text += c == '\n' ? std::string(line_end) : std::string(1, c);
      }
      for (std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
        EXPECT_EQ(parse_in_pieces(text, piece), test.events) << text << " " << piece;
      }
    }
  }
}

TEST(SseParser, reads_back_what_was_appended) {
  std::string text;
  append_sse(&text, "", "{\"a\":1}");
  append_sse(&text, "ping", "line 1\nline 2\r\nline 3");
  EXPECT_EQ(text, "data: {\"a\":1}\n\nevent: ping\ndata: line 1\ndata: line 2\ndata: line 3\n\n");
  const std::vector<SseEvent> want = {{"", "{\"a\":1}", ""},
                                      {"ping", "line 1\nline 2\nline 3", ""}};
  EXPECT_EQ(parse_in_pieces(text, 5), want);
}

TEST(SseParser, an_endless_event_is_an_error) {
  SseParser parser(100);
  std::vector<SseEvent> events;
  EXPECT_TRUE(parser.feed("data: " + std::string(90, 'x'), &events).ok());
  EXPECT_EQ(parser.feed(std::string(20, 'x'), &events).code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace plumb
