// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace plumb {

/// What kind of failure a Status reports; each code maps to one HTTP status and one exit code.
enum class Code : unsigned char {
  kOk,
  kInvalidArgument,
  kNotFound,
  kUnsupported,
  kResourceExhausted,
  kUnavailable,
  kDeadlineExceeded,
  kCancelled,
  kDataLoss,
  kDeviceLost,
  kInternal,
};

/// Lower-case name of a code, for example "invalid_argument".
std::string_view to_text(Code code);

/// The outcome of an operation that the outside world can make fail.
///
/// A default-constructed Status is ok and allocates nothing. Messages are lower case and name the
/// thing, the value, the limit and the remedy if there is one. Thread: any (a value).
class [[nodiscard]] Status {
 public:
  Status() = default;

  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }

  Code code() const { return code_; }

  const std::string& message() const { return message_; }

  /// The same status with "where: " in front of its message.
  Status with(std::string_view where) && {
    message_.insert(0, std::string(where) + ": ");
    return std::move(*this);
  }

  bool operator==(const Status&) const = default;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

/// A value or a Status that is not ok; never both, never neither.
template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: `return value;` and `return Status{…};` both make a Result.
  // NOLINTNEXTLINE(google-explicit-constructor): above
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}

  // NOLINTNEXTLINE(google-explicit-constructor): above
  Result(Status status) : v_(std::in_place_index<1>, std::move(status)) {
    PLUMB_CHECK(!std::get<1>(v_).ok(), "a Result without a value needs an error");
  }

  bool ok() const { return v_.index() == 0; }

  T& value() & {
    PLUMB_CHECK(ok(), std::get<1>(v_).message());
    return std::get<0>(v_);
  }

  const T& value() const& {
    PLUMB_CHECK(ok(), std::get<1>(v_).message());
    return std::get<0>(v_);
  }

  T&& value() && {
    PLUMB_CHECK(ok(), std::get<1>(v_).message());
    return std::get<0>(std::move(v_));
  }

  Status status() const { return ok() ? Status() : std::get<1>(v_); }

 private:
  std::variant<T, Status> v_;
};

}  // namespace plumb

#define PLUMB_RETURN_IF_ERROR(expr)                                    \
  do {                                                                 \
    if (::plumb::Status plumb_status_ = (expr); !plumb_status_.ok()) { \
      return plumb_status_;                                            \
    }                                                                  \
  } while (0)
#define PLUMB_CAT_(a, b) a##b
#define PLUMB_CAT(a, b) PLUMB_CAT_(a, b)
#define PLUMB_ASSIGN_(tmp, lhs, expr) \
  auto tmp = (expr);                  \
  if (!tmp.ok()) {                    \
    return tmp.status();              \
  }                                   \
  lhs = std::move(tmp).value()
/// PLUMB_ASSIGN(auto x, f()): x = the value of f(), or return its status from the enclosing
/// function.
#define PLUMB_ASSIGN(lhs, expr) PLUMB_ASSIGN_(PLUMB_CAT(plumb_result_, __LINE__), lhs, expr)
