// SPDX-License-Identifier: Apache-2.0
#include "cli/serving_control.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "checkpoint/identity.h"
#include "cli/version.h"
#include "cli/weights_check.h"
#include "engine/host_memory.h"
#include "tensor/host_allocator.h"

namespace plumb {
namespace {

// A client has its answer before the engine has put the last step away.
constexpr std::chrono::milliseconds kSettleTime{500};

constexpr const char* kRemedy =
    "; wait until they have ended, or end them with POST /abort_request {\"abort_all\": true}, or "
    "with POST /pause_generation {\"mode\": \"abort\"}, which holds new ones back until POST "
    "/continue_generation (POST /drain refuses new ones for good)";

std::string refusal_of(const MemoryTags& released) {
  return "the memory of " + join(released.names(), ", ") +
         " is released; POST /resume_memory_occupation takes it back";
}

}  // namespace

// One change at a time.
class ServingControl::Turn {
 public:
  explicit Turn(ServingControl& control) : control_(control) {
    const MutexLock lock(control_.mutex_);
    is_mine_ = !std::exchange(control_.is_busy_, true);
  }

  ~Turn() {
    const MutexLock lock(control_.mutex_);
    control_.is_busy_ = control_.is_busy_ && !is_mine_;
  }

  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  Status status() const {
    return is_mine_ ? Status()
                    : Status(Code::kUnavailable,
                             "another change of memory or weights is under way; try again later");
  }

 private:
  ServingControl& control_;
  bool is_mine_ = false;
};

ServingControl::ServingControl(ServingControlParts parts) : parts_(std::move(parts)) {}

MemoryTags ServingControl::released() const {
  const MutexLock lock(mutex_);
  return released_;
}

void ServingControl::set_released(const MemoryTags& tags) {
  const MutexLock lock(mutex_);
  released_ = tags;
}

Checkpoint& ServingControl::current() {
  return updated_ != nullptr ? *updated_ : parts_.checkpoint;
}

Status ServingControl::close(const std::string& reason) {
  parts_.engine.wait_until_idle(parts_.clock.now() + kSettleTime);
  Status status = parts_.engine.close(reason);
  if (status.code() == Code::kInvalidArgument) {
    return {Code::kInvalidArgument, status.message() + kRemedy};
  }
  return status;
}

// Of a closed engine: it goes on where nothing is released.
Status ServingControl::refuse_for(const MemoryTags& tags) {
  if (tags.any()) {
    return parts_.engine.close(refusal_of(tags));
  }
  parts_.engine.open();
  return {};
}

Result<MemoryTags> ServingControl::release(const MemoryTags& tags) {
  const Turn turn(*this);
  PLUMB_RETURN_IF_ERROR(turn.status());
  const MemoryTags before = released();
  const MemoryTags more = without_tags(tags, before);
  if (!more.any()) {
    return more;
  }
  const MemoryTags after = joined_tags(before, more);
  PLUMB_RETURN_IF_ERROR(close(refusal_of(after)));
  Status status = more.kv_cache ? parts_.engine.release_cache_memory() : Status();
  if (status.ok() && more.weights) {
    status = release_weights();
  }
  if (!status.ok()) {
    PLUMB_RETURN_IF_ERROR(refuse_for(before));
    return status;
  }
  set_released(after);
  log_info("memory released", {{"tags", join(more.names(), ", ")}});
  return more;
}

// What the file holds now is what is to be there again.
Status ServingControl::release_weights() {
  const std::string digest = checkpoint_identity(current(), IdentityBytes::kSamples);
  if (digest != parts_.text.weights().digest) {
    return {Code::kUnavailable,
            "the file of the weights has changed since they were loaded: they could not be read "
            "again; they are kept"};
  }
  content_ = checkpoint_identity(current(), IdentityBytes::kAll);
  parts_.engine.exchange_model(nullptr, weights_id_).reset();
  trim_host_memory();
  return {};
}

Result<MemoryTags> ServingControl::resume(const MemoryTags& tags) {
  const Turn turn(*this);
  PLUMB_RETURN_IF_ERROR(turn.status());
  const MemoryTags before = released();
  const MemoryTags back = common_tags(tags, before);
  if (!back.any()) {
    return back;
  }
  if (back.weights) {
    PLUMB_RETURN_IF_ERROR(resume_weights());
  }
  const MemoryTags left = without_tags(before, back);
  set_released(left);
  PLUMB_RETURN_IF_ERROR(refuse_for(left));
  log_info("memory taken back", {{"tags", join(back.names(), ", ")}});
  return back;
}

Status ServingControl::resume_weights() {
  // The file is open since the start: another one under its name does not matter.
  Checkpoint& checkpoint = current();
  PLUMB_ASSIGN(std::unique_ptr<Model> model, parts_.load(checkpoint));
  if (checkpoint_identity(checkpoint, IdentityBytes::kAll) != content_) {
    return {Code::kUnavailable,
            "the file of the weights has changed since they were released: put it back as it was, "
            "or start the server again"};
  }
  parts_.engine.exchange_model(std::move(model), weights_id_);
  return {};
}

Result<std::unique_ptr<Model>> ServingControl::load(const std::string& path,
                                                    std::unique_ptr<Checkpoint>* checkpoint) const {
  PLUMB_ASSIGN(*checkpoint, Checkpoint::open(path));
  PLUMB_RETURN_IF_ERROR(
      check_interchangeable(parts_.checkpoint, parts_.text.tokenizer(), **checkpoint));
  const std::int64_t needed = parts_.engine.model_facts().weight_bytes;
  const std::optional<std::int64_t> available = available_host_bytes();
  if (available.has_value() && *available < needed) {
    return Status{Code::kResourceExhausted,
                  "both weights are in memory while they change: " + std::to_string(needed) +
                      " bytes are needed, " + std::to_string(*available) +
                      " are available; make room, or start with the other file"};
  }
  return parts_.load(**checkpoint);
}

WeightsUpdate ServingControl::update_weights(const std::string& path, bool flush_cache) {
  const Turn turn(*this);
  Status status = turn.status();
  if (const MemoryTags tags = released(); status.ok() && tags.any()) {
    status = {Code::kInvalidArgument, refusal_of(tags)};
  }
  if (status.ok()) {
    status = close("the weights are being replaced; try again in a moment");
  }
  if (!status.ok()) {
    return {.status = std::move(status)};
  }
  std::unique_ptr<Checkpoint> checkpoint;
  Result<std::unique_ptr<Model>> model = load(path, &checkpoint);
  if (!model.ok()) {
    parts_.engine.open();
    return {.status = model.status(), .is_of_file = true};
  }
  ServedWeights weights;
  weights.version = std::to_string(++num_updates_);
  weights.digest = checkpoint_identity(*checkpoint, IdentityBytes::kSamples);
  weights.fingerprint = "plumb-" + version_number() + "-" + weights.digest.substr(0, 8);
  // Of all bytes, since the name may outlive this process in the cache on a disk; with the number,
  // so that every update is a beginning.
  weights_id_ = checkpoint_identity(*checkpoint, IdentityBytes::kAll) + " " + weights.version;
  std::unique_ptr<Model> former =
      parts_.engine.exchange_model(std::move(model).value(), weights_id_);
  former.reset();
  trim_host_memory();
  updated_ = std::move(checkpoint);
  parts_.text.set_weights(weights);
  if (flush_cache) {
    parts_.engine.flush_closed_cache();
  }
  parts_.engine.open();
  log_info("weights replaced", {{"path", path}, {"version", weights.version}});
  return {};
}

}  // namespace plumb
