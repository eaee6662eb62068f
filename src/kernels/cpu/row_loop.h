// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/cpu_stream.h"

namespace plumb::cpu {

/// body(row) for each row, in parallel when there is enough to do: a dispatch costs as much as tens
/// of thousands of elements.
template <class Body>
void for_rows(std::int64_t rows, std::int64_t elements_per_row, Stream& stream, const Body& body) {
  constexpr std::int64_t kSerialRowElements = 32768;
  if (rows <= 1 || rows * elements_per_row <= kSerialRowElements) {
    for (std::int64_t row = 0; row < rows; ++row) {
      body(row);
    }
    return;
  }
  ComputePool& pool = cpu_stream(stream).pool();
  const std::int64_t grain = std::max(rows / (8 * pool.num_threads()), std::int64_t{1});
  pool.run(rows, grain, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      body(row);
    }
  });
}

}  // namespace plumb::cpu
