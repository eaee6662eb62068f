// SPDX-License-Identifier: Apache-2.0
#include "cli/kernel_report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/thread.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/inspect.h"
#include "cli/catalogue.h"
#include "cli/model_uses.h"
#include "kernels/cpu/linear_registry.h"
#include "kernels/cpu/panel_layout.h"

namespace plumb {
namespace {

/// The rows of one tier's kernels.
struct TierKernels {
  explicit TierKernels(CpuTier tier) : table(cpu::kernel_table_of(tier)), registry(tier, table) {}

  cpu::KernelTable table;
  cpu::LinearRegistry registry;
};

/// What the report chooses with.
struct KernelChooser {
  std::unique_ptr<TierKernels> in_force;  ///< null: another back end computes `linear`
  std::unique_ptr<TierKernels> other;
  int num_threads = 1;
  std::string computes;  ///< that back end
  bool packs = false;    ///< the CPU back end arranges the weights
};

std::string without_layers(const std::string& name) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(name, '.')) {
    const bool is_number = !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
      return c >= '0' && c <= '9';
    });
    parts.emplace_back(is_number ? "*" : std::string(part));
  }
  return join(parts, ".");
}

/// Who computes `linear`: the back end, or the one that the last --op names for it.
std::string linear_backend(const BackendOptions& options) {
  std::string name = options.backend;
  for (const std::string& choice : options.op) {
    if (choice.starts_with("linear=")) {
      name = choice.substr(choice.find('=') + 1);
    }
  }
  return name;
}

/// Weights as the kernel for packing wants them: its layout and bytes.
Status add_packed(const KernelChooser& chooser, const MatrixUse& matrix, TensorKernels* group) {
  const cpu::LinearDesc desc{.dtype = matrix.dtype,
                             .n = matrix.rows,
                             .k = matrix.cols,
                             .num_threads = chooser.num_threads};
  const cpu::LinearKernel* kernel = chooser.in_force->registry.choose(desc).kernel;
  if (kernel == nullptr) {
    return {Code::kUnsupported, "tensor '" + matrix.name + "': no cpu kernel for weights of type " +
                                    std::string(to_text(matrix.dtype)) +
                                    "; convert the checkpoint to another type"};
  }
  const std::int64_t num_panels = (matrix.rows + kernel->panel_rows - 1) / kernel->panel_rows;
  group->layout = cpu::panel_layout(kernel->panel_rows).name;
  group->num_bytes = num_panels * cpu::panel_bytes(kernel->type, kernel->panel_rows, matrix.cols);
  return {};
}

KernelUse use_of(const cpu::LinearChoice& choice, std::int64_t num_rows) {
  KernelUse use{.num_rows = num_rows, .kernel = choice.kernel->name, .cost = choice.cost};
  if (choice.next != nullptr) {
    use.next = choice.next->name;
    use.next_cost = choice.next_cost;
  }
  return use;
}

/// With the layout that the tier's kernel for packing reads, or as another back end leaves it.
cpu::LinearChoice choose(const TierKernels& kernels, const MatrixUse& matrix, std::int64_t num_rows,
                         int num_threads) {
  cpu::LinearDesc desc{.dtype = matrix.dtype,
                       .m = num_rows,
                       .n = matrix.rows,
                       .k = matrix.cols,
                       .num_threads = num_threads};
  const cpu::LinearKernel* packed = kernels.registry.choose(desc).kernel;
  desc.layout = packed == nullptr ? &rows_layout() : &cpu::panel_layout(packed->panel_rows);
  return kernels.registry.choose(desc);
}

void add_products(const KernelChooser& chooser, const MatrixUse& matrix, TensorKernels* group) {
  for (std::size_t i = 0; i < kReportedRows.size(); ++i) {
    const std::int64_t num_rows = kReportedRows[i];
    if (chooser.computes != "cpu") {
      group->products.push_back({.num_rows = num_rows, .kernel = "linear." + chooser.computes});
      continue;
    }
    group->products.push_back(
        use_of(choose(*chooser.in_force, matrix, num_rows, chooser.num_threads), num_rows));
    if (chooser.other != nullptr) {
      const cpu::LinearChoice other = choose(*chooser.other, matrix, num_rows, chooser.num_threads);
      if (group->other.empty()) {
        group->other.push_back(
            {other.kernel->name,
             std::string(cpu::panel_layout(chooser.other->table.panel_rows).name),
             {}});
      }
      group->other.front().costs[i] = other.cost;
    }
  }
}

