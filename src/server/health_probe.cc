// SPDX-License-Identifier: Apache-2.0
#include "server/health_probe.h"

#include <utility>

#include "api/ids.h"

namespace plumb {
namespace {

constexpr std::chrono::seconds kProbeTime{20};
constexpr std::chrono::milliseconds kLookPause{50};

// One token behind token 0, in a part of the prefix cache that nobody else looks at.
ChoiceRequest probe_request(const ServedModel& model) {
  ChoiceRequest choice;
  choice.request.id = "HEALTH_CHECK_" + random_hex(8);
  choice.request.prompt = {0};
  choice.request.sampling.temperature = 0;
  choice.request.sampling.max_tokens = 1;
  choice.request.sampling.ignore_eos = true;
  choice.request.cache_namespace = model.namespace_of({.request = choice.request.id});
  return choice;
}

}  // namespace

HealthProbe::HealthProbe(IoContext& loop, TextService& service, Transaction transaction,
                         std::function<void()> on_done)
    : loop_(loop),
      service_(service),
      transaction_(std::move(transaction)),
      on_done_(std::move(on_done)) {}

HealthProbe::~HealthProbe() {
  loop_.cancel(timer_);
  if (generation_ != nullptr && !is_done_) {
    generation_->cancel();
  }
}

void HealthProbe::start() {
  deadline_ = loop_.now() + kProbeTime;
  tokens_before_ = service_.stats().completion_tokens;
  generation_ = service_.new_generation(
      *this, [&loop = loop_](std::function<void()> fn) { loop.post(std::move(fn)); });
  transaction_.writer.on_disconnect([this](DisconnectReason) {
    if (!is_done_) {
      transaction_.count(kClientLeft);
      done();
    }
  });
  if (is_done_) {
    return;
  }
  const Status status = generation_->start({probe_request(service_.model())});
  if (!status.ok()) {
    generation_.reset();
  }
  if (!status.ok() && status.code() != Code::kResourceExhausted) {
    on_error(status);
    return;
  }
  timer_ = loop_.run_after(kLookPause, [this] { look(); });
}

void HealthProbe::look() {
  if (is_done_) {
    return;
  }
  if (service_.stats().completion_tokens > tokens_before_) {
    succeed();
  } else if (loop_.now() >= deadline_) {
    fail(ApiError::for_http(
        503, "no token was produced within " + std::to_string(kProbeTime.count()) + " s"));
  } else {
    timer_ = loop_.run_after(kLookPause, [this] { look(); });
  }
}

void HealthProbe::succeed() {
  if (!is_done_) {
    transaction_.send_json(JsonObject{{"status", "ok"}});
    done();
  }
}

void HealthProbe::fail(const ApiError& error) {
  if (!is_done_) {
    transaction_.send_error(error);
    done();
  }
}

void HealthProbe::on_prompt(std::int64_t /*index*/, std::vector<TokenText> /*tokens*/) {}

void HealthProbe::on_delta(ChoiceDelta /*delta*/) {
  succeed();
}

void HealthProbe::on_end(ChoiceEnd /*end*/) {
  succeed();
}

void HealthProbe::on_error(Status status) {
  const ApiError error = ApiError::from_status(status);
  fail(error.http_status == 503 ? error : ApiError::for_http(503, "the engine does not run"));
}

void HealthProbe::done() {
  is_done_ = true;
  if (generation_ != nullptr) {
    generation_->cancel();
  }
  loop_.cancel(timer_);
  loop_.post(std::move(on_done_));  // the owner destroys this probe, so not from inside it
}

}  // namespace plumb
