// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace plumb {
namespace {

/// A weight as `outer` matrices of n rows and k columns.
struct Matrices {
  std::int64_t outer;
  std::int64_t n;
  std::int64_t k;
};

struct Range {
  std::int64_t begin;
  std::int64_t count;
};

Status cannot_divide(const RawTensor& whole, const std::string& what, int size) {
  return {Code::kUnsupported, "tensor '" + std::string(whole.name) + "' " +
                                  std::string(to_text(whole.dtype)) + " " + to_text(whole.shape) +
                                  ": " + what + " cannot be divided among " + std::to_string(size) +
                                  " ranks"};
}

Result<Matrices> matrices_of(const RawTensor& whole, const ShardRule& rule) {
  const Shape& s = whole.shape;
  if (s.rank() == 1 && rule.kind != ShardKind::kRows && traits(whole.dtype).block_elems == 1) {
    return Matrices{1, s[0], 1};
  }
  if (s.rank() == 2) {
    return Matrices{1, s[0], s[1]};
  }
  if (s.rank() == 3) {
    return Matrices{s[0], s[1], s[2]};
  }
  return cannot_divide(whole, "a weight of " + std::to_string(s.rank()) + " dimensions", rule.size);
}

Range even_range(std::int64_t total, std::int64_t unit, const ShardRule& rule) {
  const std::int64_t part = total / unit / rule.size * unit;
  return {rule.rank * part, part};
}

Range vocab_range(std::int64_t total, const ShardRule& rule) {
  const std::int64_t part = (total + rule.size - 1) / rule.size;
  const std::int64_t begin = std::min(total, rule.rank * part);
  return {begin, std::min(part, total - begin)};
}

Shape part_shape(const Shape& whole, std::int64_t n, std::int64_t k) {
  switch (whole.rank()) {
    case 1:
      return {n};
    case 2:
      return {n, k};
    default:
      return {whole[0], n, k};
  }
}

// Copies the byte rectangle of each row; rows of all matrices follow each other.
std::vector<std::byte> copy_rows(const RawTensor& whole, const Matrices& m, const Range& rows,
                                 std::int64_t row_size, std::int64_t begin, std::int64_t count) {
  std::vector<std::byte> out(static_cast<std::size_t>(m.outer * rows.count * count));
  std::byte* to = out.data();
  for (std::int64_t e = 0; e < m.outer; ++e) {
    for (std::int64_t r = rows.begin; r < rows.begin + rows.count; ++r) {
      std::copy_n(whole.bytes.data() + (e * m.n + r) * row_size + begin, count, to);
      to += count;
    }
  }
  return out;
}

Result<TensorShard> divide_rows(const RawTensor& whole, const Matrices& m, const Range& rows) {
  const std::int64_t row_size = row_bytes(whole.dtype, m.k);
  TensorShard part;
  part.tensor = whole;
  part.begin = rows.begin;
  part.tensor.shape = part_shape(whole.shape, rows.count, m.k);
  if (m.outer == 1) {
    part.tensor.bytes = whole.bytes.subspan(static_cast<std::size_t>(rows.begin * row_size),
                                            static_cast<std::size_t>(rows.count * row_size));
    part.tensor.file_offset += static_cast<std::uint64_t>(rows.begin * row_size);
    return part;
  }
  part.storage = copy_rows(whole, m, rows, row_size, 0, row_size);
  part.tensor.bytes = part.storage;
  return part;
}

Result<TensorShard> divide_inputs(const RawTensor& whole, const Matrices& m,
                                  const ShardRule& rule) {
  const DTypeTraits& t = traits(whole.dtype);
  const std::int64_t num_blocks = m.k / t.block_elems;
  if (num_blocks % rule.size != 0) {
    return cannot_divide(
        whole,
        std::to_string(num_blocks) + " blocks of " + std::to_string(t.block_elems) + " inputs",
        rule.size);
  }
  const Range blocks = even_range(num_blocks, 1, rule);
  TensorShard part;
  part.tensor = whole;
  part.begin = blocks.begin * t.block_elems;
  part.tensor.shape = part_shape(whole.shape, m.n, blocks.count * t.block_elems);
  part.storage = copy_rows(whole, m, {0, m.n}, row_bytes(whole.dtype, m.k),
                           blocks.begin * t.block_bytes, blocks.count * t.block_bytes);
  part.tensor.bytes = part.storage;
  return part;
}

}  // namespace

Result<TensorShard> shard(const RawTensor& whole, const ShardRule& rule) {
  PLUMB_CHECK(rule.rank >= 0 && rule.rank < rule.size && rule.unit >= 1,
              "rank " + std::to_string(rule.rank) + " of " + std::to_string(rule.size));
  if (rule.kind == ShardKind::kReplicate || rule.size == 1) {
    TensorShard all;
    all.tensor = whole;
    return all;
  }
  PLUMB_ASSIGN(const Matrices m, matrices_of(whole, rule));
  switch (rule.kind) {
    case ShardKind::kVocab:
      return divide_rows(whole, m, vocab_range(m.n, rule));
    case ShardKind::kRows:
      return divide_inputs(whole, m, rule);
    default:
      break;
  }
  if (m.n % (rule.unit * rule.size) != 0) {
    return cannot_divide(
        whole, std::to_string(m.n) + " rows in groups of " + std::to_string(rule.unit), rule.size);
  }
  return divide_rows(whole, m, even_range(m.n, rule.unit, rule));
}

}  // namespace plumb
