// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/options_cli.h"
#include "base/status.h"

namespace CLI {
class App;
}  // namespace CLI

namespace plumb {

/// Exit codes of the program; a signal that a command handles gives 128 + its number.
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
  Command() = default;
  virtual ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// "serve", or with its group: "model inspect".
  virtual const char* name() const = 0;
  virtual const char* about() const = 0;
  virtual void declare(CLI::App& app) = 0;
  /// Returns an exit code.
  virtual int run() = 0;

  /// Everything that is wrong with the command line, rules across flags included.
  std::vector<Status> violations() const;

 protected:
  /// Rules that the range of one flag cannot say: appends a status for each broken one.
  virtual void check(std::vector<Status>*) const {}

  /// The required positional MODEL.
  static void add_model(CLI::App& app, std::string& model);

  /// Adds the one-line options of a struct that lives in the command.
  template <class S>
  void add_struct(CLI::App& app, S& options) {
    add_bound(app, bind_options(options), Environment::kRead);
  }

  /// Adds one flag for a value that lives in the command; a bool becomes --flag/--no-flag.
  /// The environment sets the options of structs only: their names mean the same everywhere.
  template <class T>
  void add_value(CLI::App& app, T& value, const char* flag, const char* help,
                 double min = default_min<T>(), double max = default_max<T>()) {
    constexpr OptionKind kKind = option_detail::kind_of<T>(FieldForm::kPlain);
    add_bound(app,
              {{.flag = flag,
                .help = help,
                .kind = kKind,
                .range = option_detail::range_text(kKind, min, max),
                .choices = {},
                .is_secret = false,
                .set =
                    [&value, min, max](const Json& json) {
                      return option_detail::read(json, kKind, min, max, &value);
                    },
                .get = [&value] { return option_detail::write(value); }}},
              Environment::kIgnored);
  }

  /// As add_value(), for a flag whose absence means something else than any value.
  template <class T>
  void add_optional(CLI::App& app, std::optional<T>& value, const char* flag, const char* help,
                    double min = default_min<T>(), double max = default_max<T>()) {
    constexpr OptionKind kKind = option_detail::kind_of<T>(FieldForm::kPlain);
    add_bound(app,
              {{.flag = flag,
                .help = help,
                .kind = kKind,
                .range = option_detail::range_text(kKind, min, max),
                .choices = {},
                .is_secret = false,
                .set =
                    [&value, min, max](const Json& json) {
                      T read{};
                      PLUMB_RETURN_IF_ERROR(option_detail::read(json, kKind, min, max, &read));
                      value = read;
                      return Status();
                    },
                .get = [] { return Json(); }}},
              Environment::kIgnored);
  }

  /// A flag that takes one of a few names.
  void add_choice(CLI::App& app, std::string& value, const char* flag, const char* help,
                  std::vector<std::string> names);
  /// A flag that takes a path.
  void add_path(CLI::App& app, std::string& value, const char* flag, const char* help);

 private:
  void add_bound(CLI::App& app, std::vector<BoundOption> options, Environment environment);

  std::vector<std::unique_ptr<std::vector<BoundOption>>> bound_;  // the parser refers to them
  std::vector<Status> refused_;
};

/// Every command, in the order of the help.
std::vector<std::unique_ptr<Command>> all_commands();

/// Prints "plumb: message" to standard error and returns the exit code that the status means.
int report(const Status& status);

/// Writes to standard output; the exit code says whether all of it went out.
int print(std::string_view text);

}  // namespace plumb
