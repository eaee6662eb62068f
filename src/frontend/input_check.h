// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/error.h"
#include "api/tools.h"
#include "base/status.h"

namespace plumb {

class TextCheck;
class WholeRegex;

/// Says of a custom tool's input whether it is what the tool asks for: generation may not have been
/// held to it, and where it was, the model's format may have cut it.
/// Thread: any (immutable).
class InputCheck {
 public:
  /// `deadline`: processor time of the calling thread at which it gives up.
  /// Errors: kInvalidArgument, kUnsupported with the place in the definition; kResourceExhausted,
  /// kDeadlineExceeded for one that is too much.
  static Result<std::shared_ptr<const InputCheck>> compile(InputFormat format,
                                                           std::chrono::nanoseconds deadline);
  ~InputCheck();

  /// Whether a grammar of the engine can hold the input.
  bool is_regular() const { return text_ != nullptr; }

  /// The error for an input of that tool that does not match. Cost: those of TextCheck::check() and
  /// WholeRegex::check().
  std::optional<ApiError> check(std::string_view tool, std::string_view input) const;

 private:
  explicit InputCheck(InputFormat format);

  InputFormat format_;
  std::unique_ptr<const TextCheck> text_;
  std::unique_ptr<const WholeRegex> regex_;  // of what text_ cannot be made of
};

/// The check of one tool. Shared by the choices of a request.
struct CheckedInput {
  std::string tool;
  std::shared_ptr<const InputCheck> check;
};

/// The checks of the tools that may be called. Errors: 400 that names the tool, what is wrong with
/// its format, and where. Cost: up to half a second of processor time.
std::variant<std::vector<CheckedInput>, ApiError> compile_input_checks(const ToolUse& use);

}  // namespace plumb
