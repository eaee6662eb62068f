// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/seq_tiers.h"
#include "engine/tier_rates.h"
#include "engine/tier_worker.h"
#include "kvcache/host_tier.h"

namespace plumb {

/// Moves blocks between the host tier and a slow tier behind it without ever waiting for it.
///
/// What is under way keeps its places in the host tier busy, at most 0.8 of them: beyond that, less
/// is fetched and what is to be written is left out.
/// Ownership  host tier, rule and events outlive it; it must die before the host tier's arena.
/// Thread     engine.
class TierTraffic {
 public:
  /// Whether nothing was left out of a block, by its payload; null: of none.
  using IsWhole = std::function<bool(std::span<const std::byte>)>;

  /// `events` may be null; it is told what the slow tier's events are.
  /// Requires block_size is the tokens of a block, block_bytes its bytes.
  TierTraffic(HostTier& host, std::unique_ptr<TierWorker> worker, LoadRule& rule,
              std::int64_t block_size, std::int64_t block_bytes, KvEventRecorder* events = nullptr,
              IsWhole is_whole = nullptr);
  ~TierTraffic();
  TierTraffic(const TierTraffic&) = delete;
  TierTraffic& operator=(const TierTraffic&) = delete;

  /// Starts the slow tier's thread; `wake` is called from it when poll() has something to take.
  void start(std::function<void()> wake) { worker_->start(std::move(wake)); }

  /// Begins to bring the beginning of a chain that the host tier lacks, as far as the slow tier has
  /// it, there is room and it is worth it. What has come stays in the host tier until release().
  /// FetchId{} if it cannot begin now.
  FetchId fetch(std::vector<BlockHash> chain, TierOwner owner = {});

  /// Nothing more comes. Requires a fetch that was not released.
  bool is_done(FetchId fetch) const { return fetches_.at(fetch).is_done(); }

  /// Blocks from the beginning of the chain that have come. Requires as is_done().
  std::int64_t num_fetched(FetchId fetch) const { return std::ssize(fetches_.at(fetch).pins); }

  /// Ends the caller's interest; FetchId{} is ignored.
  void release(FetchId fetch);

  /// Has blocks of the host tier written to the slow one.
  void write(std::span<const BlockHash> hashes);

  /// Places of the host tier that may become busy for what is fetched or written.
  std::int64_t num_allowed() const { return host_.num_slots() * 4 / 5 - host_.num_busy(); }

  /// Waits until something more was done and takes it; false if nothing is under way.
  bool wait();

  /// As TierWorker: before the end.
  void finish_by(Clock::TimePoint deadline, std::int64_t num_left_out) {
    worker_->finish_by(deadline, num_left_out);
  }

  /// Forgets all blocks of the slow tier. Nothing is fetched until that is done.
  void clear();

  /// Takes what has been done since the last call.
  void poll();

  TierStats slow_stats() const;

 private:
  struct Read {
    std::vector<BlockHash> chain;
    std::vector<HostSlot> slots;
  };

  struct Fetch {
    std::vector<BlockHash> chain;
    TierOwner owner{};
    std::deque<Read> reads;  ///< under way, in order
    std::vector<HostPin> pins;
    bool is_looked_up = false;
    bool is_broken = false;  ///< a block was not there: what follows is useless
    bool is_released = false;

    bool is_done() const { return is_looked_up && (reads.empty() || is_broken); }
  };

  void take(TierAnswer& answer);
  void take_look_up(FetchId id, Fetch* fetch, std::int64_t count);
  void take_read(Fetch* fetch, const TierAnswer& answer);
  bool submit_read(FetchId id, Fetch* fetch, std::span<const BlockHash> chain);
  void forget_if_over(FetchId id);

  HostTier& host_;
  LoadRule& rule_;
  std::int64_t block_size_;
  std::int64_t block_bytes_;
  std::int64_t batch_blocks_;
  KvEventRecorder* events_;
  IsWhole is_whole_;
  std::map<FetchId, Fetch> fetches_;
  std::map<std::uint64_t, std::vector<HostPin>> writes_;  ///< under way, by ticket
  std::uint64_t next_ticket_ = 1;
  std::int64_t num_not_written_ = 0;
  std::int64_t num_clearings_ = 0;   ///< under way
  std::vector<TierAnswer> answers_;  // kept for its memory
  std::unique_ptr<TierWorker> worker_;
};

}  // namespace plumb
