// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/jinja_ast.h"
#include "tokenizer/jinja_value.h"

namespace plumb::jinja {

class Interpreter;

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<Value, Value>> named;
};

/// How the arguments of a built-in are bound. After bind(), positional holds one value per
/// parameter, kMissing where none was given.
struct Signature {
  std::array<std::string_view, 6> params{};
  int required = 0;
  bool keywords = true;   ///< parameters may be given by name
  bool variadic = false;  ///< arguments are left as they are
};

inline constexpr Signature kNoArgs{};
inline constexpr Signature kAnyArgs{{}, 0, true, true};

/// A bound argument, and whether it was given and is true.
inline const Value& arg(const Args& args, std::size_t i) {
  return args.positional[i];
}

inline bool flag(const Args& args, std::size_t i) {
  return !arg(args, i).is_missing() && truthy(arg(args, i));
}

using BuiltinFn = Result<Value> (*)(Interpreter&, const Value& self, const Args& args);

struct MethodEntry {
  std::string_view name;
  BuiltinFn fn;  ///< null: exists, but reading it gives undefined (it would change its object)
  Signature signature;
};

Status bind(Args* args, std::string_view name, const Signature& signature);

struct MethodObj : Object {
  Value self;
  const MethodEntry* entry = nullptr;
};

/// Variables of one block; names are searched outwards.
struct Scope : Object {
  Scope* parent = nullptr;
  std::vector<std::pair<int, Value>> variables;
  bool captured = false;  ///< a macro may still look here after the block ended

  Value* find(int name_id);
  void set(int name_id, const Value& value);
};

struct MacroObj : Object {
  const Stmt* node = nullptr;
  Scope* scope = nullptr;
  bool autoescape = false;
  bool anonymous = false;  ///< the body of a call block
};

std::string macro_text(const MacroObj& macro);

/// Walks over a value; lists may grow or shrink meanwhile.
class Iteration {
 public:
  /// Errors: kInvalidArgument if the value cannot be iterated.
  static Result<Iteration> over(const Value& value);
  Result<bool> next(Value* out, Heap& heap);

 private:
  Value source_;
  std::int64_t at_ = 0;  ///< element, or byte of a string
};

/// The items of a for statement that pass its `if`, one at a time.
struct ItemSource {
  Interpreter* interpreter = nullptr;
  const Stmt* node = nullptr;
  Scope* scope = nullptr;  ///< around the loop
  Iteration iteration;

  Result<bool> next(Value* out);
};

struct LoopObj : Object {
  ItemSource source;
  std::vector<Value> ahead;  ///< items already taken from the source, next first
  std::size_t ahead_at = 0;
  Value iterable;
  Value before = Value::missing();
  Value current = Value::missing();
  Value last_changed = Value::missing();
  std::int64_t index0 = -1;
  std::int64_t depth0 = 0;
  std::int64_t known_length = -1;

  Result<bool> advance();
  Result<bool> peek(Value* out);
  Result<std::int64_t> length();
  std::string to_text();
  Result<Value> attribute(std::string_view name, Heap& heap, bool* found);
};

enum class Flow : unsigned char { kNext, kBreak, kContinue };

struct Limits {
  std::int64_t max_output_bytes;
  int max_depth;
};

struct TextRange {
  std::int64_t begin;
  std::int64_t end;
};

/// Evaluates one program once.
///
/// Thread: one. Every evaluation costs a step; steps, memory, depth and output are bounded.
class Interpreter {
 public:
  Interpreter(const Program& program, Heap& heap, Limits limits,
              std::optional<std::chrono::system_clock::time_point> now)
      : heap_(heap), program_(program), limits_(limits), now_(now), root_(heap), out_(&root_) {}

  /// Requires one value per name of the program, kMissing where no variable has that name.
  Status run(std::vector<Value> variables);

  const StrBuilder& output() const { return root_; }

  const std::vector<TextRange>& generations() const { return generations_; }

  Heap& heap() { return heap_; }

  const std::optional<std::chrono::system_clock::time_point>& now() const { return now_; }

  bool autoescape() const { return autoescape_; }

