// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tokenizer/jinja_interpreter.h"
#include "tokenizer/jinja_operators.h"
#include "tokenizer/jinja_predicates.h"
#include "tokenizer/jinja_text.h"

namespace plumb::jinja {

namespace {

Status unpack_error(std::size_t wanted, std::size_t got) {
  return raise("cannot unpack " + std::to_string(got) + " values into " + std::to_string(wanted) +
               " names");
}

}  // namespace

Status Interpreter::run(std::vector<Value> variables) {
  variables_ = std::move(variables);
  top_ = new_scope(nullptr, &program_.locals);
  scope_ = top_;
  stack_base_ = static_cast<const char*>(__builtin_frame_address(0));
  PLUMB_ASSIGN(const Flow flow, run_body(program_.body));
  static_cast<void>(flow);
  return check_budget();
}

Result<Flow> Interpreter::run_body(const Body& body) {
  const Restore<int> restore_depth(&depth_, depth_ + 1);
  PLUMB_RETURN_IF_ERROR(check_depth());
  for (const auto& stmt : body) {
    heap_.charge_steps(1);
    PLUMB_RETURN_IF_ERROR(check_budget());
    PLUMB_ASSIGN(const Flow flow, run_stmt(*stmt));
    if (flow != Flow::kNext) {
      return flow;
    }
  }
  return Flow::kNext;
}

Result<Flow> Interpreter::run_stmt(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::kText:
      out_->append(stmt.text);
      break;
    case StmtKind::kOutput: {
      PLUMB_ASSIGN(const Value value, eval(*stmt.expr));
      PLUMB_RETURN_IF_ERROR(output(value));
      break;
    }
    case StmtKind::kIf:
      return run_if(stmt);
    case StmtKind::kFor:
      return run_for(stmt);
    case StmtKind::kSet:
      PLUMB_RETURN_IF_ERROR(run_set(stmt));
      break;
    case StmtKind::kSetBlock:
    case StmtKind::kFilterBlock:
      return run_capturing(stmt);
    case StmtKind::kMacro:
      scope_->set(stmt.name_id, make_macro(stmt, false));
      break;
    case StmtKind::kCall:
      PLUMB_RETURN_IF_ERROR(run_call_block(stmt));
      break;
    case StmtKind::kWith:
    case StmtKind::kAutoescape:
      return run_with(stmt);
    case StmtKind::kGeneration:
    case StmtKind::kBlock:
      PLUMB_RETURN_IF_ERROR(run_scoped(stmt));
      break;
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
    case StmtKind::kLoader: {
      PLUMB_RETURN_IF_ERROR(eval(*stmt.expr).status());
      return raise("'" + std::string(stmt.text.str()) + "': no other templates can be loaded");
    }
  }
  return Flow::kNext;
}

Status Interpreter::output(const Value& value) {
  if (autoescape_) {
    out_->append(escape(value));
  } else {
    append_str(out_, value);
  }
  if (static_cast<std::int64_t>(root_.size()) > limits_.max_output_bytes) {
    return {Code::kResourceExhausted, "template output is larger than " +
                                          std::to_string(limits_.max_output_bytes) + " bytes"};
  }
  return check_budget();
}

Status Interpreter::output_text(const Value& value) {
  if (!value.is_string()) {
    return raise("a filter or call block must give a string, not '" +
                 std::string(type_name(value)) + "'");
  }
  out_->append(value);
  return check_budget();
}

Result<Flow> Interpreter::run_if(const Stmt& stmt) {
  for (const Branch& branch : stmt.branches) {
    PLUMB_ASSIGN(const Value test, eval(*branch.test));
    if (truthy(test)) {
      return run_body(branch.body);
    }
  }
  return run_body(stmt.else_body);
}

