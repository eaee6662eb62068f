// SPDX-License-Identifier: Apache-2.0
#include "server/metrics_dialect.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.h"

namespace plumb {
namespace {

struct DialectRow {
  std::string_view name;
  std::unique_ptr<MetricsDialect> (*make)(const MetricsSource& source);
};

constexpr std::array kDialects{
    DialectRow{"vllm", make_vllm_metrics},
    DialectRow{"sglang", make_sglang_metrics},
    DialectRow{"llamacpp", make_llamacpp_metrics},
};

const DialectRow* find_dialect(const std::string& name) {
  const auto* found = std::find_if(kDialects.begin(), kDialects.end(),
                                   [&](const DialectRow& row) { return row.name == name; });
  return found != kDialects.end() ? found : nullptr;
}

}  // namespace

Status check_metrics_dialects(const std::vector<std::string>& names) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (find_dialect(*name) == nullptr) {
      return {Code::kInvalidArgument,
              "--metrics-compat: '" + name->substr(0, 64) +
                  "' is not known, expected a list of vllm, sglang, llamacpp"};
    }
    if (std::find(names.begin(), name, *name) != name) {
      return {Code::kInvalidArgument, "--metrics-compat: '" + *name + "' is given twice"};
    }
  }
  return {};
}

std::vector<std::unique_ptr<MetricsDialect>> make_metrics_dialects(
    const std::vector<std::string>& names, const MetricsSource& source) {
  std::vector<std::unique_ptr<MetricsDialect>> dialects;
  for (const std::string& name : names) {
    const DialectRow* row = find_dialect(name);
    PLUMB_CHECK(row != nullptr, name);
    dialects.push_back(row->make(source));
  }
  return dialects;
}

}  // namespace plumb
