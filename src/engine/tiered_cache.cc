// SPDX-License-Identifier: Apache-2.0
#include "engine/tiered_cache.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/log.h"
#include "base/text.h"
#include "kvcache/block_digest.h"
#include "kvcache/disk_tier.h"
#include "tensor/host_allocator.h"

namespace plumb {
namespace {

// Host memory of a disk tier whose user asked for none.
constexpr std::int64_t kStagingBytes = std::int64_t{512} << 20;

// A sequence whose blocks were brought and lost again so often is computed.
constexpr std::int64_t kMaxLoads = 2;

constexpr std::chrono::milliseconds kHoldAtLeast{1000};
constexpr std::chrono::milliseconds kHoldFor1024Tokens{250};

void append_number(std::string* text, std::int64_t value) {
  *text += std::to_string(value) + ";";
}

// All that decides what a block's bytes mean.
TierLayout tier_layout(const KvLayout& layout, const std::string& model_id,
                       std::string_view backend) {
  std::string text = layout.window() > 0 ? "plumb kv block 3;" : "plumb kv block 1;";
  for (const std::string_view part : {std::string_view(model_id), backend}) {
    append_number(&text, std::ssize(part));
    text += part;
  }
  append_number(&text, layout.block_size);
  for (const KvGroup& group : layout.groups) {
    text += to_text(group.dtype);
    for (const std::int64_t value : {static_cast<std::int64_t>(group.kind), group.num_kv_heads,
                                     group.head_dim, group.window, std::ssize(group.layers)}) {
      append_number(&text, value);
    }
    for (const int layer : group.layers) {
      append_number(&text, layer);
    }
  }
  return {sha256(text), BlockCopier::payload_bytes(layout)};
}

}  // namespace

std::int64_t TieredCache::host_bytes(const EngineOptions& options) {
  if (options.tiers.host_bytes == 0 && !options.tiers.disk_folder.empty()) {
    return kStagingBytes;
  }
  return options.tiers.host_bytes;
}

Status TieredCache::check(const EngineOptions& options) {
  if (host_bytes(options) > 0 && !options.prefix_cache) {
    return {
        Code::kInvalidArgument,
        "--host-cache-bytes and --disk-cache-dir extend the prefix cache, which --no-prefix-cache "
        "switches off"};
  }
  return {};
}

Result<std::unique_ptr<TieredCache>> TieredCache::create(const EngineOptions& options,
                                                         const TierParts& parts) {
  const std::int64_t num_bytes = host_bytes(options);
  if (num_bytes == 0) {
    return std::unique_ptr<TieredCache>();
  }
  const TierLayout layout = tier_layout(parts.layout, parts.model_id, parts.backend->name());
  if (num_bytes < 2 * layout.block_bytes) {
    return Status{Code::kInvalidArgument, "--host-cache-bytes is " + std::to_string(num_bytes) +
                                              ", this model needs at least " +
                                              std::to_string(2 * layout.block_bytes)};
  }
  if (!options.tiers.disk_folder.empty()) {
    if (parts.model_id.empty()) {
      return Status{Code::kInvalidArgument,
                    "--disk-cache-dir needs a model whose weights have an identity"};
    }
    if (const std::int64_t least = DiskTier::min_bytes(layout.block_bytes);
        options.tiers.disk_bytes < least) {
      return Status{Code::kInvalidArgument,
                    "--disk-cache-bytes is " + std::to_string(options.tiers.disk_bytes) +
                        ", this model needs at least " + std::to_string(least)};
    }
    PLUMB_RETURN_IF_ERROR(
        DiskTier::check_folder(options.tiers.disk_folder, *parts.files).with("--disk-cache-dir"));
  }
  PLUMB_ASSIGN(Buffer arena, host_allocator().allocate(num_bytes));
  std::unique_ptr<TieredCache> tiers(new TieredCache(options, parts, std::move(arena), num_bytes));
  if (!options.tiers.disk_folder.empty()) {
    DiskTierOptions disk;
    disk.folder = options.tiers.disk_folder;
    disk.max_bytes = options.tiers.disk_bytes;
    disk.layout = layout;
    FileStore* files = parts.files;
    std::optional<KvEventRecorder> events;
    if (parts.cache->events() != nullptr) {
      events.emplace(parts.layout.block_size);
    }
    auto worker = std::make_unique<TierWorker>(
        [disk, files, events]() -> Result<std::unique_ptr<KvTier>> {
          PLUMB_ASSIGN(std::unique_ptr<DiskTier> tier, DiskTier::open(disk, *files, events));
          return std::unique_ptr<KvTier>(std::move(tier));
        },
        *parts.clock);
    tiers->traffic_ = std::make_unique<TierTraffic>(
        tiers->host_, std::move(worker), tiers->rule_, parts.layout.block_size, layout.block_bytes,
        parts.cache->events(), [&copier = tiers->copier_](std::span<const std::byte> payload) {
          return copier.is_whole(payload);
        });
  }
  return tiers;
}

TieredCache::TieredCache(const EngineOptions& options, const TierParts& parts, Buffer arena,
                         std::int64_t num_bytes)
    : write_policy_(options.tiers.write_policy),
      prefetch_policy_(options.tiers.prefetch_policy),
      cache_(*parts.cache),
      clock_(*parts.clock),
      copier_(*parts.cache, *parts.backend, *parts.stream),
      arena_(std::move(arena)),
      host_({static_cast<std::byte*>(arena_.address()), static_cast<std::size_t>(num_bytes)},
            BlockCopier::payload_bytes(parts.layout), parts.cache->events()),
      names_(static_cast<std::size_t>(parts.cache->pool().num_blocks())) {
  PLUMB_CHECK(copier_.block_bytes() == BlockCopier::payload_bytes(parts.layout),
              "the cache's tensors are not what its layout says");
}

TieredCache::~TieredCache() = default;

void TieredCache::start(std::function<void()> wake) {
  if (traffic_) {
    traffic_->start(std::move(wake));
  }
}

void TieredCache::poll() {
  if (traffic_) {
    traffic_->poll();
  }
}

void TieredCache::extend_chain(Sequence& seq, std::int64_t num_blocks) const {
  std::vector<BlockHash>& chain = seq.tiers.chain;
  const auto block_size = static_cast<std::size_t>(cache_.block_size());
  while (std::ssize(chain) < num_blocks) {
    const std::span<const TokenId> block =
        std::span<const TokenId>(seq.tokens).subspan(chain.size() * block_size, block_size);
    seq.tiers.chain_end = chain.empty() ? chained_digest(seq.request.cache_namespace, block)
                                        : chained_digest(seq.tiers.chain_end, block);
    chain.push_back(block_hash(seq.tiers.chain_end));
  }
}

std::int64_t TieredCache::num_reusable_blocks(const Sequence& seq) const {
  return std::ssize(seq.reusable()) / cache_.block_size();
}

void TieredCache::prefetch(Sequence& seq) {
  if (!traffic_ || seq.tiers.was_fetched) {
    return;
  }
  const std::int64_t num_blocks = num_reusable_blocks(seq);
  extend_chain(seq, num_blocks);
  const std::int64_t num_cached =
      cache_.peek(seq.request.cache_namespace, seq.reusable()).num_tokens / cache_.block_size();
  const std::span<const BlockHash> chain =
      std::span<const BlockHash>(seq.tiers.chain)
          .subspan(static_cast<std::size_t>(num_cached),
                   static_cast<std::size_t>(num_blocks - num_cached));
  const std::span<const BlockHash> missing =
      chain.subspan(static_cast<std::size_t>(host_.exists(chain)));
  seq.tiers.was_fetched = true;
  if (missing.empty()) {
    return;
  }
  seq.tiers.fetch =
      traffic_->fetch({missing.begin(), missing.end()}, tier_owner(seq.request.tenant));
  const std::int64_t num_tokens = std::ssize(missing) * cache_.block_size();
  seq.tiers.hold_until =
      clock_.now() + kHoldAtLeast + num_tokens * kHoldFor1024Tokens / std::int64_t{1024};
}

bool TieredCache::holds(const Sequence& seq) const {
  if (seq.tiers.fetch == FetchId{} || prefetch_policy_ == PrefetchPolicy::kBestEffort ||
      traffic_->is_done(seq.tiers.fetch)) {
    return false;
  }
  return prefetch_policy_ == PrefetchPolicy::kWait || clock_.now() < seq.tiers.hold_until;
}

// Blocks from the beginning of those found, behind a cached prefix, that make a usable prefix: the
// window before its end is whole.
std::int64_t TieredCache::num_usable(std::span<const BlockHash> found) const {
  const std::int64_t num_needed = num_blocks_for(cache_.window(), cache_.block_size());
  std::int64_t run = num_needed;  // whole blocks up to here
  std::int64_t num_usable = 0;
  for (std::int64_t i = 0; i < std::ssize(found); ++i) {
    run = host_.contains(found[static_cast<std::size_t>(i)], true) ? run + 1 : 0;
    num_usable = run >= num_needed ? i + 1 : num_usable;
  }
  return num_usable;
}

Result<bool> TieredCache::load(Sequence& seq, const BlockCount& reserved) {
  if (seq.tiers.num_loads >= kMaxLoads) {
    return true;
  }
  const std::int64_t num_blocks = num_reusable_blocks(seq);
  extend_chain(seq, num_blocks);
  const std::int64_t num_cached =
      cache_.peek(seq.request.cache_namespace, seq.reusable()).num_tokens / cache_.block_size();
  const std::span<const BlockHash> chain =
      std::span<const BlockHash>(seq.tiers.chain)
          .subspan(static_cast<std::size_t>(num_cached),
                   static_cast<std::size_t>(num_blocks - num_cached));
  const std::int64_t num_found =
      num_usable(chain.first(static_cast<std::size_t>(host_.exists(chain))));
  if (num_found == 0 ||
      !rule_.prefers_host(num_found * copier_.block_bytes(), num_found * cache_.block_size())) {
    return true;
  }
  return load_blocks(seq, num_cached, num_found, reserved);
}

// The sequence's cached blocks and those on their way are kept by a lock and by pins until all are
// in the tree; then they are an unlocked prefix, which the plan of this step finds.
Result<bool> TieredCache::load_blocks(Sequence& seq, std::int64_t num_cached,
                                      std::int64_t num_blocks, const BlockCount& reserved) {
  const std::int64_t block_size = cache_.block_size();
  const std::int64_t end = num_cached + num_blocks;
  const std::string_view cache_namespace = seq.request.cache_namespace;
  const auto first = [&seq, block_size](std::int64_t count) {
    return std::span<const TokenId>(seq.tokens).first(static_cast<std::size_t>(count * block_size));
  };
  const BlockCount wanted{num_blocks_for(seq.num_tokens(), block_size) - num_cached,
                          most_window_blocks(seq.num_tokens(), cache_.window(), block_size)};
  SeqBlocks blocks;
  cache_.attach(cache_namespace, first(num_cached), false, &blocks);
  if (!cache_.num_available().holds(wanted + reserved)) {
    cache_.release(&blocks);
    return false;
  }
  const Clock::TimePoint begin = clock_.now();
  std::vector<HostPin> pins(static_cast<std::size_t>(num_blocks));
  for (std::int64_t i = num_blocks; i-- > 0;) {
    pins[static_cast<std::size_t>(i)] =
        host_.pin(seq.tiers.chain[static_cast<std::size_t>(num_cached + i)]);
  }
  cache_.pass_window(end * block_size, &blocks);
  const std::int64_t num_windowed =
      cache_.window() > 0 ? end - std::max(blocks.window.begin, num_cached) : 0;
  Status status = on_evicted(cache_.make_free({num_blocks, num_windowed}).full);
  cache_.grow(end * block_size, &blocks);
  for (std::int64_t i = num_cached; i < end; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool is_windowed = cache_.window() > 0 && i >= blocks.window.begin;
    copier_.to_device(pins[at - static_cast<std::size_t>(num_cached)].payload(), blocks.table[at],
                      is_windowed ? std::optional(blocks.window.table[at]) : std::nullopt);
  }
  status = status.ok() ? copier_.synchronize() : std::move(status);
  if (status.ok()) {
    cache_.store(cache_namespace, first(end),
                 {.priority = seq.request.priority, .first_to_evict = false}, &blocks);
    name(seq, 0, end, blocks);
    count_load(seq, num_blocks, clock_.now() - begin);
    ++seq.tiers.num_loads;
  }
  cache_.release(&blocks);
  return status.ok() ? Result<bool>(true) : Result<bool>(std::move(status));
}

void TieredCache::count_load(const Sequence& seq, std::int64_t num_blocks,
                             std::chrono::nanoseconds time) {
  const std::int64_t from_disk = seq.tiers.fetch == FetchId{}
                                     ? 0
                                     : std::min(num_blocks, traffic_->num_fetched(seq.tiers.fetch));
  rule_.host_bytes.observe(static_cast<double>(num_blocks * copier_.block_bytes()), time);
  ++totals_.num_loads;
  totals_.load_time += time;
  totals_.disk_hit_tokens += from_disk * cache_.block_size();
  totals_.host_hit_tokens += (num_blocks - from_disk) * cache_.block_size();
}

void TieredCache::name(const Sequence& seq, std::int64_t begin, std::int64_t end,
                       const SeqBlocks& blocks) {
  const TierOwner owner = tier_owner(seq.request.tenant);
  for (std::int64_t i = begin; i < end; ++i) {
    const auto index = static_cast<std::size_t>(i);
    Name& name = at(blocks.table[index]);
    const std::uint32_t lease = cache_.pool().lease_number(blocks.table[index]);
    if (!name.is_named || name.lease != lease) {
      name = {};
      name.lease = lease;
      name.is_named = true;
    }
    name.hash = seq.tiers.chain[index];
    name.depth = i;
    name.owner = owner;
    if (cache_.window() > 0 && i >= blocks.window.begin) {
      name.has_window = true;
      name.window = blocks.window.table[index];
      name.window_lease = cache_.window_pool().lease_number(name.window);
    }
  }
}

// The window part of a named block, unless somebody else wrote there.
std::optional<BlockId> TieredCache::window_part(BlockId block) const {
  const Name& name = at(block);
  const bool is_there =
      name.has_window && name.window_lease == cache_.window_pool().lease_number(name.window);
  return is_there ? std::optional(name.window) : std::nullopt;
}

bool TieredCache::is_valid(BlockId block) const {
  return at(block).is_named && at(block).lease == cache_.pool().lease_number(block);
}

// Whether memory lacks a named block, or has it without the window part that the device has.
bool TieredCache::is_missing(BlockId block) const {
  return is_valid(block) && !host_.contains(at(block).hash, window_part(block).has_value());
}

void TieredCache::queue(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) {
    Name& name = at(block);
    if (!name.is_queued && is_missing(block)) {
      name.is_queued = true;
      to_copy_.push_back(block);
    }
  }
}

