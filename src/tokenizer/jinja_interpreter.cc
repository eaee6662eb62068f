// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_interpreter.h"

#include <algorithm>

#include "tokenizer/jinja_filters.h"
#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_operators.h"
#include "tokenizer/jinja_predicates.h"

namespace plumb::jinja {

class DepthGuard {
 public:
  explicit DepthGuard(Interpreter* in) : in_(in) { ++in_->depth_; }

  ~DepthGuard() { --in_->depth_; }

  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  Interpreter* in_;
};

Value* Scope::find(int name_id) {
  for (auto& [id, value] : variables) {
    if (id == name_id) {
      return &value;
    }
  }
  return nullptr;
}

void Scope::set(int name_id, const Value& value) {
  if (Value* existing = find(name_id)) {
    *existing = value;
  } else {
    variables.emplace_back(name_id, value);
  }
}

Status bind(Args* args, std::string_view name, const Signature& signature) {
  if (signature.variadic) {
    return {};
  }
  const auto count = static_cast<std::size_t>(
      std::find(signature.params.begin(), signature.params.end(), std::string_view()) -
      signature.params.begin());
  const std::size_t given = args->positional.size();
  if (given > count) {
    return raise(std::string(name) + " takes at most " + std::to_string(count) +
                 " arguments, got " + std::to_string(given));
  }
  args->positional.resize(count, Value::missing());
  for (const auto& [key, value] : args->named) {
    const auto* it =
        std::find(signature.params.begin(), signature.params.begin() + count, key.str());
    const auto at = static_cast<std::size_t>(it - signature.params.begin());
    if (!signature.keywords || at == count) {
      return raise(std::string(name) + " has no keyword argument '" + std::string(key.str()) + "'");
    }
    if (!args->positional[at].is_missing()) {
      return raise(std::string(name) + " got two values for argument '" + std::string(key.str()) +
                   "'");
    }
    args->positional[at] = value;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(signature.required); ++i) {
    if (args->positional[i].is_missing()) {
      return raise(std::string(name) + " needs the argument '" + std::string(signature.params[i]) +
                   "'");
    }
  }
  return {};
}

Status Interpreter::check_budget() const {
  if (!heap_.exhausted()) {
    return {};
  }
  return {Code::kResourceExhausted, heap_.out_of_steps()
                                        ? "template takes more steps than allowed"
                                        : "template needs more memory than allowed"};
}

Status Interpreter::check_depth() const {
  // How much stack a level takes depends on the statements and the build, so the stack itself is
  // measured as well.
  constexpr std::ptrdiff_t kMaxStackBytes = std::ptrdiff_t{2} << 20;
  const std::ptrdiff_t used = stack_base_ - static_cast<const char*>(__builtin_frame_address(0));
  if (depth_ <= limits_.max_depth && used <= kMaxStackBytes) {
    return {};
  }
  return {Code::kResourceExhausted, "template recursion is too deep: at most " +
                                        std::to_string(limits_.max_depth) +
                                        " levels and 2 MiB of stack are allowed"};
}

Scope* Interpreter::new_scope(Scope* parent, const std::vector<int>* locals) {
  auto* scope = heap_.make<Scope>();
  scope->parent = parent;
  if (locals != nullptr) {
    hide(*locals, scope);
  }
  return scope;
}

void Interpreter::hide(const std::vector<int>& locals, Scope* scope) const {
  for (const int name_id : locals) {
    scope->variables.emplace_back(name_id, Value());
  }
}

Value Interpreter::undefined_name(const Value& name) const {
  Value out;
  out.text = name.text;
  return out;
}

Value Interpreter::undefined_attribute(const Value& object, const Value& name) const {
  Value out;
  out.begin = static_cast<std::uint32_t>(object.kind);
  const bool whole = name.is_string() && name.begin == 0 && name.size == name.text->view().size();
  out.text = whole ? name.text : nullptr;
  out.size = 1;
  return out;
}

Status Interpreter::undefined_error(const Value& undefined) {
  const std::string name = undefined.text == nullptr
                               ? ""
                               : " '" + std::string(undefined.text->view().substr(0, 200)) + "'";
  if (undefined.size == 0) {
    return raise(name.empty() ? "value is undefined" : name.substr(1) + " is undefined");
  }
  Value owner;
  owner.kind = static_cast<Kind>(undefined.begin);
  return raise("'" + std::string(type_name(owner)) + " object' has no " +
               (name.empty() ? "such element" : "attribute" + name));
}

Result<Value> Interpreter::eval(const Expr& expr) {
  heap_.charge_steps(1);
  if (heap_.exhausted()) {
    return check_budget();
  }
  const DepthGuard guard(this);
  PLUMB_RETURN_IF_ERROR(check_depth());
  return eval_unguarded(expr);
}

Result<Value> Interpreter::eval_in(const Expr& expr, Scope* scope) {
  const Restore<Scope*> restore(&scope_, scope);
  return eval(expr);
}

Result<Value> Interpreter::eval_unguarded(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kConstant:
      return expr.constant;
    case ExprKind::kName:
    case ExprKind::kNamespaceRef:
      return eval_name(expr);
    case ExprKind::kList:
      return eval_sequence(expr, Kind::kList);
    case ExprKind::kTuple:
      return eval_sequence(expr, Kind::kTuple);
    case ExprKind::kDict:
      return eval_dict(expr);
    case ExprKind::kCondition:
      return eval_condition(expr);
    case ExprKind::kOr:
    case ExprKind::kAnd:
      return eval_logic(expr);
    case ExprKind::kCompare:
      return eval_compare(expr);
    case ExprKind::kBinary: {
      PLUMB_ASSIGN(const Value left, eval(*expr.items[0]));
      PLUMB_ASSIGN(const Value right, eval(*expr.items[1]));
      return binary(*this, expr.op, left, right);
    }
    case ExprKind::kConcat:
      return eval_concat(expr);
    case ExprKind::kNot:
    case ExprKind::kNegate:
    case ExprKind::kPlus:
      return eval_unary(expr);
    case ExprKind::kAttribute: {
      PLUMB_ASSIGN(const Value object, eval(*expr.items[0]));
      return attribute(object, expr.constant);
    }
    case ExprKind::kSubscript:
      return eval_subscript(expr);
    case ExprKind::kSlice:
      return raise("a slice is not a value");
    case ExprKind::kCall:
      return eval_call(expr);
    case ExprKind::kFilter:
      return eval_filter(expr);
    case ExprKind::kTest:
      return eval_test(expr);
  }
  return raise("unknown expression");
}

