// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "scheduler/seq_snapshot.h"

namespace plumb {

/// How much more than others a tenant gets.
struct TenantWeight {
  std::string tenant;
  std::int64_t weight = 1;
};

/// Reads "NAME=WEIGHT" items. Errors kInvalidArgument: no name, a weight that is not 1 to 1000, a
/// name twice.
Result<std::vector<TenantWeight>> parse_tenant_weights(std::span<const std::string> items);

/// Who may begin next, so that tenants that wait get service in proportion to their weights:
/// deficit round robin over service tokens, charged as they are used.
///
/// Each round gives every tenant a quantum; a tenant takes turns while its balance is positive, and
/// what it uses beyond that is a debt that later rounds pay. A tenant that waits for nothing saves
/// nothing, and service that nobody else waits for costs nothing.
/// Thread  engine.
/// Cost    linear in the tenants that wait; bounded: names beyond 4,096 share their places.
/// Source  Shreedhar and Varghese 1995, "Efficient fair queueing using deficit round robin".
class FairShare {
 public:
  explicit FairShare(std::span<const TenantWeight> weights = {});

  /// The tenant of that name, a new one if need be.
  TenantId tenant(std::string_view name);

  std::int64_t num_tenants() const { return std::ssize(tenants_); }

  /// One more sequence of the tenant waits.
  void add_waiting(TenantId id);
  /// One less. Requires one waits.
  void remove_waiting(TenantId id);
  /// The tenant was served that many service tokens.
  void charge(TenantId id, std::int64_t service_tokens);

  /// Those that wait for something.
  std::span<const TenantId> waiting_tenants() const { return ring_; }

  /// Whether for its weight more of tenant a wait than of b.
  bool has_more_waiting(TenantId a, TenantId b) const {
    return at(a).num_waiting * at(b).weight > at(b).num_waiting * at(a).weight;
  }

  std::int64_t balance(TenantId id) const { return at(id).balance; }

  /// Calls take(tenant) up to `count` times in the order of the turns; it returns what the
  /// tenant's next sequence will probably cost, or nullopt when the tenant has no more. Only the
  /// round that makes somebody eligible is booked; the rest is a forecast.
  template <class Take>
  void serve(std::int64_t count, const Take& take) {
    if (ring_.empty()) {
      return;
    }
    begin_round();
    forecast_.clear();
    for (const TenantId id : ring_) {
      forecast_.push_back({id, at(id).balance, at(id).weight * kQuantum});
    }
    std::size_t place = 0;
    while (count > 0 && !forecast_.empty()) {
      if (place >= forecast_.size()) {
        place = 0;
        top_up();
      }
      Turn& turn = forecast_[place];
      std::optional<std::int64_t> cost = std::int64_t{0};
      while (count > 0 && turn.balance > 0 && (cost = take(turn.tenant)).has_value()) {
        turn.balance -= std::max<std::int64_t>(*cost, 1);
        --count;
      }
      if (cost.has_value()) {
        ++place;
      } else {
        forecast_.erase(forecast_.begin() + static_cast<std::ptrdiff_t>(place));
      }
    }
  }

 private:
  static constexpr std::int64_t kQuantum = 512;

  struct Tenant {
    std::int64_t weight = 1;
    std::int64_t balance = 0;
    std::int64_t num_waiting = 0;
  };

  struct Turn {
    TenantId tenant{};
    std::int64_t balance = 0;
    std::int64_t quantum = 0;
  };

  Tenant& at(TenantId id) { return tenants_[static_cast<std::size_t>(id)]; }

  const Tenant& at(TenantId id) const { return tenants_[static_cast<std::size_t>(id)]; }

  void begin_round();
  void top_up();

  std::map<std::string, std::int64_t, std::less<>> weights_;
  std::map<std::string, TenantId, std::less<>> ids_;
  std::vector<Tenant> tenants_;
  std::vector<TenantId> ring_;  ///< tenants that wait, in the order in which they came
  std::vector<Turn> forecast_;
};

}  // namespace plumb
