// SPDX-License-Identifier: Apache-2.0
#include "api/value_stream.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace plumb {
namespace {

using State = ValueStream::State;

// What comes out, byte by byte; "…" and the completion behind it when the object is not over.
std::string pass(ValueDialect dialect, std::string_view text) {
  ValueStream stream(dialect);
  std::string out;
  std::string waiting;
  std::size_t num_taken = 0;
  for (const char c : text) {
    waiting += c;
    const std::size_t taken = stream.push(waiting, &out);
    waiting.erase(0, taken);
    num_taken += taken;
  }
  if (stream.state() == State::kDone) {
    return out + (num_taken < text.size() ? " +" + std::to_string(text.size() - num_taken) : "");
  }
  const std::string failed = stream.state() == State::kFailed ? "!" : "…";
  return out + failed + stream.close();
}

std::string json(std::string_view text) {
  return pass(ValueDialect::kJson, text);
}

TEST(ValueStream, json_passes_as_it_is_and_ends_with_its_object) {
  const std::string text =
      R"({"a": [1, -2.5e3, true, null, "x\"\\\u00e9"], "b": {}, "c": [ ] , "d": { "e": [[]] } })";
  EXPECT_EQ(json(text), text);
  EXPECT_EQ(json("  {} }x"), "{} +3");
}

TEST(ValueStream, what_was_given_out_can_always_be_completed) {
  const std::string text = R"({"a": [1, {"b": "x\u00e9\n"}, false], "c": -12.5, "d": {"e": null}})";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    ValueStream stream(ValueDialect::kJson);
    std::string out;
    stream.push(text.substr(0, size), &out);
    const bool is_done = stream.state() == State::kDone;
    const std::string whole = out + (is_done ? "" : stream.close());
    const Result<Json> parsed = parse_json(whole);
    EXPECT_TRUE(parsed.ok() && parsed.value().is_object()) << whole;
  }
}

TEST(ValueStream, keys_come_with_their_values_and_numbers_whole) {
  EXPECT_EQ(json(R"({"a": 1, "long key)"), R"({"a": 1…})");
  EXPECT_EQ(json(R"({"a": 1, "b": )"), R"({"a": 1…})");
  EXPECT_EQ(json(R"({"a": 1, "b": 12)"), R"({"a": 1…})");
  EXPECT_EQ(json(R"({"a": 1, "b": "12)"), R"({"a": 1, "b": "12…"})");
  EXPECT_EQ(json(R"({"a": "x\u00)"), R"({"a": "x…"})");
  EXPECT_EQ(json(""), "…{}");
}

TEST(ValueStream, what_models_write_and_readers_refuse_is_mended) {
  EXPECT_EQ(json("{\"a\": \"x\n\ty\x01\"}"), R"({"a": "x\n\ty\u0001"})");
  EXPECT_EQ(json(R"({"re": "\d+\.\u12x"})"), R"({"re": "\\d+\\.\\u12x"})");
  EXPECT_EQ(json(R"({"a": True, "b": [None, False,], })"), R"({"a": true, "b": [null, false]})");
}

TEST(ValueStream, what_is_no_object_fails_where_it_is_none) {
  EXPECT_EQ(json("[1]"), "!{}");
  EXPECT_EQ(json(R"({"a" 1})"), "{!}");
  EXPECT_EQ(json(R"({"a": [1 2]})"), "{\"a\": [1 !]}");
  EXPECT_EQ(json(R"({"a": oops})"), "{!}");
  EXPECT_EQ(json(R"({"a": [1}])"), "{\"a\": [1!]}");
  EXPECT_EQ(json(R"({a: 1})"), "{!}");
  EXPECT_EQ(json(R"({"a": 01})"), "{!}");
  const std::string deep = json("{\"a\":" + std::string(200, '['));
  EXPECT_EQ(deep.find('!'), 5U + 127U);
  EXPECT_TRUE(parse_json(deep.substr(0, 132) + deep.substr(133)).ok());
}

TEST(ValueStream, python_and_gemma_become_json) {
  EXPECT_EQ(pass(ValueDialect::kPython, "(a=1, b='x\"', c=[(1,), {'k': None}], d=\"\\N\\t\")"),
            R"({"a":1,"b":"x\"","c":[[1],{"k":null}],"d":"\\N\t"})");
  EXPECT_EQ(pass(ValueDialect::kPython, "('x')"), "{!}");
  EXPECT_EQ(pass(ValueDialect::kPython, "(a=x)"), "{!}");
  EXPECT_EQ(pass(ValueDialect::kGemma, "{a:<|\"|>x\"<|<|\"|>,b:{c-d:[1,two]}}"),
            R"({"a":"x\"<|","b":{"c-d":[1,"two"]}})");
}

}  // namespace
}  // namespace plumb