void TieredCache::on_start(Sequence& seq) {
  forget(seq);
  const std::int64_t num_cached = seq.num_computed / cache_.block_size();
  extend_chain(seq, num_cached);
  name(seq, 0, num_cached, seq.blocks);
  seq.tiers.num_named = num_cached;
  if (write_policy_ != TierWritePolicy::kBack) {
    queue(std::span<const BlockId>(seq.blocks.table).first(static_cast<std::size_t>(num_cached)));
  }
}

void TieredCache::on_stored(Sequence& seq) {
  const std::int64_t num_full = seq.num_computed / cache_.block_size();
  const std::int64_t begin = std::min(seq.tiers.num_named, num_full);
  extend_chain(seq, num_full);
  name(seq, begin, num_full, seq.blocks);
  seq.tiers.num_named = num_full;
  if (write_policy_ == TierWritePolicy::kThrough) {
    queue(
        std::span<const BlockId>(seq.blocks.table)
            .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(num_full - begin)));
  }
}

Status TieredCache::on_evicted(std::int64_t num_blocks) {
  if (num_blocks == 0) {
    return {};
  }
  const std::span<const BlockId> evicted = cache_.pool().last_freed(num_blocks);
  std::vector<BlockId> kept;
  for (const BlockId block : evicted) {
    const bool is_wanted = write_policy_ == TierWritePolicy::kBack || at(block).is_queued;
    if (is_wanted && is_missing(block)) {
      kept.push_back(block);
    }
  }
  // The copies are told before what left the device: who reads that never finds a block nowhere.
  KvEventRecorder* const events = cache_.events();
  std::vector<KvEvent> removal;
  if (events != nullptr) {
    removal = events->take_device_removal();
  }
  Status status = copy_blocks(kept).status();
  if (events != nullptr) {
    events->append(std::move(removal));
  }
  return status;
}

