// SPDX-License-Identifier: Apache-2.0
#include "kvcache/tier_segment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/checksum.h"

namespace plumb {
namespace {

constexpr std::string_view kMagic = "plumbkv2";
constexpr std::uint64_t kNotWhole = std::uint64_t{1} << 63;  // of a record's index

// Little-endian numbers at fixed places.
void put_u64(std::byte* to, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) {
    to[i] = static_cast<std::byte>(value >> (8 * i));
  }
}

std::uint64_t get_u64(const std::byte* from) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) {
    value |= static_cast<std::uint64_t>(from[i]) << (8 * i);
  }
  return value;
}

using HeaderBytes = std::array<std::byte, TierSegment::kHeaderBytes>;
using RecordBytes = std::array<std::byte, TierSegment::kRecordHeaderBytes>;

HeaderBytes header_of(const TierLayout& layout, TierOwner owner) {
  HeaderBytes bytes{};
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  std::memcpy(bytes.data() + 8, layout.id.data(), layout.id.size());
  put_u64(bytes.data() + 40, static_cast<std::uint64_t>(layout.block_bytes));
  put_u64(bytes.data() + 48, static_cast<std::uint64_t>(owner));
  put_u64(bytes.data() + 56, checksum64(std::span(bytes).first(56)));
  return bytes;
}

std::uint64_t checksum_of(const RecordBytes& record, const TierLayout& layout) {
  std::array<std::byte, 64> covered{};
  std::memcpy(covered.data(), record.data(), 32);
  std::memcpy(covered.data() + 32, layout.id.data(), 32);
  return checksum64(covered);
}

RecordBytes record_of(const TierBlock& block, std::int64_t index, const TierLayout& layout) {
  RecordBytes bytes{};
  std::memcpy(bytes.data(), block.hash.data(), block.hash.size());
  put_u64(bytes.data() + 16, static_cast<std::uint64_t>(index) | (block.is_whole ? 0 : kNotWhole));
  put_u64(bytes.data() + 24, checksum64(block.payload));
  put_u64(bytes.data() + 32, checksum_of(bytes, layout));
  return bytes;
}

Status damaged(std::int64_t record) {
  return {Code::kDataLoss, "record " + std::to_string(record) + " is damaged"};
}

}  // namespace

Result<TierSegment> TierSegment::create(FileStore& files, const std::string& path,
                                        const TierLayout& layout, TierOwner owner) {
  PLUMB_ASSIGN(std::unique_ptr<RandomFile> file, files.create(path));
  if (Status status = file->write_at(0, header_of(layout, owner)); !status.ok()) {
    const Status removed = files.remove(path);
    return removed.ok() ? status : std::move(status).with(removed.message());
  }
  return TierSegment(std::move(file), layout, owner, 0);
}

Result<TierSegment> TierSegment::open(std::unique_ptr<RandomFile> file, const TierLayout& layout) {
  PLUMB_CHECK(layout.block_bytes >= 1, "a segment of empty blocks");
  PLUMB_ASSIGN(const std::uint64_t num_bytes, file->size());
  HeaderBytes header{};
  PLUMB_RETURN_IF_ERROR(file->read_at(0, header));
  if (get_u64(header.data() + 56) != checksum64(std::span(header).first(56))) {
    return Status{Code::kDataLoss, "the header is damaged"};
  }
  const TierOwner owner{get_u64(header.data() + 48)};
  if (header != header_of(layout, owner)) {
    return Status{Code::kUnsupported, "the file belongs to another model, layout or version"};
  }
  const auto num_records =
      (num_bytes - kHeaderBytes) / static_cast<std::uint64_t>(record_bytes(layout));
  return TierSegment(std::move(file), layout, owner, static_cast<std::int64_t>(num_records));
}

std::uint64_t TierSegment::offset_of(std::int64_t record) const {
  return static_cast<std::uint64_t>(kHeaderBytes + record * record_bytes(layout_));
}

Result<TierSegment::Label> TierSegment::label_of(std::int64_t record) const {
  RecordBytes header{};
  PLUMB_RETURN_IF_ERROR(file_->read_at(offset_of(record), header));
  const std::uint64_t index = get_u64(header.data() + 16);
  if (get_u64(header.data() + 32) != checksum_of(header, layout_) ||
      (index & ~kNotWhole) != static_cast<std::uint64_t>(record)) {
    return damaged(record);
  }
  Label label;
  std::memcpy(label.hash.data(), header.data(), label.hash.size());
  label.is_whole = (index & kNotWhole) == 0;
  return label;
}

Status TierSegment::read(std::int64_t record, const BlockHash& hash,
                         std::span<std::byte> out) const {
  RecordBytes header{};
  PLUMB_RETURN_IF_ERROR(file_->read_at(offset_of(record), header));
  PLUMB_RETURN_IF_ERROR(
      file_->read_at(offset_of(record) + static_cast<std::uint64_t>(kRecordHeaderBytes), out));
  const bool is_whole = (get_u64(header.data() + 16) & kNotWhole) == 0;
  const TierBlock block{.hash = hash, .payload = out, .is_whole = is_whole};
  return header == record_of(block, record, layout_) ? Status() : damaged(record);
}

Status TierSegment::append(const TierBlock& block) {
  PLUMB_CHECK(std::ssize(block.payload) == layout_.block_bytes, "a payload of another size");
  const std::uint64_t offset = offset_of(num_records_);
  // The payload first: a record whose header is whole is almost surely whole.
  Status status =
      file_->write_at(offset + static_cast<std::uint64_t>(kRecordHeaderBytes), block.payload);
  if (status.ok()) {
    status = file_->write_at(offset, record_of(block, num_records_, layout_));
  }
  if (!status.ok()) {
    // Gives the space back; where that fails too, the torn record is not counted.
    const Status cut = file_->truncate(offset);
    return cut.ok() ? status : std::move(status).with(cut.message());
  }
  ++num_records_;
  return {};
}

}  // namespace plumb
