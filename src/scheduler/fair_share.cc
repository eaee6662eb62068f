// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fair_share.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/check.h"
#include "base/text.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxTenants = 4096;
constexpr std::int64_t kMaxWeight = 1000;

// Rounds until a balance is positive.
std::int64_t rounds_needed(std::int64_t balance, std::int64_t quantum) {
  return balance > 0 ? 0 : -balance / quantum + 1;
}

}  // namespace

Result<std::vector<TenantWeight>> parse_tenant_weights(std::span<const std::string> items) {
  std::vector<TenantWeight> weights;
  for (const std::string& item : items) {
    const std::size_t equals = item.rfind('=');
    TenantWeight weight;
    if (equals == std::string::npos || equals == 0 ||
        !parse_int64(std::string_view(item).substr(equals + 1), &weight.weight) ||
        weight.weight < 1 || weight.weight > kMaxWeight) {
      return Status{Code::kInvalidArgument, "--tenant-weights: '" + item.substr(0, 64) +
                                                "', expected NAME=WEIGHT with a weight from 1 to " +
                                                std::to_string(kMaxWeight)};
    }
    weight.tenant = item.substr(0, equals);
    for (const TenantWeight& other : weights) {
      if (other.tenant == weight.tenant) {
        return Status{Code::kInvalidArgument,
                      "--tenant-weights: '" + weight.tenant.substr(0, 64) + "' is named twice"};
      }
    }
    weights.push_back(std::move(weight));
  }
  return weights;
}

FairShare::FairShare(std::span<const TenantWeight> weights) {
  for (const TenantWeight& weight : weights) {
    weights_[weight.tenant] = weight.weight;
  }
  tenant("");
}

TenantId FairShare::tenant(std::string_view name) {
  if (const auto found = ids_.find(name); found != ids_.end()) {
    return found->second;
  }
  if (std::ssize(tenants_) >= kMaxTenants) {
    return TenantId{static_cast<std::uint32_t>(std::hash<std::string_view>()(name) %
                                               static_cast<std::size_t>(kMaxTenants))};
  }
  const TenantId id{static_cast<std::uint32_t>(tenants_.size())};
  const auto weight = weights_.find(name);
  tenants_.push_back({.weight = weight == weights_.end() ? 1 : weight->second});
  ids_.emplace(name, id);
  return id;
}

void FairShare::add_waiting(TenantId id) {
  Tenant& tenant = at(id);
  if (tenant.num_waiting++ == 0) {
    ring_.push_back(id);
    if (tenant.balance >= 0) {
      tenant.balance = tenant.weight * kQuantum;
    }
  }
}

void FairShare::remove_waiting(TenantId id) {
  PLUMB_CHECK(at(id).num_waiting > 0, "a tenant that waits for nothing waits for less");
  if (--at(id).num_waiting == 0) {
    std::erase(ring_, id);
  }
}

void FairShare::charge(TenantId id, std::int64_t service_tokens) {
  const bool waits_itself = at(id).num_waiting > 0;
  if (std::ssize(ring_) > (waits_itself ? 1 : 0)) {
    at(id).balance -= service_tokens;
  }
}

// Books the rounds after which the first of the waiting is eligible; all debts shrink by them.
void FairShare::begin_round() {
  std::int64_t rounds = std::numeric_limits<std::int64_t>::max();
  for (const TenantId id : ring_) {
    rounds = std::min(rounds, rounds_needed(at(id).balance, at(id).weight * kQuantum));
  }
  if (rounds == 0) {
    return;
  }
  for (Tenant& tenant : tenants_) {
    const std::int64_t quantum = tenant.weight * kQuantum;
    if (rounds_needed(tenant.balance, quantum) >= rounds) {
      tenant.balance += rounds * quantum;
    } else {
      tenant.balance = quantum;  // paid before, and nothing is saved
    }
  }
}

void FairShare::top_up() {
  std::int64_t rounds = std::numeric_limits<std::int64_t>::max();
  for (const Turn& turn : forecast_) {
    rounds = std::min(rounds, rounds_needed(turn.balance, turn.quantum));
  }
  for (Turn& turn : forecast_) {
    turn.balance += rounds * turn.quantum;
  }
}

}  // namespace plumb