Result<TensorKernels> kernels_of(const KernelChooser& chooser, const MatrixUse& matrix) {
  TensorKernels group;
  group.pattern = without_layers(matrix.name);
  group.num_tensors = 1;
  group.rows = matrix.rows;
  group.cols = matrix.cols;
  group.file_format = matrix.file_format;
  group.format = to_text(matrix.dtype);
  group.is_looked_up = matrix.is_looked_up;
  if (chooser.packs) {
    PLUMB_RETURN_IF_ERROR(add_packed(chooser, matrix, &group));
  } else {
    group.layout = rows_layout().name;
    group.num_bytes = matrix.rows * row_bytes(matrix.dtype, matrix.cols);
  }
  if (matrix.is_multiplied) {
    add_products(chooser, matrix, &group);
  }
  return group;
}

bool is_same_use(const TensorKernels& a, const TensorKernels& b) {
  return a.pattern == b.pattern && a.rows == b.rows && a.cols == b.cols &&
         a.file_format == b.file_format && a.format == b.format &&
         a.is_looked_up == b.is_looked_up && a.products.empty() == b.products.empty();
}

Result<KernelChooser> make_chooser(const BackendOptions& options, KernelReport* report) {
  KernelChooser chooser;
  chooser.packs = options.backend == "cpu";
  chooser.computes = linear_backend(options);
  report->computes = chooser.computes;
  if (!chooser.packs && chooser.computes != "cpu") {
    report->other_reason =
        "--cpu-tier changes nothing: the back end " + chooser.computes + " computes the products";
    return chooser;
  }
  PLUMB_ASSIGN(const CpuTier tier, cpu::resolve_tier(options.cpu_tier));
  chooser.in_force = std::make_unique<TierKernels>(tier);
  chooser.num_threads =
      std::max(options.threads > 0 ? static_cast<int>(options.threads) : num_usable_cores(), 1);
  report->tier = cpu::to_text(tier);
  report->tier_reason = options.cpu_tier == CpuTier::kAuto ? "the widest that this processor has"
                                                           : "as --cpu-tier says";
  const CpuTier other = tier == CpuTier::kAvx2 ? CpuTier::kAvx512 : CpuTier::kAvx2;
  const Result<CpuTier> resolved = cpu::resolve_tier(other);
  if (resolved.ok()) {
    chooser.other = std::make_unique<TierKernels>(other);
    report->other_tier = cpu::to_text(other);
  } else {
    report->other_reason = "no other tier runs here: " + resolved.status().message();
  }
  return chooser;
}

// Text.

std::string micros_text(double micros) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, micros < 100 ? "%.1f us" : "%.0f us", micros);
  return buffer;
}

std::string costs_text(const TensorKernels& group) {
  std::vector<std::string> parts;
  for (const KernelUse& use : group.products) {
    parts.push_back(micros_text(use.cost));
  }
  return join(parts, " / ");
}

/// Why that kernel: what it is compared with.
std::string reason_text(const TensorKernels& group) {
  const KernelUse& first = group.products.front();
  if (first.cost == 0 && first.next.empty()) {
    return "the only one of that back end";
  }
  if (first.next.empty()) {
    return costs_text(group) + "; no other one supports it";
  }
  std::vector<std::string> parts;
  for (const KernelUse& use : group.products) {
    parts.push_back(micros_text(use.next_cost));
  }
  return costs_text(group) + "; next " + first.next + " " + join(parts, " / ");
}

std::string kernel_text(const TensorKernels& group) {
  std::vector<std::string> names;
  for (const KernelUse& use : group.products) {
    if (names.empty() || names.back() != use.kernel) {
      names.push_back(use.kernel);
    }
  }
  return join(names, " / ");
}

double total_cost(const KernelReport& report, std::size_t i, bool of_other) {
  double sum = 0;
  for (const TensorKernels& group : report.tensors) {
    if (group.products.empty()) {
      continue;
    }
    sum += static_cast<double>(group.num_tensors) *
           (of_other ? group.other.front().costs[i] : group.products[i].cost);
  }
  return sum;
}

std::string totals_text(const KernelReport& report, bool of_other) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kReportedRows.size(); ++i) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.2f ms", total_cost(report, i, of_other) * 1e-3);
    parts.emplace_back(buffer);
  }
  return join(parts, " / ");
}

std::string bytes_text(std::int64_t count) {
  return bytes_to_text(static_cast<std::uint64_t>(count));
}

}  // namespace

