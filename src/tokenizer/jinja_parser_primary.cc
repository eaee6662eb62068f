// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_filters.h"
#include "tokenizer/jinja_number.h"
#include "tokenizer/jinja_parser.h"
#include "tokenizer/jinja_predicates.h"

namespace plumb::jinja {

Result<ExprPtr> Parser::parse_primary(bool allow_namespace) {
  const int line = current().line;
  switch (current().kind) {
    case TokenKind::kName:
      return parse_name(allow_namespace);
    case TokenKind::kString: {
      std::string text;
      for (; current().kind == TokenKind::kString; skip()) {
        text += current().text;
      }
      ExprPtr node = make(ExprKind::kConstant, line);
      node->constant = program_->constant_string(std::move(text));
      return node;
    }
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return parse_number();
    default:
      break;
  }
  if (skip_operator("(")) {
    PLUMB_ASSIGN(ExprPtr node, parse_tuple(true, "", true));
    PLUMB_RETURN_IF_ERROR(expect_operator(")"));
    return node;
  }
  if (at_operator("[")) {
    return parse_list();
  }
  if (at_operator("{")) {
    return parse_dict();
  }
  return unexpected("an expression");
}

Result<ExprPtr> Parser::parse_name(bool allow_namespace) {
  const std::string name = current().text;
  ExprPtr node = make(ExprKind::kConstant, current().line);
  skip();
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    node->constant = Value::boolean(name[0] == 't' || name[0] == 'T');
    return node;
  }
  if (name == "none" || name == "None") {
    node->constant = Value::none();
    return node;
  }
  node->kind = ExprKind::kName;
  node->name_id = program_->id_of(name);
  if (allow_namespace && skip_operator(".")) {
    node->kind = ExprKind::kNamespaceRef;
    PLUMB_ASSIGN(std::string attribute, take_name());
    node->constant = program_->constant_string(std::move(attribute));
    return node;
  }
  node->constant = program_->constant_string(name);
  return node;
}

Result<ExprPtr> Parser::parse_number() {
  ExprPtr node = make(ExprKind::kConstant, current().line);
  double real = 0;
  BigInt integer;
  if (current().kind == TokenKind::kFloat) {
    parse_float(current().text, &real);
    node->constant = Value::floating(real);
  } else if (parse_integer(current().text, 0, &integer)) {
    node->constant = program_->constant_integer(integer);
  } else {
    return fail("integer literal has more than 4300 digits");
  }
  skip();
  return node;
}

Result<ExprPtr> Parser::parse_list() {
  ExprPtr node = make(ExprKind::kList, current().line);
  PLUMB_RETURN_IF_ERROR(expect_operator("["));
  while (!at_operator("]")) {
    if (!node->items.empty()) {
      PLUMB_RETURN_IF_ERROR(expect_operator(","));
    }
    if (at_operator("]")) {
      break;
    }
    PLUMB_ASSIGN(ExprPtr item, parse_expression());
    node->items.push_back(std::move(item));
  }
  PLUMB_RETURN_IF_ERROR(expect_operator("]"));
  return finish(std::move(node));
}

Result<ExprPtr> Parser::parse_dict() {
  ExprPtr node = make(ExprKind::kDict, current().line);
  PLUMB_RETURN_IF_ERROR(expect_operator("{"));
  while (!at_operator("}")) {
    if (!node->items.empty()) {
      PLUMB_RETURN_IF_ERROR(expect_operator(","));
    }
    if (at_operator("}")) {
      break;
    }
    PLUMB_ASSIGN(ExprPtr key, parse_expression());
    PLUMB_RETURN_IF_ERROR(expect_operator(":"));
    PLUMB_ASSIGN(ExprPtr value, parse_expression());
    node->items.push_back(std::move(key));
    node->items.push_back(std::move(value));
  }
  PLUMB_RETURN_IF_ERROR(expect_operator("}"));
  return finish(std::move(node));
}

