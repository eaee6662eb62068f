// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/digest.h"
#include "base/file_store.h"
#include "base/status.h"
#include "kvcache/kv_tier.h"

namespace plumb {

/// What the blocks of a segment are; blocks of another layout mean nothing here.
struct TierLayout {
  Digest256 id{};  ///< of model, weights, element type, block size and shape of the cache
  std::int64_t block_bytes = 0;
};

/// A file of the disk tier: a header and records of one size, appended one by one.
///
///   header   magic "plumbkv2", layout id [32], block bytes u64, owner u64, checksum u64 of what
///            precedes
///   record   hash [16], record index u64, payload checksum u64, header checksum u64, payload;
///            the index has its highest bit where something was left out of the block
///
/// Numbers are little-endian, checksums XXH3-64. A record's header checksum covers the layout id
/// too, so that a record cannot be read under another header. Every byte that is read is checked:
/// a torn, damaged or foreign file gives no block, never a wrong one.
/// Thread: one at a time.
class TierSegment {
 public:
  static constexpr std::int64_t kHeaderBytes = 64;
  static constexpr std::int64_t kRecordHeaderBytes = 40;

  /// Makes a new file and writes its header.
  static Result<TierSegment> create(FileStore& files, const std::string& path,
                                    const TierLayout& layout, TierOwner owner);
  /// Reads the header. Errors  kDataLoss: it is damaged; kUnsupported: of another layout or
  /// version.
  static Result<TierSegment> open(std::unique_ptr<RandomFile> file, const TierLayout& layout);

  static std::int64_t record_bytes(const TierLayout& layout) {
    return kRecordHeaderBytes + layout.block_bytes;
  }

  /// Of all its blocks.
  TierOwner owner() const { return owner_; }

  /// Whole records; a torn one at the end does not count.
  std::int64_t num_records() const { return num_records_; }

  std::int64_t num_bytes() const { return kHeaderBytes + num_records_ * record_bytes(layout_); }

  /// What a record's header says.
  struct Label {
    BlockHash hash{};
    bool is_whole = true;
  };

  /// Errors kDataLoss: the header is damaged.
  Result<Label> label_of(std::int64_t record) const;
  /// Fills `out` with the block. Errors kDataLoss: the record is damaged, or another block's.
  Status read(std::int64_t record, const BlockHash& hash, std::span<std::byte> out) const;
  /// Appends a block. After an error the file ends with the record before, or with a torn one.
  Status append(const TierBlock& block);

 private:
  TierSegment(std::unique_ptr<RandomFile> file, const TierLayout& layout, TierOwner owner,
              std::int64_t num_records)
      : file_(std::move(file)), layout_(layout), owner_(owner), num_records_(num_records) {}

  std::uint64_t offset_of(std::int64_t record) const;

  std::unique_ptr<RandomFile> file_;
  TierLayout layout_;
  TierOwner owner_;
  std::int64_t num_records_;
};

}  // namespace plumb
