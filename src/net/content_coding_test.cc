// SPDX-License-Identifier: Apache-2.0
#include "net/content_coding.h"

#include <gtest/gtest.h>
#include <string>
#include <zlib.h>
#include <zstd.h>

#include "net/http_parser.h"

namespace plumb {
namespace {

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

Status decode(const std::string& coding, const std::string& bytes, std::int64_t limit,
              std::size_t piece, std::string* out) {
  auto decoder = BodyDecoder::create(coding, limit);
  PLUMB_RETURN_IF_ERROR(decoder.status());
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    PLUMB_RETURN_IF_ERROR(decoder.value()->feed(bytes.substr(at, piece), out));
  }
  return decoder.value()->finish();
}

TEST(BodyDecoder, gives_back_what_was_coded_however_it_is_cut) {
  std::string text;
  for (int i = 0; i < 30000; ++i) {
    text += std::to_string(i * 7919 % 1009) + ",";
  }
  for (std::size_t piece : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
    std::string out;
    EXPECT_EQ(decode("gzip", gzip(text), 1 << 20, piece, &out), Status());
    EXPECT_EQ(out, text);
    out.clear();
    EXPECT_EQ(decode("zstd", zstd(text), 1 << 20, piece, &out), Status());
    EXPECT_EQ(out, text);
    out.clear();
    EXPECT_EQ(decode("X-GZIP", gzip("ab") + gzip("cd"), 1 << 20, piece, &out), Status());
    EXPECT_EQ(out, "abcd");
    out.clear();
    EXPECT_EQ(decode("zstd", zstd("ab") + zstd("cd"), 1 << 20, piece, &out), Status());
    EXPECT_EQ(out, "abcd");
  }
}

TEST(BodyDecoder, the_limit_is_exact) {
  const std::string text(100000, 'a');
  for (const char* coding : {"gzip", "zstd"}) {
    const std::string coded = coding[0] == 'g' ? gzip(text) : zstd(text);
    std::string out;
    EXPECT_EQ(decode(coding, coded, 100000, 1 << 20, &out), Status());
    out.clear();
    EXPECT_EQ(decode(coding, coded, 99999, 1 << 20, &out).code(), Code::kResourceExhausted);
    EXPECT_LE(out.size(), 99999U);
  }
}

TEST(BodyDecoder, rejects_cut_and_broken_bodies) {
  const std::string text(1000, 'q');
  for (const char* coding : {"gzip", "zstd"}) {
    const std::string coded = coding[0] == 'g' ? gzip(text) : zstd(text);
    std::string out;
    EXPECT_EQ(decode(coding, coded.substr(0, coded.size() - 1), 1 << 20, 64, &out).code(),
              Code::kInvalidArgument);
    EXPECT_EQ(decode(coding, "plain text", 1 << 20, 64, &out).code(), Code::kInvalidArgument);
    EXPECT_EQ(decode(coding, coded + "junk", 1 << 20, 64, &out).code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(BodyDecoder::create("br", 1).status().code(), Code::kUnsupported);
  EXPECT_EQ(BodyDecoder::create("deflate", 1).status().code(), Code::kUnsupported);
}

// 320 MiB of zeros fit into some 320 kB of gzip: the decoder stops at the limit, at 32 MiB.
TEST(RequestParser, a_gzip_bomb_is_413) {
  std::string bomb;
  const std::string member = gzip(std::string(10 << 20, '\0'));
  for (int i = 0; i < 32; ++i) {
    bomb += member;
  }
  ASSERT_LT(bomb.size(), 1U << 20);
  RequestParser parser(HttpLimits{});
  const ParseOutcome outcome =
      parser.feed("POST / HTTP/1.1\r\nhost: x\r\ncontent-encoding: gzip\r\ncontent-length: " +
                  std::to_string(bomb.size()) + "\r\n\r\n" + bomb);
  EXPECT_EQ(outcome.step, ParseStep::kFailed);
  EXPECT_EQ(parser.error_status(), 413);
}

TEST(RequestParser, decodes_a_body_and_drops_its_coding) {
  for (const char* coding : {"gzip", "zstd"}) {
    const std::string body = coding[0] == 'g' ? gzip("{\"a\":1}") : zstd("{\"a\":1}");
    RequestParser parser(HttpLimits{});
    ASSERT_EQ(parser
                  .feed(std::string("POST / HTTP/1.1\r\nhost: x\r\ncontent-encoding: ") + coding +
                        "\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body)
                  .step,
              ParseStep::kDone);
    const HttpRequest request = parser.take_request();
    EXPECT_EQ(request.body, "{\"a\":1}");
    EXPECT_FALSE(request.headers.contains("content-encoding"));
  }
}

}  // namespace
}  // namespace plumb