Result<ExprPtr> Parser::parse_postfix(ExprPtr node) {
  while (true) {
    if (at_operator(".") || at_operator("[")) {
      PLUMB_ASSIGN(node, parse_subscript(std::move(node)));
    } else if (at_operator("(")) {
      PLUMB_ASSIGN(node, parse_call(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> Parser::parse_filters_and_tests(ExprPtr node) {
  while (true) {
    if (at_operator("|")) {
      PLUMB_ASSIGN(node, parse_filter(std::move(node)));
    } else if (at_name("is")) {
      PLUMB_ASSIGN(node, parse_test(std::move(node)));
    } else if (at_operator("(")) {
      PLUMB_ASSIGN(node, parse_call(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> Parser::parse_subscript(ExprPtr node) {
  ExprPtr out = make(ExprKind::kSubscript, current().line);
  out->items.push_back(std::move(node));
  if (skip_operator(".")) {
    if (current().kind == TokenKind::kInteger) {
      PLUMB_ASSIGN(ExprPtr index, parse_number());
      out->items.push_back(std::move(index));
      return finish(std::move(out));
    }
    out->kind = ExprKind::kAttribute;
    PLUMB_ASSIGN(std::string name, take_name());
    out->constant = program_->constant_string(std::move(name));
    return finish(std::move(out));
  }
  PLUMB_RETURN_IF_ERROR(expect_operator("["));
  ExprPtr tuple = make(ExprKind::kTuple, out->line);
  while (!at_operator("]")) {
    if (!tuple->items.empty()) {
      PLUMB_RETURN_IF_ERROR(expect_operator(","));
    }
    PLUMB_ASSIGN(ExprPtr item, parse_subscript_item());
    tuple->items.push_back(std::move(item));
  }
  skip();
  if (tuple->items.size() == 1) {
    out->items.push_back(std::move(tuple->items[0]));
  } else {
    PLUMB_ASSIGN(tuple, finish(std::move(tuple)));
    out->items.push_back(std::move(tuple));
  }
  return finish(std::move(out));
}

Result<ExprPtr> Parser::parse_subscript_item() {
  ExprPtr slice = make(ExprKind::kSlice, current().line);
  ExprPtr start;
  if (!at_operator(":")) {
    PLUMB_ASSIGN(start, parse_expression());
    if (!at_operator(":")) {
      return start;
    }
  }
  skip();
  const auto at_part_end = [this] { return at_operator("]") || at_operator(","); };
  ExprPtr stop;
  if (!at_operator(":") && !at_part_end()) {
    PLUMB_ASSIGN(stop, parse_expression());
  }
  ExprPtr step;
  if (skip_operator(":") && !at_part_end()) {
    PLUMB_ASSIGN(step, parse_expression());
  }
  slice->items.push_back(std::move(start));
  slice->items.push_back(std::move(stop));
  slice->items.push_back(std::move(step));
  return finish(std::move(slice));
}

Result<std::string> Parser::parse_dotted_name() {
  PLUMB_ASSIGN(std::string name, take_name());
  while (skip_operator(".")) {
    PLUMB_ASSIGN(const std::string part, take_name());
    name += "." + part;
  }
  return name;
}

Result<ExprPtr> Parser::parse_filter(ExprPtr node) {
  while (skip_operator("|")) {
    ExprPtr filter = make(ExprKind::kFilter, current().line);
    PLUMB_ASSIGN(std::string name, parse_dotted_name());
    filter->filter = find_filter(name);
    filter->constant = program_->constant_string(std::move(name));
    filter->items.push_back(std::move(node));
    if (at_operator("(")) {
      PLUMB_ASSIGN(filter->arguments, parse_arguments());
    }
    PLUMB_ASSIGN(node, finish(std::move(filter)));
  }
  return node;
}

Result<ExprPtr> Parser::parse_test(ExprPtr node) {
  ExprPtr test = make(ExprKind::kTest, current().line);
  skip();
  const bool negated = skip_name("not");
  PLUMB_ASSIGN(std::string name, parse_dotted_name());
  test->test = find_test(name);
  test->constant = program_->constant_string(std::move(name));
  test->items.push_back(std::move(node));
  const TokenKind kind = current().kind;
  const bool literal = kind == TokenKind::kString || kind == TokenKind::kInteger ||
                       kind == TokenKind::kFloat || at_operator("[") || at_operator("{");
  const bool operand_name =
      kind == TokenKind::kName && !at_name("else") && !at_name("or") && !at_name("and");
  if (at_operator("(")) {
    PLUMB_ASSIGN(test->arguments, parse_arguments());
  } else if (literal || operand_name) {
    if (at_name("is")) {
      return fail("tests cannot be chained with 'is'");
    }
    PLUMB_ASSIGN(ExprPtr argument, parse_primary());
    PLUMB_ASSIGN(argument, parse_postfix(std::move(argument)));
    test->arguments = std::make_unique<CallArguments>();
    test->arguments->positional.push_back(std::move(argument));
  }
  const int line = test->line;
  PLUMB_ASSIGN(test, finish(std::move(test)));
  if (!negated) {
    return test;
  }
  ExprPtr inverse = make(ExprKind::kNot, line);
  inverse->items.push_back(std::move(test));
  return finish(std::move(inverse));
}

Result<ExprPtr> Parser::parse_call(ExprPtr node) {
  ExprPtr call = make(ExprKind::kCall, current().line);
  call->items.push_back(std::move(node));
  PLUMB_ASSIGN(call->arguments, parse_arguments());
  return finish(std::move(call));
}

Result<std::unique_ptr<CallArguments>> Parser::parse_arguments() {
  auto out = std::make_unique<CallArguments>();
  PLUMB_RETURN_IF_ERROR(expect_operator("("));
  bool need_comma = false;
  while (!at_operator(")")) {
    if (need_comma) {
      PLUMB_RETURN_IF_ERROR(expect_operator(","));
      if (at_operator(")")) {
        break;
      }
    }
    PLUMB_RETURN_IF_ERROR(parse_argument(out.get()));
    need_comma = true;
  }
  skip();
  return out;
}

Status Parser::parse_argument(CallArguments* out) {
  const Status misplaced = fail("invalid order of arguments in a call");
  if (at_operator("*") || at_operator("**")) {
    const bool single = at_operator("*");
    if (out->spread_keywords != nullptr || (single && out->spread != nullptr)) {
      return misplaced;
    }
    skip();
    PLUMB_ASSIGN((single ? out->spread : out->spread_keywords), parse_expression());
    return {};
  }
  if (current().kind == TokenKind::kName && look().kind == TokenKind::kOperator &&
      look().text == "=") {
    const std::string name = current().text;
    for (const Keyword& keyword : out->keywords) {
      if (keyword.name.str() == name) {
        return fail("keyword argument '" + name + "' is repeated");
      }
    }
    if (out->spread_keywords != nullptr) {
      return misplaced;
    }
    skip();
    skip();
    PLUMB_ASSIGN(ExprPtr value, parse_expression());
    out->keywords.push_back({program_->constant_string(name), std::move(value)});
    return {};
  }
  if (out->spread != nullptr || out->spread_keywords != nullptr || !out->keywords.empty()) {
    return misplaced;
  }
  PLUMB_ASSIGN(ExprPtr value, parse_expression());
  out->positional.push_back(std::move(value));
  return {};
}

}  // namespace plumb::jinja
