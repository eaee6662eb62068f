// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/output_marks.h"
#include "api/tool_format.h"
#include "api/tools.h"

namespace plumb {

/// What a reader found of its call.
struct CallPieces {
  bool has_started = false;  ///< name and id are known and do not change any more
  std::string name;
  std::string id;         ///< if the model wrote one
  std::string arguments;  ///< new ones
};

/// Reads one call in one syntax: from behind its begin to what ends it. All arguments that it gave
/// out, with close() behind them if it does not get to the end, are one JSON object.
/// Thread: one.
class CallReader {
 public:
  enum class State : unsigned char { kOpen, kDone, kFailed };

  virtual ~CallReader() = default;

  /// Takes what it can of the input and gives how many bytes; the rest is to come again with more
  /// behind it. is_end: nothing is behind it.
  std::size_t read(std::string_view input, bool is_end, CallPieces* out);

  /// What completes the arguments of a call that has started and is not done.
  virtual std::string close() = 0;

  State state() const { return state_; }

 protected:
  /// One step forward; false if it needs more input.
  virtual bool step(CallPieces* out) = 0;

  std::string_view rest() const { return input_.substr(at_); }

  bool is_end() const { return is_end_; }

  /// True.
  bool take(std::size_t num_bytes);
  /// True if there was white space.
  bool take_spaces();
  /// Bytes of the next character, or of the code of a mark. Requires a rest.
  std::size_t next_size() const;
  /// Takes that many bytes onto the end of a word, character by character, so that it does not
  /// matter how the input is cut, up to one that is too many or that is not `allowed`; false if
  /// there is one.
  bool take_word(std::size_t num_bytes, std::size_t max_bytes, std::string* word,
                 bool (*allowed)(char) = nullptr);

  void done() { state_ = State::kDone; }

  /// False.
  bool fail();

 private:
  State state_ = State::kOpen;
  std::string_view input_;  // of the call of read() that runs
  std::size_t at_ = 0;
  bool is_end_ = false;
};

/// The reader of a format's syntax for a call that begins with that byte. is_bare: nothing but its
/// form says that it is a call, so it must have name and arguments and nothing else. Marks in the
/// format and the input are encoded. Requires not kHarmony; format, marks and tools outlive it.
std::unique_ptr<CallReader> make_call_reader(const ToolFormat& format, const OutputMarks& marks,
                                             const std::vector<Tool>& tools, bool is_bare,
                                             char first);

/// The readers of single syntaxes.
std::unique_ptr<CallReader> make_object_call_reader(bool is_bare);
std::unique_ptr<CallReader> make_named_call_reader(const ToolFormat& format,
                                                   const OutputMarks& marks);
/// Of f.call(a=1).
std::unique_ptr<CallReader> make_builtin_call_reader();
std::unique_ptr<CallReader> make_xml_call_reader(const ToolFormat& format, const OutputMarks& marks,
                                                 const std::vector<Tool>& tools);

/// Whether a call may begin with the byte, where no mark begins it.
bool may_begin_call(const ToolFormat& format, bool is_bare, char c);

/// Longest name of a function that is looked for.
inline constexpr std::size_t kMaxCallName = 256;

/// True for a text that can be the name of a function: no white space, no control characters.
bool is_call_name(std::string_view name);

}  // namespace plumb
