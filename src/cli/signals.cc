// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace plumb {
namespace {

// A handler has no argument but the number, so what it touches is global.
std::atomic<bool> requested{false};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<bool> ends_again{true};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> wake_fd{-1};        // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> wait_fd{-1};        // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_stop(int number) {
  const int saved_errno = errno;
  if (requested.exchange(true) && ends_again.load()) {
    ::_exit(128 + number);
  }
  const char byte = static_cast<char>(number);
  if (wake_fd.load() >= 0 && ::write(wake_fd.load(), &byte, 1) < 0) {
    // The pipe is full of earlier signals: the waiter wakes anyway.
  }
  errno = saved_errno;
}

void on_reload(int number) {
  const int saved_errno = errno;
  const char byte = static_cast<char>(number);
  if (wake_fd.load() >= 0 && ::write(wake_fd.load(), &byte, 1) < 0) {
    // The pipe is full of earlier signals: the waiter wakes anyway.
  }
  errno = saved_errno;
}

}  // namespace

void catch_stop_signals(SecondSignal second) {
  ends_again.store(second == SecondSignal::kEnds);
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) == 0) {
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    if (second == SecondSignal::kIsSet) {
      ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // wait_for_input() takes all that is there
    }
    wait_fd.store(ends[0]);
    wake_fd.store(ends[1]);
  }
  struct sigaction action = {};
  action.sa_handler = on_stop;
  action.sa_flags = second == SecondSignal::kIsSet ? SA_RESTART : 0;
  sigaction(SIGINT, &action, nullptr);
  if (second == SecondSignal::kEnds) {
    sigaction(SIGTERM, &action, nullptr);
    action.sa_handler = on_reload;
    sigaction(SIGHUP, &action, nullptr);
  }
}

std::atomic<bool>& stop_requested() {
  return requested;
}

int wait_for_signal() {
  char byte = 0;
  while (::read(wait_fd.load(), &byte, 1) < 0 && errno == EINTR) {
  }
  return byte == 0 ? SIGTERM : byte;
}

bool wait_for_input(int fd) {
  for (;;) {
    pollfd files[] = {{.fd = fd, .events = POLLIN, .revents = 0},
                      {.fd = wait_fd.load(), .events = POLLIN, .revents = 0}};
    const int num = ::poll(files, 2, -1);
    char bytes[64];
    while (files[1].revents != 0 && ::read(wait_fd.load(), bytes, sizeof(bytes)) > 0) {
      // Signals of earlier waits too: only the flag says whether one is new.
    }
    if (requested.exchange(false)) {
      return false;
    }
    if (num > 0 && files[0].revents != 0) {
      return true;
    }
  }
}

}  // namespace plumb
