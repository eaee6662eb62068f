// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench_local/batch_bench.h"
#include "cli/commands.h"
#include "cli/cpu_name.h"
#include "cli/progress.h"
#include "cli/serving.h"
#include "cli/version.h"

namespace plumb {
namespace {

class BenchBatchCommand final : public Command {
 public:
  const char* name() const override { return "bench batch"; }

  const char* about() const override {
    return "Prefill and decode speed of equal requests in one process";
  }

  void declare(CLI::App& app) override {
    add_model(app, serving_.model);
    add_value(app, bench_.input_len, "input-len", "prompt tokens", 1, 1 << 24);
    add_value(app, bench_.output_len, "output-len", "generated tokens", 1, 1 << 24);
    add_value(app, bench_.batch, "batch", "requests at once; max-num-seqs is raised to it", 1,
              1 << 16);
    add_value(app, bench_.repeats, "repeats", "measured runs", 1, 1000);
    add_value(app, bench_.warmup, "warmup", "runs before", 0, 1000);
    add_value(app, bench_.seed, "seed", "seed of the prompts");
    add_value(app, json_, "json", "print JSON alone on standard output");
    add_struct(app, serving_.engine);
    add_struct(app, serving_.engine.scheduler);
    add_struct(app, serving_.layout);
    add_struct(app, serving_.backend);
  }

  int run() override {
    serving_.engine.max_num_seqs = std::max(serving_.engine.max_num_seqs, bench_.batch);
    const Result<std::unique_ptr<Serving>> serving = Serving::create(serving_, system_clock());
    if (!serving.ok()) {
      return report(serving.status());
    }
    Progress bar("measuring", "runs");
    const Result<BatchBenchReport> result = run_batch_bench(
        serving.value()->engine(), system_clock(), bench_,
        [&](std::int64_t done, std::int64_t total) {
          bar.update(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
        });
    bar.finish();
    if (!result.ok()) {
      return report(result.status());
    }
    if (!json_) {
      return print(serving.value()->service().model().facts().served_name + ", " + cpu_name() +
                   ", " + serving.value()->backends().main->arch() + "\n" +
                   to_text(result.value()) + "\n");
    }
    Json json = to_json(result.value());
    json.as_object().set("model", serving.value()->service().model().facts().served_name);
    json.as_object().set("backend", serving.value()->backends().main->arch());
    json.as_object().set("cpu", cpu_name());
    json.as_object().set("version", version_number());
    return print(to_text(json) + "\n");
  }

 protected:
  void check(std::vector<Status>* violations) const override {
    append_violations(serving_, violations);
  }

 private:
  ServingOptions serving_;
  BatchBenchOptions bench_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_batch_command() {
  return std::make_unique<BenchBatchCommand>();
}

}  // namespace plumb
