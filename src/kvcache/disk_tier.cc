// SPDX-License-Identifier: Apache-2.0
#include "kvcache/disk_tier.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"

namespace plumb {
namespace {

constexpr std::string_view kSuffix = ".kvseg";
constexpr std::int64_t kMaxFiles = 1 << 16;
constexpr std::int64_t kMinBlocks = 4;
constexpr std::int64_t kMaxNumber = std::int64_t{1} << 50;

// The number in "00000042.kvseg", or -1 for another file.
std::int64_t number_of(std::string_view name) {
  std::int64_t number = -1;
  if (name.size() < 8 + kSuffix.size() || !name.ends_with(kSuffix) ||
      !parse_int64(name.substr(0, name.size() - kSuffix.size()), &number)) {
    return -1;
  }
  return number <= kMaxNumber ? number : -1;
}

}  // namespace

std::int64_t DiskTier::min_bytes(std::int64_t block_bytes) {
  return kMinBlocks *
         (TierSegment::kHeaderBytes + TierSegment::record_bytes({.block_bytes = block_bytes}));
}

Result<std::unique_ptr<DiskTier>> DiskTier::open(const DiskTierOptions& options, FileStore& files) {
  if (options.max_bytes < min_bytes(options.layout.block_bytes)) {
    return Status{Code::kInvalidArgument,
                  "the disk cache of " + std::to_string(options.max_bytes) +
                      " bytes is too small, this model needs at least " +
                      std::to_string(min_bytes(options.layout.block_bytes))};
  }
  std::unique_ptr<DiskTier> tier(new DiskTier(options, files));
  // Small enough that evicting one of them does not empty the tier.
  tier->options_.segment_bytes = std::min(options.segment_bytes, options.max_bytes / kMinBlocks);
  PLUMB_RETURN_IF_ERROR(files.make_folder(options.folder));
  Result<std::unique_ptr<FolderLock>> lock = files.lock(options.folder);
  if (lock.ok()) {
    tier->lock_ = std::move(lock).value();
  } else if (lock.status().code() == Code::kUnavailable) {
    return lock.status();
  } else {
    tier->stop_writing(lock.status());
  }
  PLUMB_RETURN_IF_ERROR(tier->scan());
  return tier;
}

std::string DiskTier::path_of(std::int64_t segment) const {
  const std::string digits = std::to_string(segment);
  const std::string zeros(digits.size() < 8 ? 8 - digits.size() : 0, '0');
  return options_.folder + "/" + zeros + digits + std::string(kSuffix);
}

Status DiskTier::scan() {
  PLUMB_ASSIGN(const std::vector<FolderEntry> entries, files_.list(options_.folder, kMaxFiles));
  for (const FolderEntry& entry : entries) {
    const std::int64_t number = number_of(entry.name);
    if (number >= 0 && path_of(number) == options_.folder + "/" + entry.name) {
      scan_segment(number, static_cast<std::int64_t>(entry.num_bytes));
    }
  }
  // What lies there may be more than is allowed now.
  if (stats_.can_write) {
    make_room(0);
  }
  return {};
}

void DiskTier::scan_segment(std::int64_t number, std::int64_t num_bytes) {
  Segment& segment = segments_[number];
  segment.num_bytes = num_bytes;
  num_bytes_ += num_bytes;
  Result<std::unique_ptr<RandomFile>> file = files_.open(path_of(number));
  if (!file.ok()) {
    report_damage(number, file.status());
    return;
  }
  Result<TierSegment> opened = TierSegment::open(std::move(file).value(), options_.layout);
  if (!opened.ok()) {
    if (opened.status().code() != Code::kUnsupported) {
      report_damage(number, opened.status());
    }
    return;
  }
  segment.last_use = ++now_;
  const std::int64_t num_records =
      std::min(opened.value().num_records(),
               options_.max_bytes / TierSegment::record_bytes(options_.layout));
  for (std::int64_t record = 0; record < num_records; ++record) {
    const Result<BlockHash> hash = opened.value().hash_of(record);
    if (!hash.ok()) {
      ++stats_.num_damaged;
      report_damage(number, hash.status());
    } else if (places_.emplace(hash.value(), Place{number, record}).second) {
      segment.hashes.push_back(hash.value());
    }
  }
}

std::int64_t DiskTier::exists(std::span<const BlockHash> chain) const {
  const auto missing = std::find_if(chain.begin(), chain.end(), [this](const BlockHash& hash) {
    return !places_.contains(hash);
  });
  return missing - chain.begin();
}

std::int64_t DiskTier::get(std::span<const BlockHash> chain,
                           std::span<const std::span<std::byte>> out) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < chain.size() && read(chain[i], out[i]); ++i) {
    ++count;
  }
  stats_.num_read += count;
  return count;
}

// Null if the file is gone or has changed; then nothing of it is found any more.
TierSegment* DiskTier::reader(std::int64_t number) {
  if (writer_ && writer_number_ == number) {
    return &*writer_;
  }
  if (reader_ && reader_number_ == number) {
    return &*reader_;
  }
  reader_.reset();
  Result<std::unique_ptr<RandomFile>> file = files_.open(path_of(number));
  Status status = file.status();
  if (file.ok()) {
    Result<TierSegment> opened = TierSegment::open(std::move(file).value(), options_.layout);
    if (opened.ok()) {
      reader_.emplace(std::move(opened).value());
      reader_number_ = number;
      return &*reader_;
    }
    status = opened.status();
  }
  ++stats_.num_errors;
  report_damage(number, status);
  Segment& segment = segments_[number];
  for (const BlockHash& hash : segment.hashes) {
    forget(hash, number);
  }
  segment.hashes.clear();
  segment.last_use = 0;
  return nullptr;
}