Result<Value> Interpreter::eval_name(const Expr& expr) {
  for (Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    if (const Value* value = scope->find(expr.name_id)) {
      return *value;
    }
  }
  const Value& variable = variables_[static_cast<std::size_t>(expr.name_id)];
  return variable.is_missing() ? undefined_name(expr.constant) : variable;
}

Result<Value> Interpreter::eval_sequence(const Expr& expr, Kind kind) {
  std::vector<Value> items;
  items.reserve(expr.items.size());
  for (const ExprPtr& item : expr.items) {
    PLUMB_ASSIGN(const Value value, eval(*item));
    items.push_back(value);
  }
  return heap_.make_list(std::move(items), kind);
}

Result<Value> Interpreter::eval_dict(const Expr& expr) {
  auto* dict = heap_.make<DictObj>();
  for (std::size_t i = 0; i + 1 < expr.items.size(); i += 2) {
    PLUMB_ASSIGN(const Value key, eval(*expr.items[i]));
    PLUMB_ASSIGN(const Value value, eval(*expr.items[i + 1]));
    if (!is_hashable(key, heap_)) {
      return raise("unhashable type: '" + std::string(type_name(key)) + "'");
    }
    dict->set(key, value, heap_);
  }
  return Value::object(Kind::kDict, dict);
}

