// SPDX-License-Identifier: Apache-2.0
#include "grammar/compile_budget.h"

#include <string>

namespace plumb {

CompileBudget CompileBudget::share(std::int64_t parts) const {
  Limits limits = limits_;
  limits.max_states /= parts;
  limits.max_expressions /= parts;
  return {limits, is_cancelled_};
}

Status CompileBudget::take_states(std::int64_t num) {
  num_states_ += num;
  return check_states(0);
}

Status CompileBudget::check_states(std::int64_t num) const {
  if (num_states_ + num > limits_.max_states) {
    return {Code::kResourceExhausted,
            "grammar: its regular parts need more than " + std::to_string(limits_.max_states) +
                " states; lower the counts of repetitions or simplify the patterns"};
  }
  return {};
}

Status CompileBudget::check_expressions(std::int64_t num) const {
  if (num > limits_.max_expressions) {
    return {Code::kResourceExhausted,
            "grammar: its regular parts need more than " + std::to_string(limits_.max_expressions) +
                " expressions; lower the counts of repetitions or simplify the patterns"};
  }
  return {};
}

Status CompileBudget::check_rules(std::int64_t num) const {
  if (num > limits_.max_rules) {
    return {Code::kResourceExhausted, "grammar: more than " + std::to_string(limits_.max_rules) +
                                          " rules or symbols; send a simpler one"};
  }
  return {};
}

Status CompileBudget::poll() {
  return num_polls_++ % 64 == 0 ? poll_now() : Status();
}

Status CompileBudget::poll_now() {
  if (is_cancelled_ && is_cancelled_()) {
    return {Code::kDeadlineExceeded,
            "grammar: compilation exceeded its time; simplify the grammar"};
  }
  return {};
}

}  // namespace plumb