  Result<Value> eval(const Expr& expr);
  Result<Value> call(const Value& callee, Args args);
  Result<Value> call_filter(std::string_view name, const Value& value, Args args);
  Result<bool> call_test(std::string_view name, const Value& value, Args args);
  Result<Value> attribute(const Value& object, const Value& name);
  Result<Value> item(const Value& object, const Value& key);
  /// All items of an iterable; on failure out has those before the error.
  Status collect(const Value& iterable, std::vector<Value>* out);
  /// HTML-escapes str(value) unless it is markup; the result is markup.
  Value escape(const Value& value);
  Status assign(const Expr& target, const Value& value, Scope* scope);
  Result<Value> loop_body(const Stmt& node, const Value& iterable, std::int64_t depth0,
                          Scope* scope);

  Scope* scope() { return scope_; }

  /// Evaluates in another scope.
  Result<Value> eval_in(const Expr& expr, Scope* scope);
  Scope* new_scope(Scope* parent, const std::vector<int>* locals = nullptr);
  /// An undefined value that names what is missing.
  Value undefined_name(const Value& name) const;
  Value undefined_attribute(const Value& object, const Value& name) const;
  /// The error of using an undefined value.
  static Status undefined_error(const Value& undefined);

 private:
  friend class DepthGuard;

  Result<Value> eval_unguarded(const Expr& expr);
  Result<Value> eval_name(const Expr& expr);
  Result<Value> eval_sequence(const Expr& expr, Kind kind);
  Result<Value> eval_dict(const Expr& expr);
  Result<Value> eval_condition(const Expr& expr);
  Result<Value> eval_logic(const Expr& expr);
  Result<Value> eval_compare(const Expr& expr);
  Result<Value> eval_concat(const Expr& expr);
  Result<Value> eval_unary(const Expr& expr);
  Result<Value> eval_subscript(const Expr& expr);
  Result<Value> eval_slice(const Expr& slice, const Value& object);
  Result<Value> eval_call(const Expr& expr, const Value* caller = nullptr);
  Result<Value> eval_filter(const Expr& expr);
  Result<Value> eval_test(const Expr& expr);
  Result<Args> eval_arguments(const CallArguments* arguments);
  Result<Value> call_macro(const MacroObj& macro, Args args);
  Status bind_macro(const MacroObj& macro, Args* args, Scope* scope);
  Status bind_special(const MacroObj& macro, Args* args, bool bound_caller, Scope* scope);

  Result<Flow> run_body(const Body& body);
  Result<Flow> run_stmt(const Stmt& stmt);
  Result<Flow> run_if(const Stmt& stmt);
  Result<Flow> run_for(const Stmt& stmt);
  Result<Flow> run_loop(LoopObj* loop, const Stmt& stmt, Scope* outer);
  Status run_set(const Stmt& stmt);
  Result<Flow> run_capturing(const Stmt& stmt);
  Result<Flow> run_with(const Stmt& stmt);
  Status run_call_block(const Stmt& stmt);
  Status run_scoped(const Stmt& stmt);
  Status output(const Value& value);
  Status output_text(const Value& value);
  void hide(const std::vector<int>& locals, Scope* scope) const;
  Value make_macro(const Stmt& stmt, bool anonymous);
  Result<Flow> capture(const Body& body, Scope* scope, Value* text);
  Result<Value> apply_chain(const Expr& chain, const Value& text);
  Status check_budget() const;
  Status check_depth() const;

  Heap& heap_;
  const Program& program_;
  Limits limits_;
  std::optional<std::chrono::system_clock::time_point> now_;
  StrBuilder root_;
  StrBuilder* out_;
  Scope* scope_ = nullptr;
  Scope* top_ = nullptr;
  std::vector<Value> variables_;
  std::vector<TextRange> generations_;
  Value chain_input_;                 ///< what the first filter of a filter block is applied to
  const char* stack_base_ = nullptr;  ///< where run() stands; the stack grows downwards
  int depth_ = 0;
  bool autoescape_ = false;
};

/// Restores a variable at the end of a block.
template <class T>
class Restore {
 public:
  Restore(T* variable, T value) : variable_(variable), saved_(*variable) { *variable = value; }

  ~Restore() { *variable_ = saved_; }

  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T* variable_;
  T saved_;
};

}  // namespace plumb::jinja
