// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_parser.h"

#include <algorithm>

namespace plumb::jinja {

namespace {

constexpr int kMaxExpressionDepth = 500;
constexpr int kMaxParseNesting = 150;  // of brackets and statements

}  // namespace

bool Parser::skip_operator(std::string_view op) {
  const bool found = at_operator(op);
  if (found) {
    skip();
  }
  return found;
}

bool Parser::skip_name(std::string_view name) {
  const bool found = at_name(name);
  if (found) {
    skip();
  }
  return found;
}

Status Parser::fail(const std::string& what) const {
  return {Code::kInvalidArgument, "template line " + std::to_string(current().line) + ": " + what};
}

Status Parser::unexpected(std::string_view wanted) const {
  std::string got;
  switch (current().kind) {
    case TokenKind::kEnd:
      got = "the end of the template";
      break;
    case TokenKind::kBlockEnd:
      got = "'%}'";
      break;
    case TokenKind::kVariableEnd:
      got = "'}}'";
      break;
    default:
      got = "'" + current().text.substr(0, 40) + "'";
  }
  return fail("expected " + std::string(wanted) + ", found " + got);
}

Status Parser::expect_operator(std::string_view op) {
  if (!skip_operator(op)) {
    return unexpected("'" + std::string(op) + "'");
  }
  return {};
}

Status Parser::expect_name(std::string_view name) {
  if (!skip_name(name)) {
    return unexpected("'" + std::string(name) + "'");
  }
  return {};
}

Status Parser::expect(TokenKind kind, std::string_view what) {
  if (current().kind != kind) {
    return unexpected(what);
  }
  skip();
  return {};
}

Result<std::string> Parser::take_name() {
  if (current().kind != TokenKind::kName) {
    return unexpected("a name");
  }
  std::string name = current().text;
  skip();
  return name;
}

Status Parser::enter() {
  if (++nesting_ > kMaxParseNesting) {
    return fail("nested deeper than " + std::to_string(kMaxParseNesting) + " levels");
  }
  return {};
}

ExprPtr Parser::make(ExprKind kind, int line) const {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  return node;
}

Result<ExprPtr> Parser::finish(ExprPtr node) const {
  int depth = 0;
  const auto include = [&depth](const ExprPtr& child) {
    if (child != nullptr) {
      depth = std::max(depth, child->depth);
    }
  };
  std::for_each(node->items.begin(), node->items.end(), include);
  if (node->arguments != nullptr) {
    const CallArguments& arguments = *node->arguments;
    std::for_each(arguments.positional.begin(), arguments.positional.end(), include);
    for (const Keyword& keyword : arguments.keywords) {
      include(keyword.value);
    }
    include(arguments.spread);
    include(arguments.spread_keywords);
  }
  node->depth = depth + 1;
  if (node->depth > kMaxExpressionDepth) {
    return fail("expression is nested deeper than " + std::to_string(kMaxExpressionDepth) +
                " levels");
  }
  return node;
}

ExprPtr Parser::make_binary(BinaryOp op, ExprPtr left, ExprPtr right, int line) const {
  ExprPtr node = make(ExprKind::kBinary, line);
  node->op = op;
  node->items.push_back(std::move(left));
  node->items.push_back(std::move(right));
  return node;
}

bool Parser::at_tuple_end(std::string_view end_name) const {
  return current().kind == TokenKind::kVariableEnd || current().kind == TokenKind::kBlockEnd ||
         at_operator(")") || (!end_name.empty() && at_name(end_name));
}

Result<ExprPtr> Parser::parse_tuple(bool with_condition, std::string_view end_name,
                                    bool parenthesized) {
  ExprPtr tuple = make(ExprKind::kTuple, current().line);
  bool is_tuple = false;
  while (true) {
    if (!tuple->items.empty()) {
      PLUMB_RETURN_IF_ERROR(expect_operator(","));
    }
    if (at_tuple_end(end_name)) {
      break;
    }
    PLUMB_ASSIGN(ExprPtr item, parse_expression(with_condition));
    tuple->items.push_back(std::move(item));
    if (!at_operator(",")) {
      break;
    }
    is_tuple = true;
  }
  if (!is_tuple && !tuple->items.empty()) {
    return std::move(tuple->items[0]);
  }
  if (!is_tuple && !parenthesized) {
    return unexpected("an expression");
  }
  return finish(std::move(tuple));
}

Result<ExprPtr> Parser::parse_expression(bool with_condition) {
  PLUMB_RETURN_IF_ERROR(enter());
  const int line = current().line;
  PLUMB_ASSIGN(ExprPtr value, parse_or());
  while (with_condition && skip_name("if")) {
    ExprPtr node = make(ExprKind::kCondition, line);
    PLUMB_ASSIGN(ExprPtr test, parse_or());
    ExprPtr other;
    if (skip_name("else")) {
      PLUMB_ASSIGN(other, parse_expression(true));
    }
    node->items.push_back(std::move(test));
    node->items.push_back(std::move(value));
    node->items.push_back(std::move(other));
    PLUMB_ASSIGN(value, finish(std::move(node)));
  }
  leave();
  return value;
}

Result<ExprPtr> Parser::parse_or() {
  PLUMB_ASSIGN(ExprPtr left, parse_and());
  while (at_name("or")) {
    ExprPtr node = make(ExprKind::kOr, current().line);
    skip();
    PLUMB_ASSIGN(ExprPtr right, parse_and());
    node->items.push_back(std::move(left));
    node->items.push_back(std::move(right));
    PLUMB_ASSIGN(left, finish(std::move(node)));
  }
  return left;
}

Result<ExprPtr> Parser::parse_and() {
  PLUMB_ASSIGN(ExprPtr left, parse_not());
  while (at_name("and")) {
    ExprPtr node = make(ExprKind::kAnd, current().line);
    skip();
    PLUMB_ASSIGN(ExprPtr right, parse_not());
    node->items.push_back(std::move(left));
    node->items.push_back(std::move(right));
    PLUMB_ASSIGN(left, finish(std::move(node)));
  }
  return left;
}

Result<ExprPtr> Parser::parse_not() {
  if (!at_name("not")) {
    return parse_compare();
  }
  PLUMB_RETURN_IF_ERROR(enter());
  ExprPtr node = make(ExprKind::kNot, current().line);
  skip();
  PLUMB_ASSIGN(ExprPtr operand, parse_not());
  leave();
  node->items.push_back(std::move(operand));
  return finish(std::move(node));
}

Result<ExprPtr> Parser::parse_compare() {
  const auto take_operator = [this](CompareOp* op) {
    constexpr std::pair<std::string_view, CompareOp> kOps[] = {
        {"==", CompareOp::kEq}, {"!=", CompareOp::kNe}, {"<", CompareOp::kLt},
        {"<=", CompareOp::kLe}, {">", CompareOp::kGt},  {">=", CompareOp::kGe}};
    for (const auto& [text, value] : kOps) {
      if (skip_operator(text)) {
        *op = value;
        return true;
      }
    }
    if (skip_name("in")) {
      *op = CompareOp::kIn;
      return true;
    }
    if (at_name("not") && look().kind == TokenKind::kName && look().text == "in") {
      skip();
      skip();
      *op = CompareOp::kNotIn;
      return true;
    }
    return false;
  };
  ExprPtr node = make(ExprKind::kCompare, current().line);
  PLUMB_ASSIGN(ExprPtr first, parse_sum());
  CompareOp op = CompareOp::kEq;
  if (!take_operator(&op)) {
    return first;
  }
  node->items.push_back(std::move(first));
  do {
    PLUMB_ASSIGN(ExprPtr operand, parse_sum());
    node->items.push_back(std::move(operand));
    node->compares.push_back(op);
  } while (take_operator(&op));
  return finish(std::move(node));
}

Result<ExprPtr> Parser::parse_sum() {
  PLUMB_ASSIGN(ExprPtr left, parse_concat());
  while (at_operator("+") || at_operator("-")) {
    const BinaryOp op = at_operator("+") ? BinaryOp::kAdd : BinaryOp::kSub;
    const int line = current().line;
    skip();
    PLUMB_ASSIGN(ExprPtr right, parse_concat());
    PLUMB_ASSIGN(left, finish(make_binary(op, std::move(left), std::move(right), line)));
  }
  return left;
}

Result<ExprPtr> Parser::parse_concat() {
  ExprPtr node = make(ExprKind::kConcat, current().line);
  PLUMB_ASSIGN(ExprPtr first, parse_product());
  if (!at_operator("~")) {
    return first;
  }
  node->items.push_back(std::move(first));
  while (skip_operator("~")) {
    PLUMB_ASSIGN(ExprPtr item, parse_product());
    node->items.push_back(std::move(item));
  }
  return finish(std::move(node));
}

Result<ExprPtr> Parser::parse_product() {
  PLUMB_ASSIGN(ExprPtr left, parse_power());
  while (at_operator("*") || at_operator("/") || at_operator("//") || at_operator("%")) {
    const std::string& text = current().text;
    const BinaryOp op = text == "*"    ? BinaryOp::kMul
                        : text == "/"  ? BinaryOp::kDiv
                        : text == "//" ? BinaryOp::kFloorDiv
                                       : BinaryOp::kMod;
    const int line = current().line;
    skip();
    PLUMB_ASSIGN(ExprPtr right, parse_power());
    PLUMB_ASSIGN(left, finish(make_binary(op, std::move(left), std::move(right), line)));
  }
  return left;
}

Result<ExprPtr> Parser::parse_power() {
  PLUMB_ASSIGN(ExprPtr left, parse_unary());
  while (at_operator("**")) {
    const int line = current().line;
    skip();
    PLUMB_ASSIGN(ExprPtr right, parse_unary());
    PLUMB_ASSIGN(left,
                 finish(make_binary(BinaryOp::kPow, std::move(left), std::move(right), line)));
  }
  return left;
}

Result<ExprPtr> Parser::parse_unary(bool with_filter) {
  ExprPtr node;
  if (at_operator("-") || at_operator("+")) {
    PLUMB_RETURN_IF_ERROR(enter());
    ExprPtr unary = make(at_operator("-") ? ExprKind::kNegate : ExprKind::kPlus, current().line);
    skip();
    PLUMB_ASSIGN(ExprPtr operand, parse_unary(false));
    leave();
    unary->items.push_back(std::move(operand));
    PLUMB_ASSIGN(node, finish(std::move(unary)));
  } else {
    PLUMB_ASSIGN(node, parse_primary());
  }
  PLUMB_ASSIGN(node, parse_postfix(std::move(node)));
  if (with_filter) {
    return parse_filters_and_tests(std::move(node));
  }
  return node;
}

}  // namespace plumb::jinja
