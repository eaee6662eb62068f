// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file_store.h"
#include "kvcache/kv_event_recorder.h"
#include "kvcache/kv_tier.h"
#include "kvcache/tier_segment.h"
#include "kvcache/tier_shares.h"

namespace plumb {

/// Where the disk tier lives and how much it may take.
struct DiskTierOptions {
  std::string folder;
  std::int64_t max_bytes = 0;
  std::int64_t segment_bytes = std::int64_t{128} << 20;  ///< a segment ends there, or before
  TierLayout layout;
};

/// Blocks in segment files of one folder (NAME.kvseg), which a later process finds again.
///
/// The index is in memory: opening reads the record headers of all segments, and get() checks every
/// byte, so that what a crash, a full disk or a bad sector left is a miss. A segment holds blocks
/// of one owner, at most a quarter of an equal share. It is appended to by the process that made it
/// only, never synced, and evicted as a whole: segments of other layouts first, then, of the owner
/// that is to give (TierShares), the one used longest ago. A record whose place a whole block took
/// stays until then. Other files of the folder are left alone.
///
/// After an error of writing the tier writes no more and says so once; it goes on reading. A disk
/// that refuses to be read is logged once, and so is each damaged segment.
/// Thread  one at a time. Calls block on the disk: not the engine's thread.
class DiskTier final : public KvTier {
 public:
  /// Takes the folder and reads its index. A folder that cannot be written is read.
  /// Errors  kUnavailable: another process uses the folder. kInvalidArgument: not a folder, or
  ///         max_bytes too small for four blocks. Else as the system says.
  /// With `events`, what is there, comes and makes room is recorded for take_events(), except by
  /// clear().
  static Result<std::unique_ptr<DiskTier>> open(const DiskTierOptions& options, FileStore& files,
                                                std::optional<KvEventRecorder> events = {});

  /// Makes the folder if need be. Errors kInvalidArgument: no folder; else as the system says: it
  /// cannot be made or read.
  static Status check_folder(const std::string& folder, FileStore& files);

  /// The smallest max_bytes for blocks of that size.
  static std::int64_t min_bytes(std::int64_t block_bytes);

  std::int64_t exists(std::span<const BlockHash> chain) const override;
  std::int64_t get(std::span<const BlockHash> chain,
                   std::span<const std::span<std::byte>> out) override;
  std::int64_t put(std::span<const TierBlock> blocks) override;
  void clear() override;
  TierStats stats() const override;

  std::vector<KvEvent> take_events() override {
    return events_ ? events_->take() : std::vector<KvEvent>();
  }

  std::int64_t num_segments() const { return std::ssize(segments_); }

 private:
  struct Segment {
    TierOwner owner{};
    std::int64_t num_bytes = 0;  ///< of the file
    std::int64_t last_use = 0;   ///< 0 for a foreign or unreadable one, which has no owner
    bool was_reported = false;   ///< as damaged
    std::vector<BlockHash> hashes;
  };

  struct Place {
    std::int64_t segment = 0;
    std::int64_t record = 0;
    bool is_whole = true;
  };

  // A segment that is appended to.
  struct Writer {
    std::int64_t number = 0;
    TierSegment file;
  };

  DiskTier(const DiskTierOptions& options, FileStore& files, std::optional<KvEventRecorder> events)
      : options_(options), files_(files), shares_(options.max_bytes), events_(std::move(events)) {}

  std::string path_of(std::int64_t segment) const;
  Status scan();
  void scan_segment(std::int64_t number, std::int64_t num_bytes);
  TierSegment* reader(std::int64_t number);
  bool read(const BlockHash& hash, std::span<std::byte> out);
  bool write(const TierBlock& block);
  std::int64_t segment_limit() const;
  bool make_room(TierOwner owner, std::int64_t num_bytes);
  std::optional<std::int64_t> victim(TierOwner owner, std::int64_t num_bytes) const;
  bool evict_segment(std::int64_t number);
  Status open_writer(TierOwner owner);
  void close_writer(std::int64_t number);
  bool contains(const BlockHash& hash, bool must_be_whole) const;
  void add_block(const BlockHash& hash, const Place& place);
  void lose_segment(std::int64_t number);
  void report_damage(std::int64_t number, const Status& status);
  void stop_writing(const Status& status);
  void forget(const BlockHash& hash, std::int64_t segment);

  DiskTierOptions options_;
  FileStore& files_;
  std::unique_ptr<FolderLock> lock_;
  std::map<std::int64_t, Segment> segments_;  ///< by number, which is the age
  std::unordered_map<BlockHash, Place, BlockHashSpread> places_;
  std::map<TierOwner, Writer> writers_;
  TierShares shares_;                  ///< in bytes
  std::optional<TierSegment> reader_;  ///< the segment read last, if it has no writer
  std::int64_t reader_number_ = 0;
  std::int64_t num_bytes_ = 0;  ///< of all segments
  std::int64_t now_ = 0;        ///< counts uses
  bool was_unreadable_ = false;
  std::optional<KvEventRecorder> events_;
  TierStats stats_;
};

}  // namespace plumb
