// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "tokenizer/jinja_filters.h"
#include "tokenizer/jinja_parser.h"

namespace plumb::jinja {

namespace {

std::unique_ptr<Stmt> make_stmt(StmtKind kind, int line) {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = kind;
  stmt->line = line;
  return stmt;
}

}  // namespace

int Program::id_of(const std::string& name) {
  const auto [it, added] = name_ids.emplace(name, static_cast<int>(names.size()));
  if (added) {
    names.push_back(name);
  }
  return it->second;
}

Value Program::constant_string(std::string text) {
  texts.push_back(std::make_unique<StrBuf>());
  StrBuf* buf = texts.back().get();
  buf->own = std::move(text);
  buf->outside = buf->own;
  buf->frozen = true;
  return Value::string(buf, 0, buf->outside.size());
}

Value Program::constant_integer(const BigInt& value) {
  std::int64_t small = 0;
  if (value.to_int64(&small)) {
    return Value::integer(small);
  }
  auto big = std::make_unique<BigObj>();
  big->value = value;
  objects.push_back(std::move(big));
  return Value::object(Kind::kBigInt, objects.back().get());
}

Result<std::unique_ptr<Program>> parse_program(std::string_view source) {
  constexpr std::size_t kMaxSource = std::size_t{16} << 20U;
  if (source.size() > kMaxSource) {
    return raise("template has " + std::to_string(source.size()) + " bytes, the limit is " +
                 std::to_string(kMaxSource));
  }
  if (!is_valid_utf8(source)) {
    return raise("template is not valid UTF-8");
  }
  PLUMB_ASSIGN(std::vector<Token> tokens, tokenize_template(source));
  auto program = std::make_unique<Program>();
  Parser parser(std::move(tokens), program.get());
  PLUMB_ASSIGN(program->body, parser.parse_template());
  PLUMB_RETURN_IF_ERROR(check_program(program.get()));
  find_locals(program.get());
  return program;
}

Result<Body> Parser::parse_template() {
  return parse_until({});
}

Result<Body> Parser::parse_until(const EndTags& end_tags) {
  Body body;
  while (current().kind != TokenKind::kEnd) {
    if (current().kind == TokenKind::kText) {
      auto stmt = make_stmt(StmtKind::kText, current().line);
      stmt->text = program_->constant_string(current().text);
      body.push_back(std::move(stmt));
      skip();
      continue;
    }
    if (current().kind == TokenKind::kVariableBegin) {
      PLUMB_RETURN_IF_ERROR(parse_output(&body));
      continue;
    }
    PLUMB_RETURN_IF_ERROR(expect(TokenKind::kBlockBegin, "a tag"));
    if (std::any_of(end_tags.begin(), end_tags.end(),
                    [this](std::string_view tag) { return at_name(tag); })) {
      return body;
    }
    PLUMB_ASSIGN(std::unique_ptr<Stmt> stmt, parse_statement());
    body.push_back(std::move(stmt));
    PLUMB_RETURN_IF_ERROR(expect(TokenKind::kBlockEnd, "'%}'"));
  }
  if (!end_tags.empty()) {
    return unexpected("'" + std::string(end_tags.back()) + "'");
  }
  return body;
}

Status Parser::parse_output(Body* out) {
  auto stmt = make_stmt(StmtKind::kOutput, current().line);
  skip();
  PLUMB_ASSIGN(stmt->expr, parse_tuple(true, ""));
  PLUMB_RETURN_IF_ERROR(expect(TokenKind::kVariableEnd, "'}}'"));
  out->push_back(std::move(stmt));
  return {};
}

Result<Body> Parser::parse_body(const EndTags& end_tags) {
  skip_operator(":");
  PLUMB_RETURN_IF_ERROR(expect(TokenKind::kBlockEnd, "'%}'"));
  PLUMB_RETURN_IF_ERROR(enter());
  PLUMB_ASSIGN(Body body, parse_until(end_tags));
  leave();
  return body;
}

Result<std::unique_ptr<Stmt>> Parser::parse_statement() {
  using Handler = Result<std::unique_ptr<Stmt>> (Parser::*)();
  constexpr std::pair<std::string_view, Handler> kHandlers[] = {
      {"if", &Parser::parse_if},           {"for", &Parser::parse_for},
      {"set", &Parser::parse_set},         {"macro", &Parser::parse_macro},
      {"call", &Parser::parse_call_block}, {"filter", &Parser::parse_filter_block},
      {"with", &Parser::parse_with},       {"block", &Parser::parse_block},
      {"extends", &Parser::parse_loader},  {"include", &Parser::parse_loader},
      {"import", &Parser::parse_loader},   {"from", &Parser::parse_loader},
  };
  if (current().kind != TokenKind::kName) {
    return unexpected("a tag name");
  }
  const std::string tag = current().text;
  for (const auto& [name, handler] : kHandlers) {
    if (tag == name) {
      return (this->*handler)();
    }
  }
  if (tag == "generation") {
    return parse_scope(StmtKind::kGeneration, "endgeneration");
  }
  if (tag == "autoescape") {
    return parse_scope(StmtKind::kAutoescape, "endautoescape");
  }
  auto stmt = make_stmt(StmtKind::kBreak, current().line);
  if (tag == "print") {
    PLUMB_RETURN_IF_ERROR(parse_print(stmt.get()));
    return stmt;
  }
  if (tag != "break" && tag != "continue") {
    return fail("unknown tag '" + tag.substr(0, 40) + "'");
  }
  stmt->kind = tag == "break" ? StmtKind::kBreak : StmtKind::kContinue;
  skip();
  return stmt;
}

Status Parser::parse_print(Stmt* out) {
  skip();
  out->kind = StmtKind::kWith;
  while (current().kind != TokenKind::kBlockEnd) {
    if (!out->body.empty()) {
      PLUMB_RETURN_IF_ERROR(expect_operator(","));
    }
    auto output = make_stmt(StmtKind::kOutput, current().line);
    PLUMB_ASSIGN(output->expr, parse_expression());
    out->body.push_back(std::move(output));
  }
  return {};
}

Result<std::unique_ptr<Stmt>> Parser::parse_if() {
  auto stmt = make_stmt(StmtKind::kIf, current().line);
  skip();
  while (true) {
    Branch branch;
    PLUMB_ASSIGN(branch.test, parse_tuple(false, ""));
    PLUMB_ASSIGN(branch.body, parse_body({"elif", "else", "endif"}));
    stmt->branches.push_back(std::move(branch));
    if (skip_name("elif")) {
      continue;
    }
    if (skip_name("else")) {
      PLUMB_ASSIGN(stmt->else_body, parse_body({"endif"}));
    }
    PLUMB_RETURN_IF_ERROR(expect_name("endif"));
    return stmt;
  }
}

Result<std::unique_ptr<Stmt>> Parser::parse_for() {
  auto stmt = make_stmt(StmtKind::kFor, current().line);
  skip();
  PLUMB_ASSIGN(stmt->target, parse_target(false, "in"));
  PLUMB_RETURN_IF_ERROR(expect_name("in"));
  PLUMB_ASSIGN(stmt->expr, parse_tuple(false, "recursive"));
  if (skip_name("if")) {
    PLUMB_ASSIGN(stmt->test, parse_expression());
  }
  stmt->recursive = skip_name("recursive");
  PLUMB_ASSIGN(stmt->body, parse_body({"endfor", "else"}));
  if (skip_name("else")) {
    PLUMB_ASSIGN(stmt->else_body, parse_body({"endfor"}));
  }
  PLUMB_RETURN_IF_ERROR(expect_name("endfor"));
  return stmt;
}

Result<std::unique_ptr<Stmt>> Parser::parse_set() {
  auto stmt = make_stmt(StmtKind::kSet, current().line);
  skip();
  PLUMB_ASSIGN(stmt->target, parse_target(true, ""));
  if (skip_operator("=")) {
    PLUMB_ASSIGN(stmt->expr, parse_tuple(true, ""));
    return stmt;
  }
  stmt->kind = StmtKind::kSetBlock;
  PLUMB_ASSIGN(stmt->expr, parse_filter(nullptr));
  PLUMB_ASSIGN(stmt->body, parse_body({"endset"}));
  PLUMB_RETURN_IF_ERROR(expect_name("endset"));
  return stmt;
}

Result<ExprPtr> Parser::parse_target(bool allow_namespace, std::string_view end_name) {
  PLUMB_ASSIGN(ExprPtr target, parse_target_tuple(allow_namespace, end_name));
  PLUMB_RETURN_IF_ERROR(check_target(*target));
  return target;
}

Result<ExprPtr> Parser::parse_target_tuple(bool allow_namespace, std::string_view end_name) {
  ExprPtr tuple = make(ExprKind::kTuple, current().line);
  bool is_tuple = false;
  while (true) {
    if (!tuple->items.empty()) {
      PLUMB_RETURN_IF_ERROR(expect_operator(","));
    }
    if (at_tuple_end(end_name)) {
      break;
    }
    PLUMB_ASSIGN(ExprPtr item, parse_primary(allow_namespace));
    tuple->items.push_back(std::move(item));
    if (!at_operator(",")) {
      break;
    }
    is_tuple = true;
  }
  if (!is_tuple && !tuple->items.empty()) {
    return std::move(tuple->items[0]);
  }
  if (!is_tuple) {
    return unexpected("a name to assign to");
  }
  return finish(std::move(tuple));
}

Status Parser::check_target(const Expr& target) const {
  if (target.kind == ExprKind::kName || target.kind == ExprKind::kNamespaceRef) {
    return {};
  }
  if (target.kind != ExprKind::kTuple) {
    return fail("cannot assign to this expression");
  }
  for (const ExprPtr& item : target.items) {
    PLUMB_RETURN_IF_ERROR(check_target(*item));
  }
  return {};
}

Status Parser::parse_signature(Stmt* out) {
  PLUMB_RETURN_IF_ERROR(expect_operator("("));
  bool has_default = false;
  while (!at_operator(")")) {
    if (!out->params.empty()) {
      PLUMB_RETURN_IF_ERROR(expect_operator(","));
    }
    PLUMB_ASSIGN(std::string name, take_name());
    Param param;
    param.name_id = program_->id_of(name);
    for (const Param& other : out->params) {
      if (other.name_id == param.name_id) {
        return fail("duplicate parameter '" + name + "'");
      }
    }
    if (name == "true" || name == "false" || name == "none" || name == "True" || name == "False" ||
        name == "None") {
      return fail("cannot use '" + name + "' as a parameter");
    }
    param.name = program_->constant_string(std::move(name));
    if (skip_operator("=")) {
      has_default = true;
      PLUMB_ASSIGN(param.default_value, parse_expression());
    } else if (has_default) {
      return fail("a parameter without default follows one with a default");
    }
    out->params.push_back(std::move(param));
  }
  skip();
  return {};
}

Result<std::unique_ptr<Stmt>> Parser::parse_macro() {
  auto stmt = make_stmt(StmtKind::kMacro, current().line);
  skip();
  PLUMB_ASSIGN(std::string name, take_name());
  stmt->name_id = program_->id_of(name);
  stmt->text = program_->constant_string(std::move(name));
  PLUMB_RETURN_IF_ERROR(parse_signature(stmt.get()));
  PLUMB_ASSIGN(stmt->body, parse_body({"endmacro"}));
  PLUMB_RETURN_IF_ERROR(expect_name("endmacro"));
  return stmt;
}

Result<std::unique_ptr<Stmt>> Parser::parse_call_block() {
  auto stmt = make_stmt(StmtKind::kCall, current().line);
  skip();
  if (at_operator("(")) {
    PLUMB_RETURN_IF_ERROR(parse_signature(stmt.get()));
  }
  PLUMB_ASSIGN(stmt->expr, parse_expression());
  if (stmt->expr->kind != ExprKind::kCall) {
    return fail("expected a call after 'call'");
  }
  PLUMB_ASSIGN(stmt->body, parse_body({"endcall"}));
  PLUMB_RETURN_IF_ERROR(expect_name("endcall"));
  return stmt;
}

Result<std::unique_ptr<Stmt>> Parser::parse_filter_block() {
  auto stmt = make_stmt(StmtKind::kFilterBlock, current().line);
  skip();
  // The first filter of the chain has no '|' before its name.
  ExprPtr first = make(ExprKind::kFilter, current().line);
  PLUMB_ASSIGN(std::string name, parse_dotted_name());
  first->filter = find_filter(name);
  first->constant = program_->constant_string(std::move(name));
  first->items.push_back(nullptr);
  if (at_operator("(")) {
    PLUMB_ASSIGN(first->arguments, parse_arguments());
  }
  PLUMB_ASSIGN(first, finish(std::move(first)));
  PLUMB_ASSIGN(stmt->expr, parse_filter(std::move(first)));
  PLUMB_ASSIGN(stmt->body, parse_body({"endfilter"}));
  PLUMB_RETURN_IF_ERROR(expect_name("endfilter"));
  return stmt;
}

Result<std::unique_ptr<Stmt>> Parser::parse_with() {
  auto stmt = make_stmt(StmtKind::kWith, current().line);
  skip();
  while (current().kind != TokenKind::kBlockEnd) {
    if (!stmt->targets.empty()) {
      PLUMB_RETURN_IF_ERROR(expect_operator(","));
    }
    PLUMB_ASSIGN(ExprPtr target, parse_target(false, ""));
    PLUMB_RETURN_IF_ERROR(expect_operator("="));
    Param value;
    PLUMB_ASSIGN(value.default_value, parse_expression());
    stmt->targets.push_back(std::move(target));
    stmt->params.push_back(std::move(value));
  }
  PLUMB_ASSIGN(stmt->body, parse_body({"endwith"}));
  PLUMB_RETURN_IF_ERROR(expect_name("endwith"));
  return stmt;
}

Result<std::unique_ptr<Stmt>> Parser::parse_block() {
  auto stmt = make_stmt(StmtKind::kBlock, current().line);
  skip();
  PLUMB_ASSIGN(const std::string name, take_name());
  stmt->text = program_->constant_string(name);
  stmt->recursive = skip_name("scoped");  // such a block sees the scope it stands in
  const bool required = skip_name("required");
  PLUMB_ASSIGN(stmt->body, parse_body({"endblock"}));
  PLUMB_RETURN_IF_ERROR(expect_name("endblock"));
  skip_name(name);
  const bool blank = std::all_of(stmt->body.begin(), stmt->body.end(), [](const auto& child) {
    return child->kind == StmtKind::kText &&
           child->text.str().find_first_not_of(" \t\n\r\f\v") == std::string_view::npos;
  });
  if (required) {
    return fail(blank ? "required block '" + name + "' has no overriding template"
                      : "required blocks can only contain white space");
  }
  return stmt;
}

Result<std::unique_ptr<Stmt>> Parser::parse_scope(StmtKind kind, std::string_view end_tag) {
  auto stmt = make_stmt(kind, current().line);
  skip();
  if (kind == StmtKind::kAutoescape) {
    PLUMB_ASSIGN(stmt->expr, parse_expression());
  }
  PLUMB_ASSIGN(stmt->body, parse_body({end_tag}));
  PLUMB_RETURN_IF_ERROR(expect_name(end_tag));
  return stmt;
}

Result<std::unique_ptr<Stmt>> Parser::parse_loader() {
  auto stmt = make_stmt(StmtKind::kLoader, current().line);
  stmt->text = program_->constant_string(current().text);
  skip();
  PLUMB_ASSIGN(stmt->expr, parse_expression());
  // Whatever follows only matters to a loader.
  while (current().kind != TokenKind::kBlockEnd && current().kind != TokenKind::kEnd) {
    skip();
  }
  return stmt;
}

}  // namespace plumb::jinja
