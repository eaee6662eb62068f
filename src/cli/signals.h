// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace plumb {

/// What a second signal does after the first one was caught.
enum class SecondSignal : unsigned char {
  kEnds,   ///< the process, at once, with 128 + its number
  kIsSet,  ///< nothing but the flag again
};

/// From now on SIGINT (with kEnds also SIGTERM) sets stop_requested() instead of ending the
/// process. With kEnds it interrupts system calls that wait; with kIsSet, where the process goes on
/// writing, only wait_for_input(). Thread: main, once.
void catch_stop_signals(SecondSignal second);

/// True after a caught signal; the owner may reset it.
std::atomic<bool>& stop_requested();

/// Waits for a signal after catch_stop_signals(kEnds); returns its number. SIGHUP, which asks for a
/// reload, is one of them and sets no flag.
int wait_for_signal();

/// Waits until that file can be read: true; or, after catch_stop_signals(), until stop_requested(),
/// which it takes back: false.
bool wait_for_input(int fd);

/// The exit code of a command that a signal ended: 128 + SIGINT.
inline constexpr int kExitInterrupted = 130;

}  // namespace plumb
