// SPDX-License-Identifier: Apache-2.0
#include "base/options_cli.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <utility>

namespace plumb {
namespace {

// The parser counts a flag: --x is 1, --no-x (and "off" in the environment) -1.
void add_flag(CLI::App& app, const BoundOption& option) {
  const std::string names = "--" + option.flag + ",!--no-" + option.flag;
  const std::function<void(std::int64_t)> take = [&option](std::int64_t count) {
    const Status status = option.set(Json(count > 0));
    PLUMB_CHECK(status.ok(), status.message());
  };
  app.add_flag_function(names, take, option.help)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->envname(environment_name(option));
}

}  // namespace

void add_options(CLI::App& app, std::span<const BoundOption> options,
                 std::vector<Status>* violations) {
  for (const BoundOption& option : options) {
    const bool is_list = option.kind == OptionKind::kTextList;
    const CLI::callback_t take = [&option, violations](const CLI::results_t& values) {
      std::string text;
      for (const std::string& value : values) {
        text += (text.empty() ? "" : ",") + value;
      }
      Status status = set_from_text(option, text);
      if (!status.ok()) {
        violations->push_back(std::move(status));
      }
      return true;
    };
    if (option.kind == OptionKind::kBool) {
      add_flag(app, option);
      continue;
    }
    CLI::Option* added = app.add_option("--" + option.flag, take, option.help);
    added->envname(environment_name(option));
    added->type_name(option.range.empty() ? (option.kind == OptionKind::kPath ? "PATH" : "TEXT")
                                          : option.range);
    added->multi_option_policy(is_list ? CLI::MultiOptionPolicy::TakeAll
                                       : CLI::MultiOptionPolicy::TakeLast);
    if (is_list) {
      added->expected(1, -1)->type_size(1);
    }
  }
}

}  // namespace plumb
