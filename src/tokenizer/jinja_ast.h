// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/jinja_value.h"

namespace plumb::jinja {

struct FilterEntry;
struct TestEntry;

enum class ExprKind : unsigned char {
  kConstant,
  kName,
  kNamespaceRef,  ///< ns.attr as the target of a set
  kList,
  kTuple,
  kDict,       ///< items are key, value, key, value ...
  kCondition,  ///< items: test, then, else (null if absent)
  kOr,
  kAnd,
  kNot,
  kCompare,  ///< items: first operand, then one per operator
  kBinary,
  kConcat,
  kNegate,
  kPlus,
  kAttribute,  ///< items[0].text
  kSubscript,  ///< items[0][items[1]]
  kSlice,      ///< items: start, stop, step (null if absent)
  kCall,       ///< items[0](...)
  kFilter,     ///< items[0] | text(...); items[0] is null in a filter block
  kTest,       ///< items[0] is text(...)
};

enum class CompareOp : unsigned char { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };
enum class BinaryOp : unsigned char { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Keyword {
  Value name;
  ExprPtr value;
};

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<Keyword> keywords;
  ExprPtr spread;           ///< *args
  ExprPtr spread_keywords;  ///< **kwargs
};

struct Expr {
  ExprKind kind = ExprKind::kConstant;
  int line = 0;
  int depth = 1;     ///< of the tree below, this included
  int name_id = -1;  ///< kName, kNamespaceRef: index of the name in the program
  BinaryOp op = BinaryOp::kAdd;
  Value constant;  ///< kConstant; the name as a string for attributes, filters and tests
  std::vector<ExprPtr> items;
  std::vector<CompareOp> compares;
  std::unique_ptr<CallArguments> arguments;
  const FilterEntry* filter = nullptr;  ///< null: unknown, an error when reached
  const TestEntry* test = nullptr;
};

enum class StmtKind : unsigned char {
  kText,    ///< constant
  kOutput,  ///< expr
  kIf,
  kFor,
  kSet,
  kSetBlock,
  kMacro,
  kCall,
  kFilterBlock,
  kWith,
  kGeneration,
  kBlock,
  kAutoescape,
  kBreak,
  kContinue,
  kLoader,  ///< extends, include, import: there are no other templates to load
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

struct Branch {
  ExprPtr test;
  Body body;
};

struct Param {
  int name_id = -1;
  Value name;
  ExprPtr default_value;  ///< null: none
};

struct Stmt {
  StmtKind kind = StmtKind::kText;
  int line = 0;
  Value text;  ///< kText; the name of a macro or block
  int name_id = -1;
  ExprPtr target;  ///< of for and set
  ExprPtr expr;    ///< value, iterable, call, filter chain
  ExprPtr test;    ///< the `if` of a for
  Body body;
  Body else_body;
  std::vector<Branch> branches;  ///< if, elif
  std::vector<Param> params;     ///< macro, call; with: names and values
  std::vector<ExprPtr> targets;  ///< with
  std::vector<int> locals;       ///< names undefined at the start of the body, see find_locals
  std::vector<int> else_locals;  ///< the same for the else of a for
  bool recursive = false;
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
};

/// A parsed template.
///
/// Ownership  owns the text of its constants; values of a rendering may point to them.
/// Thread     any; nothing changes after parsing.
struct Program {
  Body body;
  std::vector<int> locals;         ///< names undefined at the start
  std::vector<std::string> names;  ///< by id
  std::unordered_map<std::string, int> name_ids;
  std::vector<std::unique_ptr<StrBuf>> texts;
  std::vector<std::unique_ptr<Object>> objects;

  int id_of(const std::string& name);
  Value constant_string(std::string text);
  Value constant_integer(const BigInt& value);
};

/// Parses and checks a template.
///
/// Errors  kInvalidArgument "template line N: ..."; unknown filters and tests are errors here only
///         outside if branches.
Result<std::unique_ptr<Program>> parse_program(std::string_view source);

/// Checks that need the whole tree: unknown filters and tests outside if branches, break and
/// continue outside loops, assignments to `loop`, use of caller, varargs and kwargs in macros.
Status check_program(Program* program);

/// Finds the names that each block makes local before it assigns them.
void find_locals(Program* program);

/// Calls visit(expr) for every expression below, parents first.
template <class Visit>
void visit_expressions(const Expr& expr, const Visit& visit);
template <class Visit>
void visit_expressions(const Body& body, const Visit& visit);

template <class Visit>
void visit_expressions(const Expr& expr, const Visit& visit) {
  visit(expr);
  for (const ExprPtr& item : expr.items) {
    if (item != nullptr) {
      visit_expressions(*item, visit);
    }
  }
  if (expr.arguments == nullptr) {
    return;
  }
  for (const ExprPtr& item : expr.arguments->positional) {
    visit_expressions(*item, visit);
  }
  for (const Keyword& keyword : expr.arguments->keywords) {
    visit_expressions(*keyword.value, visit);
  }
  if (expr.arguments->spread != nullptr) {
    visit_expressions(*expr.arguments->spread, visit);
  }
  if (expr.arguments->spread_keywords != nullptr) {
    visit_expressions(*expr.arguments->spread_keywords, visit);
  }
}

template <class Visit>
void visit_expressions(const Body& body, const Visit& visit) {
  const auto optional = [&visit](const ExprPtr& expr) {
    if (expr != nullptr) {
      visit_expressions(*expr, visit);
    }
  };
  for (const auto& stmt : body) {
    optional(stmt->target);
    optional(stmt->expr);
    optional(stmt->test);
    for (const Param& param : stmt->params) {
      optional(param.default_value);
    }
    for (const ExprPtr& target : stmt->targets) {
      optional(target);
    }
    for (const Branch& branch : stmt->branches) {
      optional(branch.test);
      visit_expressions(branch.body, visit);
    }
    visit_expressions(stmt->body, visit);
    visit_expressions(stmt->else_body, visit);
  }
}

}  // namespace plumb::jinja
