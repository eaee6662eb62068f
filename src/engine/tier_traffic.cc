// SPDX-License-Identifier: Apache-2.0
#include "engine/tier_traffic.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace plumb {
namespace {

// Bytes of one errand: so much does something more urgent wait for at most.
constexpr std::int64_t kBatchBytes = std::int64_t{4} << 20;

}  // namespace

TierTraffic::TierTraffic(HostTier& host, std::unique_ptr<TierWorker> worker, LoadRule& rule,
                         std::int64_t block_size, std::int64_t block_bytes, KvEventRecorder* events,
                         IsWhole is_whole)
    : host_(host),
      rule_(rule),
      block_size_(block_size),
      block_bytes_(block_bytes),
      batch_blocks_(std::max<std::int64_t>(kBatchBytes / block_bytes, 1)),
      events_(events),
      is_whole_(std::move(is_whole)),
      worker_(std::move(worker)) {}

TierTraffic::~TierTraffic() {
  worker_.reset();  // it uses the slots and pins that die now
}

FetchId TierTraffic::fetch(std::vector<BlockHash> chain, TierOwner owner) {
  TierJob job;
  job.kind = TierJob::Kind::kLookUp;
  job.ticket = next_ticket_;
  job.chain = chain;
  if (num_clearings_ > 0 || chain.empty() || !worker_->submit(std::move(job)).ok()) {
    return FetchId{};
  }
  const FetchId id{next_ticket_++};
  Fetch& fetch = fetches_[id];
  fetch.chain = std::move(chain);
  fetch.owner = owner;
  return id;
}

void TierTraffic::release(FetchId id) {
  const auto found = fetches_.find(id);
  if (found != fetches_.end()) {
    found->second.is_released = true;
    found->second.pins.clear();
    forget_if_over(id);
  }
}

void TierTraffic::forget_if_over(FetchId id) {
  const Fetch& fetch = fetches_.at(id);
  if (fetch.is_released && fetch.is_looked_up && fetch.reads.empty()) {
    fetches_.erase(id);
  }
}

void TierTraffic::write(std::span<const BlockHash> hashes) {
  while (!hashes.empty()) {
    const auto count = std::min(hashes.size(), static_cast<std::size_t>(batch_blocks_));
    TierJob job;
    job.kind = TierJob::Kind::kWrite;
    job.ticket = next_ticket_;
    std::vector<HostPin> pins;
    for (const BlockHash& hash : hashes.first(count)) {
      HostPin pin = num_allowed() > 0 ? host_.pin(hash) : HostPin();
      if (pin.empty()) {
        ++num_not_written_;
        continue;
      }
      job.blocks.push_back({hash, pin.payload(), pin.owner(), pin.is_whole()});
      pins.push_back(std::move(pin));
    }
    if (!pins.empty()) {
      if (worker_->submit(std::move(job)).ok()) {
        writes_.emplace(next_ticket_++, std::move(pins));
      } else {
        num_not_written_ += std::ssize(pins);
      }
    }
    hashes = hashes.subspan(count);
  }
}

// Errands to write come first in the queue of this one, and what was fetched before is not let in.
void TierTraffic::clear() {
  for (auto& [id, fetch] : fetches_) {
    fetch.is_broken = true;
  }
  TierJob job;
  job.kind = TierJob::Kind::kClear;
  if (const Status status = worker_->submit(std::move(job)); status.ok()) {
    ++num_clearings_;
  } else {
    log_warning("disk cache: not cleared", {{"reason", status.message()}});
  }
}

void TierTraffic::poll() {
  if (!worker_->has_thread()) {
    worker_->run_pending();
  }
  answers_.clear();
  worker_->take_answers(&answers_);
  for (TierAnswer& answer : answers_) {
    take(answer);
  }
}

bool TierTraffic::wait() {
  const bool was_busy = worker_->wait();
  poll();
  return was_busy;
}

void TierTraffic::take(TierAnswer& answer) {
  // What came before all was forgotten is not told after it.
  if (events_ != nullptr && num_clearings_ == 0) {
    events_->append(std::move(answer.events));
  }
  if (answer.kind == TierJob::Kind::kOpen) {
    return;
  }
  if (answer.kind == TierJob::Kind::kClear) {
    --num_clearings_;
    return;
  }
  if (answer.kind == TierJob::Kind::kWrite) {
    writes_.erase(answer.ticket);
    return;
  }
  const FetchId id{answer.ticket};
  Fetch& fetch = fetches_.at(id);
  if (answer.kind == TierJob::Kind::kLookUp) {
    take_look_up(id, &fetch, answer.count);
  } else {
    take_read(&fetch, answer);
  }
  forget_if_over(id);
}

void TierTraffic::take_look_up(FetchId id, Fetch* fetch, std::int64_t count) {
  fetch->is_looked_up = true;
  count = std::clamp<std::int64_t>(num_allowed(), 0, count);
  if (fetch->is_released || count == 0 ||
      !rule_.prefers_disk(count * block_bytes_, count * block_size_)) {
    return;
  }
  const std::span<const BlockHash> chain =
      std::span(fetch->chain).first(static_cast<std::size_t>(count));
  for (std::size_t at = 0; at < chain.size(); at += static_cast<std::size_t>(batch_blocks_)) {
    const std::size_t len = std::min(chain.size() - at, static_cast<std::size_t>(batch_blocks_));
    if (!submit_read(id, fetch, chain.subspan(at, len))) {
      return;
    }
  }
}

bool TierTraffic::submit_read(FetchId id, Fetch* fetch, std::span<const BlockHash> chain) {
  Read read;
  TierJob job;
  job.kind = TierJob::Kind::kRead;
  job.ticket = static_cast<std::uint64_t>(id);
  for (const BlockHash& hash : chain) {
    HostSlot slot = host_.reserve(fetch->owner);
    if (slot.empty()) {
      break;
    }
    job.chain.push_back(hash);
    job.buffers.push_back(slot.payload());
    read.slots.push_back(std::move(slot));
  }
  read.chain = job.chain;
  const bool is_whole = read.chain.size() == chain.size();
  if (read.chain.empty() || !worker_->submit(std::move(job)).ok()) {
    return false;
  }
  fetch->reads.push_back(std::move(read));
  return is_whole;
}

void TierTraffic::take_read(Fetch* fetch, const TierAnswer& answer) {
  Read read = std::move(fetch->reads.front());
  fetch->reads.pop_front();
  rule_.disk_bytes.observe(static_cast<double>(answer.count * block_bytes_), answer.time);
  const auto count = static_cast<std::size_t>(fetch->is_broken ? 0 : answer.count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_whole = !is_whole_ || is_whole_(read.slots[i].payload());
    host_.publish(read.chain[i], std::move(read.slots[i]), is_whole);
    if (!fetch->is_released) {
      fetch->pins.push_back(host_.pin(read.chain[i]));
    }
  }
  fetch->is_broken = fetch->is_broken || count < read.chain.size();
}

TierStats TierTraffic::slow_stats() const {
  TierStats stats = worker_->stats();
  stats.num_dropped += num_not_written_;
  return stats;
}

}  // namespace plumb
