// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.h"
#include "cli/serving.h"
#include "server/server_options.h"

namespace plumb {
namespace {

template <class S>
void print_section(const char* title) {
  S defaults;
  std::printf("\n## %s\n\n%s", title, options_to_markdown(bind_options(defaults)).c_str());
}

// Writes docs/reference/options.md; a test fails when that file is stale.
class ReferenceCommand final : public Command {
 public:
  const char* name() const override { return "reference"; }

  const char* about() const override { return "Print the reference page of all options"; }

  void declare(CLI::App& app) override { app.group(""); }

  int run() override {
    std::printf(
        "# Options\n\nWritten by `plumb reference`. Each option is also read from the environment: "
        "`--max-num-seqs` as\n"
        "`PLUMB_MAX_NUM_SEQS`. `serve` knows all of them; `chat`, `generate` and `bench batch` "
        "know engine, scheduler,\n"
        "layout and back end, `generate` grammars and the cache tiers too.\n");
    print_section<ServerOptions>("Server");
    print_section<EngineOptions>("Engine");
    print_section<SchedulerOptions>("Scheduler");
    print_section<GrammarOptions>("Grammars");
    print_section<TierOptions>("Cache tiers");
    print_section<ModelOptions>("Layout");
    print_section<BackendOptions>("Back end");
    return kExitOk;
  }
};

}  // namespace

std::unique_ptr<Command> make_reference_command() {
  return std::make_unique<ReferenceCommand>();
}

}  // namespace plumb