Status Interpreter::assign(const Expr& target, const Value& value, Scope* scope) {
  if (target.kind == ExprKind::kName) {
    scope->set(target.name_id, value);
    return {};
  }
  if (target.kind == ExprKind::kNamespaceRef) {
    PLUMB_ASSIGN(const Value owner, eval_name(target));
    if (!owner.is(Kind::kNamespace)) {
      return raise("cannot assign attribute on non-namespace object");
    }
    static_cast<NamespaceObj*>(owner.ptr)->attributes.set(target.constant, value, heap_);
    return {};
  }
  if (value.is_undefined() || !is_iterable(value)) {
    return value.is_undefined()
               ? unpack_error(target.items.size(), 0)
               : raise("cannot unpack non-iterable '" + std::string(type_name(value)) + "' object");
  }
  std::vector<Value> parts;
  PLUMB_RETURN_IF_ERROR(collect(value, &parts));
  if (parts.size() != target.items.size()) {
    return unpack_error(target.items.size(), parts.size());
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(assign(*target.items[i], parts[i], scope));
  }
  return {};
}

Status Interpreter::run_set(const Stmt& stmt) {
  PLUMB_ASSIGN(const Value value, eval(*stmt.expr));
  return assign(*stmt.target, value, scope_);
}

Result<Flow> Interpreter::capture(const Body& body, Scope* scope, Value* text) {
  StrBuilder builder(heap_);
  const Restore<StrBuilder*> restore_out(&out_, &builder);
  const Restore<Scope*> restore_scope(&scope_, scope);
  PLUMB_ASSIGN(const Flow flow, run_body(body));
  *text = builder.take();
  return flow;
}

Result<Value> Interpreter::apply_chain(const Expr& chain, const Value& text) {
  const Restore<Value> restore(&chain_input_, text);
  return eval(chain);
}

Result<Flow> Interpreter::run_capturing(const Stmt& stmt) {
  Value text;
  Scope* inner = new_scope(scope_, &stmt.locals);
  PLUMB_ASSIGN(const Flow flow, capture(stmt.body, inner, &text));
  if (flow != Flow::kNext) {
    return flow;
  }
  text.markup = autoescape_;
  if (stmt.expr != nullptr) {
    const Restore<Scope*> restore(&scope_, inner);
    PLUMB_ASSIGN(text, apply_chain(*stmt.expr, text));
  }
  if (stmt.kind == StmtKind::kFilterBlock) {
    PLUMB_RETURN_IF_ERROR(output_text(text));
  } else {
    if (autoescape_ && text.is_string()) {
      text.markup = true;
    }
    PLUMB_RETURN_IF_ERROR(assign(*stmt.target, text, scope_));
  }
  return Flow::kNext;
}

Result<Flow> Interpreter::run_with(const Stmt& stmt) {
  Scope* inner = new_scope(scope_, &stmt.locals);
  bool escapes = autoescape_;
  if (stmt.expr != nullptr) {
    PLUMB_ASSIGN(const Value on, eval(*stmt.expr));
    escapes = truthy(on);
  }
  for (std::size_t i = 0; i < stmt.targets.size(); ++i) {
    PLUMB_ASSIGN(const Value value, eval(*stmt.params[i].default_value));
    PLUMB_RETURN_IF_ERROR(assign(*stmt.targets[i], value, inner));
  }
  const Restore<bool> restore_escape(&autoescape_, escapes);
  const Restore<Scope*> restore(&scope_, inner);
  return run_body(stmt.body);
}

Status Interpreter::run_scoped(const Stmt& stmt) {
  const bool sees_all = stmt.kind == StmtKind::kGeneration || stmt.recursive;
  const Restore<Scope*> restore(&scope_, new_scope(sees_all ? scope_ : top_, &stmt.locals));
  if (stmt.kind == StmtKind::kGeneration) {
    // Its body is that of a macro without parameters.
    MacroObj macro;
    macro.node = &stmt;
    macro.anonymous = true;
    Args none;
    PLUMB_RETURN_IF_ERROR(bind_special(macro, &none, false, scope_));
  }
  const auto begin = static_cast<std::int64_t>(root_.size());
  PLUMB_ASSIGN(const Flow flow, run_body(stmt.body));
  static_cast<void>(flow);
  if (stmt.kind == StmtKind::kGeneration && out_ == &root_) {
    generations_.push_back({begin, static_cast<std::int64_t>(root_.size())});
  }
  return {};
}