void TieredCache::forget(Sequence& seq) {
  if (traffic_) {
    traffic_->release(seq.tiers.fetch);
  }
  seq.tiers.fetch = FetchId{};
  seq.tiers.was_fetched = false;
  seq.tiers.num_loads = 0;
}

Status TieredCache::copy_out(std::int64_t max_bytes) {
  return copy_first(std::max<std::int64_t>(max_bytes / copier_.block_bytes(), 1)).status();
}

Result<std::vector<BlockId>> TieredCache::copy_first(std::int64_t most) {
  std::vector<BlockId> blocks;
  while (!to_copy_.empty() && std::ssize(blocks) < most) {
    const BlockId block = to_copy_.front();
    to_copy_.pop_front();
    at(block).is_queued = false;
    if (is_missing(block)) {
      blocks.push_back(block);
    }
  }
  return copy_blocks(blocks);
}

Status TieredCache::discard_memory() {
  poll();  // what the disk has done needs its memory no longer
  if (host_.num_busy() > 0) {
    return {Code::kUnavailable, "the disk cache still writes " + std::to_string(host_.num_busy()) +
                                    " blocks; try again in a moment"};
  }
  discard_host_memory(arena_.address(), arena_.num_bytes());
  return {};
}

void TieredCache::clear() {
  host_.clear();
  if (traffic_) {
    traffic_->clear();
  }
  to_copy_.clear();
  std::fill(names_.begin(), names_.end(), Name());
}

