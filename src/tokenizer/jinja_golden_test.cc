// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "tokenizer/jinja_template.h"

namespace plumb {
namespace {

const std::string kFolder = PLUMB_SOURCE_DIR "/tests/golden/templates/";

RenderOptions fixed_time() {
  RenderOptions options;
  options.now = std::chrono::system_clock::time_point(std::chrono::seconds(1753660800));
  return options;
}

Result<Rendering> render_golden(const std::string& source, const Json& variables) {
  PLUMB_ASSIGN(const JinjaTemplate parsed, JinjaTemplate::parse(source));
  return parsed.render(variables.as_object(), fixed_time());
}

std::string text_of(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return found != nullptr && found->is_string() ? found->as_string() : std::string();
}

void check_case(const Json& golden, const std::string& source, const Json& variables) {
  const Result<Rendering> rendered = render_golden(source, variables);
  const bool ok = golden.find("ok")->as_bool();
  if (rendered.ok() != ok) {
    ADD_FAILURE() << source << "\nexpected " << (ok ? "text" : "an error") << ", got "
                  << (rendered.ok() ? rendered.value().text : rendered.status().message());
  } else if (ok) {
    EXPECT_EQ(rendered.value().text, text_of(golden, "text")) << source;
  } else if (golden.find("raised") != nullptr) {
    EXPECT_EQ(rendered.status().message(), text_of(golden, "raised")) << source;
  }
}

Json load_variables() {
  const Result<std::string> text = read_file(kFolder + "variables.json");
  const Result<Json> parsed = text.ok() ? parse_json(text.value()) : Result<Json>(text.status());
  return parsed.ok() ? parsed.value() : Json();
}

// Runs every case of a file; returns how many there were.
int check_file(const std::string& path) {
  const Json variables = load_variables();
  const Result<std::string> text = read_file(path);
  if (!text.ok() || !variables.is_object()) {
    ADD_FAILURE() << path << " or variables.json cannot be read";
    return 0;
  }
  int count = 0;
  for (const std::string_view line : split(text.value(), '\n')) {
    const Result<Json> parsed = parse_json(line);
    if (!parsed.ok() || parsed.value().find("ok") == nullptr) {
      continue;
    }
    const Json& golden = parsed.value();
    std::string source = text_of(golden, "t");
    if (golden.find("file") != nullptr) {
      const Result<std::string> file =
          read_file(PLUMB_SHARED_DIR "/data/templates/" + text_of(golden, "file"));
      if (!file.ok()) {
        ADD_FAILURE() << file.status().message();
        return count;
      }
      source = file.value();
    }
    const Json& given = *golden.find("v");
    check_case(golden, source, given.is_string() ? *variables.find(given.as_string()) : given);
    ++count;
  }
  return count;
}

TEST(JinjaGolden, public_templates_match_the_reference_byte_for_byte) {
  if (!std::filesystem::exists(PLUMB_SHARED_DIR "/data/templates")) {
    GTEST_SKIP() << "no folder " PLUMB_SHARED_DIR "/data/templates";
  }
  EXPECT_EQ(check_file(kFolder + "shared.jsonl"), 150);
}

TEST(JinjaGolden, each_construct_matches_the_reference_byte_for_byte) {
  EXPECT_GT(check_file(kFolder + "synthetic.jsonl"), 400);
}

TEST(JinjaGolden, random_templates_match_the_reference_byte_for_byte) {
  EXPECT_GT(check_file(kFolder + "random.jsonl"), 700);
}

TEST(JinjaGolden, a_fresh_differential_run_matches_the_reference) {
  const std::string path = PLUMB_BINARY_DIR "/template_cases.jsonl";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no file " << path << ": make one with tools/template_differential.py";
  }
  EXPECT_GT(check_file(path), 0);
}

}  // namespace
}  // namespace plumb
