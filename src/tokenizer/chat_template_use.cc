// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat_template_use.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "tokenizer/jinja_ast.h"

namespace plumb {

namespace {

using jinja::Body;
using jinja::Expr;
using jinja::ExprKind;
using jinja::ExprPtr;
using jinja::Param;
using jinja::Stmt;
using jinja::StmtKind;

bool is_text(const Expr& expr, std::string_view text) {
  return expr.kind == ExprKind::kConstant && expr.constant.is_string() &&
         expr.constant.str() == text;
}

template <class Visit>
void visit_statements(const Body& body, const Visit& visit) {
  for (const auto& stmt : body) {
    visit(*stmt);
    for (const auto& branch : stmt->branches) {
      visit_statements(branch.body, visit);
    }
    visit_statements(stmt->body, visit);
    visit_statements(stmt->else_body, visit);
  }
}

/// Finds the expressions that give the member `key` of a message or tool call: direct accesses, and
/// names and macro parameters that such a value is bound to anywhere in the template.
class Tracker {
 public:
  Tracker(const jinja::Program& program, std::string_view key) : program_(program), key_(key) {
    std::size_t known = 0;
    do {
      known = names_.size();
      visit_statements(program_.body, [this](const Stmt& stmt) { follow(stmt); });
      jinja::visit_expressions(program_.body, [this](const Expr& expr) { follow_call(expr); });
    } while (names_.size() > known);
  }

  bool gives_member(const Expr& expr) const {
    switch (expr.kind) {
      case ExprKind::kName:
        return names_.count(expr.name_id) > 0;
      case ExprKind::kAttribute:
        return expr.constant.str() == key_;
      case ExprKind::kSubscript:
        return is_text(*expr.items[1], key_) ||
               (expr.items[1]->kind == ExprKind::kSlice && gives_member(*expr.items[0]));
      case ExprKind::kFilter:
        return expr.items[0] != nullptr && keeps_value(expr.constant.str()) &&
               gives_member(*expr.items[0]);
      case ExprKind::kCondition:
        return gives_member(*expr.items[1]) ||
               (expr.items[2] != nullptr && gives_member(*expr.items[2]));
      case ExprKind::kOr:
      case ExprKind::kAnd:
        return gives_member(*expr.items[0]) || gives_member(*expr.items[1]);
      case ExprKind::kCall:
        return is_get(expr);
      default:
        return false;
    }
  }

 private:
  static bool keeps_value(std::string_view filter) {
    constexpr std::string_view kFilters[] = {"default",    "d",          "list", "select", "reject",
                                             "selectattr", "rejectattr", "map",  "reverse"};
    return std::find(std::begin(kFilters), std::end(kFilters), filter) != std::end(kFilters);
  }

  bool is_get(const Expr& call) const {
    const Expr& callee = *call.items[0];
    return callee.kind == ExprKind::kAttribute && callee.constant.str() == "get" &&
           !call.arguments->positional.empty() && is_text(*call.arguments->positional[0], key_);
  }

  void follow(const Stmt& stmt) {
    if (stmt.kind == StmtKind::kSet && stmt.target->kind == ExprKind::kName &&
        gives_member(*stmt.expr)) {
      names_.insert(stmt.target->name_id);
    }
    for (std::size_t i = 0; i < stmt.targets.size(); ++i) {
      if (stmt.targets[i]->kind == ExprKind::kName && gives_member(*stmt.params[i].default_value)) {
        names_.insert(stmt.targets[i]->name_id);
      }
    }
  }

  void follow_call(const Expr& expr) {
    if (expr.kind != ExprKind::kCall || expr.items[0]->kind != ExprKind::kName) {
      return;
    }
    visit_statements(program_.body, [&](const Stmt& stmt) {
      if (stmt.kind == StmtKind::kMacro && stmt.name_id == expr.items[0]->name_id) {
        follow_arguments(*expr.arguments, stmt.params);
      }
    });
  }

  void follow_arguments(const jinja::CallArguments& arguments, const std::vector<Param>& params) {
    for (std::size_t i = 0; i < std::min(arguments.positional.size(), params.size()); ++i) {
      if (gives_member(*arguments.positional[i])) {
        names_.insert(params[i].name_id);
      }
    }
    for (const jinja::Keyword& keyword : arguments.keywords) {
      for (const Param& param : params) {
        if (param.name.str() == keyword.name.str() && gives_member(*keyword.value)) {
          names_.insert(param.name_id);
        }
      }
    }
  }

  const jinja::Program& program_;
  std::string_view key_;
  std::set<int> names_;
};

bool one_of(std::string_view text, std::initializer_list<std::string_view> options) {
  return std::find(options.begin(), options.end(), text) != options.end();
}

bool walks_over(const jinja::Program& program, const Tracker& tracker) {
  bool found = false;
  visit_statements(program.body, [&](const Stmt& stmt) {
    found = found || (stmt.kind == StmtKind::kFor && tracker.gives_member(*stmt.expr));
  });
  jinja::visit_expressions(program.body, [&](const Expr& expr) {
    const bool first = !expr.items.empty() && expr.items[0] != nullptr;
    if (expr.kind == ExprKind::kFilter && first) {
      found = found || (one_of(expr.constant.str(), {"map", "selectattr", "rejectattr"}) &&
                        tracker.gives_member(*expr.items[0]));
    }
    // content[0].type
    const bool member_access =
        expr.kind == ExprKind::kAttribute ||
        (expr.kind == ExprKind::kSubscript && expr.items[1]->kind == ExprKind::kConstant &&
         expr.items[1]->constant.is_string());
    if (member_access && first) {
      const Expr& inner = *expr.items[0];
      found =
          found ||
          (inner.kind == ExprKind::kSubscript && inner.items[1]->kind == ExprKind::kConstant &&
           inner.items[1]->constant.is(jinja::Kind::kInt) && tracker.gives_member(*inner.items[0]));
    }
  });
  return found;
}

bool uses_as_object(const jinja::Program& program, const Tracker& tracker) {
  bool found = walks_over(program, tracker);
  jinja::visit_expressions(program.body, [&](const Expr& expr) {
    if (expr.items.empty() || expr.items[0] == nullptr || !tracker.gives_member(*expr.items[0])) {
      return;
    }
    const bool by_name = expr.kind == ExprKind::kFilter || expr.kind == ExprKind::kAttribute ||
                         expr.kind == ExprKind::kTest;
    found = found ||
            (by_name && one_of(expr.constant.str(),
                               {"items", "tojson", "dictsort", "keys", "values", "mapping"})) ||
            (expr.kind == ExprKind::kSubscript && expr.items[1]->kind == ExprKind::kName);
  });
  return found;
}

// Whether the key occurs at all, as an attribute or a string.
bool mentions(const jinja::Program& program, std::string_view key) {
  bool found = false;
  jinja::visit_expressions(program.body, [&](const Expr& expr) {
    found = found || is_text(expr, key) ||
            (expr.kind == ExprKind::kAttribute && expr.constant.str() == key);
  });
  return found;
}

}  // namespace

ChatTemplateUse find_use(const jinja::Program& program) {
  ChatTemplateUse use;
  use.iterates_content = walks_over(program, Tracker(program, "content"));
  // A template that prints whole tool calls shows their arguments as part of the JSON.
  use.arguments_are_object = uses_as_object(program, Tracker(program, "arguments")) ||
                             (mentions(program, "tool_calls") && !mentions(program, "arguments"));
  use.knows_developer_role = mentions(program, "developer");
  return use;
}

}  // namespace plumb
