// SPDX-License-Identifier: Apache-2.0
#include "grammar/mask_walk.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace plumb {
namespace {

constexpr std::int64_t kNodesOfUnit = 4;  // visited in the time that a unit of work takes

void set_bit(std::span<std::uint32_t> mask, TokenId token) {
  mask[static_cast<std::size_t>(token) / 32] |= 1U << (token % 32);
}

}  // namespace

bool MaskWalk::fill(RowId row, std::span<std::uint32_t> mask) {
  if (store_.is_complete(row)) {
    for (const TokenId token : vocab_.end_tokens()) {
      set_bit(mask, token);
    }
  }
  add_inside(row, mask);
  if (!store_.status().ok()) {
    return false;
  }
  path_rows_.assign(vocab_.trie().max_depth() + 1, RowStore::kDead);
  path_rows_[0] = row;
  path_ = {};
  std::uint32_t done = 0;  // the trie's nodes before it need no more
  for (TokenClass::Range exit : exits_) {
    // Ranges are disjoint, nest, or are overlapping runs of neighbours below one node.
    exit.begin = std::max(exit.begin, done);
    if (exit.begin >= exit.end) {
      continue;
    }
    const RowId before = row_before(exit.begin);
    if (before == RowStore::kFailed || (before >= 0 && !walk_range(exit, mask))) {
      return false;
    }
    done = exit.end;
  }
  return true;
}

// Tokens inside the terminals under way; collects where the others leave.
void MaskWalk::add_inside(RowId row, std::span<std::uint32_t> mask) {
  exits_.clear();
  const RowStore::Scan* last = nullptr;
  for (const RowStore::Scan& scan : store_.scans(row)) {
    const Dfa& dfa = store_.terminal(scan);
    // Several items wait for the same terminal; they stand together only if at one place.
    if (last != nullptr && &store_.terminal(*last) == &dfa && last->state == scan.state) {
      continue;
    }
    last = &scan;
    std::int64_t num_nodes = 0;
    const auto classes = vocab_.classify(dfa, scan.state, &num_nodes);
    store_.spend(num_nodes / kNodesOfUnit);
    if (!store_.status().ok()) {
      return;
    }
    for (const std::shared_ptr<const TokenClass>& tokens : classes) {
      if (tokens == nullptr) {
        break;
      }
      for (const TokenId token : tokens->inside) {
        set_bit(mask, token);
      }
      for (std::size_t i = 0; i < tokens->mask.size(); ++i) {
        mask[i] |= tokens->mask[i];
      }
      exits_.insert(exits_.end(), tokens->exits.begin(), tokens->exits.end());
    }
  }
  std::sort(exits_.begin(), exits_.end(), [](TokenClass::Range a, TokenClass::Range b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
}

// The row before the byte of a node. Nodes come in rising order, so paths share long prefixes.
RowId MaskWalk::row_before(std::uint32_t node) {
  std::string_view path = vocab_.trie().path(node);
  path.remove_suffix(1);
  const auto common = static_cast<std::size_t>(
      std::mismatch(path_.begin(), path_.end(), path.begin(), path.end()).first - path_.begin());
  path_ = path;
  for (std::size_t i = common; i < path.size(); ++i) {
    const RowId before = path_rows_[i];
    path_rows_[i + 1] =
        before < 0 ? before : store_.next(before, static_cast<std::uint8_t>(path[i]));
  }
  return path_rows_[path.size()];
}

// The subtrees of the range, given the row before them in path_rows_.
bool MaskWalk::walk_range(TokenClass::Range range, std::span<std::uint32_t> mask) {
  const TokenTrie& trie = vocab_.trie();
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  for (std::uint32_t i = range.begin; i < range.end;) {
    const std::uint32_t depth = nodes[i].depth;
    const RowId row = store_.next(path_rows_[depth - 1], static_cast<std::uint8_t>(nodes[i].byte));
    if (row < 0) {
      if (row == RowStore::kFailed) {
        return false;
      }
      i = nodes[i].end;
      continue;
    }
    path_rows_[depth] = row;
    if (trie.is_token(i)) {
      for (const TokenId token : trie.tokens(nodes[i].first_entry)) {
        set_bit(mask, token);
      }
    }
    ++i;
  }
  return true;
}

bool MaskWalk::has_longer_token(std::string_view bytes, RowId after) {
  const TokenTrie& trie = vocab_.trie();
  const std::optional<std::uint32_t> top = trie.find(bytes);
  if (!top.has_value()) {
    return false;
  }
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  path_rows_.assign(trie.max_depth() + 1, RowStore::kDead);
  path_rows_[bytes.size()] = after;
  path_ = {};
  for (std::uint32_t i = *top + 1; i < nodes[*top].end;) {
    const std::uint32_t depth = nodes[i].depth;
    const RowId row = store_.next(path_rows_[depth - 1], static_cast<std::uint8_t>(nodes[i].byte));
    if (row >= 0 && trie.is_token(i)) {
      return true;
    }
    path_rows_[depth] = row;
    i = row >= 0 ? i + 1 : nodes[i].end;
  }
  return false;
}

}  // namespace plumb
