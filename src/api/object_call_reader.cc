// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "api/call_reader.h"
#include "api/marker_search.h"
#include "api/value_stream.h"
#include "base/json.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxText = 6 * kMaxCallName;  // of keys and names, with escapes
constexpr std::size_t kMaxWrapping = 4;             // of objects around name and arguments

// {"name": "f", "arguments": {…}}: members in any order, the arguments also as a string with JSON
// in it, both also inside "function". Arguments before the name wait for it.
class ObjectCallReader final : public CallReader {
 public:
  explicit ObjectCallReader(bool is_bare) : is_bare_(is_bare), values_(ValueDialect::kJson) {}

  std::string close() override { return values_.close(); }

 private:
  enum class Phase : unsigned char {
    kOpen,
    kKey,
    kInKey,
    kColon,
    kValue,
    kText,           ///< the value of name or id
    kArguments,      ///< an object
    kArgumentsText,  ///< an object inside a string
    kOther,
    kComma,
  };

  bool step(CallPieces* out) override {
    switch (phase_) {
      case Phase::kInKey:
      case Phase::kText:
        return !rest().empty() && in_text(out);
      case Phase::kArgumentsText:
        return start(out) && !rest().empty() && in_arguments_text(out);
      case Phase::kArguments:
        return in_arguments(out);
      case Phase::kOther:
        return !rest().empty() && in_other();
      default:
        return take_spaces() || (!rest().empty() && structure(rest().front(), out));
    }
  }

  bool structure(char c, CallPieces* out) {
    switch (phase_) {
      case Phase::kOpen:
        return c == '{' ? open() : fail();
      case Phase::kKey:
        return c == '"' ? begin_string(Phase::kInKey) : c == '}' ? close_object(out) : fail();
      case Phase::kColon:
        return c == ':' ? go_on(Phase::kValue) : fail();
      case Phase::kValue:
        return begin_value(c);
      default:
        return c == ',' ? go_on(Phase::kKey) : c == '}' ? close_object(out) : fail();
    }
  }

  bool go_on(Phase phase) {
    phase_ = phase;
    return take(1);
  }

  bool open() {
    ++depth_;
    return depth_ <= kMaxWrapping ? go_on(Phase::kKey) : fail();
  }

  bool begin_string(Phase phase) {
    text_.clear();
    is_escaped_ = false;
    return go_on(phase);
  }

  bool is_arguments() const { return key_ == "arguments" || key_ == "parameters"; }

  bool begin_value(char c) {
    if (is_arguments() && !has_arguments_ && c == '{') {
      has_arguments_ = true;
      phase_ = Phase::kArguments;
      return true;
    }
    if (is_arguments() && !has_arguments_ && c == '"') {
      has_arguments_ = true;
      return begin_string(Phase::kArgumentsText);
    }
    if (key_ == "function" && c == '{') {
      return open();
    }
    const bool is_text = key_ == "name" || key_ == "id" || (key_ == "function" && name_.empty());
    if (is_text && c == '"') {
      return begin_string(Phase::kText);
    }
    const bool says_nothing = is_arguments() ? c == 'n' : !is_bare_ || key_ == "type";
    if (!says_nothing) {
      return fail();
    }
    other_depth_ = 0;
    is_other_string_ = false;
    phase_ = Phase::kOther;
    return true;
  }

  // One character of a string, or the end of it.
  bool in_text(CallPieces* out) {
    const char c = rest().front();
    if (c == '"' && !is_escaped_) {
      take(1);
      return end_text(out);
    }
    is_escaped_ = c == '\\' && !is_escaped_;
    return take_word(next_size(), kMaxText, &text_) || fail();
  }

  bool end_text(CallPieces* out) {
    const Result<Json> decoded = parse_json("\"" + text_ + "\"");
    if (!decoded.ok()) {
      return fail();
    }
    if (phase_ == Phase::kInKey) {
      key_ = decoded.value().as_string();
      phase_ = Phase::kColon;
      return true;
    }
    (key_ == "id" ? id_ : name_) = decoded.value().as_string();
    phase_ = Phase::kComma;
    return key_ == "id" || (is_bare_ && !has_arguments_) || start(out);
  }

