// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "api/argument_types.h"
#include "api/call_reader.h"
#include "api/marker_search.h"
#include "api/value_stream.h"
#include "base/json.h"
#include "base/text.h"

namespace plumb {
namespace {

// The marks of a format with control tokens in them encoded.
struct Marks {
  Marks(const XmlMarks& xml, const OutputMarks& marks)
      : name_begin(marks.encode(xml.name_begin)),
        name_end(marks.encode(xml.name_end)),
        key_begin(marks.encode(xml.key_begin)),
        key_end(marks.encode(xml.key_end)),
        value_begin(marks.encode(xml.value_begin)),
        value_end(marks.encode(xml.value_end)),
        end(marks.encode(xml.end)) {}

  std::string name_begin;
  std::string name_end;
  std::string key_begin;
  std::string key_end;
  std::string value_begin;
  std::string value_end;
  std::string end;
};

// The name, then each argument between marks. Strings pass as they come; other values when they are
// complete, as what the schema says they are.
class XmlCallReader final : public CallReader {
 public:
  XmlCallReader(const ToolFormat& format, const OutputMarks& marks, const std::vector<Tool>& tools)
      : xml_(format.xml),
        marks_(format.xml, marks),
        ends_with_call_(format.xml.end == format.call_end),
        output_marks_(marks),
        tools_(tools),
        object_(ValueDialect::kJson) {
    name_ends_ = marks_.name_end.empty()
                     ? std::vector<std::string>{"\n", marks_.key_begin, marks_.end}
                     : std::vector<std::string>{marks_.name_end};
    if (xml_.says_string) {
      key_ends_ = {marks_.key_end + " string=\"true\">", marks_.key_end + " string=\"false\">",
                   marks_.key_end + ">"};
    } else {
      key_ends_ = {marks_.key_end};
    }
    phase_ = marks_.name_begin.empty() ? Phase::kName : Phase::kNameBegin;
  }

  std::string close() override {
    if (phase_ == Phase::kObject) {
      return object_.close();
    }
    return (is_in_string_ ? "\"" : "") + std::string(num_arguments_ == 0 ? "{}" : "}");
  }

 private:
  enum class Phase : unsigned char {
    kNameBegin,
    kName,
    kNext,  ///< an argument, or the end
    kKey,
    kValueBegin,
    kString,  ///< a value that is a string for sure
    kValue,
    kObject,  ///< JSON instead of marks
  };

  bool step(CallPieces* out) override {
    switch (phase_) {
      case Phase::kNameBegin:
        return take_spaces() || expect(marks_.name_begin, Phase::kName);
      case Phase::kName:
        return read_name(out);
      case Phase::kNext:
        return take_spaces() || next(out);
      case Phase::kKey:
        return read_key(out);
      case Phase::kValueBegin:
        return take_spaces() || expect(marks_.value_begin, value_phase_);
      case Phase::kString:
        return read_string(out);
      case Phase::kValue:
        return read_value(out);
      default:
        return read_object(out);
    }
  }

  bool expect(const std::string& marker, Phase next) {
    switch (match_marker(rest(), marker, is_end())) {
      case MarkerMatch::kYes:
        phase_ = next;
        return take(marker.size());
      case MarkerMatch::kMore:
        return false;
      default:
        return fail();
    }
  }

  bool read_name(CallPieces* out) {
    const MarkerHit hit = find_marker(rest(), name_ends_);
    if (!take_word(hit.begin, kMaxCallName, &name_)) {
      return fail();
    }
    if (!hit.is_found) {
      return false;
    }
    take(hit.marker == 0 ? name_ends_[0].size() : 0);
    name_ = std::string(trim(name_));
    if (name_.empty() && marks_.name_end.empty() && hit.marker == 0) {
      return true;  // an empty line before it
    }
    if (!is_call_name(name_)) {
      return fail();
    }
    out->has_started = true;
    out->name = name_;
    phase_ = Phase::kNext;
    return true;
  }

  bool next(CallPieces* out) {
    if (rest().empty()) {
      return false;
    }
    const MarkerMatch key = match_marker(rest(), marks_.key_begin, is_end());
    const MarkerMatch end = match_marker(rest(), marks_.end, is_end());
    if (key == MarkerMatch::kYes) {
      key_.clear();
      phase_ = Phase::kKey;
      return take(marks_.key_begin.size());
    }
    if (end == MarkerMatch::kYes) {
      take(ends_with_call_ ? 0 : marks_.end.size());
      out->arguments += close();
      done();
      return false;
    }
    if (key == MarkerMatch::kMore || end == MarkerMatch::kMore) {
      return false;
    }
    if (rest().front() == '{' && num_arguments_ == 0) {
      phase_ = Phase::kObject;
      return true;
    }
    return fail();
  }