Result<Value> Interpreter::eval_condition(const Expr& expr) {
  PLUMB_ASSIGN(const Value test, eval(*expr.items[0]));
  const ExprPtr& chosen = expr.items[truthy(test) ? 1 : 2];
  if (chosen == nullptr) {
    return Value();
  }
  return eval(*chosen);
}

Result<Value> Interpreter::eval_logic(const Expr& expr) {
  PLUMB_ASSIGN(const Value left, eval(*expr.items[0]));
  if (truthy(left) == (expr.kind == ExprKind::kOr)) {
    return left;
  }
  return eval(*expr.items[1]);
}

Result<Value> Interpreter::eval_compare(const Expr& expr) {
  PLUMB_ASSIGN(Value left, eval(*expr.items[0]));
  for (std::size_t i = 0; i < expr.compares.size(); ++i) {
    PLUMB_ASSIGN(const Value right, eval(*expr.items[i + 1]));
    PLUMB_ASSIGN(const bool holds, compare(*this, expr.compares[i], left, right));
    if (!holds) {
      return Value::boolean(false);
    }
    left = right;
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::eval_concat(const Expr& expr) {
  std::vector<Value> parts;
  bool markup = false;
  for (const ExprPtr& item : expr.items) {
    PLUMB_ASSIGN(const Value value, eval(*item));
    markup = markup || (autoescape_ && value.is_string() && value.markup);
    parts.push_back(value);
  }
  Value out = markup ? escape(parts[0]) : to_str(parts[0], heap_);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    out = concatenate(out, markup ? escape(parts[i]) : to_str(parts[i], heap_), heap_);
  }
  out.markup = markup;
  return out;
}

Result<Value> Interpreter::eval_unary(const Expr& expr) {
  PLUMB_ASSIGN(const Value value, eval(*expr.items[0]));
  if (expr.kind == ExprKind::kNot) {
    return Value::boolean(!truthy(value));
  }
  if (value.is_undefined()) {
    return undefined_error(value);
  }
  if (!value.is_number()) {
    return raise("bad operand type for a sign: '" + std::string(type_name(value)) + "'");
  }
  if (expr.kind == ExprKind::kNegate) {
    return negate(value, heap_);
  }
  return value.is(Kind::kBool) ? Value::integer(value.i) : value;
}

Result<Value> Interpreter::eval_subscript(const Expr& expr) {
  PLUMB_ASSIGN(const Value object, eval(*expr.items[0]));
  const Expr& index = *expr.items[1];
  if (index.kind == ExprKind::kSlice) {
    return eval_slice(index, object);
  }
  for (const ExprPtr& part : index.items) {
    if (index.kind == ExprKind::kTuple && part->kind == ExprKind::kSlice) {
      return raise("values have no slices of several dimensions");
    }
  }
  PLUMB_ASSIGN(const Value key, eval(index));
  return item(object, key);
}

Result<Value> Interpreter::eval_slice(const Expr& expr, const Value& object) {
  std::array<Value, 3> parts = {Value::none(), Value::none(), Value::none()};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (expr.items[i] != nullptr) {
      PLUMB_ASSIGN(parts[i], eval(*expr.items[i]));
    }
  }
  if (object.is_undefined()) {
    return undefined_error(object);
  }
  return slice(*this, object, parts[0], parts[1], parts[2]);
}