Result<std::vector<BlockId>> TieredCache::copy_blocks(std::span<const BlockId> blocks) {
  std::vector<BlockId> without_room;
  std::vector<std::pair<BlockHash, HostSlot>> copies;
  for (const BlockId block : blocks) {
    HostSlot slot = host_.reserve(at(block).owner);
    if (slot.empty()) {
      without_room.push_back(block);
      continue;
    }
    copier_.to_host(block, window_part(block), slot.payload());
    copies.emplace_back(at(block).hash, std::move(slot));
  }
  if (copies.empty()) {
    return without_room;
  }
  PLUMB_RETURN_IF_ERROR(copier_.synchronize());
  std::vector<BlockHash> hashes;
  for (auto& [hash, slot] : copies) {
    const bool is_whole = copier_.is_whole(slot.payload());
    host_.publish(hash, std::move(slot), is_whole);
    hashes.push_back(hash);
  }
  if (traffic_) {
    traffic_->write(hashes);
  }
  return without_room;
}

KvTierStats TieredCache::stats() const {
  KvTierStats stats = totals_;
  stats.is_on = true;
  stats.host = host_.stats();
  if (traffic_) {
    stats.has_disk = true;
    stats.disk = traffic_->slow_stats();
  }
  return stats;
}

}  // namespace plumb
