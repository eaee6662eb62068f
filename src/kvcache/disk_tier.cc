// SPDX-License-Identifier: Apache-2.0
#include "kvcache/disk_tier.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace plumb {
namespace {

constexpr std::string_view kSuffix = ".kvseg";
constexpr std::int64_t kMaxFiles = 1 << 16;
constexpr std::int64_t kMinBlocks = 4;
constexpr std::int64_t kMaxNumber = std::int64_t{1} << 50;
constexpr std::int64_t kMaxWriters = 64;  // open files; the owners beyond begin new segments

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

Status DiskTier::check_folder(const std::string& folder, FileStore& files) {
  PLUMB_RETURN_IF_ERROR(files.make_folder(folder));
  return files.list(folder, kMaxFiles).status();
}

Result<std::unique_ptr<DiskTier>> DiskTier::open(const DiskTierOptions& options, FileStore& files,
                                                 std::optional<KvEventRecorder> events) {
  if (options.max_bytes < min_bytes(options.layout.block_bytes)) {
    return Status{Code::kInvalidArgument,
                  "the disk cache of " + std::to_string(options.max_bytes) +
                      " bytes is too small, this model needs at least " +
                      std::to_string(min_bytes(options.layout.block_bytes))};
  }
  std::unique_ptr<DiskTier> tier(new DiskTier(options, files, std::move(events)));
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
    make_room({}, 0);
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
  segment.owner = opened.value().owner();
  segment.last_use = ++now_;
  shares_.add(segment.owner, num_bytes);
  const std::int64_t num_records =
      std::min(opened.value().num_records(),
               options_.max_bytes / TierSegment::record_bytes(options_.layout));
  for (std::int64_t record = 0; record < num_records; ++record) {
    const Result<TierSegment::Label> label = opened.value().label_of(record);
    if (!label.ok()) {
      ++stats_.num_damaged;
      report_damage(number, label.status());
    } else if (const auto& [hash, is_whole] = label.value(); !contains(hash, is_whole)) {
      add_block(hash, {number, record, is_whole});
    }
  }
}

bool DiskTier::contains(const BlockHash& hash, bool must_be_whole) const {
  const auto found = places_.find(hash);
  return found != places_.end() && (found->second.is_whole || !must_be_whole);
}

// Takes the place of what is there under that name.
void DiskTier::add_block(const BlockHash& hash, const Place& place) {
  const auto [found, is_new] = places_.try_emplace(hash, place);
  if (!is_new) {
    std::erase(segments_[found->second.segment].hashes, hash);
    found->second = place;
  } else if (events_) {
    events_->stored(hash, KvMedium::kDisk);
  }
  segments_[place.segment].hashes.push_back(hash);
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
  for (auto& [owner, writer] : writers_) {
    if (writer.number == number) {
      return &writer.file;
    }
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
  lose_segment(number);
  return nullptr;
}

// Its file stays until room is made.
void DiskTier::lose_segment(std::int64_t number) {
  Segment& segment = segments_[number];
  for (const BlockHash& hash : segment.hashes) {
    forget(hash, number);
  }
  segment.hashes.clear();
  if (segment.last_use > 0) {
    shares_.remove(segment.owner, segment.num_bytes);
    segment.last_use = 0;
  }
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
  shares_.use(segments_[place.segment].owner);
  return true;
}

std::int64_t DiskTier::put(std::span<const TierBlock> blocks) {
  std::int64_t count = 0;
  for (const TierBlock& block : blocks) {
    const bool is_there = contains(block.hash, block.is_whole) || write(block);
    stats_.num_dropped += is_there ? 0 : 1;
    count += is_there ? 1 : 0;
  }
  return count;
}

// Where a segment ends: evicting one must not take all that an owner has.
std::int64_t DiskTier::segment_limit() const {
  const std::int64_t num_owners = std::max<std::int64_t>(shares_.num_owners(), 1);
  return std::min(options_.segment_bytes, options_.max_bytes / (kMinBlocks * num_owners));
}

bool DiskTier::write(const TierBlock& block) {
  const std::int64_t record_bytes = TierSegment::record_bytes(options_.layout);
  if (!stats_.can_write) {
    return false;
  }
  auto writer = writers_.find(block.owner);
  if (writer != writers_.end() &&
      writer->second.file.num_bytes() + record_bytes > segment_limit()) {
    close_writer(writer->second.number);
  }
  if (!make_room(block.owner, record_bytes + TierSegment::kHeaderBytes)) {
    return false;
  }
  writer = writers_.find(block.owner);  // making room may have closed it
  Status status = writer != writers_.end() ? Status() : open_writer(block.owner);
  if (status.ok()) {
    writer = writers_.find(block.owner);
    status = writer->second.file.append(block);
  }
  if (!status.ok()) {
    ++stats_.num_errors;
    stop_writing(status);
    return false;
  }
  const auto& [number, file] = writer->second;
  Segment& segment = segments_[number];
  add_block(block.hash, {number, file.num_records() - 1, block.is_whole});
  segment.last_use = ++now_;
  shares_.add(block.owner, file.num_bytes() - segment.num_bytes);
  num_bytes_ += file.num_bytes() - segment.num_bytes;
  segment.num_bytes = file.num_bytes();
  ++stats_.num_stored;
  return true;
}

Status DiskTier::open_writer(TierOwner owner) {
  if (std::ssize(writers_) >= kMaxWriters) {
    const auto idle =
        std::min_element(writers_.begin(), writers_.end(), [this](const auto& a, const auto& b) {
          return segments_[a.second.number].last_use < segments_[b.second.number].last_use;
        });
    writers_.erase(idle);
  }
  const std::int64_t number = segments_.empty() ? 1 : segments_.rbegin()->first + 1;
  PLUMB_ASSIGN(TierSegment file,
               TierSegment::create(files_, path_of(number), options_.layout, owner));
  writers_.emplace(owner, Writer{number, std::move(file)});
  segments_[number] = {.owner = owner, .num_bytes = TierSegment::kHeaderBytes, .last_use = ++now_};
  shares_.add(owner, TierSegment::kHeaderBytes);
  num_bytes_ += TierSegment::kHeaderBytes;
  return {};
}

void DiskTier::close_writer(std::int64_t number) {
  std::erase_if(writers_, [number](const auto& entry) { return entry.second.number == number; });
}

// Evicts segments until this owner may have so many bytes more; false if it may not.
bool DiskTier::make_room(TierOwner owner, std::int64_t num_bytes) {
  while (num_bytes_ + num_bytes > options_.max_bytes || std::ssize(segments_) >= kMaxFiles / 2) {
    const std::optional<std::int64_t> number = victim(owner, num_bytes);
    if (!number || !evict_segment(*number)) {
      return false;
    }
  }
  return true;
}

// The segment that makes room for so many bytes of that owner.
std::optional<std::int64_t> DiskTier::victim(TierOwner owner, std::int64_t num_bytes) const {
  const auto oldest_of = [this](std::optional<TierOwner> of) {
    std::optional<std::int64_t> oldest;
    for (const auto& [number, segment] : segments_) {
      const bool is_meant =
          of ? segment.last_use > 0 && segment.owner == *of : segment.last_use == 0;
      if (is_meant && (!oldest || segment.last_use < segments_.at(*oldest).last_use)) {
        oldest = number;
      }
    }
    return oldest;
  };
  if (const std::optional<std::int64_t> foreign = oldest_of(std::nullopt)) {
    return foreign;
  }
  const std::optional<TierOwner> giver =
      shares_.giver(owner, num_bytes, [](TierOwner) { return true; });
  return giver ? oldest_of(giver) : std::nullopt;
}

bool DiskTier::evict_segment(std::int64_t number) {
  if (const Status status = files_.remove(path_of(number));
      !status.ok() && status.code() != Code::kNotFound) {
    ++stats_.num_errors;
    stop_writing(status);
    return false;
  }
  close_writer(number);
  if (reader_ && reader_number_ == number) {
    reader_.reset();
  }
  const Segment& segment = segments_[number];
  stats_.num_evicted += std::ssize(segment.hashes);
  num_bytes_ -= segment.num_bytes;
  lose_segment(number);
  segments_.erase(number);
  return true;
}

void DiskTier::clear() {
  writers_.clear();
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
  take_events();  // who clears says so
}

void DiskTier::forget(const BlockHash& hash, std::int64_t segment) {
  const auto found = places_.find(hash);
  if (found != places_.end() && found->second.segment == segment) {
    places_.erase(found);
    if (events_) {
      events_->removed(hash, KvMedium::kDisk);
    }
  }
}

// Of a disk that refuses to be read, one file stands for all.
void DiskTier::report_damage(std::int64_t number, const Status& status) {
  Segment& segment = segments_[number];
  const bool is_refusal = status.code() != Code::kDataLoss && status.code() != Code::kNotFound;
  const bool is_known = is_refusal && std::exchange(was_unreadable_, true);
  if (!std::exchange(segment.was_reported, true) && !is_known) {
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