bool DiskTier::read(const BlockHash& hash, std::span<std::byte> out) {
  const auto found = places_.find(hash);
  if (found == places_.end()) {
    return false;
  }
  const Place place = found->second;
  TierSegment* segment = reader(place.segment);
  if (segment == nullptr) {
    return false;
  }
  const Status status = segment->read(place.record, hash, out);
  if (!status.ok()) {
    ++stats_.num_damaged;
    report_damage(place.segment, status);
    forget(hash, place.segment);
    return false;
  }
  segments_[place.segment].last_use = ++now_;
  return true;
}

std::int64_t DiskTier::put(std::span<const TierBlock> blocks) {
  std::int64_t count = 0;
  for (const TierBlock& block : blocks) {
    const bool is_there = places_.contains(block.hash) || write(block);
    stats_.num_dropped += is_there ? 0 : 1;
    count += is_there ? 1 : 0;
  }
  return count;
}

bool DiskTier::write(const TierBlock& block) {
  const std::int64_t record_bytes = TierSegment::record_bytes(options_.layout);
  if (!stats_.can_write) {
    return false;
  }
  if (writer_ && writer_->num_bytes() + record_bytes > options_.segment_bytes) {
    writer_.reset();
  }
  if (!make_room(record_bytes + (writer_ ? 0 : TierSegment::kHeaderBytes))) {
    return false;
  }
  Status status = writer_ ? Status() : open_writer();
  if (status.ok()) {
    status = writer_->append(block.hash, block.payload);
  }
  if (!status.ok()) {
    ++stats_.num_errors;
    stop_writing(status);
    return false;
  }
  Segment& segment = segments_[writer_number_];
  places_.emplace(block.hash, Place{writer_number_, writer_->num_records() - 1});
  segment.hashes.push_back(block.hash);
  segment.last_use = ++now_;
  num_bytes_ += writer_->num_bytes() - segment.num_bytes;
  segment.num_bytes = writer_->num_bytes();
  ++stats_.num_stored;
  return true;
}

Status DiskTier::open_writer() {
  const std::int64_t number = segments_.empty() ? 1 : segments_.rbegin()->first + 1;
  PLUMB_ASSIGN(TierSegment segment, TierSegment::create(files_, path_of(number), options_.layout));
  writer_.emplace(std::move(segment));
  writer_number_ = number;
  segments_[number] = {.num_bytes = TierSegment::kHeaderBytes, .last_use = ++now_};
  num_bytes_ += TierSegment::kHeaderBytes;
  return {};
}

// Evicts segments until so many bytes more are allowed; false if writing has to stop.
bool DiskTier::make_room(std::int64_t num_bytes) {
  while (num_bytes_ + num_bytes > options_.max_bytes || std::ssize(segments_) >= kMaxFiles / 2) {
    auto victim = segments_.end();
    for (auto at = segments_.begin(); at != segments_.end(); ++at) {
      const bool is_written = writer_ && at->first == writer_number_;
      if (!is_written &&
          (victim == segments_.end() || at->second.last_use < victim->second.last_use)) {
        victim = at;
      }
    }
    if (victim == segments_.end()) {
      return false;
    }
    if (!evict_segment(victim->first)) {
      return false;
    }
  }
  return true;
}

bool DiskTier::evict_segment(std::int64_t number) {
  if (const Status status = files_.remove(path_of(number));
      !status.ok() && status.code() != Code::kNotFound) {
    ++stats_.num_errors;
    stop_writing(status);
    return false;
  }
  if (reader_ && reader_number_ == number) {
    reader_.reset();
  }
  const auto found = segments_.find(number);
  for (const BlockHash& hash : found->second.hashes) {
    forget(hash, number);
    ++stats_.num_evicted;
  }
  num_bytes_ -= found->second.num_bytes;
  segments_.erase(found);
  return true;
}

void DiskTier::clear() {
  writer_.reset();
  std::vector<std::int64_t> own;
  for (const auto& [number, segment] : segments_) {
    if (segment.last_use > 0) {
      own.push_back(number);
    }
  }
  for (const std::int64_t number : own) {
    if (!evict_segment(number)) {
      break;
    }
  }
  places_.clear();
}

void DiskTier::forget(const BlockHash& hash, std::int64_t segment) {
  const auto found = places_.find(hash);
  if (found != places_.end() && found->second.segment == segment) {
    places_.erase(found);
  }
}

void DiskTier::report_damage(std::int64_t number, const Status& status) {
  Segment& segment = segments_[number];
  if (!segment.was_reported) {
    segment.was_reported = true;
    log_warning("disk cache: damaged blocks are not used",
                {{"file", path_of(number)}, {"reason", status.message()}});
  }
}

void DiskTier::stop_writing(const Status& status) {
  if (stats_.can_write) {
    stats_.can_write = false;
    log_warning("disk cache: nothing more is written",
                {{"folder", options_.folder}, {"reason", status.message()}});
  }
}

TierStats DiskTier::stats() const {
  TierStats stats = stats_;
  stats.num_blocks = std::ssize(places_);
  stats.num_bytes = num_bytes_;
  stats.max_bytes = options_.max_bytes;
  return stats;
}

}  // namespace plumb
