// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb {

/// Which share of a model's weights is loaded: rank of num_ranks.
struct ShardRank {
  int rank = 0;
  int num_ranks = 1;
};

}  // namespace plumb
