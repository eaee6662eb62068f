// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/embedding_serving.h"
#include "server/server_options.h"

namespace plumb {
namespace {

constexpr const char* kHead =
    "# Options\n\nWritten by `plumb reference`. Each option is also read from the environment: "
    "`--max-num-seqs` as\n"
    "`PLUMB_MAX_NUM_SEQS`. `serve` knows all of them; `chat`, `generate` and `bench batch` "
    "know engine, scheduler,\n"
    "layout and back end, `bench step` the last two, `generate` grammars, parsers and the cache "
    "tiers too. Sizes take units "
    "(1.5GiB, 512KiB, 8GB),\n"
    "times too (250ms, 1.5s, 2m, 1h); a bare number is seconds. What is true or false is switched "
    "on by "
    "`--x` or `--x=true` and off by "
    "`--no-x` or `--x=false`.\n";

constexpr const char* kExitCodes =
    "\n## Exit codes\n\n"
    "| code | meaning |\n|---|---|\n"
    "| 0 | done |\n"
    "| 1 | failed; also where the command line is well-formed and does not fit the machine, the "
    "model or a file: a key file that is wrong, a public `--host` without keys, a `--max-context` "
    "beyond the model's; of `generate` also: all lines are answered, but some with an error |\n"
    "| 2 | the command line or the environment is wrong in itself (unknown commands and options, "
    "values out of their range, options that exclude each other): every mistake is listed, "
    "nothing was done |\n"
    "| 3 | `check` found a difference |\n"
    "| 75 | not now: the port is taken, the server does not answer, a run is incomplete |\n"
    "| 128 + N | ended by signal N, 130 after Ctrl-C |\n";

template <class S>
std::string options_section(const std::string& title) {
  S defaults;
  return "\n## " + title + "\n\n" + options_to_markdown(bind_options(defaults));
}

// Writes docs/reference/options.md; a test fails when that file is stale.
class ReferenceCommand final : public Command {
 public:
  const char* name() const override { return "reference"; }

  const char* about() const override { return "Print the reference page of all options"; }

  void declare(CLI::App& app) override { app.group(""); }

  int run() override {
    return print(
        kHead + options_section<ServerOptions>("Server") +
        options_section<ResponseOptions>("Responses API") +
        options_section<ChatStyle>("Chat completions") +
        options_section<AccessLogOptions>("Access log") + options_section<EngineOptions>("Engine") +
        options_section<SchedulerOptions>("Scheduler") +
        options_section<GrammarOptions>("Grammars") +
        options_section<ParserOptions>("Parsers of answers") +
        options_section<TierOptions>("Cache tiers") + options_section<ModelOptions>("Layout") +
        options_section<BackendOptions>("Back end") + options_section<EmbedOptions>("Embeddings") +
        kExitCodes);
  }
};

}  // namespace

std::unique_ptr<Command> make_reference_command() {
  return std::make_unique<ReferenceCommand>();
}

}  // namespace plumb
