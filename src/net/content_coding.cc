// SPDX-License-Identifier: Apache-2.0
#include "net/content_coding.h"

#include <algorithm>
#include <array>
#define ZLIB_CONST  // lets zlib take constant input
#include <zlib.h>
#include <zstd.h>

#include "net/http.h"

namespace plumb {
namespace {

constexpr std::size_t kStepBytes = 16 * 1024;
// The window that RFC 8878 asks every decoder to support; larger ones only cost memory here.
constexpr int kMaxZstdWindowLog = 23;

Status too_large(std::int64_t limit) {
  return Status(Code::kResourceExhausted,
                "decoded body exceeds " + std::to_string(limit) + " bytes");
}

Status append_step(std::string_view step, std::int64_t limit, std::string* out) {
  if (static_cast<std::int64_t>(out->size() + step.size()) > limit) {
    return too_large(limit);
  }
  out->append(step);
  return Status();
}

class GzipDecoder final : public BodyDecoder {
 public:
  explicit GzipDecoder(std::int64_t limit) : limit_(limit) {
    ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK;  // 16: the gzip wrapper and nothing else
  }

  ~GzipDecoder() override { inflateEnd(&stream_); }

  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  Status feed(std::string_view bytes, std::string* out) override {
    if (!ready_) {
      return Status(Code::kInternal, "gzip: no memory");
    }
    std::array<char, kStepBytes> step;
    stream_.next_in = reinterpret_cast<const Bytef*>(bytes.data());
    stream_.avail_in = static_cast<uInt>(bytes.size());
    while (stream_.avail_in > 0 || full_step_) {
      if (ended_ && (stream_.avail_in == 0 || inflateReset(&stream_) != Z_OK)) {
        return Status();
      }
      ended_ = false;  // members may follow each other (RFC 1952 section 2.2)
      stream_.next_out = reinterpret_cast<Bytef*>(step.data());
      stream_.avail_out = static_cast<uInt>(step.size());
      const int outcome = inflate(&stream_, Z_NO_FLUSH);
      const std::size_t num_bytes = step.size() - stream_.avail_out;
      PLUMB_RETURN_IF_ERROR(append_step({step.data(), num_bytes}, limit_, out));
      if (outcome == Z_BUF_ERROR) {
        full_step_ = false;
        return Status();
      }
      if (outcome != Z_OK && outcome != Z_STREAM_END) {
        return Status(Code::kInvalidArgument, "body is not valid gzip");
      }
      ended_ = outcome == Z_STREAM_END;
      full_step_ = !ended_ && stream_.avail_out == 0;
    }
    return Status();
  }

  Status finish() const override {
    return ended_ ? Status() : Status(Code::kInvalidArgument, "gzip body is cut short");
  }

 private:
  std::int64_t limit_;
  z_stream stream_{};
  bool ready_ = false;
  bool ended_ = false;
  bool full_step_ = false;  // the last step filled its buffer: more output may be waiting
};

class ZstdDecoder final : public BodyDecoder {
 public:
  explicit ZstdDecoder(std::int64_t limit) : limit_(limit), stream_(ZSTD_createDStream()) {
    if (stream_ != nullptr) {
      ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kMaxZstdWindowLog);
    }
  }

  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  Status feed(std::string_view bytes, std::string* out) override {
    if (stream_ == nullptr) {
      return Status(Code::kInternal, "zstd: no memory");
    }
    std::array<char, kStepBytes> step;
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    bool full_step = false;
    while (in.pos < in.size || full_step) {
      ZSTD_outBuffer piece{step.data(), step.size(), 0};
      remaining_ = ZSTD_decompressStream(stream_, &piece, &in);
      if (ZSTD_isError(remaining_) != 0) {
        return Status(Code::kInvalidArgument, "body is not valid zstd");
      }
      PLUMB_RETURN_IF_ERROR(append_step({step.data(), piece.pos}, limit_, out));
      full_step = piece.pos == piece.size && remaining_ != 0;
    }
    return Status();
  }

  Status finish() const override {
    return remaining_ == 0 ? Status() : Status(Code::kInvalidArgument, "zstd body is cut short");
  }

 private:
  std::int64_t limit_;
  ZSTD_DStream* stream_;
  std::size_t remaining_ = 1;  // 0 = at the end of a frame
};

}  // namespace

Result<std::unique_ptr<BodyDecoder>> BodyDecoder::create(std::string_view coding,
                                                         std::int64_t max_decoded_bytes) {
  if (equals_ignore_case(coding, "gzip") || equals_ignore_case(coding, "x-gzip")) {
    return std::unique_ptr<BodyDecoder>(std::make_unique<GzipDecoder>(max_decoded_bytes));
  }
  if (equals_ignore_case(coding, "zstd")) {
    return std::unique_ptr<BodyDecoder>(std::make_unique<ZstdDecoder>(max_decoded_bytes));
  }
  return Status(Code::kUnsupported, "content-encoding is not supported; send gzip, zstd or none");
}

}  // namespace plumb
