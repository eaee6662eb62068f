// SPDX-License-Identifier: Apache-2.0
#include "base/options_cli.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <utility>

namespace plumb {
namespace {

std::string type_name_of(const BoundOption& option) {
  if (option.kind == OptionKind::kBytes) {
    return "BYTES";  // the range of a size says little, and hides that units are taken
  }
  if (!option.range.empty()) {
    return option.range;
  }
  if (option.kind == OptionKind::kDuration) {
    return "TIME";
  }
  return option.kind == OptionKind::kPath ? "PATH" : "TEXT";
}

// The parser does not say where a text came from: an error names the variable that holds it.
std::string source_of(const BoundOption& option, const std::string& variable,
                      const std::string& text) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no setenv
  const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  return value != nullptr && value == text ? variable : "--" + option.flag;
}

CLI::Option* add_one(CLI::App& app, const BoundOption& option, const std::string& variable,
                     std::vector<Status>* violations) {
  const auto take = [&option, variable, violations](const std::string& text) {
    Status status = set_from_text(option, text, source_of(option, variable, text));
    if (!status.ok()) {
      violations->push_back(std::move(status));
    }
  };
  const std::string flag = "--" + option.flag;
  if (option.kind == OptionKind::kBool) {
    // The parser makes "true" of --x, "false" of --no-x, and takes --x=TEXT as it is.
    return app.add_flag(flag + ",!--no-" + option.flag, option.help)->each(take);
  }
  const bool is_list = option.kind == OptionKind::kTextList;
  const CLI::callback_t take_all = [take](const CLI::results_t& values) {
    std::string text;
    for (const std::string& value : values) {
      text += (text.empty() ? "" : ",") + value;
    }
    take(text);
    return true;
  };
  CLI::Option* added = app.add_option(flag, take_all, option.help);
  added->type_name(type_name_of(option));
  added->multi_option_policy(is_list ? CLI::MultiOptionPolicy::TakeAll
                                     : CLI::MultiOptionPolicy::TakeLast);
  if (is_list) {
    added->expected(1, -1)->type_size(1);
  }
  return added;
}

}  // namespace

void add_options(CLI::App& app, std::span<const BoundOption> options,
                 std::vector<Status>* violations, Environment environment) {
  for (const BoundOption& option : options) {
    const std::string variable =
        environment == Environment::kRead ? environment_name(option) : std::string();
    add_one(app, option, variable, violations)->envname(variable);
  }
}

}  // namespace plumb
