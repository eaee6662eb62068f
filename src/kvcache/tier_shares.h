// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "kvcache/kv_tier.h"

namespace plumb {

/// Who makes room in a tier that tenants share: who holds the most of it, and nobody for one who
/// would then hold more.
///
/// So whoever holds no more than an equal share loses nothing to the others, however much these
/// bring, and alone a tenant may fill the tier. One who used nothing while 16 times the tier's size
/// was taken in counts as gone and makes room first.
/// Units   of the tier's choice: blocks or bytes.
/// Thread  as its tier.
class TierShares {
 public:
  explicit TierShares(std::int64_t capacity) : capacity_(capacity) {}

  /// Taken in; a use as well.
  void add(TierOwner owner, std::int64_t amount);
  /// Requires the owner holds it.
  void remove(TierOwner owner, std::int64_t amount);
  void use(TierOwner owner);

  std::int64_t held(TierOwner owner) const;

  /// Owners that hold something.
  std::int64_t num_owners() const { return std::ssize(owners_); }

  /// Who makes room for `amount` more of `newcomer`'s, of those that can give something; none if it
  /// is to have no room.
  std::optional<TierOwner> giver(TierOwner newcomer, std::int64_t amount,
                                 const std::function<bool(TierOwner)>& can_give) const;

 private:
  struct Share {
    std::int64_t held = 0;
    std::int64_t last_use = 0;  ///< in what was taken in by then
  };

  std::int64_t capacity_;
  std::int64_t num_taken_in_ = 0;
  std::map<TierOwner, Share> owners_;
};

}  // namespace plumb
