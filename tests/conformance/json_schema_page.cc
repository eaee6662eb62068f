// SPDX-License-Identifier: Apache-2.0
// Compiles every schema of the public JSON Schema test suite, holds every verdict of the suite
// against the grammar, and writes docs/reference/json_schema.md:
//   plumb_json_schema_page [--check] SUITE_FOLDER PAGE
// --check compares instead of writing, and fails where an instance that the suite calls invalid is
// in the grammar of its schema. --list also prints what was refused.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "support/byte_grammar.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxSpellings = 5'000;

struct Row {
  std::string keyword;
  int num_schemas = 0;
  int num_compiled = 0;
  int num_impossible = 0;
  int num_valid = 0;
  int num_valid_accepted = 0;
  int num_invalid = 0;
  int num_invalid_accepted = 0;

  void add(const Row& other) {
    num_schemas += other.num_schemas;
    num_compiled += other.num_compiled;
    num_impossible += other.num_impossible;
    num_valid += other.num_valid;
    num_valid_accepted += other.num_valid_accepted;
    num_invalid += other.num_invalid;
    num_invalid_accepted += other.num_invalid_accepted;
  }
};

struct Report {
  bool list = false;

  void note(std::string_view what, const Row& row, const Json& group,
            std::string_view detail) const {
    if (list) {
      std::printf("%.*s %s %s: %.*s\n", static_cast<int>(what.size()), what.data(),
                  row.keyword.c_str(), to_text(*group.find("description")).c_str(),
                  static_cast<int>(detail.size()), detail.data());
    }
  }
};

void count_test(const ByteGrammar* grammar, const Json& group, const Json& test,
                const Report& report, Row* row) {
  const std::vector<std::string> texts = json_spellings(*test.find("data"), kMaxSpellings);
  const bool accepted =
      grammar != nullptr && std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
        return grammar->accepts(text);
      });
  if (test.find("valid")->as_bool()) {
    ++row->num_valid;
    row->num_valid_accepted += accepted ? 1 : 0;
    if (!accepted) {
      report.note("valid rejected", *row, group, texts[0].substr(0, 200));
    }
  } else {
    ++row->num_invalid;
    row->num_invalid_accepted += accepted ? 1 : 0;
    if (accepted) {
      report.note("INVALID ACCEPTED", *row, group, texts[0].substr(0, 200));
    }
  }
}

/// A schema without any valid instance is understood when it is refused as impossible.
void count_group(const Json& group, const Report& report, Row* row) {
  ++row->num_schemas;
  const Result<ByteGrammar> grammar = ByteGrammar::from_schema(to_text(*group.find("schema")));
  const bool impossible =
      !grammar.ok() && grammar.status().code() == Code::kInvalidArgument &&
      grammar.status().message().find("no value satisfies the schema") != std::string::npos;
  if (!grammar.ok() && !impossible) {
    report.note("refused", *row, group, grammar.status().message());
    return;
  }
  ++row->num_compiled;
  row->num_impossible += impossible ? 1 : 0;
  for (const Json& test : group.find("tests")->as_array()) {
    count_test(grammar.ok() ? &grammar.value() : nullptr, group, test, report, row);
  }
}

Result<Row> count_file(const std::string& path, const std::string& keyword, const Report& report) {
  PLUMB_ASSIGN(const std::string text, read_file(path));
  PLUMB_ASSIGN(const Json groups, parse_json(text));
  Row row;
  row.keyword = keyword;
  for (const Json& group : groups.as_array()) {
    count_group(group, report, &row);
  }
  return row;
}

