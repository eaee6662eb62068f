// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// How a format writes the arguments of a call.
enum class ValueDialect : unsigned char {
  kJson,    ///< {"a": 1}
  kPython,  ///< (a=1, b='x', c=[True, None])
  kGemma,   ///< {a:1,b:<|"|>x<|"|>}
};

/// Turns arguments into one JSON object as they arrive. JSON passes as it is, but for what strict
/// readers refuse and models write: control characters in strings, escapes that are none, True,
/// False, None, a comma before a bracket.
///
/// Given out is only what can be completed: a key comes together with the beginning of its value,
/// numbers and words come whole. So what was given out and close() are always one object.
/// Thread  one. Cost: linear; nested at most kMaxDepth deep.
class ValueStream {
 public:
  enum class State : unsigned char { kOpen, kDone, kFailed };
  static constexpr std::size_t kMaxDepth = 128;

  /// `quote` begins and ends strings of kGemma.
  explicit ValueStream(ValueDialect dialect, std::string quote = "<|\"|>")
      : dialect_(dialect), quote_(std::move(quote)) {}

  /// Takes bytes up to the end of the object, or to where it is none; appends JSON to *out. Gives
  /// how many it took: the rest, which may be the beginning of a quote, is to come again.
  std::size_t push(std::string_view bytes, std::string* out);

  State state() const { return state_; }

  /// What completes the object, nothing the second time; nothing may be pushed any more.
  std::string close();

 private:
  enum class Lexeme : unsigned char { kNone, kString, kWord };
  enum class Expect : unsigned char { kStart, kKey, kColon, kValue, kItem, kComma };

  struct Frame {
    char close;
    bool is_object;
    bool is_call;  ///< of Python: name=value
  };

  std::size_t step(std::string_view bytes, std::string* out);
  void structure(char c, std::string* out);
  void begin_key(char c);
  void begin_value(char c, std::string* out);
  void open(char c, std::string* out);
  void close_frame(std::string* out);
  bool is_quote(char c) const;
  bool is_word(char c) const;
  void begin_string(char quote, std::string* out);
  std::size_t in_string(std::string_view bytes, std::string* out);
  std::size_t in_quoted(std::string_view bytes, std::string* out);
  void in_escape(char c, std::string* out);
  void end_json_escape(std::string* out);
  void end_python_escape(std::string* out);
  void end_string(std::string* out);
  void end_word(std::string* out);
  void flush(std::string* out);
  void append_char(char c, std::string* out);

  void fail() { state_ = State::kFailed; }

  std::string* target(std::string* out) { return is_key_ ? &held_ : out; }

  ValueDialect dialect_;
  std::string quote_;
  State state_ = State::kOpen;
  bool is_closed_ = false;
  Lexeme lexeme_ = Lexeme::kNone;
  Expect expect_ = Expect::kStart;
  std::vector<Frame> frames_;
  std::string held_;  // comma, key and colon before a value
  std::string word_;
  std::string escape_;    // one that is not complete
  bool is_key_ = false;   // of the string or word
  char end_quote_ = '"';  // of the string
};

}  // namespace plumb
