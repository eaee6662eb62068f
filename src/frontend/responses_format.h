// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/responses_assembler.h"
#include "base/clock.h"
#include "frontend/response_format.h"

namespace plumb {

/// Answers of the Responses API, streamed or whole: both come from one assembler.
/// Ownership: the assembler is shared with who keeps its response. Thread: the server's loop.
class ResponsesFormat final : public ResponseFormat {
 public:
  ResponsesFormat(std::shared_ptr<ResponsesAssembler> assembler, const Clock& clock)
      : assembler_(std::move(assembler)), clock_(clock) {}

  StreamFraming framing() const override { return StreamFraming::kNamedEvents; }

  bool gathers() const override { return true; }

  std::vector<Json> start(std::int64_t index) override;
  std::optional<Json> prompt(std::int64_t index, std::vector<TokenText> tokens) override;
  std::vector<Json> delta(const ChoiceDelta& delta) override;
  std::vector<Json> end(const ChoiceEnd& end) override;
  std::vector<Json> finish(const std::vector<ChoiceRecord>& choices) override;
  Json complete(std::vector<ChoiceRecord> choices) override;
  std::optional<Json> failed(const ApiError& error) override;
  std::vector<Json> fail(const ApiError& error, Json body) override;

 private:
  std::shared_ptr<ResponsesAssembler> assembler_;
  const Clock& clock_;
};

}  // namespace plumb
