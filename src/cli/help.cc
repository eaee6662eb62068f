// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

namespace plumb {
namespace {

class ShortHelp final : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (option->get_fnames().empty()) {
      return CLI::Formatter::make_option_name(option, is_positional);
    }
    return "--[no-]" + option->get_lnames().front();
  }
};

}  // namespace

void use_short_help(CLI::App& app) {
  app.formatter_fn([](const CLI::App* shown, std::string name, CLI::AppFormatMode mode) {
    return ShortHelp().make_help(shown, std::move(name), mode);
  });
}

}  // namespace plumb