Result<Flow> Interpreter::run_for(const Stmt& stmt) {
  PLUMB_ASSIGN(const Value iterable, eval(*stmt.expr));
  if (stmt.recursive) {
    PLUMB_ASSIGN(const Value text, loop_body(stmt, iterable, 0, scope_));
    PLUMB_RETURN_IF_ERROR(output(text));
    return Flow::kNext;
  }
  auto* loop = heap_.make<LoopObj>();
  PLUMB_ASSIGN(Iteration iteration, Iteration::over(iterable));
  loop->source = {this, &stmt, scope_, iteration};
  loop->iterable = iterable;
  return run_loop(loop, stmt, scope_);
}

Result<Value> Interpreter::loop_body(const Stmt& node, const Value& iterable, std::int64_t depth0,
                                     Scope* scope) {
  const Restore<int> restore_depth(&depth_, depth_ + 4);
  PLUMB_RETURN_IF_ERROR(check_depth());
  auto* loop = heap_.make<LoopObj>();
  PLUMB_ASSIGN(Iteration iteration, Iteration::over(iterable));
  loop->source = {this, &node, scope, iteration};
  loop->iterable = iterable;
  loop->depth0 = depth0;
  StrBuilder builder(heap_);
  {
    const Restore<StrBuilder*> restore(&out_, &builder);
    PLUMB_ASSIGN(const Flow flow, run_loop(loop, node, scope));
    static_cast<void>(flow);
  }
  Value text = builder.take();
  text.markup = autoescape_;
  return text;
}

Result<Flow> Interpreter::run_loop(LoopObj* loop, const Stmt& stmt, Scope* outer) {
  const auto loop_id = program_.name_ids.find("loop")->second;
  bool completed = false;
  Scope* inner = nullptr;
  while (true) {
    PLUMB_ASSIGN(const bool more, loop->advance());
    if (!more) {
      break;
    }
    heap_.charge_steps(1);
    if (inner == nullptr || inner->captured) {
      inner = new_scope(outer);
    } else {
      inner->variables.clear();
    }
    hide(stmt.locals, inner);
    inner->set(loop_id, Value::object(Kind::kLoop, loop));
    PLUMB_RETURN_IF_ERROR(assign(*stmt.target, loop->current, inner));
    const Restore<Scope*> restore(&scope_, inner);
    PLUMB_ASSIGN(const Flow flow, run_body(stmt.body));
    if (flow == Flow::kBreak) {
      break;
    }
    completed = completed || flow == Flow::kNext;
  }
  if (completed || stmt.else_body.empty()) {
    return Flow::kNext;
  }
  const Restore<Scope*> restore(&scope_, new_scope(outer, &stmt.else_locals));
  return run_body(stmt.else_body);
}

Value Interpreter::make_macro(const Stmt& stmt, bool anonymous) {
  auto* macro = heap_.make<MacroObj>();
  macro->node = &stmt;
  macro->scope = scope_;
  macro->autoescape = autoescape_;
  macro->anonymous = anonymous;
  for (Scope* scope = scope_; scope != nullptr && !scope->captured; scope = scope->parent) {
    scope->captured = true;
  }
  return Value::object(Kind::kMacro, macro);
}

Status Interpreter::run_call_block(const Stmt& stmt) {
  const Value caller = make_macro(stmt, true);
  PLUMB_ASSIGN(const Value text, eval_call(*stmt.expr, &caller));
  return output_text(text);
}

