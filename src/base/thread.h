// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace plumb {

/// A named thread that its destructor joins.
///
/// Ownership  the owner makes the body end before it destroys the thread (close its queue, set its
///            flag): the destructor waits.
/// Thread     any, except the thread itself.
class Thread {
 public:
  /// No thread; joinable() is false.
  Thread() = default;
  /// Runs the body on a new thread. The name is what debuggers and top show, cut to 15 bytes.
  /// A process that may not create a thread ends, as one without memory does; threads are made at
  /// start, never per request.
  Thread(std::string name, std::function<void()> body);
  Thread(Thread&& other) noexcept;
  Thread& operator=(Thread&& other) noexcept;
  ~Thread();

  bool joinable() const { return impl_ != nullptr; }

  /// Waits for the end of the body. Requires joinable(). Afterwards joinable() is false.
  void join();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Cores that this process may really use: its affinity mask, cut by the CPU quota of its control
/// group and of every group above (cgroup v1 and v2), rounded down, at least 1.
///
/// Requires  root is "" outside tests: the folder in front of /proc and /sys.
/// Cost      reads a few small files; call it once at start.
int num_usable_cores(const std::string& root = "");

}  // namespace plumb