  // JSON inside a string: text_ is an escape that is not complete.
  bool in_arguments_text(CallPieces* out) {
    const char c = rest().front();
    take(1);
    if (c == '"' && (text_.empty() || (text_.size() > 5 && text_.back() != '\\'))) {
      return pass_on(out) && end_arguments_text(out);
    }
    text_ += c;
    if (text_[0] != '\\') {
      return pass_on(out);
    }
    const bool is_surrogate = text_.size() > 3 && (text_[2] | 0x20) == 'd' &&
                              std::string_view("89abAB").find(text_[3]) != std::string_view::npos;
    const std::size_t needed = text_.size() < 2 || text_[1] != 'u' ? 2 : is_surrogate ? 12 : 6;
    return text_.size() < needed || pass_on(out);
  }

  bool pass_on(CallPieces* out) {
    std::string inner = std::exchange(text_, {});
    if (!inner.empty() && inner[0] == '\\') {
      const Result<Json> decoded = parse_json("\"" + inner + "\"");
      if (!decoded.ok()) {
        return fail();
      }
      inner = decoded.value().as_string();
    }
    if (values_.state() == ValueStream::State::kOpen) {
      values_.push(inner, arguments_to(out));
    }
    return values_.state() != ValueStream::State::kFailed || fail();
  }

  bool end_arguments_text(CallPieces* out) {
    if (values_.state() != ValueStream::State::kDone) {
      *arguments_to(out) += values_.close();
    }
    phase_ = Phase::kComma;
    return start(out);
  }

  // Of a bare call only together with its arguments.
  bool start(CallPieces* out) {
    if (has_started_ || name_.empty()) {
      return true;
    }
    if (!is_call_name(name_)) {
      return fail();
    }
    has_started_ = true;
    out->has_started = true;
    out->name = name_;
    out->id = id_;
    out->arguments += std::exchange(waiting_, {});
    return true;
  }

  std::string* arguments_to(CallPieces* out) { return has_started_ ? &out->arguments : &waiting_; }

  bool in_arguments(CallPieces* out) {
    if (!start(out)) {
      return false;
    }
    take(values_.push(rest(), arguments_to(out)));
    if (values_.state() == ValueStream::State::kFailed) {
      return fail();
    }
    if (values_.state() == ValueStream::State::kDone) {
      phase_ = Phase::kComma;
      return true;
    }
    return false;
  }

  // A value that says nothing about the call.
  bool in_other() {
    const char c = rest().front();
    if (is_other_string_) {
      is_other_string_ = c != '"' || is_escaped_;
      is_escaped_ = c == '\\' && !is_escaped_;
      return take(1);
    }
    if (other_depth_ == 0 && (c == ',' || c == '}')) {
      phase_ = Phase::kComma;
      return true;
    }
    is_other_string_ = c == '"';
    is_escaped_ = false;
    other_depth_ += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    return other_depth_ >= 0 ? take(1) : fail();
  }

  bool close_object(CallPieces* out) {
    take(1);
    phase_ = Phase::kComma;
    if (--depth_ > 0) {
      return true;
    }
    if (name_.empty() || (is_bare_ && !has_arguments_) || !start(out)) {
      return fail();
    }
    if (!has_arguments_) {
      out->arguments += values_.close();
    }
    done();
    return false;
  }

  bool is_bare_;
  Phase phase_ = Phase::kOpen;
  std::size_t depth_ = 0;
  std::string key_;
  std::string text_;  // of the string that is read
  bool is_escaped_ = false;
  int other_depth_ = 0;
  bool is_other_string_ = false;
  std::string name_;
  std::string id_;
  bool has_started_ = false;
  bool has_arguments_ = false;
  std::string waiting_;  // arguments before the name
  ValueStream values_;
};

}  // namespace

std::unique_ptr<CallReader> make_object_call_reader(bool is_bare) {
  return std::make_unique<ObjectCallReader>(is_bare);
}

}  // namespace plumb