Result<std::vector<Row>> count_folder(const std::string& folder, const Report& report) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") {
      names.push_back(entry.path().stem());
    }
  }
  std::sort(names.begin(), names.end());
  std::vector<Row> rows;
  for (const std::string& name : names) {
    PLUMB_ASSIGN(Row row, count_file(folder + "/" + name + ".json", name, report));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string cells(const Row& row) {
  return "| " + row.keyword + " | " + std::to_string(row.num_schemas) + " | " +
         std::to_string(row.num_compiled) + " | " + std::to_string(row.num_valid_accepted) + " / " +
         std::to_string(row.num_valid) + " | " +
         std::to_string(row.num_invalid - row.num_invalid_accepted) + " / " +
         std::to_string(row.num_invalid) + " |\n";
}

std::string section(const std::string& title, const std::vector<Row>& rows, Row* total) {
  std::string text = "\n## " + title +
                     "\n\n| tests of | schemas | compiled | valid accepted | invalid refused |\n"
                     "|---|---|---|---|---|\n";
  Row sum;
  sum.keyword = "**all**";
  for (const Row& row : rows) {
    text += cells(row);
    sum.add(row);
  }
  total->add(sum);
  return text + cells(sum);
}

constexpr std::string_view kHead =
    R"(<!-- Made by plumb_json_schema_page from the public test suite; do not edit. -->
# JSON Schema

`response_format: json_schema` and its relatives take schemas of draft 2020-12; `$schema` may also name draft-07 or
2019-09, whose keywords are taken where they mean the same. What cannot be enforced is refused with the keyword and its
JSON pointer, and so is a keyword that no draft has, unless its name begins with `x-`: it may be a misspelt one.
`structured_outputs.lenient` drops these and [names them](endpoints.md#structured-output). A text of the
grammar is always a valid instance. The reverse need not hold:

- Members come in the order of the schema (`structured_outputs.any_order` lifts that for at most 8), before those that
  it does not name.
- Numbers have no exponent, no redundant zeros and at most 64 characters; with a fraction, at most 15 significant
  digits. Schemas may hold integers of 64 bits.
- Multiples of a fraction are exact decimals: 0.3 is a multiple of 0.1, though not in binary floating point.
- `format` is asserted, on a subset of each format, and so is refused where its opposite is needed (`not`, branches of
  `oneOf` that overlap, `if`). A format without a table row below is refused.
- Strings under `pattern`, `format`, `enum` or `const` are written without needless escapes.
- `uniqueItems` needs items of finitely many values; more than 8 values come in their order in the schema.
- `minProperties` beyond the named members asks for further names in the order of their first character.
- References stay inside the document: nothing is fetched.
- Between two tokens there are at most two characters of white space, none with `--grammar-whitespace compact` or where a
  request says so.

The tables hold the grammar against the public test suite. *Compiled* counts schemas that are enforced, or refused
because no value satisfies them; *valid accepted* and *invalid refused* count the instances of these schemas, members in
any order. Valid instances that are not accepted are those of the list above.
)";

Result<std::string> make_page(const std::string& suite, const Report& report, Row* total) {
  std::string page(kHead);
  const std::string folder = suite + "/tests/draft2020-12";
  for (const auto& [title, part] : {std::pair<std::string, std::string>{"Required tests", ""},
                                    {"Optional tests", "/optional"},
                                    {"Optional tests of formats", "/optional/format"}}) {
    PLUMB_ASSIGN(const std::vector<Row> rows, count_folder(folder + part, report));
    page += section(title, rows, total);
  }
  const int percent = total->num_compiled * 100 / std::max(total->num_schemas, 1);
  page += "\nAltogether " + std::to_string(total->num_compiled) + " of " +
          std::to_string(total->num_schemas) + " schemas (" + std::to_string(percent) +
          " %) compile, " + std::to_string(total->num_impossible) +
          " of them to the error that no value satisfies them; " +
          std::to_string(total->num_valid_accepted) + " of " + std::to_string(total->num_valid) +
          " valid instances are accepted and " + std::to_string(total->num_invalid_accepted) +
          " of " + std::to_string(total->num_invalid) + " invalid ones.\n";
  return page;
}

int run(bool check, bool list, const std::string& suite, const std::string& target) {
  if (!std::filesystem::exists(suite)) {
    std::printf("skipped: no %s\n", suite.c_str());
    return 77;
  }
  Row total;
  const Result<std::string> page = make_page(suite, Report{list}, &total);
  if (!page.ok()) {
    std::fprintf(stderr, "%s\n", page.status().message().c_str());
    return 1;
  }
  if (total.num_invalid_accepted > 0) {
    std::fprintf(stderr, "%d invalid instances are accepted; --list names them\n",
                 total.num_invalid_accepted);
    return 1;
  }
  if (check) {
    const Result<std::string> now = read_file(target);
    if (now.ok() && now.value() == page.value()) {
      return 0;
    }
    std::fprintf(stderr, "%s is stale; write it with: plumb_json_schema_page %s %s\n",
                 target.c_str(), suite.c_str(), target.c_str());
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
  std::vector<std::string> args(argv + 1, argv + argc);
  const bool check = std::erase(args, "--check") > 0;
  const bool list = std::erase(args, "--list") > 0;
  if (args.size() != 2) {
    std::fprintf(stderr, "usage: plumb_json_schema_page [--check] [--list] SUITE_FOLDER PAGE\n");
    return 2;
  }
  return plumb::run(check, list, args[0], args[1]);
}
