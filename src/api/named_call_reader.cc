// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api/call_reader.h"
#include "api/marker_search.h"
#include "api/value_stream.h"
#include "base/text.h"

namespace plumb {
namespace {

bool is_name_byte(char c) {
  return static_cast<unsigned char>(c) > 0x20 && c != 0x7f && c != '\xFF' &&
         std::string_view("\"'(){}[]<>,;").find(c) == std::string_view::npos;
}

ValueDialect dialect_of(CallSyntax syntax) {
  switch (syntax) {
    case CallSyntax::kPython:
      return ValueDialect::kPython;
    case CallSyntax::kGemma:
      return ValueDialect::kGemma;
    default:
      return ValueDialect::kJson;
  }
}

// The name up to a mark, then the arguments in one of the dialects.
class NamedCallReader final : public CallReader {
 public:
  /// The name has to end with the suffix, which is no part of it.
  NamedCallReader(const ToolFormat& format, const OutputMarks& marks, std::string_view suffix = "")
      : syntax_(format.syntax),
        suffix_(suffix),
        ids_(format.ids),
        prefix_(marks.encode(format.name_prefix)),
        call_end_(marks.encode(format.call_end)),
        values_(dialect_of(format.syntax), marks.encode("<|\"|>")) {
    if (syntax_ == CallSyntax::kPython) {
      name_ends_ = {"("};
    } else if (syntax_ == CallSyntax::kGemma) {
      prefix_ = "call:";
      name_ends_ = {"{"};
    }
    for (const std::string_view end : format.name_ends) {
      name_ends_.push_back(marks.encode(end));
    }
    if (ids_ == CallIds::kMistral) {
      call_id_ = marks.encode("[CALL_ID]");
      name_ends_.push_back(call_id_);
    }
  }

  std::string close() override { return values_.close(); }

 private:
  enum class Phase : unsigned char { kPrefix, kName, kId, kFirstArgument, kArguments };

  bool step(CallPieces* out) override {
    switch (phase_) {
      case Phase::kPrefix:
        return take_spaces() || read_prefix();
      case Phase::kName:
        return read_name(out);
      case Phase::kId:
        return read_id(out);
      case Phase::kFirstArgument:
        return take_spaces() || begin_arguments(out);
      default:
        return read_arguments(out);
    }
  }

  // It may be missing.
  bool read_prefix() {
    const MarkerMatch match = match_marker(rest(), prefix_, is_end());
    if (rest().empty() || match == MarkerMatch::kMore) {
      return false;
    }
    phase_ = Phase::kName;
    return take(match == MarkerMatch::kYes ? prefix_.size() : 0);
  }

  bool read_name(CallPieces* out) {
    const MarkerHit hit = find_marker(rest(), name_ends_);
    if (!take_word(hit.begin, kMaxCallName, &name_,
                   syntax_ == CallSyntax::kPython ? is_name_byte : nullptr)) {
      return fail();
    }
    if (!hit.is_found) {
      return false;
    }
    const std::string& end = name_ends_[hit.marker];
    take(end == "(" || end == "{" ? 0 : end.size());  // these belong to the arguments
    if (!call_id_.empty() && end == call_id_) {
      phase_ = Phase::kId;
      return true;
    }
    return start(out);
  }

  // [CALL_ID]id[ARGS]
  bool read_id(CallPieces* out) {
    const MarkerHit hit = find_marker(rest(), {name_ends_[0]});
    if (!take_word(hit.begin, kMaxCallName, &id_)) {
      return fail();
    }
    return hit.is_found && take(name_ends_[0].size()) && start(out);
  }

  // Names as they are written: "functions.f:0".
  bool start(CallPieces* out) {
    std::string_view name = trim(name_);
    if (ids_ == CallIds::kKimi) {
      id_ = name;
      name.remove_prefix(name.starts_with("functions.") ? std::string_view("functions.").size()
                                                        : 0);
      name = name.substr(0, name.rfind(':'));
    }
    if (!name.ends_with(suffix_)) {
      return fail();
    }
    name.remove_suffix(suffix_.size());
    if (!is_call_name(name)) {
      return fail();
    }
    out->has_started = true;
    out->name = name;
    out->id = id_;
    phase_ = Phase::kFirstArgument;
    return true;
  }

