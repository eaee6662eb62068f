// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/regex_dialect.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/text.h"

namespace plumb {
namespace {

constexpr std::string_view kSpace =
    R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kNotSpace =
    R"(\x{0}-\x{8}\x{E}-\x{1F}\x{21}-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF})"
    R"(\x{200B}-\x{2027}\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";
constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view kNotWord =
    R"(\p{Nl}\p{No}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}\p{S}\p{Z}\p{C})";
constexpr std::string_view kHexDigit = "0-9A-Fa-f";
constexpr int kMaxClassDepth = 32;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Names of one or two letters are general categories; longer ones that PCRE2 reads as such too.
bool is_category(std::string_view name) {
  return name.size() <= 2 || name == "Any" || name == "L&";
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  Result<std::string> run() {
    std::string out;
    while (!in_.empty()) {
      PLUMB_RETURN_IF_ERROR(take_element(&out));
    }
    return out;
  }

 private:
  static Status fail(Code code, const char* what) {
    return {code, std::string("split pattern: ") + what};
  }

  std::string_view take(std::size_t num_bytes) {
    const std::string_view head = in_.substr(0, num_bytes);
    in_.remove_prefix(head.size());
    return head;
  }

  Status take_element(std::string* out) {
    const char c = in_.front();
    if (c == '\\') {
      return take_escape(false, out);
    }
    if (c == '[') {
      PLUMB_ASSIGN(const std::string text, take_class(0));
      out->append(text);
      return {};
    }
    if (in_.substr(0, 3) == "(?m" || in_.substr(0, 4) == "(?im") {
      return fail(Code::kUnsupported, "the option (?m) is not supported");
    }
    if (c == '^') {
      out->append("(?m:^)");
    } else if (c == '$') {
      out->append("(?m:$)");
    } else {
      out->push_back(c);
    }
    take(1);
    return {};
  }

  // A set that stands in a class as it is, outside one in brackets of its own.
  void put_set(std::string_view set, bool in_class, std::string* out) {
    take(2);
    if (in_class) {
      out->append(set);
    } else {
      out->append("[").append(set).append("]");
    }
  }

  Status take_escape(bool in_class, std::string* out) {
    if (in_.size() < 2) {
      return fail(Code::kInvalidArgument, "a backslash at the end");
    }
    switch (in_[1]) {
      case 's':
        put_set(kSpace, in_class, out);
        return {};
      case 'S':
        put_set(kNotSpace, in_class, out);
        return {};
      case 'w':
        put_set(kWord, in_class, out);
        return {};
      case 'W':
        put_set(kNotWord, in_class, out);
        return {};
      case 'h':
        put_set(kHexDigit, in_class, out);
        return {};
      case 'd':
        put_set(R"(\p{Nd})", in_class, out);
        return {};
      case 'u':
        return take_code_point(out);
      case 'p':
      case 'P':
        return take_property(out);
      default:
        out->append(take(2));
        return {};
    }
  }

  Status take_code_point(std::string* out) {
    const std::string_view digits = in_.substr(2, 4);
    if (digits.size() < 4 || !is_hex(digits[0]) || !is_hex(digits[1]) || !is_hex(digits[2]) ||
        !is_hex(digits[3])) {
      return fail(Code::kInvalidArgument, "\\u needs four hexadecimal digits");
    }
    out->append("\\x{").append(digits).append("}");
    take(6);
    return {};
  }

  Status take_property(std::string* out) {
    const std::size_t end = in_.find('}');
    if (in_.size() < 4 || in_[2] != '{' || end == std::string_view::npos) {
      out->append(take(2));
      return {};
    }
    std::string_view name = in_.substr(3, end - 3);
    out->append(in_.substr(0, 3));
    if (!name.empty() && name.front() == '^') {
      out->push_back('^');
      name.remove_prefix(1);
    }
    if (!is_category(name) && name.find_first_of(":=") == std::string_view::npos) {
      out->append(is_script(name) ? "sc:" : "");
    }
    out->append(name).append("}");
    take(end + 1);
    return {};
  }

  // Long names are scripts but for a few.
  static bool is_script(std::string_view name) {
    constexpr std::string_view kOthers[] = {"Alphabetic", "Emoji",     "Extended_Pictographic",
                                            "Lowercase",  "Uppercase", "White_Space"};
    return std::find(std::begin(kOthers), std::end(kOthers), name) == std::end(kOthers) &&
           name.front() != 'X';
  }

  // One class with its brackets; `&&` binds weaker than the union of neighbours.
  Result<std::string> take_class(int depth) {
    PLUMB_ASSIGN(const ClassParts parts, take_class_parts(depth));
    if (parts.operands.size() == 1) {
      return (parts.negated ? "[^" : "[") + parts.operands.front() + "]";
    }
    std::string all;
    for (std::size_t i = 0; i + 1 < parts.operands.size(); ++i) {
      all += "(?=" + class_of(parts.operands[i]) + ")";
    }
    all += class_of(parts.operands.back());
    if (parts.negated) {
      return "(?:(?!" + all + ")(?s:.))";
    }
    return "(?:" + all + ")";
  }

  struct ClassParts {
    bool negated = false;
    std::vector<std::string> operands;  // items between the &&; a leading '^' negates an operand
  };

  static std::string class_of(const std::string& operand) { return "[" + operand + "]"; }

  Result<ClassParts> take_class_parts(int depth) {
    if (depth > kMaxClassDepth) {
      return fail(Code::kInvalidArgument, "classes nested too deep");
    }
    ClassParts parts;
    take(1);
    if (!in_.empty() && in_.front() == '^') {
      parts.negated = true;
      take(1);
    }
    parts.operands.emplace_back();
    bool first = true;
    while (!in_.empty() && (first || in_.front() != ']')) {
      PLUMB_RETURN_IF_ERROR(take_class_item(depth, &parts));
      first = false;
    }
    if (in_.empty()) {
      return fail(Code::kInvalidArgument, "a class does not end");
    }
    take(1);
    return parts;
  }

  Status take_class_item(int depth, ClassParts* parts) {
    std::string& operand = parts->operands.back();
    if (in_.substr(0, 2) == "&&") {
      take(2);
      parts->operands.emplace_back();
      return {};
    }
    if (in_.substr(0, 2) == "[:") {
      const std::size_t end = in_.find(":]");
      if (end != std::string_view::npos) {
        operand.append(take(end + 2));
        return {};
      }
    }
    if (in_.front() == '[') {
      return take_nested_class(depth, &operand);
    }
    if (in_.front() == '\\') {
      return take_escape(true, &operand);
    }
    if (in_.front() == ']') {
      operand.append("\\]");
      take(1);
      return {};
    }
    if (in_.front() == '^' && operand.empty()) {
      operand.push_back('\\');
    }
    operand.append(take(1));
    return {};
  }

  // A nested class joins the union; a negated one can do so only as a whole operand.
  Status take_nested_class(int depth, std::string* operand) {
    PLUMB_ASSIGN(const ClassParts nested, take_class_parts(depth + 1));
    const bool is_whole =
        operand->empty() && (in_.empty() || in_.front() == ']' || in_.substr(0, 2) == "&&");
    if (nested.operands.size() > 1 || (nested.negated && !is_whole)) {
      return fail(Code::kUnsupported, "a union with a negated or intersected class");
    }
    if (nested.negated) {
      operand->push_back('^');
    }
    operand->append(nested.operands.front());
    return {};
  }

  std::string_view in_;
};

}  // namespace

Result<std::string> to_pcre2_pattern(std::string_view pattern) {
  if (!is_valid_utf8(pattern)) {
    return Status{Code::kInvalidArgument, "split pattern: not UTF-8"};
  }
  return Translator(pattern).run();
}

}  // namespace plumb