Result<Args> Interpreter::eval_arguments(const CallArguments* arguments) {
  Args args;
  if (arguments == nullptr) {
    return args;
  }
  for (const ExprPtr& item : arguments->positional) {
    PLUMB_ASSIGN(const Value value, eval(*item));
    args.positional.push_back(value);
  }
  if (arguments->spread != nullptr) {
    PLUMB_ASSIGN(const Value more, eval(*arguments->spread));
    PLUMB_RETURN_IF_ERROR(collect(more, &args.positional));
  }
  for (const Keyword& keyword : arguments->keywords) {
    PLUMB_ASSIGN(const Value value, eval(*keyword.value));
    args.named.emplace_back(keyword.name, value);
  }
  if (arguments->spread_keywords != nullptr) {
    PLUMB_ASSIGN(const Value more, eval(*arguments->spread_keywords));
    if (!more.is(Kind::kDict)) {
      return raise("argument after ** must be a mapping, not '" + std::string(type_name(more)) +
                   "'");
    }
    for (const DictEntry& entry : more.dict().items) {
      const bool repeated =
          std::any_of(args.named.begin(), args.named.end(), [&](const auto& named) {
            return entry.key.is_string() && named.first.str() == entry.key.str();
          });
      if (!entry.key.is_string() || repeated) {
        return raise("keywords after ** must be distinct strings");
      }
      args.named.emplace_back(entry.key, entry.value);
    }
  }
  return args;
}

Result<Value> Interpreter::eval_call(const Expr& expr, const Value* caller) {
  const Expr& target = *expr.items[0];
  PLUMB_ASSIGN(const Value callee, eval(target));
  PLUMB_ASSIGN(Args args, eval_arguments(expr.arguments.get()));
  if (caller != nullptr) {
    Value name = Value::missing();
    const auto it = program_.name_ids.find("caller");
    name = heap_.borrow_string(program_.names[static_cast<std::size_t>(it->second)], false);
    for (const auto& named : args.named) {
      if (named.first.str() == "caller") {
        return raise("keyword argument 'caller' is repeated");
      }
    }
    args.named.emplace_back(name, *caller);
  }
  // A list that nothing else can see has no use for a change; the reference forbids all changes.
  const bool changes_literal =
      target.kind == ExprKind::kAttribute && target.items[0]->kind == ExprKind::kList &&
      (target.constant.str() == "append" || target.constant.str() == "pop");
  if (changes_literal) {
    return raise("a list literal cannot be changed in place");
  }
  return call(callee, std::move(args));
}

Result<Value> Interpreter::call(const Value& callee, Args args) {
  switch (callee.kind) {
    case Kind::kUndefined:
      return undefined_error(callee);
    case Kind::kMethod: {
      const auto& method = *static_cast<MethodObj*>(callee.ptr);
      PLUMB_RETURN_IF_ERROR(bind(&args, method.entry->name, method.entry->signature));
      if (method.self.is_string()) {
        heap_.charge_steps(method.self.size / 256);
      }
      return method.entry->fn(*this, method.self, args);
    }
    case Kind::kFunction:
      return call_function(*this, static_cast<Function>(callee.i), std::move(args));
    case Kind::kMacro:
      return call_macro(*static_cast<MacroObj*>(callee.ptr), std::move(args));
    case Kind::kJoiner: {
      auto& joiner = *static_cast<JoinerObj*>(callee.ptr);
      PLUMB_RETURN_IF_ERROR(bind(&args, "joiner", {}));
      const Value out = joiner.used ? joiner.separator : heap_.make_string("", false);
      joiner.used = true;
      return out;
    }
    case Kind::kLoop: {
      auto& loop = *static_cast<LoopObj*>(callee.ptr);
      PLUMB_RETURN_IF_ERROR(bind(&args, "loop", {{"iterable"}, 1}));
      if (!loop.source.node->recursive) {
        return raise("the loop must have the 'recursive' marker to be called recursively");
      }
      return loop_body(*loop.source.node, args.positional[0], loop.depth0 + 1, loop.source.scope);
    }
    default:
      return raise("'" + std::string(type_name(callee)) + "' object is not callable");
  }
}

