// SPDX-License-Identifier: Apache-2.0
#include "server/background_line.h"

namespace plumb {

std::unique_ptr<BackgroundLine> BackgroundLine::begin(const Transaction& transaction,
                                                      const ResponseTurn& turn,
                                                      const std::string& model) {
  if (transaction.access == nullptr) {
    return nullptr;
  }
  std::unique_ptr<BackgroundLine> line(new BackgroundLine(transaction));
  line->entry_.response_id = turn.assembler->id();
  line->entry_.model = model;
  line->entry_.is_stream = turn.is_streamed;
  return line;
}

void BackgroundLine::on_end(const ChoiceEnd& end) {
  entry_.ends.push_back(end);
  entry_.ends.back().timings.phases.clear();
}

void BackgroundLine::write(std::string_view status, Clock::TimePoint now) {
  entry_.response_status = status;
  log_.write(access_line(entry_, std::nullopt, received_, now));
}

}  // namespace plumb
