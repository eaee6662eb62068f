// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "bench_local/step_report.h"
#include "cli/catalogue.h"
#include "cli/commands.h"
#include "cli/cpu_name.h"
#include "cli/progress.h"
#include "cli/serving.h"
#include "cli/version.h"
#include "kernels/cpu/machine_rates.h"

namespace plumb {
namespace {

/// The probe reads what a step reads, within these bounds.
constexpr std::int64_t kLeastWorkingSet = std::int64_t{64} << 20;
constexpr std::int64_t kMostWorkingSet = std::int64_t{1} << 30;

/// What was reached before or after the steps: a busy moment of the machine counts less.
std::optional<MachineRates> better(const std::optional<MachineRates>& a,
                                   const std::optional<MachineRates>& b) {
  if (!a.has_value() || !b.has_value()) {
    return a.has_value() ? a : b;
  }
  return MachineRates{.read_gb = std::max(a->read_gb, b->read_gb),
                      .float_gflop = std::max(a->float_gflop, b->float_gflop),
                      .int8_gop = std::max(a->int8_gop, b->int8_gop),
                      .int16_gop = std::max(a->int16_gop, b->int16_gop)};
}

class BenchStepCommand final : public Command {
 public:
  const char* name() const override { return "bench step"; }

  const char* about() const override {
    return "Time of one decode step and one prefill step, by op with --profile";
  }

  void declare(CLI::App& app) override {
    add_model(app, serving_.model);
    add_value(app, bench_.batch, "batch", "rows of the decode step", 1, 1 << 16);
    add_value(app, bench_.depth, "depth", "tokens in the cache before each row of the decode step",
              0, 1 << 24);
    add_value(app, bench_.input_len, "input-len", "prompt tokens of the prefill step", 1, 1 << 24);
    add_value(app, bench_.rounds, "rounds", "measured runs of each step", 1, 10'000);
    add_value(app, bench_.warmup, "warmup", "runs before", 0, 10'000);
    add_value(app, bench_.seed, "seed", "seed of the tokens");
    add_value(app, bench_.profile, "profile",
              "also time every op, and compare with what a probe of this machine reaches");
    add_path(app, trace_, "trace",
             "file for a time line of the profiled steps, for trace viewers (Perfetto)");
    add_value(app, json_, "json", "print JSON alone on standard output");
    add_struct(app, serving_.layout);
    add_struct(app, serving_.backend);
  }

  int run() override {
    const Result<StepBenchReport> measured = measure();
    if (!measured.ok()) {
      return report(measured.status());
    }
    if (!trace_.empty()) {
      if (const Status status = write_file_atomic(trace_, to_trace(measured.value()));
          !status.ok()) {
        return report(status);
      }
    }
    if (!json_) {
      return print(serving_.model + ", " + cpu_name() + ", " + arch_ + "\n" +
                   to_text(measured.value()));
    }
    Json json = to_json(measured.value());
    json.as_object().set("model", serving_.model);
    json.as_object().set("backend", arch_);
    json.as_object().set("cpu", cpu_name());
    json.as_object().set("version", version_number());
    return print(to_text(json) + "\n");
  }

 protected:
  void check(std::vector<Status>* violations) const override {
    append_violations(serving_, violations);
    if (!trace_.empty() && !bench_.profile) {
      violations->emplace_back(Code::kInvalidArgument,
                               "--trace: there is nothing to draw without --profile");
    }
    if (serving_.layout.mock_engine > 0) {
      violations->emplace_back(Code::kInvalidArgument,
                               "--mock-engine: a model that computes nothing has no steps to time");
    }
  }

 private:
  Result<StepBenchReport> measure() {
    PLUMB_ASSIGN(const std::string path, resolve_model(serving_.model));
    PLUMB_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint, Checkpoint::open(path));
    PLUMB_ASSIGN(const BackendSet backends, make_backends(serving_.backend));
    PLUMB_ASSIGN(const std::unique_ptr<Model> model,
                 load_weights(*checkpoint, *backends.main, serving_.layout));
    arch_ = std::string(backends.main->name()) + ", " + backends.main->arch();
    const std::optional<MachineRates> before = bench_.profile ? probe(*model) : std::nullopt;
    Progress bar("measuring", "runs");
    Result<StepBenchReport> measured = run_step_bench(
        {*model, *backends.main, backends.ops, backends.meta->ops(), system_clock()}, bench_,
        [&](std::int64_t done, std::int64_t total) {
          bar.update(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
        });
    bar.finish();
    if (measured.ok() && bench_.profile) {
      measured.value().rates = better(before, probe(*model));
    }
    return measured;
  }

  /// What this machine reaches with the same threads; nothing where the CPU's kernels do not run.
  std::optional<MachineRates> probe(const Model& model) const {
    const std::int64_t cached = bench_.batch * bench_.depth * model.kv_layout().bytes_per_token();
    const std::int64_t working_set =
        std::clamp(model.facts().weight_bytes + cached, kLeastWorkingSet, kMostWorkingSet);
    const Result<CpuRates> rates =
        measure_cpu_rates({static_cast<int>(serving_.backend.threads), serving_.backend.cpu_tier},
                          working_set, system_clock());
    if (!rates.ok()) {
      return std::nullopt;
    }
    return MachineRates{.read_gb = rates.value().read_gb,
                        .float_gflop = rates.value().float_gflop,
                        .int8_gop = rates.value().int8_gop,
                        .int16_gop = rates.value().int16_gop};
  }

  ServingOptions serving_;
  StepBenchOptions bench_;
  std::string trace_;
  std::string arch_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_step_command() {
  return std::make_unique<BenchStepCommand>();
}

}  // namespace plumb