  // A call without arguments ends at once.
  bool begin_arguments(CallPieces* out) {
    const MarkerMatch match = match_marker(rest(), call_end_, is_end());
    if (rest().empty() || match == MarkerMatch::kMore) {
      return false;
    }
    if (match == MarkerMatch::kYes) {
      out->arguments += values_.close();
      done();
      return false;
    }
    phase_ = Phase::kArguments;
    return true;
  }

  bool read_arguments(CallPieces* out) {
    take(values_.push(rest(), &out->arguments));
    if (values_.state() == ValueStream::State::kDone) {
      done();
    } else if (values_.state() == ValueStream::State::kFailed) {
      fail();
    }
    return false;
  }

  CallSyntax syntax_;
  std::string_view suffix_;
  CallIds ids_;
  std::string prefix_;
  std::string call_end_;
  std::string call_id_;
  std::vector<std::string> name_ends_;
  Phase phase_ = Phase::kPrefix;
  std::string name_;
  std::string id_;
  ValueStream values_;
};

}  // namespace

std::size_t CallReader::read(std::string_view input, bool is_end, CallPieces* out) {
  input_ = input;
  is_end_ = is_end;
  at_ = 0;
  while (state_ == State::kOpen && step(out)) {
  }
  input_ = {};
  return at_;
}

bool CallReader::take(std::size_t num_bytes) {
  at_ += num_bytes;
  return true;
}

bool CallReader::take_spaces() {
  const std::size_t num = num_leading_spaces(rest());
  at_ += num;
  return num > 0;
}

std::size_t CallReader::next_size() const {
  return rest().front() == '\xFF' ? OutputMarks::kCodeBytes
                                  : static_cast<std::size_t>(decode_utf8(rest()).num_bytes);
}

bool CallReader::take_word(std::size_t num_bytes, std::size_t max_bytes, std::string* word,
                           bool (*allowed)(char)) {
  while (num_bytes > 0) {
    if (word->size() > max_bytes || (allowed != nullptr && !allowed(rest().front()))) {
      return false;
    }
    const std::size_t size = next_size();
    *word += rest().substr(0, size);
    take(size);
    num_bytes -= std::min(num_bytes, size);
  }
  return word->size() <= max_bytes;
}

bool CallReader::fail() {
  state_ = State::kFailed;
  return false;
}

bool is_call_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxCallName &&
         std::all_of(name.begin(), name.end(), is_name_byte);
}

std::unique_ptr<CallReader> make_named_call_reader(const ToolFormat& format,
                                                   const OutputMarks& marks) {
  return std::make_unique<NamedCallReader>(format, marks);
}

std::unique_ptr<CallReader> make_builtin_call_reader() {
  return std::make_unique<NamedCallReader>(ToolFormat{.syntax = CallSyntax::kPython}, OutputMarks(),
                                           ".call");
}

namespace {

bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

std::unique_ptr<CallReader> make_call_reader(const ToolFormat& format, const OutputMarks& marks,
                                             const std::vector<Tool>& tools, bool is_bare,
                                             char first) {
  if (format.has_builtins && begins_word(first)) {
    return make_builtin_call_reader();
  }
  switch (format.syntax) {
    case CallSyntax::kObject:
      return make_object_call_reader(is_bare);
    case CallSyntax::kXml:
      return make_xml_call_reader(format, marks, tools);
    default:
      return make_named_call_reader(format, marks);
  }
}

bool may_begin_call(const ToolFormat& format, bool is_bare, char c) {
  if (format.has_builtins && !is_bare && begins_word(c)) {
    return true;
  }
  return format.syntax == CallSyntax::kObject   ? c == '{'
         : format.syntax == CallSyntax::kPython ? begins_word(c)
                                                : false;
}

}  // namespace plumb
