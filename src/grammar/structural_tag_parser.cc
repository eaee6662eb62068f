// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/json_surrogates.h"
#include "grammar/structural_tag.h"

namespace plumb {
namespace {

using Kind = TagFormat::Kind;

constexpr int kMaxTagDepth = 64;  // of nested formats
constexpr std::int64_t kMaxFormats = 10'000;
constexpr std::size_t kMaxMarks = 256;       // of one list
constexpr std::size_t kMaxMarkBytes = 8192;  // of one list together
constexpr std::int64_t kMaxTagCount = 1'000'000;
constexpr std::int64_t kMaxTokens = 4096;  // of any_text, whose automaton counts them

// Reads the members of one object; the first error of the whole tag sticks.
class TagMembers {
 public:
  TagMembers(const JsonObject& object, std::string path, Status* error)
      : object_(object), path_(std::move(path)), error_(*error) {}

  std::string path(std::string_view name) const {
    return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
  }

  void fail(std::string_view name, std::string_view why, Code code = Code::kInvalidArgument) {
    if (error_.ok()) {
      const std::string where = name.empty() ? path_ : path(name);
      error_ = Status{code, (where.empty() ? "" : where + ": ") + std::string(why)};
    }
  }

  /// nullptr when absent or null.
  const Json* find(std::string_view name) {
    read_.emplace(name);
    const Json* value = object_.find(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  const Json* need(std::string_view name) {
    const Json* value = find(name);
    if (value == nullptr) {
      fail(name, "is missing");
    }
    return value;
  }

  std::string text(std::string_view name) {
    const Json* value = need(name);
    if (value != nullptr && !value->is_string()) {
      fail(name, "expected a string");
    }
    return value != nullptr && value->is_string() ? value->as_string() : std::string();
  }

  bool flag(std::string_view name, bool fallback = false) {
    const Json* value = find(name);
    if (value != nullptr && !value->is_bool()) {
      fail(name, "expected true or false");
    }
    return value != nullptr && value->is_bool() ? value->as_bool() : fallback;
  }

  std::int64_t integer(const Json& value, std::string_view name, std::int64_t min,
                       std::int64_t max) {
    std::int64_t out = 0;
    if (!value.to_int64(&out) || out < min || out > max) {
      fail(name, "expected an integer from " + std::to_string(min) + " to " + std::to_string(max));
      return min;
    }
    return out;
  }

  /// Empty when absent or no array.
  const JsonArray& array(std::string_view name, bool is_needed) {
    static const JsonArray kNothing;
    const Json* value = is_needed ? need(name) : find(name);
    if (value != nullptr && !value->is_array()) {
      fail(name, "expected an array");
    }
    return value != nullptr && value->is_array() ? value->as_array() : kNothing;
  }

  void refuse_unread() {
    for (const JsonMember& member : object_) {
      if (!read_.contains(member.key)) {
        fail(member.key.substr(0, 64), "is not a field of this format", Code::kUnsupported);
      }
    }
  }

 private:
  const JsonObject& object_;
  std::string path_;
  Status& error_;
  std::set<std::string, std::less<>> read_;
};

class TagParser {
 public:
  explicit TagParser(CompileBudget* budget) : budget_(*budget) {}

  Result<TagFormat> parse(std::string_view text) {
    if (has_lone_surrogate(text)) {
      return Status{Code::kInvalidArgument,
                    "holds half of a surrogate pair, which no text has; write the whole pair"};
    }
    PLUMB_ASSIGN(const Json json, parse_json(text, {.max_depth = 3 * kMaxTagDepth}));
    if (!json.is_object()) {
      return Status{Code::kInvalidArgument, "expected an object with a format"};
    }
    TagMembers members(json.as_object(), "", &error_);
    if (const Json* type = members.find("type");
        type != nullptr && *type != Json("structural_tag")) {
      members.fail("type", "expected \"structural_tag\"");
    }
    TagFormat root;
    if (members.find("structures") != nullptr) {
      root = older_form(members);
    } else if (const Json* value = members.need("format")) {
      root = format(*value, "format", 1);
    }
    members.refuse_unread();
    if (!error_.ok()) {
      return error_;
    }
    return root;
  }

 private:
  void fail(const std::string& path, std::string_view why, Code code = Code::kInvalidArgument) {
    if (error_.ok()) {
      error_ = Status{code, path + ": " + std::string(why)};
    }
  }

  static std::string item(const std::string& path, std::size_t index) {
    return path + "[" + std::to_string(index) + "]";
  }

  // {"structures": [{"begin", "schema", "end"}], "triggers": [...]}
  TagFormat older_form(TagMembers& members) {
    TagFormat out;
    out.kind = Kind::kTriggeredTags;
    out.path = "structures";
    const JsonArray& structures = members.array("structures", true);
    for (std::size_t i = 0; i < structures.size() && error_.ok(); ++i) {
      const std::string path = item("structures", i);
      if (!structures[i].is_object() || !count_format()) {
        fail(path, "expected an object with begin, schema and end");
        break;
      }
      TagMembers structure(structures[i].as_object(), path, &error_);
      TagFormat tag;
      tag.kind = Kind::kTag;
      tag.path = path;
      tag.begin = {.text = structure.text("begin"), .path = path + ".begin"};
      tag.ends.push_back({.text = structure.text("end"), .path = path + ".end"});
      TagFormat content;
      content.kind = Kind::kJsonSchema;
      content.path = path;
      content.text = schema(structure, "schema");
      tag.parts.push_back(std::move(content));
      structure.refuse_unread();
      out.parts.push_back(std::move(tag));
    }
    out.triggers = texts(members, "triggers", true);
    check_tags(out);
    return out;
  }

  // False after an error, too.
  bool count_format() {
    if (error_.ok()) {
      error_ = budget_.poll();
    }
    return error_.ok() && ++num_formats_ <= kMaxFormats;
  }

  TagFormat format(const Json& value, const std::string& path, int depth) {
    TagFormat out;
    out.path = path;
    if (depth > kMaxTagDepth || !count_format()) {
      fail(path, "formats are nested deeper than " + std::to_string(kMaxTagDepth) +
                     " levels or more than " + std::to_string(kMaxFormats));
      return out;
    }
    if (!value.is_object()) {
      fail(path, "expected a format: an object with a type");
      return out;
    }
    TagMembers members(value.as_object(), path, &error_);
    const std::string type = members.text("type");
    const auto reader = std::find_if(kReaders.begin(), kReaders.end(),
                                     [&](const Reader& r) { return r.type == type; });
    if (reader == kReaders.end()) {
      members.fail("type", "'" + type.substr(0, 64) + "' is no type of a format",
                   Code::kUnsupported);
      return out;
    }
    out.kind = reader->kind;
    depth_ = depth;
    (this->*reader->read)(members, &out);
    members.refuse_unread();
    for (const TagFormat& part : out.parts) {
      out.speaks_of_tokens = out.speaks_of_tokens || part.speaks_of_tokens;
    }
    return out;
  }

  TagFormat part(const Json& value, const std::string& path) {
    const int depth = depth_;
    TagFormat out = error_.ok() ? format(value, path, depth + 1) : TagFormat();
    depth_ = depth;
    return out;
  }

  void add_content(TagMembers& members, TagFormat* out) {
    if (const Json* value = members.need("content")) {
      out->parts.push_back(part(*value, members.path("content")));
    }
  }

  void add_parts(TagMembers& members, std::string_view name, TagFormat* out) {
    const JsonArray& values = members.array(name, true);
    if (values.empty()) {
      members.fail(name, "is empty; give at least one format");
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      out->parts.push_back(part(values[i], item(members.path(name), i)));
    }
  }

  void const_string(TagMembers& members, TagFormat* out) { out->text = members.text("value"); }

  void grammar(TagMembers& members, TagFormat* out) {
    out->text = members.text("grammar");
    out->in_json_text = members.flag("in_json_string");
    if (members.find("syntax") == nullptr) {
      return;
    }
    const std::string syntax = members.text("syntax");
    out->is_lark = syntax == "lark";
    if (syntax != "lark" && syntax != "ebnf") {
      members.fail("syntax", "'" + syntax.substr(0, 64) + "' is not offered, expected ebnf or lark",
                   Code::kUnsupported);
    }
  }

  void regex(TagMembers& members, TagFormat* out) { out->text = members.text("pattern"); }

  static constexpr std::array<std::pair<std::string_view, TagStyle>, 4> kStyles = {
      {{"json", TagStyle::kJson},
       {"qwen_xml", TagStyle::kQwenXml},
       {"glm_xml", TagStyle::kGlmXml},
       {"deepseek_xml", TagStyle::kDeepseekXml}}};

  void json_schema(TagMembers& members, TagFormat* out) {
    out->text = schema(members, "json_schema");
    out->any_order = members.flag("any_order");
    out->lenient = members.flag("lenient");
    out->name = members.find("name") == nullptr ? "" : members.text("name");
    if (members.find("style") == nullptr) {
      return;
    }
    const std::string name = members.text("style");
    const auto style = std::find_if(kStyles.begin(), kStyles.end(),
                                    [&](const auto& s) { return s.first == name; });
    if (style == kStyles.end()) {
      members.fail("style",
                   "'" + name.substr(0, 64) +
                       "' is not offered, expected json, qwen_xml, glm_xml or deepseek_xml",
                   Code::kUnsupported);
      return;
    }
    out->style = style->second;
  }

  // The older name of a style.
  void qwen_xml(TagMembers& members, TagFormat* out) {
    out->text = schema(members, "json_schema");
    out->style = TagStyle::kQwenXml;
  }

  // A schema, or its text.
  std::string schema(TagMembers& members, std::string_view name) {
    const Json* value = members.need(name);
    if (value == nullptr) {
      return {};
    }
    if (!value->is_object() && !value->is_bool() && !value->is_string()) {
      members.fail(name, "expected a JSON schema");
    }
    return value->is_string() ? value->as_string() : to_text(*value);
  }

  void any_text(TagMembers& members, TagFormat* out) {
    out->excludes = texts(members, "excludes", false);
    if (const Json* value = members.find("max_tokens")) {
      out->max_tokens = members.integer(*value, "max_tokens", 0, kMaxTokens);
      out->speaks_of_tokens = true;
    }
  }

  void sequence(TagMembers& members, TagFormat* out) { add_parts(members, "elements", out); }

  void optional(TagMembers& members, TagFormat* out) {
    out->max = 1;
    add_content(members, out);
  }

  void star(TagMembers& members, TagFormat* out) { add_content(members, out); }

  void plus(TagMembers& members, TagFormat* out) {
    out->min = 1;
    add_content(members, out);
  }

  void repeat(TagMembers& members, TagFormat* out) {
    if (const Json* value = members.need("min")) {
      out->min = members.integer(*value, "min", 0, kMaxTagCount);
    }
    if (const Json* value = members.need("max")) {
      out->max = members.integer(*value, "max", kUnbounded, kMaxTagCount);
    }
    if (out->max != kUnbounded && out->max < out->min) {
      members.fail("max", "is below min " + std::to_string(out->min));
    }
    add_content(members, out);
  }

  void tag(TagMembers& members, TagFormat* out) {
    if (const Json* value = members.need("begin")) {
      out->begin = mark(*value, members.path("begin"));
    }
    add_content(members, out);
    const Json* end = members.need("end");
    if (end == nullptr) {
      return;
    }
    if (!end->is_array()) {
      out->ends.push_back(mark(*end, members.path("end")));
    } else if (end->as_array().empty()) {
      members.fail("end", "is empty; give at least one text");
    }
    for (std::size_t i = 0; end->is_array() && i < end->as_array().size(); ++i) {
      out->ends.push_back(mark(end->as_array()[i], item(members.path("end"), i)));
    }
    out->speaks_of_tokens = out->begin.is_token;
    for (const TagMark& mark : out->ends) {
      out->speaks_of_tokens = out->speaks_of_tokens || mark.is_token;
    }
  }

  // A text, or {"type": "token", "token": id or text}.
  TagMark mark(const Json& value, const std::string& path) {
    TagMark out{.path = path};
    if (value.is_string()) {
      out.text = value.as_string();
    } else if (value.is_object()) {
      TagMembers members(value.as_object(), path, &error_);
      if (members.text("type") != "token") {
        members.fail("type", "expected \"token\"");
      }
      if (const Json* token = members.need("token")) {
        out = token_mark(*token, members.path("token"));
      }
      members.refuse_unread();
    } else {
      fail(path, "expected a string or a token");
    }
    return out;
  }

  TagMark token_mark(const Json& value, const std::string& path) {
    TagMark out{.is_token = true, .path = path};
    std::int64_t id = 0;
    if (value.is_string() && !value.as_string().empty()) {
      out.text = value.as_string();
    } else if (value.to_int64(&id) && id >= 0 && id <= INT32_MAX) {
      out.token = static_cast<TokenId>(id);
    } else {
      fail(path, "expected the id or the text of a token");
    }
    return out;
  }

  // A list of texts that are not empty.
  std::vector<TagMark> texts(TagMembers& members, std::string_view name, bool is_needed) {
    std::vector<TagMark> out;
    std::size_t num_bytes = 0;
    const JsonArray& values = members.array(name, is_needed);
    for (std::size_t i = 0; i < values.size() && error_.ok(); ++i) {
      const std::string path = item(members.path(name), i);
      if (!values[i].is_string() || values[i].as_string().empty()) {
        fail(path, "expected a string that is not empty");
        break;
      }
      num_bytes += values[i].as_string().size();
      out.push_back({.text = values[i].as_string(), .path = path});
    }
    check_size(members, name, is_needed, values.size(), num_bytes);
    return out;
  }

  std::vector<TagMark> tokens(TagMembers& members, std::string_view name, bool is_needed) {
    std::vector<TagMark> out;
    const JsonArray& values = members.array(name, is_needed);
    for (std::size_t i = 0; i < values.size() && error_.ok(); ++i) {
      out.push_back(token_mark(values[i], item(members.path(name), i)));
    }
    check_size(members, name, is_needed, values.size(), 0);
    return out;
  }

  static void check_size(TagMembers& members, std::string_view name, bool is_needed,
                         std::size_t num, std::size_t num_bytes) {
    if (is_needed && num == 0) {
      members.fail(name, "is empty; give at least one");
    } else if (num > kMaxMarks || num_bytes > kMaxMarkBytes) {
      members.fail(name, "has " + std::to_string(num) + " entries of " + std::to_string(num_bytes) +
                             " bytes, expected at most " + std::to_string(kMaxMarks) +
                             " entries and " + std::to_string(kMaxMarkBytes) + " bytes");
    }
  }

  void add_tags(TagMembers& members, TagFormat* out) {
    add_parts(members, "tags", out);
    for (const TagFormat& tag : out->parts) {
      if (error_.ok() && tag.kind != Kind::kTag) {
        fail(tag.path, "expected a format of type tag");
      }
    }
    out->at_least_one = members.flag("at_least_one");
    out->stop_after_first = members.flag("stop_after_first");
  }

  void triggered_tags(TagMembers& members, TagFormat* out) {
    out->triggers = texts(members, "triggers", true);
    out->excludes = texts(members, "excludes", false);
    add_tags(members, out);
    check_tags(*out);
  }

  void token_triggered_tags(TagMembers& members, TagFormat* out) {
    out->triggers = tokens(members, "trigger_tokens", true);
    out->excludes = tokens(members, "exclude_tokens", false);
    out->speaks_of_tokens = true;
    add_tags(members, out);
    check_tags(*out);
  }

  // Each tag begins with one trigger, and each trigger begins some tag.
  void check_tags(const TagFormat& out) {
    std::vector<bool> is_used(out.triggers.size(), false);
    for (const TagFormat& tag : out.parts) {
      int num = 0;
      for (std::size_t t = 0; t < out.triggers.size(); ++t) {
        const TagMark& trigger = out.triggers[t];
        const bool begins = trigger.is_token
                                ? tag.begin == trigger
                                : !tag.begin.is_token && tag.begin.text.starts_with(trigger.text);
        is_used[t] = is_used[t] || begins;
        num += begins ? 1 : 0;
      }
      if (num != 1) {
        fail(tag.path + ".begin", num == 0 ? "begins with none of the triggers"
                                           : "begins with more than one of the triggers");
      }
    }
    for (std::size_t t = 0; t < out.triggers.size(); ++t) {
      if (!is_used[t]) {
        fail(out.triggers[t].path, "begins none of the tags");
      }
    }
  }

  void tags_with_separator(TagMembers& members, TagFormat* out) {
    out->text = members.text("separator");
    add_tags(members, out);
  }

  // Rules [pattern, format]: tags that begin with the pattern and have no end of their own.
  void dispatch_rules(TagMembers& members, bool of_tokens, TagFormat* out) {
    const JsonArray& rules = members.array("rules", true);
    if (rules.empty() || rules.size() > kMaxMarks) {
      members.fail("rules", "expected 1 to " + std::to_string(kMaxMarks) + " rules");
    }
    for (std::size_t i = 0; i < rules.size() && error_.ok(); ++i) {
      const std::string path = item(members.path("rules"), i);
      if (!rules[i].is_array() || rules[i].as_array().size() != 2) {
        fail(path, "expected [pattern, format]");
        return;
      }
      const JsonArray& rule = rules[i].as_array();
      TagFormat tag;
      tag.kind = Kind::kTag;
      tag.path = path;
      tag.begin = of_tokens ? token_mark(rule[0], item(path, 0)) : mark(rule[0], item(path, 0));
      if (!of_tokens && (tag.begin.is_token || tag.begin.text.empty())) {
        fail(item(path, 0), "expected a string that is not empty");
      }
      tag.parts.push_back(part(rule[1], item(path, 1)));
      tag.speaks_of_tokens = of_tokens || tag.parts[0].speaks_of_tokens;
      out->triggers.push_back(tag.begin);
      out->parts.push_back(std::move(tag));
    }
    out->stop_after_first = !members.flag("loop", true);
  }

  void dispatch(TagMembers& members, TagFormat* out) {
    out->excludes = texts(members, "excludes", false);
    dispatch_rules(members, /*of_tokens=*/false, out);
  }

  void token_dispatch(TagMembers& members, TagFormat* out) {
    out->excludes = tokens(members, "exclude_tokens", false);
    out->speaks_of_tokens = true;
    dispatch_rules(members, /*of_tokens=*/true, out);
  }

  void token(TagMembers& members, TagFormat* out) {
    out->speaks_of_tokens = true;
    if (const Json* value = members.need("token")) {
      out->begin = token_mark(*value, members.path("token"));
    }
  }

  void exclude_token(TagMembers& members, TagFormat* out) {
    out->speaks_of_tokens = true;
    out->excludes = tokens(members, "exclude_tokens", false);
    out->min = 1;
    out->max = 1;
  }

  void any_tokens(TagMembers& members, TagFormat* out) {
    out->speaks_of_tokens = true;
    out->excludes = tokens(members, "exclude_tokens", false);
    if (const Json* value = members.find("max_tokens")) {
      out->max = members.integer(*value, "max_tokens", 0, INT32_MAX);
    }
  }

  struct Reader {
    std::string_view type;
    Kind kind;
    void (TagParser::*read)(TagMembers& members, TagFormat* out);
  };

  static const std::array<Reader, 21> kReaders;

  CompileBudget& budget_;
  Status error_;
  std::int64_t num_formats_ = 0;
  int depth_ = 0;  // of the format whose members are read
};

const std::array<TagParser::Reader, 21> TagParser::kReaders = {
    {{"const_string", Kind::kConstString, &TagParser::const_string},
     {"json_schema", Kind::kJsonSchema, &TagParser::json_schema},
     {"qwen_xml_parameter", Kind::kJsonSchema, &TagParser::qwen_xml},
     {"grammar", Kind::kGrammar, &TagParser::grammar},
     {"regex", Kind::kRegex, &TagParser::regex},
     {"any_text", Kind::kAnyText, &TagParser::any_text},
     {"sequence", Kind::kSequence, &TagParser::sequence},
     {"or", Kind::kOr, &TagParser::sequence},
     {"optional", Kind::kRepeat, &TagParser::optional},
     {"star", Kind::kRepeat, &TagParser::star},
     {"plus", Kind::kRepeat, &TagParser::plus},
     {"repeat", Kind::kRepeat, &TagParser::repeat},
     {"tag", Kind::kTag, &TagParser::tag},
     {"triggered_tags", Kind::kTriggeredTags, &TagParser::triggered_tags},
     {"tags_with_separator", Kind::kTagsWithSeparator, &TagParser::tags_with_separator},
     {"dispatch", Kind::kTriggeredTags, &TagParser::dispatch},
     {"token", Kind::kToken, &TagParser::token},
     {"exclude_token", Kind::kAnyTokens, &TagParser::exclude_token},
     {"any_tokens", Kind::kAnyTokens, &TagParser::any_tokens},
     {"token_triggered_tags", Kind::kTriggeredTags, &TagParser::token_triggered_tags},
     {"token_dispatch", Kind::kTriggeredTags, &TagParser::token_dispatch}}};

}  // namespace

Result<TagFormat> parse_structural_tag(std::string_view json, CompileBudget* budget) {
  return TagParser(budget).parse(json);
}

}  // namespace plumb
