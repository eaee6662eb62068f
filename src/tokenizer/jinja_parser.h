// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/jinja_ast.h"
#include "tokenizer/jinja_lexer.h"

namespace plumb::jinja {

/// Recursive descent over the tokens of a template. Statements are in jinja_statements.cc.
class Parser {
 public:
  Parser(std::vector<Token> tokens, Program* program)
      : tokens_(std::move(tokens)), program_(program) {}

  /// Statements up to the end of the template.
  Result<Body> parse_template();

 private:
  using EndTags = std::vector<std::string_view>;

  // Tokens.
  const Token& current() const { return tokens_[at_]; }

  const Token& look() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }

  void skip() { at_ += at_ + 1 < tokens_.size() ? 1 : 0; }

  bool at_operator(std::string_view op) const {
    return current().kind == TokenKind::kOperator && current().text == op;
  }

  bool at_name(std::string_view name) const {
    return current().kind == TokenKind::kName && current().text == name;
  }

  bool skip_operator(std::string_view op);
  bool skip_name(std::string_view name);
  Status expect_operator(std::string_view op);
  Status expect_name(std::string_view name);
  Status expect(TokenKind kind, std::string_view what);
  Result<std::string> take_name();
  Status fail(const std::string& what) const;
  Status unexpected(std::string_view wanted) const;

  // Statements.
  Result<Body> parse_until(const EndTags& end_tags);
  Result<Body> parse_body(const EndTags& end_tags);
  Status parse_output(Body* out);
  Result<std::unique_ptr<Stmt>> parse_statement();
  Result<std::unique_ptr<Stmt>> parse_if();
  Result<std::unique_ptr<Stmt>> parse_for();
  Result<std::unique_ptr<Stmt>> parse_set();
  Result<std::unique_ptr<Stmt>> parse_macro();
  Result<std::unique_ptr<Stmt>> parse_call_block();
  Result<std::unique_ptr<Stmt>> parse_filter_block();
  Result<std::unique_ptr<Stmt>> parse_with();
  Result<std::unique_ptr<Stmt>> parse_block();
  Result<std::unique_ptr<Stmt>> parse_scope(StmtKind kind, std::string_view end_tag);
  Result<std::unique_ptr<Stmt>> parse_loader();
  Status parse_print(Stmt* out);
  Status parse_signature(Stmt* out);
  Result<ExprPtr> parse_target(bool allow_namespace, std::string_view end_name);
  Status check_target(const Expr& target) const;

  // Expressions, loosest first.
  Result<ExprPtr> parse_tuple(bool with_condition, std::string_view end_name,
                              bool parenthesized = false);
  Result<ExprPtr> parse_target_tuple(bool allow_namespace, std::string_view end_name);
  bool at_tuple_end(std::string_view end_name) const;
  Result<ExprPtr> parse_expression(bool with_condition = true);
  Result<ExprPtr> parse_or();
  Result<ExprPtr> parse_and();
  Result<ExprPtr> parse_not();
  Result<ExprPtr> parse_compare();
  Result<ExprPtr> parse_sum();
  Result<ExprPtr> parse_concat();
  Result<ExprPtr> parse_product();
  Result<ExprPtr> parse_power();
  Result<ExprPtr> parse_unary(bool with_filter = true);
  Result<ExprPtr> parse_primary(bool allow_namespace = false);
  Result<ExprPtr> parse_name(bool allow_namespace);
  Result<ExprPtr> parse_number();
  Result<ExprPtr> parse_list();
  Result<ExprPtr> parse_dict();
  Result<ExprPtr> parse_postfix(ExprPtr node);
  Result<ExprPtr> parse_filters_and_tests(ExprPtr node);
  Result<ExprPtr> parse_subscript(ExprPtr node);
  Result<ExprPtr> parse_subscript_item();
  Result<ExprPtr> parse_filter(ExprPtr node);
  Result<ExprPtr> parse_test(ExprPtr node);
  Result<ExprPtr> parse_call(ExprPtr node);
  Result<std::unique_ptr<CallArguments>> parse_arguments();
  Status parse_argument(CallArguments* out);
  Result<std::string> parse_dotted_name();

  ExprPtr make(ExprKind kind, int line) const;
  ExprPtr make_binary(BinaryOp op, ExprPtr left, ExprPtr right, int line) const;
  /// Sets the depth; fails if the expression is nested too deeply.
  Result<ExprPtr> finish(ExprPtr node) const;

  /// Counts the nesting of recursive productions; ended by leave().
  Status enter();

  void leave() { --nesting_; }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  Program* program_;
};

}  // namespace plumb::jinja
