// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>

#include "tokenizer/jinja_ast.h"

namespace plumb::jinja {

namespace {

struct Context {
  bool soft = false;     // inside an if: unknown filters and tests fail only when reached
  bool in_loop = false;  // break and continue have a loop to act on
  bool below_for = false;
};

class Checker {
 public:
  explicit Checker(Program* program) : program_(program) {}

  Status check(Body* body, Context context);

 private:
  static Status fail(int line, const std::string& what) {
    return {Code::kInvalidArgument, "template line " + std::to_string(line) + ": " + what};
  }

  static bool is_name(const Expr& expr, std::string_view name) {
    return expr.kind == ExprKind::kName && expr.constant.str() == name;
  }

  Status check_stmt(Stmt* stmt, Context context);
  Status check_body_of(Stmt* stmt, Context context);
  Status check_macro(Stmt* stmt);
  Status check_targets(const Stmt& stmt, const Context& context);
  Status check_expr(const Expr* expr, bool soft);
  static bool uses(const Body& body, std::string_view name);

  Program* program_;
  std::set<std::string, std::less<>> blocks_;
};

bool Checker::uses(const Body& body, std::string_view name) {
  bool found = false;
  visit_expressions(body, [&](const Expr& expr) { found = found || is_name(expr, name); });
  return found;
}

Status Checker::check_expr(const Expr* expr, bool soft) {
  if (expr == nullptr || soft) {
    return {};
  }
  if (expr->kind == ExprKind::kFilter && expr->filter == nullptr) {
    return fail(expr->line, "no filter named '" + std::string(expr->constant.str()) + "'");
  }
  if (expr->kind == ExprKind::kTest && expr->test == nullptr) {
    return fail(expr->line, "no test named '" + std::string(expr->constant.str()) + "'");
  }
  // An inline if defers its unknown names, like the statement.
  if (expr->kind == ExprKind::kCondition) {
    return {};
  }
  for (const ExprPtr& item : expr->items) {
    PLUMB_RETURN_IF_ERROR(check_expr(item.get(), soft));
  }
  if (expr->arguments == nullptr) {
    return {};
  }
  for (const ExprPtr& item : expr->arguments->positional) {
    PLUMB_RETURN_IF_ERROR(check_expr(item.get(), soft));
  }
  for (const Keyword& keyword : expr->arguments->keywords) {
    PLUMB_RETURN_IF_ERROR(check_expr(keyword.value.get(), soft));
  }
  PLUMB_RETURN_IF_ERROR(check_expr(expr->arguments->spread.get(), soft));
  return check_expr(expr->arguments->spread_keywords.get(), soft);
}

Status Checker::check_targets(const Stmt& stmt, const Context& context) {
  if (stmt.target == nullptr || !(context.below_for || stmt.kind == StmtKind::kFor)) {
    return {};
  }
  bool stores_loop = false;
  visit_expressions(*stmt.target,
                    [&](const Expr& expr) { stores_loop = stores_loop || is_name(expr, "loop"); });
  return stores_loop ? fail(stmt.line, "cannot assign to the special variable 'loop' in a for loop")
                     : Status();
}

Status Checker::check_macro(Stmt* stmt) {
  stmt->uses_caller = uses(stmt->body, "caller");
  stmt->uses_varargs = uses(stmt->body, "varargs");
  stmt->uses_kwargs = uses(stmt->body, "kwargs");
  for (const Param& param : stmt->params) {
    PLUMB_RETURN_IF_ERROR(check_expr(param.default_value.get(), false));
    const std::string_view name = param.name.str();
    if (name == "caller" && stmt->uses_caller && param.default_value == nullptr) {
      return fail(stmt->line, "the parameter 'caller' must be omitted or have a default");
    }
    stmt->uses_varargs = stmt->uses_varargs && name != "varargs";
    stmt->uses_kwargs = stmt->uses_kwargs && name != "kwargs";
  }
  for (const std::string_view special : {"caller", "varargs", "kwargs"}) {
    program_->id_of(std::string(special));
  }
  return {};
}

Status Checker::check_body_of(Stmt* stmt, Context context) {
  Context inner = context;
  inner.soft = stmt->kind == StmtKind::kIf && context.soft;
  switch (stmt->kind) {
    case StmtKind::kMacro:
    case StmtKind::kCall:
    case StmtKind::kGeneration:
      PLUMB_RETURN_IF_ERROR(check_macro(stmt));
      inner.in_loop = false;
      break;
    case StmtKind::kBlock:
      inner = {};
      if (!blocks_.insert(std::string(stmt->text.str())).second) {
        return fail(stmt->line, "block '" + std::string(stmt->text.str()) + "' is defined twice");
      }
      break;
    case StmtKind::kFor: {
      program_->id_of("loop");
      inner.below_for = true;
      PLUMB_RETURN_IF_ERROR(check_expr(stmt->test.get(), false));
      PLUMB_RETURN_IF_ERROR(check(&stmt->else_body, inner));
      inner.in_loop = true;
      break;
    }
    default:
      break;
  }
  return check(&stmt->body, inner);
}

Status Checker::check_stmt(Stmt* stmt, Context context) {
  PLUMB_RETURN_IF_ERROR(check_targets(*stmt, context));
  switch (stmt->kind) {
    case StmtKind::kBreak:
    case StmtKind::kContinue:
      return context.in_loop ? Status() : fail(stmt->line, "break or continue outside a loop");
    case StmtKind::kIf: {
      Context soft = context;
      soft.soft = true;
      for (Branch& branch : stmt->branches) {
        PLUMB_RETURN_IF_ERROR(check(&branch.body, soft));
      }
      return check(&stmt->else_body, soft);
    }
    case StmtKind::kFilterBlock:
    case StmtKind::kSetBlock:
      PLUMB_RETURN_IF_ERROR(check_expr(stmt->expr.get(), false));
      break;
    default:
      PLUMB_RETURN_IF_ERROR(check_expr(stmt->expr.get(), context.soft));
      break;
  }
  if (stmt->kind == StmtKind::kWith) {
    for (const Param& value : stmt->params) {
      PLUMB_RETURN_IF_ERROR(check_expr(value.default_value.get(), context.soft));
    }
  }
  return check_body_of(stmt, context);
}

Status Checker::check(Body* body, Context context) {
  for (const auto& stmt : *body) {
    PLUMB_RETURN_IF_ERROR(check_stmt(stmt.get(), context));
  }
  return {};
}

}  // namespace

Status check_program(Program* program) {
  return Checker(program).check(&program->body, {});
}

}  // namespace plumb::jinja