  bool read_key(CallPieces* /*out*/) {
    const MarkerHit hit = find_marker(rest(), key_ends_);
    if (!take_word(hit.begin, kMaxKey, &key_)) {
      return fail();
    }
    if (!hit.is_found) {
      return false;
    }
    take(key_ends_[hit.marker].size());
    types_ = find_argument_types(tools_, name_, key_);
    if (xml_.says_string && hit.marker < 2) {
      types_ = hit.marker == 0 ? ArgumentTypes::string() : ArgumentTypes::any();
    } else if (types_.is_unknown()) {
      types_ = xml_.guesses_types ? ArgumentTypes::any() : ArgumentTypes::string();
    }
    value_.clear();
    is_at_begin_ = true;
    value_phase_ = types_.is_string_only() ? Phase::kString : Phase::kValue;
    phase_ = marks_.value_begin.empty() ? value_phase_ : Phase::kValueBegin;
    return true;
  }

  void begin_argument(CallPieces* out) {
    out->arguments += num_arguments_++ == 0 ? "{" : ",";
    append_json_string(&out->arguments, output_marks_.decode(key_));
    out->arguments += ':';
  }

  // The line end behind the begin of a value. False if it is not known yet.
  bool skip_first_line_end() {
    if (is_at_begin_ && xml_.has_line_ends) {
      if (rest().empty()) {
        return false;
      }
      take(rest().front() == '\n' ? 1 : 0);
    }
    is_at_begin_ = false;
    return true;
  }

  // The text up to the end of the value; *is_over once that is there. A line end before it is held.
  std::string_view text_of_value(bool* is_over) {
    const MarkerHit hit = find_marker(rest(), {marks_.value_end});
    *is_over = hit.is_found;
    std::string_view text = rest().substr(0, hit.begin);
    if (xml_.has_line_ends && text.ends_with('\n')) {
      text.remove_suffix(1);
    }
    take(hit.is_found ? hit.begin + marks_.value_end.size() : text.size());
    return text;
  }

  void append_text(std::string_view text, CallPieces* out) {
    std::string quoted;
    append_json_string(&quoted, output_marks_.decode(text));
    out->arguments.append(quoted, 1, quoted.size() - 2);
  }

  bool read_string(CallPieces* out) {
    if (!skip_first_line_end()) {
      return false;
    }
    if (!is_in_string_) {
      begin_argument(out);
      out->arguments += '"';
      is_in_string_ = true;
    }
    bool is_over = false;
    append_text(text_of_value(&is_over), out);
    if (is_over) {
      out->arguments += '"';
      is_in_string_ = false;
      phase_ = Phase::kNext;
    }
    return is_over;
  }

  bool read_value(CallPieces* out) {
    if (!skip_first_line_end()) {
      return false;
    }
    bool is_over = false;
    value_ += text_of_value(&is_over);
    if (is_over) {
      begin_argument(out);
      out->arguments += types_.to_json(output_marks_.decode(value_));
      phase_ = Phase::kNext;
    }
    return is_over;
  }

  bool read_object(CallPieces* out) {
    if (object_.state() == ValueStream::State::kDone) {  // then the end of the call
      const MarkerMatch end = match_marker(rest(), marks_.end, is_end());
      if (take_spaces()) {
        return true;
      }
      if (end == MarkerMatch::kMore || (rest().empty() && !is_end())) {
        return false;
      }
      take(end == MarkerMatch::kYes && !ends_with_call_ ? marks_.end.size() : 0);
      done();
      return false;
    }
    take(object_.push(rest(), &out->arguments));
    if (object_.state() == ValueStream::State::kFailed) {
      return fail();
    }
    return object_.state() == ValueStream::State::kDone;
  }

  static constexpr std::size_t kMaxKey = 1024;

  const XmlMarks& xml_;
  Marks marks_;
  bool ends_with_call_;
  const OutputMarks& output_marks_;
  const std::vector<Tool>& tools_;
  std::vector<std::string> name_ends_;
  std::vector<std::string> key_ends_;
  Phase phase_;
  Phase value_phase_ = Phase::kString;
  std::string name_;
  std::string key_;
  std::string value_;
  ArgumentTypes types_;
  bool is_at_begin_ = false;  // of a value
  bool is_in_string_ = false;
  std::int64_t num_arguments_ = 0;
  ValueStream object_;
};

}  // namespace

std::unique_ptr<CallReader> make_xml_call_reader(const ToolFormat& format, const OutputMarks& marks,
                                                 const std::vector<Tool>& tools) {
  return std::make_unique<XmlCallReader>(format, marks, tools);
}

}  // namespace plumb
