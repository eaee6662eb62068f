// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fair_share.h"

#include <gtest/gtest.h>
#include <random>

namespace plumb {
namespace {

// Tenants with endless queues; each request costs what the test says.
struct FairScene {
  explicit FairScene(const std::vector<TenantWeight>& weights = {}) : fair(weights) {}

  TenantId wait(const char* name) {
    const TenantId id = fair.tenant(name);
    fair.add_waiting(id);
    return id;
  }

  // Serves one request after the other and charges it; returns the tokens of each tenant.
  std::map<TenantId, std::int64_t> run(int count, const std::map<TenantId, std::int64_t>& costs) {
    std::map<TenantId, std::int64_t> served;
    for (int i = 0; i < count; ++i) {
      std::optional<TenantId> first;
      fair.serve(1, [&](TenantId id) {
        first = id;
        return std::optional(costs.at(id));
      });
      fair.charge(*first, costs.at(*first));
      served[*first] += costs.at(*first);
    }
    return served;
  }

  FairShare fair;
};

TEST(FairShare, tenants_that_wait_get_equal_service_whatever_their_requests_cost) {
  FairScene scene;
  const TenantId a = scene.wait("a");
  const TenantId b = scene.wait("b");
  const auto served = scene.run(5000, {{a, 100}, {b, 2500}});
  EXPECT_NEAR(static_cast<double>(served.at(a)) / static_cast<double>(served.at(b)), 1.0, 0.02);
}

TEST(FairShare, weights_divide_the_service) {
  FairScene scene({{"a", 3}});
  const TenantId a = scene.wait("a");
  const TenantId b = scene.wait("b");
  const auto served = scene.run(5000, {{a, 300}, {b, 300}});
  EXPECT_NEAR(static_cast<double>(served.at(a)) / static_cast<double>(served.at(b)), 3.0, 0.05);
}

TEST(FairShare, service_that_nobody_else_waits_for_is_no_debt) {
  FairScene scene;
  const TenantId a = scene.wait("a");
  scene.run(1000, {{a, 1000}});
  const TenantId b = scene.wait("b");
  const auto served = scene.run(100, {{a, 500}, {b, 500}});
  EXPECT_EQ(served.at(a), served.at(b));
}

TEST(FairShare, a_newcomer_is_served_at_the_next_turn_and_has_saved_nothing) {
  FairScene scene;
  const TenantId a = scene.wait("a");
  const TenantId b = scene.wait("b");
  scene.run(1000, {{a, 500}, {b, 500}});
  const TenantId c = scene.wait("c");
  const auto served = scene.run(30, {{a, 512}, {b, 512}, {c, 512}});
  EXPECT_EQ(served.at(c), 10 * 512);
}

TEST(FairShare, debts_are_paid_while_a_tenant_waits_for_nothing) {
  FairScene scene;
  const TenantId a = scene.wait("a");
  const TenantId b = scene.wait("b");
  scene.fair.charge(a, 5000);
  EXPECT_LT(scene.fair.balance(a), 0);
  scene.fair.remove_waiting(a);
  const TenantId c = scene.wait("c");
  scene.run(100, {{b, 500}, {c, 500}});
  scene.fair.add_waiting(a);
  EXPECT_GT(scene.fair.balance(a), 0);
}

TEST(FairShare, a_tenant_without_more_requests_leaves_the_rest_to_others) {
  FairScene scene;
  const TenantId a = scene.wait("a");
  const TenantId b = scene.wait("b");
  std::vector<TenantId> turns;
  int left_of_a = 2;
  scene.fair.serve(6, [&](TenantId id) -> std::optional<std::int64_t> {
    if (id == a && left_of_a-- == 0) {
      return std::nullopt;
    }
    turns.push_back(id);
    return 400;
  });
  EXPECT_EQ(turns, (std::vector<TenantId>{a, a, b, b, b, b}));
  scene.fair.serve(3, [](TenantId) { return std::optional<std::int64_t>(); });  // nobody: an end
}

TEST(FairShare, random_arrivals_never_starve_anyone) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    FairScene scene;
    std::vector<TenantId> ids;
    std::map<TenantId, std::int64_t> costs;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      ids.push_back(scene.wait(name));
      costs[ids.back()] = 1 + static_cast<std::int64_t>(random() % 4000);
    }
    const auto served = scene.run(4000, costs);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = 0;
    for (const TenantId id : ids) {
      least = std::min(least, served.at(id));
      most = std::max(most, served.at(id));
    }
    EXPECT_LE(most - least, 2 * 4000 + 1024);
  }
}

TEST(TenantWeights, are_read_and_refused_with_the_item) {
  const std::vector<std::string> good{"team=3", "a=b=2"};
  const auto weights = parse_tenant_weights(good).value();
  EXPECT_EQ(weights[0].tenant, "team");
  EXPECT_EQ(weights[1].tenant, "a=b");
  EXPECT_EQ(weights[1].weight, 2);
  for (const char* bad : {"team", "=3", "team=0", "team=1001", "team=x"}) {
    const std::vector<std::string> items{bad};
    EXPECT_NE(parse_tenant_weights(items).status().message().find(bad), std::string::npos);
  }
  const std::vector<std::string> twice{"a=1", "a=2"};
  EXPECT_FALSE(parse_tenant_weights(twice).ok());
}

TEST(FairShare, more_of_a_tenant_wait_when_it_has_more_for_its_weight) {
  const std::vector<TenantWeight> weights{{"heavy", 3}};
  FairShare share(weights);
  const TenantId heavy = share.tenant("heavy");
  const TenantId light = share.tenant("light");
  for (int i = 0; i < 3; ++i) {
    share.add_waiting(heavy);
  }
  share.add_waiting(light);
  EXPECT_FALSE(share.has_more_waiting(heavy, light));  // 3 / 3 against 1 / 1
  EXPECT_FALSE(share.has_more_waiting(light, heavy));
  share.add_waiting(heavy);
  EXPECT_TRUE(share.has_more_waiting(heavy, light));
  EXPECT_FALSE(share.has_more_waiting(light, heavy));
}

}  // namespace
}  // namespace plumb
