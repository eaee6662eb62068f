// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_store.h"
#include "engine/block_copier.h"
#include "engine/engine_options.h"
#include "engine/engine_stats.h"
#include "engine/kv_cache.h"
#include "engine/sequence.h"
#include "engine/tier_rates.h"
#include "engine/tier_traffic.h"
#include "kvcache/host_tier.h"

namespace plumb {

/// What the tiers stand on.
/// Ownership: all outlives the tiers.
struct TierParts {
  KvCache* cache = nullptr;
  Backend* backend = nullptr;
  Stream* stream = nullptr;
  const Clock* clock = nullptr;
  FileStore* files = nullptr;
  KvLayout layout;
  std::string model_id;  ///< of the weights and of what computes with them
};

/// The memory and the disk behind the device's cache.
///
/// Blocks are named by the hash chain of their tokens. What the prefix tree lacks is brought from
/// the disk to memory while a request waits, and from memory to the device right before the step
/// that may admit it: then all that was found is a cached prefix like any other, or nothing is. The
/// tree does not know of the tiers. In the tiers a block belongs to the tenant whose sequence named
/// it last on the device. In the other direction blocks are copied after a step, a bounded amount
/// at a time, and written to the disk from the copy. Thread: engine; it never waits for the disk.
class TieredCache {
 public:
  /// Bytes of host memory that these options ask for; 0: no tiers.
  static std::int64_t host_bytes(const EngineOptions& options);
  /// Errors  kInvalidArgument: options that contradict each other.
  static Status check(const EngineOptions& options);
  /// Null if the options ask for no tiers. Errors  kInvalidArgument: host memory for less than two
  /// blocks; kResourceExhausted.
  static Result<std::unique_ptr<TieredCache>> create(const EngineOptions& options,
                                                     const TierParts& parts);
  ~TieredCache();

  /// Starts the disk's thread; `wake` is called from it when poll() has something to take.
  void start(std::function<void()> wake);

  /// Takes what the disk has done. Call it before the calls for waiting sequences.
  void poll();

  /// Looks for blocks of a waiting sequence beyond the tree's, and begins to bring them to memory.
  void prefetch(Sequence& seq);

  /// Whether a waiting sequence is not to be planned yet, because its blocks are being brought.
  bool holds(const Sequence& seq) const;

  /// Brings a waiting sequence's blocks from memory into the tree, if they are worth it and there
  /// is room for the rest of its prompt and the reserved blocks besides. Of layers with a window
  /// the last window is brought; where that was not kept, so much less of the prefix.
  /// False if room was all that lacked. Errors  as the stream.
  Result<bool> load(Sequence& seq, const BlockCount& reserved);

  /// The sequence was admitted with the cached prefix that its table holds.
  void on_start(Sequence& seq);
  /// The sequence's full computed blocks are in the tree.
  void on_stored(Sequence& seq);
  /// The tree has just given back that many blocks, and none was taken since.
  /// Errors  as the stream.
  Status on_evicted(std::int64_t num_blocks);
  /// The sequence waits again, or is gone.
  void forget(Sequence& seq);

  /// Copies blocks that are to be kept to memory, and begins to write them to the disk.
  /// Errors  as the stream.
  Status copy_out(std::int64_t max_bytes);

  /// Forgets all blocks, also those on the disk. Requires that no sequence runs or waits.
  void clear();

  /// Gives the memory of the blocks back to the system until it is used again. Requires clear().
  /// Errors  kUnavailable: the disk still writes from it.
  Status discard_memory();

  /// Copies the rest and has the disk write it, as far as that can be until then besides the errand
  /// under way, and ends the disk's thread: before the end. With TierWritePolicy::kBack all
  /// prefixes of the device are the rest, their beginnings first. One log line says how many blocks
  /// were left out. Without a disk there is nothing to keep.
  void finish(Clock::TimePoint deadline);

  /// Bytes that one call of copy_out() between steps may copy.
  static constexpr std::int64_t kStepBytes = std::int64_t{32} << 20;

  bool has_work() const { return !to_copy_.empty(); }

  void observe_prefill(std::int64_t num_tokens, std::chrono::nanoseconds time) {
    rule_.prefill_tokens.observe(static_cast<double>(num_tokens), time);
  }

  KvTierStats stats() const;

  Status check_invariants() const { return host_.check_invariants(); }

 private:
  // Which block of which prefix a device block holds, and where its part for the layers with a
  // window is. Either is void once that block was taken again.
  struct Name {
    BlockHash hash{};
    std::int64_t depth = 0;  // blocks of the prefix before this one
    TierOwner owner{};
    std::uint32_t lease = 0;
    bool is_named = false;
    bool is_queued = false;
    bool has_window = false;
    BlockId window{};
    std::uint32_t window_lease = 0;
  };

  TieredCache(const EngineOptions& options, const TierParts& parts, Buffer arena,
              std::int64_t num_bytes);

  void extend_chain(Sequence& seq, std::int64_t num_blocks) const;
  void name(const Sequence& seq, std::int64_t begin, std::int64_t end, const SeqBlocks& blocks);
  void queue(std::span<const BlockId> blocks);
  void queue_all();
  bool is_valid(BlockId block) const;
  bool is_missing(BlockId block) const;
  std::optional<BlockId> window_part(BlockId block) const;

  Name& at(BlockId block) { return names_[static_cast<std::size_t>(block)]; }

  const Name& at(BlockId block) const { return names_[static_cast<std::size_t>(block)]; }

  std::int64_t num_reusable_blocks(const Sequence& seq) const;
  std::int64_t num_usable(std::span<const BlockHash> found) const;
  Result<bool> load_blocks(Sequence& seq, std::int64_t num_cached, std::int64_t num_blocks,
                           const BlockCount& reserved);
  void count_load(const Sequence& seq, std::int64_t num_blocks, std::chrono::nanoseconds time);
  // Both return the blocks that had no room in memory.
  Result<std::vector<BlockId>> copy_first(std::int64_t most);
  Result<std::vector<BlockId>> copy_blocks(std::span<const BlockId> blocks);
  Status copy_rest(Clock::TimePoint deadline);

  const TierWritePolicy write_policy_;
  const PrefetchPolicy prefetch_policy_;
  KvCache& cache_;
  const Clock& clock_;
  BlockCopier copier_;
  LoadRule rule_;
  Buffer arena_;
  HostTier host_;
  std::unique_ptr<TierTraffic> traffic_;  ///< null without a disk
  std::vector<Name> names_;               ///< by BlockId
  std::deque<BlockId> to_copy_;
  KvTierStats totals_;
};

}  // namespace plumb
