// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace plumb {

/// While it lives no file of this process grows beyond a size, as if the disk were full.
class NoRoom {
 public:
  explicit NoRoom(rlim_t num_bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit_), 0);
    const rlimit limit{num_bytes, old_limit_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }

  ~NoRoom() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit_), 0);
    std::signal(SIGXFSZ, old_handler_);
  }

  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;

 private:
  rlimit old_limit_{};
  void (*old_handler_)(int);
};

}  // namespace plumb
