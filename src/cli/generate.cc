// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/serving.h"
#include "cli/signals.h"
#include "frontend/offline_run.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxNamedFields = 16;
constexpr std::uint64_t kMaxLineBytes = std::uint64_t{32} << 20;  // as the body of a request
constexpr std::uint64_t kMaxInputBytes = std::uint64_t{1} << 36;

class GenerateCommand final : public Command {
 public:
  const char* name() const override { return "generate"; }

  const char* about() const override {
    return "Answer a file of prompts; can be interrupted and continued";
  }

  void declare(CLI::App& app) override {
    add_model(app, serving_.model);
    app.add_option("--input", input_,
                   "JSON lines: {\"id\", \"prompt\" or \"messages\", parameters}, or the OpenAI "
                   "Batch format")
        ->required();
    app.add_option("--output", output_,
                   "JSON lines, one an id, errors included; an earlier run with the same input and "
                   "model is continued")
        ->required();
    add_value(app, options_.max_in_flight, "in-flight", "requests submitted at a time", 1, 65536);
    app.footer(
        "An error is a result: its record says why, later runs do not try it again, and the exit "
        "code is 1\nwhile the output has any. To try again, delete those records from the output "
        "and "
        "run the same command.");
    add_struct(app, serving_.engine);
    add_struct(app, serving_.grammar);
    add_struct(app, serving_.parsers);
    add_struct(app, serving_.engine.scheduler);
    add_struct(app, serving_.engine.tiers);
    add_struct(app, serving_.layout);
    add_struct(app, serving_.backend);
  }

  int run() override {
    const Result<OfflineProgress> result = generate();
    if (!result.ok()) {
      return report(result.status());
    }
    const OfflineProgress& progress = result.value();
    std::fprintf(
        stderr,
        "plumb: %lld of %lld records in %s, %lld of them errors, %lld tokens in this run%s\n",
        static_cast<long long>(progress.num_done), static_cast<long long>(progress.num_items),
        output_.c_str(), static_cast<long long>(progress.num_failed),
        static_cast<long long>(progress.completion_tokens),
        progress.num_done < progress.num_items ? "; run the same command again to continue" : "");
    name_ignored("schema keyword", progress.ignored_keywords);
    if (stop_requested().load()) {
      return kExitInterrupted;
    }
    if (progress.num_done < progress.num_items) {
      return kExitTemporary;
    }
    return progress.num_failed == 0 ? kExitOk : kExitFailed;
  }

 protected:
  void check(std::vector<Status>* violations) const override {
    append_violations(serving_, violations);
  }

 private:
  Result<OfflineProgress> generate() {
    PLUMB_ASSIGN(const std::string content, read_lines_file(input_, kMaxLineBytes, kMaxInputBytes));
    PLUMB_ASSIGN(const std::unique_ptr<Serving> serving, Serving::create(serving_, system_clock()));
    const ServedModelFacts& facts = serving->service().model().facts();
    const Result<OfflineInput> input = read_offline_input(content, facts.defaults, ApiLimits());
    if (!input.ok()) {
      return input.status().with(input_);
    }
    // Last of all, so that a run that cannot begin claims no output.
    PLUMB_ASSIGN(OfflineOutput output, OfflineOutput::open(output_, content, facts.fingerprint));
    warn(input.value(), output);
    catch_stop_signals(SecondSignal::kEnds);
    Progress bar("generating", "requests", static_cast<std::uint64_t>(output.num_done()));
    Result<OfflineProgress> result =
        run_offline(serving->service(), input.value().items, output, options_, system_clock(),
                    stop_requested(), [&](const OfflineProgress& progress) {
                      bar.update(static_cast<std::uint64_t>(progress.num_done),
                                 static_cast<std::uint64_t>(progress.num_items));
                    });
    bar.finish();
    return result;
  }

  void warn(const OfflineInput& input, const OfflineOutput& output) const {
    if (output.dropped_torn_line()) {
      std::fprintf(stderr, "plumb: %s: dropped a torn last line\n", output_.c_str());
    }
    if (input.torn_line > 0) {
      std::fprintf(stderr, "plumb: %s: line %lld is cut off and left out\n", input_.c_str(),
                   static_cast<long long>(input.torn_line));
    }
    name_ignored("unknown field", input.ignored_fields);
  }

  void name_ignored(const char* what, const std::map<std::string, std::int64_t>& lines) const {
    std::size_t num_named = 0;
    for (const auto& [name, num_lines] : lines) {
      if (++num_named > kMaxNamedFields) {
        std::fprintf(stderr, "plumb: %s: %zu more %ss are ignored\n", input_.c_str(),
                     lines.size() - kMaxNamedFields, what);
        break;
      }
      std::fprintf(stderr, "plumb: %s: the %s '%s' is ignored in %lld %s\n", input_.c_str(), what,
                   name.substr(0, 64).c_str(), static_cast<long long>(num_lines),
                   num_lines == 1 ? "line" : "lines");
    }
  }

  ServingOptions serving_;
  OfflineOptions options_;
  std::string input_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_generate_command() {
  return std::make_unique<GenerateCommand>();
}

}  // namespace plumb
