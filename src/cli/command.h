// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "base/options.h"
#include "base/status.h"

namespace CLI {
class App;
}  // namespace CLI

namespace plumb {

/// Exit codes of the program.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitMismatch = 3,
  kExitTemporary = 75,
};

/// One subcommand: its flags and what it does.
class Command {
 public:
  virtual ~Command() = default;
  /// "serve", or with its group: "model inspect".
  virtual const char* name() const = 0;
  virtual const char* about() const = 0;
  virtual void declare(CLI::App& app) = 0;
  /// Returns an exit code.
  virtual int run() = 0;

  /// Options whose values were refused while the command line was read.
  const std::vector<Status>& violations() const { return violations_; }

 protected:
  /// Adds the one-line options of a struct that lives in the command.
  template <class S>
  void add_struct(CLI::App& app, S& options) {
    bound_.push_back(bind_options(options));
    add_bound(app, bound_.back());
  }

 private:
  void add_bound(CLI::App& app, const std::vector<BoundOption>& options);

  std::vector<std::vector<BoundOption>> bound_;
  std::vector<Status> violations_;
};

/// Every command, in the order of the help.
std::vector<std::unique_ptr<Command>> all_commands();

/// Prints "plumb: message" to standard error and returns the exit code that the status means.
int report(const Status& status);

}  // namespace plumb