Result<Value> Interpreter::eval_filter(const Expr& expr) {
  Value value = chain_input_;
  if (expr.items[0] != nullptr) {
    PLUMB_ASSIGN(value, eval(*expr.items[0]));
  }
  PLUMB_ASSIGN(Args args, eval_arguments(expr.arguments.get()));
  if (expr.filter == nullptr) {
    return raise("no filter named '" + std::string(expr.constant.str()) + "'");
  }
  PLUMB_RETURN_IF_ERROR(bind(&args, expr.filter->name, expr.filter->signature));
  if (value.is_string()) {
    heap_.charge_steps(value.size / 256);
  }
  return expr.filter->fn(*this, value, args);
}

Result<Value> Interpreter::call_filter(std::string_view name, const Value& value, Args args) {
  const FilterEntry* filter = find_filter(name);
  if (filter == nullptr) {
    return raise("no filter named '" + std::string(name) + "'");
  }
  heap_.charge_steps(1);
  PLUMB_RETURN_IF_ERROR(check_budget());
  PLUMB_RETURN_IF_ERROR(bind(&args, filter->name, filter->signature));
  return filter->fn(*this, value, args);
}

Result<Value> Interpreter::eval_test(const Expr& expr) {
  PLUMB_ASSIGN(const Value value, eval(*expr.items[0]));
  PLUMB_ASSIGN(Args args, eval_arguments(expr.arguments.get()));
  PLUMB_ASSIGN(const bool holds, call_test(expr.constant.str(), value, std::move(args)));
  return Value::boolean(holds);
}

Result<bool> Interpreter::call_test(std::string_view name, const Value& value, Args args) {
  const TestEntry* test = find_test(name);
  if (test == nullptr) {
    return raise("no test named '" + std::string(name) + "'");
  }
  heap_.charge_steps(1);
  PLUMB_RETURN_IF_ERROR(check_budget());
  static constexpr std::array<std::string_view, 4> kNames = {"num", "other", "seq", "b"};
  for (const auto& [key, argument] : args.named) {
    const bool known = std::find(kNames.begin(), kNames.end(), key.str()) != kNames.end();
    if (!known || !args.positional.empty()) {
      return raise("test '" + std::string(name) + "' has no keyword argument '" +
                   std::string(key.str()) + "'");
    }
    args.positional.push_back(argument);
  }
  if (args.positional.size() != static_cast<std::size_t>(test->num_args)) {
    return raise("test '" + std::string(name) + "' takes " + std::to_string(test->num_args) +
                 " arguments, got " + std::to_string(args.positional.size()));
  }
  return test->fn(*this, value, args);
}

Status Interpreter::collect(const Value& iterable, std::vector<Value>* out) {
  PLUMB_ASSIGN(Iteration iteration, Iteration::over(iterable));
  Value value;
  while (true) {
    PLUMB_ASSIGN(const bool more, iteration.next(&value, heap_));
    if (!more) {
      return {};
    }
    heap_.charge_bytes(sizeof(Value));
    heap_.charge_steps(1);
    PLUMB_RETURN_IF_ERROR(check_budget());
    out->push_back(value);
  }
}

Value Interpreter::escape(const Value& value) {
  Value text = to_str(value, heap_);
  const bool safe = value.is_string() && value.markup;
  if (!safe && text.str().find_first_of("&<>'\"") != std::string_view::npos) {
    StrBuilder out(heap_);
    const std::string_view bytes = text.str();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const char c = bytes[i];
      const std::string_view entity = c == '&'    ? "&amp;"
                                      : c == '<'  ? "&lt;"
                                      : c == '>'  ? "&gt;"
                                      : c == '\'' ? "&#39;"
                                      : c == '"'  ? "&#34;"
                                                  : "";
      if (entity.empty()) {
        out.append(text, i, 1);
      } else {
        out.append(entity, is_data_at(text, i));
      }
    }
    text = out.take();
  }
  text.markup = true;
  return text;
}

}  // namespace plumb::jinja
