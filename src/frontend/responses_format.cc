// SPDX-License-Identifier: Apache-2.0
#include "frontend/responses_format.h"

#include <chrono>

namespace plumb {

std::vector<Json> ResponsesFormat::start(std::int64_t /*index*/) {
  return assembler_->begin();
}

std::optional<Json> ResponsesFormat::prompt(std::int64_t /*index*/,
                                            std::vector<TokenText> /*tokens*/) {
  return std::nullopt;
}

std::vector<Json> ResponsesFormat::delta(const ChoiceDelta& delta) {
  return assembler_->delta(delta);
}

std::vector<Json> ResponsesFormat::end(const ChoiceEnd& end) {
  return assembler_->end(end);
}

std::vector<Json> ResponsesFormat::finish(const std::vector<ChoiceRecord>& /*choices*/) {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(clock_.wall_now().time_since_epoch());
  return assembler_->finish(now.count());
}

Json ResponsesFormat::complete(std::vector<ChoiceRecord> choices) {
  finish(choices);
  return assembler_->response();
}

std::optional<Json> ResponsesFormat::failed(const ApiError& error) {
  assembler_->fail(error);
  return assembler_->response();
}

std::vector<Json> ResponsesFormat::fail(const ApiError& error, Json /*body*/) {
  return assembler_->fail(error);
}

}  // namespace plumb
