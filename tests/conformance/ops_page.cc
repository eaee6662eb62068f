// SPDX-License-Identifier: Apache-2.0
// Writes docs/reference/ops.md from the op list, the contracts and their cases:
//   plumb_ops_page [--check] SRC_OPS_FOLDER PAGE
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "ops/cases.h"
#include "ops/op_table.h"

namespace plumb {
namespace {

struct OpEntry {
  std::string_view arguments;  ///< name of the struct
  std::string_view name;
};

std::vector<OpEntry> op_entries() {
  return {
#define PLUMB_PAGE_ENTRY(Args, name) {#Args, #name},
      PLUMB_OP_LIST(PLUMB_PAGE_ENTRY)
#undef PLUMB_PAGE_ENTRY
  };
}

struct Contract {
  std::string header;
  std::vector<std::string> comment;
  std::vector<std::string> body;
};

/// The struct with the doc comment above it; an empty header name if `text` has no such struct.
Contract contract_in(std::string_view text, const std::string& header, std::string_view arguments) {
  Contract contract;
  const std::string opening = "struct " + std::string(arguments) + " {";
  bool inside = false;
  for (const std::string_view line : split(text, '\n')) {
    if (inside) {
      if (line == "};") {
        return contract;
      }
      contract.body.emplace_back(line);
    } else if (line.starts_with("///")) {
      contract.comment.emplace_back(line.substr(std::min<std::size_t>(line.size(), 4)));
    } else if (line == opening) {
      contract.header = header;
      inside = true;
    } else {
      contract.comment.clear();
    }
  }
  return {};
}

Result<Contract> find_contract(const std::string& folder, std::string_view arguments) {
  for (const char* header : {"embedding.h", "rms_norm.h", "linear.h", "rope.h", "glu.h",
                             "kv_append.h", "paged_attention.h", "rows.h", "add.h", "layer_norm.h",
                             "gelu.h", "varlen_attention.h", "pool.h"}) {
    PLUMB_ASSIGN(const std::string text, read_file(folder + "/" + header));
    Contract contract = contract_in(text, header, arguments);
    if (!contract.header.empty()) {
      return contract;
    }
  }
  return Status{Code::kNotFound, "no contract has a struct " + std::string(arguments)};
}

std::string struct_text(std::string_view name, const Contract& contract) {
  std::string text = "struct " + std::string(name) + " {\n";
  for (const std::string& line : contract.body) {
    text += line + "\n";
  }
  return text + "};\n";
}

/// The type T of a member `std::span<const T>`, or nothing.
std::string element_struct(const Contract& contract) {
  constexpr std::string_view kSpan = "std::span<const ";
  for (const std::string& line : contract.body) {
    if (const std::size_t at = line.find(kSpan); at != std::string::npos) {
      const std::size_t begin = at + kSpan.size();
      return line.substr(begin, line.find('>', begin) - begin);
    }
  }
  return {};
}

std::string section(const OpEntry& entry, const Contract& contract, std::string_view element,
                    const Contract& element_contract, std::int64_t num_cases) {
  std::string text = "\n## " + std::string(entry.name) + "\n\nContract `ops/" + contract.header +
                     "`, " + std::to_string(num_cases) + " cases.\n\n```text\n";
  for (const std::string& line : contract.comment) {
    text += line + "\n";
  }
  text += "```\n\n```cpp\n";
  if (!element.empty()) {
    text += struct_text(element, element_contract) + "\n";
  }
  return text + struct_text(entry.arguments, contract) + "```\n";
}

Result<std::string> make_page(const std::string& folder) {
  const std::vector<OpCase> cases = op_cases();
  std::string page =
      "<!-- Made by plumb_ops_page from src/ops; do not edit. -->\n"
      "# Ops\n\n"
      "Every back end (`ref`, `cpu`, …) offers these ops; `ref` defines what is right, and "
      "`plumb check op`\n"
      "compares every other back end with it, case by case. `--op NAME=ref` runs one op on "
      "`ref`.\n";
  for (const OpEntry& entry : op_entries()) {
    PLUMB_ASSIGN(const Contract contract, find_contract(folder, entry.arguments));
    const std::int64_t num_cases = std::count_if(
        cases.begin(), cases.end(), [&](const OpCase& c) { return c.op == entry.name; });
    const std::string element = element_struct(contract);
    Contract element_contract;
    if (!element.empty()) {
      PLUMB_ASSIGN(element_contract, find_contract(folder, element));
    }
    page += section(entry, contract, element, element_contract, num_cases);
  }
  return page;
}

int run(bool check, const std::string& folder, const std::string& target) {
  const Result<std::string> page = make_page(folder);
  if (!page.ok()) {
    std::fprintf(stderr, "%s\n", page.status().message().c_str());
    return 1;
  }
  if (check) {
    const Result<std::string> now = read_file(target);
    if (now.ok() && now.value() == page.value()) {
      return 0;
    }
    std::fprintf(stderr, "%s is stale; write it with: plumb_ops_page %s %s\n", target.c_str(),
                 folder.c_str(), target.c_str());
    return 1;
  }
  const Status status = write_file_atomic(target, page.value());
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
  }
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const bool check = !args.empty() && args[0] == "--check";
  const std::size_t first = check ? 1 : 0;
  if (args.size() != first + 2) {
    std::fprintf(stderr, "usage: plumb_ops_page [--check] SRC_OPS_FOLDER PAGE\n");
    return 2;
  }
  return plumb::run(check, args[first], args[first + 1]);
}
