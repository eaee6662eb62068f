// SPDX-License-Identifier: Apache-2.0
#include "frontend/input_check.h"

#include <chrono>
#include <utility>

#include "api/custom_tool.h"
#include "base/processor_time.h"
#include "grammar/text_check.h"
#include "tokenizer/whole_regex.h"

namespace plumb {
namespace {

// Of all definitions of a request; constraints, which may take longer, are compiled in turns.
constexpr std::chrono::milliseconds kMaxInputTime{500};

bool is_beyond_automata(const Status& status) {
  return status.code() == Code::kUnsupported || status.code() == Code::kResourceExhausted ||
         status.code() == Code::kDeadlineExceeded;
}

}  // namespace

InputCheck::InputCheck(InputFormat format) : format_(std::move(format)) {}

InputCheck::~InputCheck() = default;

Result<std::shared_ptr<const InputCheck>> InputCheck::compile(InputFormat format,
                                                              std::chrono::nanoseconds deadline) {
  const std::shared_ptr<InputCheck> out(new InputCheck(std::move(format)));
  const std::string& definition = out->format_.definition;
  CompileBudget budget(CompileBudget::Limits(),
                       [deadline] { return thread_processor_time() > deadline; });
  if (out->format_.syntax == InputFormat::Syntax::kLark) {
    PLUMB_ASSIGN(out->text_, TextCheck::of_lark(definition, &budget));
    return std::shared_ptr<const InputCheck>(out);
  }
  Result<std::unique_ptr<const TextCheck>> text = TextCheck::of_regex(definition, &budget);
  if (text.ok()) {
    out->text_ = std::move(text).value();
  } else if (is_beyond_automata(text.status())) {
    PLUMB_ASSIGN(out->regex_, WholeRegex::compile(definition));
  } else {
    return text.status();
  }
  return std::shared_ptr<const InputCheck>(out);
}

std::optional<ApiError> InputCheck::check(std::string_view tool, std::string_view input) const {
  const Status status = text_ != nullptr ? text_->check(input) : regex_->check(input);
  return status.ok() ? std::nullopt
                     : std::optional(invalid_custom_input(tool, format_, status.message()));
}

std::variant<std::vector<CheckedInput>, ApiError> compile_input_checks(const ToolUse& use) {
  std::vector<CheckedInput> out;
  if (!use.is_on()) {
    return out;
  }
  const std::chrono::nanoseconds deadline = thread_processor_time() + kMaxInputTime;
  for (const Tool* tool : use.callable()) {
    if (!tool->input) {
      continue;
    }
    auto check = InputCheck::compile(*tool->input, deadline);
    if (!check.ok()) {
      const std::string& param = tool->input->param;
      const std::string whose = "'" + param + "' of the custom tool '" + tool->name + "'";
      if (check.status().code() == Code::kDeadlineExceeded) {
        return ApiError::invalid("grammar_compile_timeout", param,
                                 whose + ": the definitions of the request took longer than " +
                                     std::to_string(kMaxInputTime.count()) +
                                     " ms to compile; send simpler ones");
      }
      return ApiError::invalid("invalid_schema", param, whose + ": " + check.status().message());
    }
    out.push_back({tool->name, std::move(check).value()});
  }
  return out;
}

}  // namespace plumb
