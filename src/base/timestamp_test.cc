// SPDX-License-Identifier: Apache-2.0
#include "base/timestamp.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using std::chrono::milliseconds;
using std::chrono::sys_days;
using std::chrono::year;

TEST(Timestamps, are_rfc_3339_in_utc_with_the_digits_asked_for) {
  const auto at = sys_days(year{2024} / 2 / 29) + std::chrono::hours(7) + milliseconds(61042);
  EXPECT_EQ(to_rfc3339(at, 0), "2024-02-29T07:01:01Z");
  EXPECT_EQ(to_rfc3339(at, 3), "2024-02-29T07:01:01.042Z");
  EXPECT_EQ(to_rfc3339(at, 9), "2024-02-29T07:01:01.042000000Z");
  EXPECT_EQ(to_rfc3339(sys_days(year{1969} / 12 / 31) + milliseconds(86'399'999), 2),
            "1969-12-31T23:59:59.99Z");
}

}  // namespace
}  // namespace plumb