Result<KernelReport> report_kernels(const ServingOptions& options) {
  KernelReport report;
  PLUMB_ASSIGN(report.path, resolve_model(options.model));
  PLUMB_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint, Checkpoint::open(report.path));
  PLUMB_ASSIGN(const KernelChooser chooser, make_chooser(options.backend, &report));
  PLUMB_ASSIGN(const std::unique_ptr<Backend> backend,
               make_backend(options.backend.backend, options.backend));
  report.backend = std::string(backend->name()) + ", " + backend->arch();
  PLUMB_ASSIGN(const ModelUses uses, find_model_uses(*checkpoint, options.layout));
  report.num_vectors = uses.num_vectors;
  for (const MatrixUse& matrix : uses.matrices) {
    PLUMB_ASSIGN(TensorKernels group, kernels_of(chooser, matrix));
    auto known =
        std::find_if(report.tensors.begin(), report.tensors.end(),
                     [&](const TensorKernels& other) { return is_same_use(other, group); });
    if (known == report.tensors.end()) {
      report.tensors.push_back(std::move(group));
    } else {
      ++known->num_tensors;
      known->num_bytes += group.num_bytes;
    }
  }
  return report;
}

Json to_json(const KernelReport& report) {
  JsonArray tensors;
  for (const TensorKernels& group : report.tensors) {
    JsonArray products;
    for (std::size_t i = 0; i < group.products.size(); ++i) {
      const KernelUse& use = group.products[i];
      JsonObject json{{"rows", use.num_rows}, {"kernel", use.kernel}, {"cost_us", use.cost}};
      json.set("next", use.next.empty() ? Json() : Json(use.next));
      json.set("next_cost_us", use.next.empty() ? Json() : Json(use.next_cost));
      if (!group.other.empty()) {
        json.set("other_tier", JsonObject{{"kernel", group.other.front().kernel},
                                          {"cost_us", group.other.front().costs[i]}});
      }
      products.emplace_back(std::move(json));
    }
    tensors.emplace_back(JsonObject{
        {"pattern", group.pattern},
        {"tensors", group.num_tensors},
        {"shape", JsonArray{Json(group.rows), Json(group.cols)}},
        {"file_format", group.file_format},
        {"format", group.format},
        {"layout", group.layout},
        {"bytes", group.num_bytes},
        {"looked_up", group.is_looked_up},
        {"other_layout", group.other.empty() ? Json() : Json(group.other.front().layout)},
        {"products", std::move(products)}});
  }
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  return JsonObject{{"path", report.path},
                    {"backend", report.backend},
                    {"linear", report.computes},
                    {"tier", text_or_null(report.tier)},
                    {"tier_reason", text_or_null(report.tier_reason)},
                    {"other_tier", text_or_null(report.other_tier)},
                    {"other_tier_reason", text_or_null(report.other_reason)},
                    {"vectors", report.num_vectors},
                    {"tensors", std::move(tensors)}};
}

std::string to_text(const KernelReport& report) {
  std::string text = report.path + "\n" + report.backend + "\n";
  if (!report.tier.empty()) {
    text += "tier " + report.tier + ": " + report.tier_reason + "\n";
  }
  std::vector<std::vector<std::string>> rows{{"tensor", "count", "shape", "format", "layout",
                                              "bytes", "kernel", "predicted for 1 / 8 / 512 rows"}};
  for (const TensorKernels& group : report.tensors) {
    const std::string format = group.file_format == group.format
                                   ? group.format
                                   : group.file_format + " as " + group.format;
    const std::string looked_up = group.is_looked_up ? "rows looked up" : "";
    rows.push_back({group.pattern, std::to_string(group.num_tensors),
                    dims_to_text({group.rows, group.cols}), format, group.layout,
                    bytes_text(group.num_bytes),
                    group.products.empty() ? looked_up : kernel_text(group),
                    group.products.empty()
                        ? "no product"
                        : reason_text(group) + (group.is_looked_up ? "; " + looked_up : "")});
  }
  text += table_text(rows);
  text += std::to_string(report.num_vectors) +
          " other tensors are vectors (norms, biases): kept as floats, no product\n";
  if (report.computes != "cpu") {
    return text + "the back end " + report.computes +
           " computes every product, with one kernel; --cpu-tier changes none of them\n";
  }
  text += "products of all tensors: " + totals_text(report, false) + "\n";
  if (report.other_tier.empty()) {
    text += report.other_reason + "\n";
  } else {
    text += "with --cpu-tier " + report.other_tier + ": " + totals_text(report, true) + "\n";
  }
  return text +
         "Times are predictions that kernels are ranked by, with the rates of one machine; `plumb "
         "bench step --profile` measures this one.\n";
}

}  // namespace plumb
