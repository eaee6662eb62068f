// SPDX-License-Identifier: Apache-2.0
#include "frontend/messages_format.h"

#include <utility>

namespace plumb {
namespace {

// An answer begins with its first delta, when it is known what the cache held of the prompt.
class MessagesFormat final : public ResponseFormat {
 public:
  MessagesFormat(ResponseEnvelope envelope, MessagesResponse::Options options)
      : response_(std::move(envelope), std::move(options)) {}

  StreamFraming framing() const override { return StreamFraming::kNamedEvents; }

  std::string heartbeat() const override { return "event: ping\ndata: {\"type\":\"ping\"}\n\n"; }

  void begin(std::int64_t /*index*/, const Usage& prompt) override { response_.begin(prompt); }

  std::vector<Json> start(std::int64_t /*index*/) override { return {}; }

  std::optional<Json> prompt(std::int64_t /*index*/, std::vector<TokenText> /*tokens*/) override {
    return std::nullopt;
  }

  std::vector<Json> delta(const ChoiceDelta& delta) override { return response_.delta(delta); }

  std::vector<Json> end(const ChoiceEnd& end) override { return response_.end(end); }

  std::vector<Json> finish(const std::vector<ChoiceRecord>& /*choices*/) override {
    return {response_.stop()};
  }

  Json complete(std::vector<ChoiceRecord> choices) override {
    return response_.complete(choices.front().parts, *choices.front().end);
  }

 private:
  MessagesResponse response_;
};

}  // namespace

std::unique_ptr<ResponseFormat> make_messages_format(ResponseEnvelope envelope,
                                                     MessagesResponse::Options options) {
  return std::make_unique<MessagesFormat>(std::move(envelope), std::move(options));
}

}  // namespace plumb
