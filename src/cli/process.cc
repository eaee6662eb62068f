// SPDX-License-Identifier: Apache-2.0
#include "cli/process.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "base/text.h"

namespace plumb {

Status run_program(const std::vector<std::string>& command, const std::atomic<bool>& stop) {
  if (stop.load()) {
    return {Code::kCancelled, "interrupted"};
  }
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): POSIX form
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return {error == ENOENT ? Code::kNotFound : Code::kUnavailable,
            "cannot run " + command[0] + ": " + std::generic_category().message(error)};
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    if (stop.load()) {
      ::kill(child, SIGTERM);
    }
  }
  if (stop.load()) {
    return {Code::kCancelled, "interrupted"};
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  const std::string how = WIFEXITED(status) ? "status " + std::to_string(WEXITSTATUS(status))
                                            : "signal " + std::to_string(WTERMSIG(status));
  return {Code::kUnavailable, "'" + join(command, " ") + "' ended with " + how};
}

}  // namespace plumb
