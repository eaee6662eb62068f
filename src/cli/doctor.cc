// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "checkpoint/inspect.h"
#include "cli/backends.h"
#include "cli/catalogue.h"
#include "cli/commands.h"
#include "cli/kernel_report.h"
#include "cli/machine_facts.h"
#include "cli/model_check.h"
#include "cli/version.h"

namespace plumb {
namespace {

constexpr std::int64_t kFewFiles = 4096;

using Rows = std::vector<std::vector<std::string>>;

struct Part {
  std::string name;
  bool is_ready = false;
  std::string detail;
};

std::string section(const std::string& title, const Rows& rows) {
  Rows indented;
  for (std::vector<std::string> row : rows) {
    row.front().insert(0, "  ");
    indented.push_back(std::move(row));
  }
  return title + "\n" + table_text(indented);
}

// Every line of a text by two blanks.
std::string indented(const std::string& text) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    out += line.empty() ? "" : "  " + std::string(line) + "\n";
  }
  return out;
}

std::vector<Part> backend_parts(const BackendOptions& options) {
  std::vector<Part> parts;
  for (const std::string& name : backend_names()) {
    const Result<std::unique_ptr<Backend>> backend = make_backend(name, options);
    parts.push_back(
        {name, backend.ok(), backend.ok() ? backend.value()->arch() : backend.status().message()});
  }
  for (const char* name : {"cuda", "nccl", "ucx", "mpi", "etcd"}) {
    parts.push_back({name, false, "not in this build"});
  }
  return parts;
}

Rows machine_rows(const MachineFacts& facts) {
  const auto bytes = [](std::int64_t count) {
    return bytes_to_text(static_cast<std::uint64_t>(count));
  };
  return {{"processor", facts.cpu},
          {"instructions", join(facts.cpu_features, " ")},
          {"cores", std::to_string(facts.usable_cores) + " usable of " +
                        std::to_string(facts.online_cores) + " (affinity, control group)"},
          {"memory", (facts.available_bytes ? bytes(*facts.available_bytes) : "unknown") +
                         " available of " + bytes(facts.memory_bytes)},
          {"huge pages", "transparent: " + facts.transparent_huge_pages +
                             ", reserved and free: " + std::to_string(facts.free_huge_pages)},
          {"open files", std::to_string(facts.max_open_files)},
          {"system", facts.kernel + ", " + facts.libc},
          {"libraries", join(facts.libraries, " ")}};
}

Rows model_rows() {
  Rows rows;
  for (const CatalogueEntry& entry : catalogue()) {
    const std::string name(entry.name);
    rows.push_back({name, is_fetched(entry) ? model_folder() + "/" + std::string(entry.file_name)
                                            : "not here: plumb model fetch " + name});
  }
  return rows;
}

class DoctorCommand final : public Command {
 public:
  const char* name() const override { return "doctor"; }

  const char* about() const override {
    return "Say what this machine can run, and what a model would need";
  }

  void declare(CLI::App& app) override {
    app.add_option("MODEL", serving_.model, "also plan this model: memory, formats, kernels");
    add_value(app, kernels_, "kernels",
              "print only which kernel computes each tensor of the model, and why");
    add_value(app, json_, "json", "print JSON");
    add_struct(app, serving_.engine);
    add_struct(app, serving_.engine.scheduler);
    add_struct(app, serving_.layout);
    add_struct(app, serving_.backend);
  }

  int run() override {
    if (kernels_) {
      return run_kernels();
    }
    const MachineFacts machine = read_machine_facts();
    const std::vector<Part> parts = backend_parts(serving_.backend);
    std::optional<ModelCheck> model;
    std::vector<std::string> problems = problems_of(machine, parts);
    if (!serving_.model.empty()) {
      Result<ModelCheck> checked = check_model(serving_);
      if (checked.ok()) {
        model = std::move(checked).value();
      } else {
        problems.push_back(checked.status().message());
      }
    }
    const bool is_fit = serving_.model.empty() || model.has_value();
    const int printed = json_ ? print_json(machine, parts, model, problems)
                              : print_text(machine, parts, model, problems);
    return is_fit ? printed : static_cast<int>(kExitFailed);
  }

 protected:
  void check(std::vector<Status>* violations) const override {
    append_violations(serving_, violations);
    if (kernels_ && serving_.model.empty()) {
      violations->emplace_back(Code::kInvalidArgument,
                               "--kernels: whose? give a MODEL (a file, a folder or a name from "
                               "`plumb model list`)");
    }
  }

 private:
  int run_kernels() const {
    const Result<KernelReport> kernels = report_kernels(serving_);
    if (!kernels.ok()) {
      return report(kernels.status());
    }
    return print(json_ ? to_pretty_text(to_json(kernels.value())) + "\n"
                       : to_text(kernels.value()));
  }

  static std::vector<std::string> problems_of(const MachineFacts& machine,
                                              const std::vector<Part>& parts) {
    std::vector<std::string> problems;
    if (!parts.front().is_ready) {
      problems.push_back("the cpu back end does not run here: " + parts.front().detail +
                         "; --backend ref computes slowly on any processor");
    }
    if (machine.max_open_files < kFewFiles) {
      problems.push_back("only " + std::to_string(machine.max_open_files) +
                         " files may be open, one for each connection; raise it with: ulimit -n " +
                         std::to_string(kFewFiles));
    }
    if (machine.transparent_huge_pages == "never") {
      problems.emplace_back(
          "transparent huge pages are off, which slows large models; turn them on with: echo "
          "madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    }
    return problems;
  }

  static int print_text(const MachineFacts& machine, const std::vector<Part>& parts,
                        const std::optional<ModelCheck>& model,
                        const std::vector<std::string>& problems) {
    Rows part_rows;
    for (const Part& part : parts) {
      part_rows.push_back({part.name, part.is_ready ? "ready" : "no", part.detail});
    }
    std::string text = version_text() + "\n" + section("machine", machine_rows(machine)) +
                       section("back ends and optional parts", part_rows) +
                       section("models", model_rows());
    if (model.has_value()) {
      text += "this model\n" + indented(to_text(*model));
    }
    text += problems.empty() ? "no problem found\n" : "problems\n";
    for (const std::string& problem : problems) {
      text += indented(problem);
    }
    return print(text);
  }

  static int print_json(const MachineFacts& machine, const std::vector<Part>& parts,
                        const std::optional<ModelCheck>& model,
                        const std::vector<std::string>& problems) {
    JsonArray part_list;
    for (const Part& part : parts) {
      part_list.emplace_back(
          JsonObject{{"name", part.name}, {"ready", part.is_ready}, {"detail", part.detail}});
    }
    JsonArray problem_list;
    for (const std::string& problem : problems) {
      problem_list.emplace_back(problem);
    }
    const JsonObject report{{"version", version_number()},
                            {"machine", to_json(machine)},
                            {"parts", std::move(part_list)},
                            {"models", models_to_json()},
                            {"model", model.has_value() ? to_json(*model) : Json()},
                            {"problems", std::move(problem_list)}};
    return print(to_pretty_text(report) + "\n");
  }

  ServingOptions serving_;
  bool kernels_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() {
  return std::make_unique<DoctorCommand>();
}

}  // namespace plumb