std::string macro_text(const MacroObj& macro) {
  return macro.anonymous ? "<Macro anonymous>"
                         : "<Macro '" + std::string(macro.node->text.str()) + "'>";
}

Result<Value> Interpreter::call_macro(const MacroObj& macro, Args args) {
  Scope* inner = new_scope(macro.scope, &macro.node->locals);
  {
    const Restore<Scope*> restore(&scope_, inner);
    PLUMB_RETURN_IF_ERROR(bind_macro(macro, &args, inner));
  }
  // A macro costs several frames of the machine's stack.
  const Restore<int> restore_depth(&depth_, depth_ + 4);
  const Restore<bool> restore_escape(&autoescape_, macro.autoescape);
  Value text;
  PLUMB_ASSIGN(const Flow flow, capture(macro.node->body, inner, &text));
  static_cast<void>(flow);
  text.markup = macro.autoescape;
  return text;
}

Status Interpreter::bind_macro(const MacroObj& macro, Args* args, Scope* scope) {
  const std::vector<Param>& params = macro.node->params;
  const std::size_t given = std::min(args->positional.size(), params.size());
  bool bound_caller = false;
  std::vector<Value> values(args->positional.begin(),
                            args->positional.begin() + static_cast<std::ptrdiff_t>(given));
  for (std::size_t i = 0; i < params.size(); ++i) {
    bound_caller = bound_caller || (params[i].name.str() == "caller");
    if (i < given) {
      continue;
    }
    const auto it = std::find_if(args->named.begin(), args->named.end(), [&](const auto& named) {
      return named.first.str() == params[i].name.str();
    });
    values.push_back(it == args->named.end() ? Value::missing() : it->second);
    if (it != args->named.end()) {
      args->named.erase(it);
    }
  }
  PLUMB_RETURN_IF_ERROR(bind_special(macro, args, bound_caller, scope));
  // Defaults see the parameters, those still to come as undefined.
  for (std::size_t i = 0; i < params.size(); ++i) {
    scope->set(params[i].name_id,
               values[i].is_missing() ? undefined_name(params[i].name) : values[i]);
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (values[i].is_missing() && params[i].default_value != nullptr) {
      PLUMB_ASSIGN(const Value value, eval(*params[i].default_value));
      scope->set(params[i].name_id, value);
    }
  }
  return {};
}

Status Interpreter::bind_special(const MacroObj& macro, Args* args, bool bound_caller,
                                 Scope* scope) {
  const Stmt& node = *macro.node;
  const auto id = [this](const char* name) { return program_.name_ids.find(name)->second; };
  const std::string name = macro_text(macro);
  if (node.uses_caller && !bound_caller) {
    Value caller;
    const auto it = std::find_if(args->named.begin(), args->named.end(),
                                 [](const auto& named) { return named.first.str() == "caller"; });
    if (it != args->named.end()) {
      caller = it->second;
      args->named.erase(it);
    }
    scope->set(id("caller"), caller.is_none() ? Value() : caller);
  }
  if (node.uses_kwargs) {
    auto* dict = heap_.make<DictObj>();
    for (const auto& [key, value] : args->named) {
      dict->set(key, value, heap_);
    }
    scope->set(id("kwargs"), Value::object(Kind::kDict, dict));
  } else if (!args->named.empty()) {
    return raise(name + " takes no keyword argument '" + std::string(args->named[0].first.str()) +
                 "'");
  }
  const std::size_t count = node.params.size();
  if (node.uses_varargs) {
    std::vector<Value> rest;
    if (args->positional.size() > count) {
      rest.assign(args->positional.begin() + static_cast<std::ptrdiff_t>(count),
                  args->positional.end());
    }
    scope->set(id("varargs"), heap_.make_list(std::move(rest), Kind::kTuple));
  } else if (args->positional.size() > count) {
    return raise(name + " takes not more than " + std::to_string(count) + " argument(s)");
  }
  return {};
}

}  // namespace plumb::jinja
