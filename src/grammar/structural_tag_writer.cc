// SPDX-License-Identifier: Apache-2.0
#include "grammar/structural_tag_writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "grammar/grammar_vocab.h"
#include "grammar/regex_parser.h"
#include "grammar/tag_grammar.h"
#include "grammar/tag_parameters.h"
#include "grammar/tag_shape.h"
#include "grammar/tag_text.h"
#include "tokenizer/tokenizer.h"

namespace plumb {
namespace {

using Kind = TagFormat::Kind;

constexpr std::size_t kMaxIgnoredEntries = 100;
constexpr std::size_t kMaxNameInEntry = 32;

const std::string& label_of(const TagFormat& format) {
  return format.name.empty() ? format.path : format.name;
}

// Writes formats together with what comes behind them, because free text ends where that begins.
class TagWriter {
 public:
  TagWriter(const StructuralTagOptions& options, CompileBudget* budget)
      : options_(options), budget_(*budget) {}

  Result<Cfg> write(const TagFormat& root) {
    empty_ = cfg_.sequence({});
    const SymbolId start =
        write(root, {.symbol = empty_, .is_known = true, .openings = {}, .may_end = true});
    PLUMB_RETURN_IF_ERROR(status_);
    cfg_.set_start(start);
    return std::move(cfg_);
  }

  std::vector<std::string>& ignored() { return ignored_; }

 private:
  // A mark with what comes behind it.
  struct Opening {
    TagMark mark;
    SymbolId rest{};
  };

  // What comes behind a format. If is_known, it is one of the openings, or nothing if may_end.
  struct Next {
    SymbolId symbol{};
    bool is_known = false;
    std::vector<Opening> openings;
    bool may_end = false;
  };

  struct Leaf {
    SymbolId symbol{};
    std::vector<std::string> ignored;  // "KEYWORD at POINTER"
  };

  void fail(const std::string& path, std::string_view why, Code code = Code::kInvalidArgument) {
    if (status_.ok()) {
      status_ = Status{code, path + ": " + std::string(why)};
    }
  }

  bool goes_on() {
    if (status_.ok()) {
      status_ = budget_.poll();
    }
    if (status_.ok()) {
      status_ = budget_.check_expressions(cfg_.num_expressions());
    }
    if (status_.ok()) {
      status_ =
          budget_.check_rules(std::max<std::int64_t>(std::ssize(cfg_.rules()), cfg_.num_symbols()));
    }
    return status_.ok();
  }

  SymbolId then(SymbolId symbol, SymbolId rest) {
    return rest == empty_ ? symbol : symbol == empty_ ? rest : cfg_.sequence({symbol, rest});
  }

  // The format, and behind it what comes next. After an error it is any symbol.
  SymbolId write(const TagFormat& format, const Next& next) {
    if (!goes_on()) {
      return empty_;
    }
    switch (format.kind) {
      case Kind::kConstString:
        return then(literal(format.text), next.symbol);
      case Kind::kJsonSchema:
      case Kind::kGrammar:
      case Kind::kRegex:
        return then(leaf(format), next.symbol);
      case Kind::kAnyText:
        return any_text(format, next);
      case Kind::kAnyTokens:
        return any_tokens(format, next);
      case Kind::kToken:
        return then(terminal(format.begin), next.symbol);
      case Kind::kSequence:
        return sequence(format, next).symbol;
      case Kind::kOr:
        return any_of(format, next);
      case Kind::kRepeat:
        return repeat(format.parts[0], format.min, format.max, next);
      case Kind::kTag:
        return then(then(terminal(format.begin), body(format)), next.symbol);
      case Kind::kTriggeredTags:
        return triggered_tags(format, next);
      default:
        return tags_with_separator(format, next);
    }
  }

  SymbolId alone(const TagFormat& format) { return write(format, {.symbol = empty_}); }

  SymbolId literal(std::string_view text) { return text.empty() ? empty_ : cfg_.terminal(text); }

  SymbolId terminal(const TagMark& mark) {
    if (!mark.is_token) {
      return literal(mark.text);
    }
    const std::string bytes = token_bytes(mark);
    if (bytes.empty()) {
      fail(mark.path, "the token " + mark.name() + " never comes inside an answer");
    }
    return cfg_.token_terminal(cfg_.regexes().literal(bytes));
  }

  // As a vocabulary with marks has it; empty for tokens that end the answer or never come.
  std::string token_bytes(const TagMark& mark) {
    if (options_.tokenizer == nullptr) {
      fail(mark.path, "tokens cannot be named here", Code::kUnsupported);
      return {};
    }
    const std::optional<TokenId> id =
        mark.token >= 0 ? mark.token : options_.tokenizer->find_token(mark.text);
    if (!id.has_value() || *id >= options_.tokenizer->vocab_size()) {
      fail(mark.path, "the vocabulary has no token " + mark.name());
      return {};
    }
    return marked_token(*options_.tokenizer, *id);
  }

  // Schemas, grammars and expressions, each text once.
  SymbolId leaf(const TagFormat& format) {
    const Leaf& leaf = leaf_once(format);
    const std::string label = label_of(format).substr(0, kMaxNameInEntry) + ": ";
    for (const std::string& keyword : leaf.ignored) {
      if (ignored_.size() < kMaxIgnoredEntries &&
          std::find(ignored_.begin(), ignored_.end(), label + keyword) == ignored_.end()) {
        ignored_.push_back(label + keyword);
      }
    }
    return leaf.symbol;
  }

  const Leaf& leaf_once(const TagFormat& format) {
    const auto [it, is_new] =
        leaves_.try_emplace({format.kind, format.style, format.any_order, format.lenient,
                             format.is_lark, format.in_json_text, format.text},
                            Leaf{empty_, {}});
    if (!is_new) {
      return it->second;
    }
    Result<SymbolId> symbol = compile_leaf(format, &it->second.ignored);
    if (symbol.ok()) {
      it->second.symbol = symbol.value();
    } else {
      fail(label_of(format), symbol.status().message(), symbol.status().code());
    }
    return it->second;
  }

  Result<SymbolId> compile_leaf(const TagFormat& format, std::vector<std::string>* ignored) {
    if (format.kind == Kind::kRegex) {
      RegexParseOptions options;
      options.max_expressions = budget_.limits().max_expressions;
      options.is_cancelled = budget_.is_cancelled();
      PLUMB_ASSIGN(const RegexId regex, parse_regex(format.text, options, &cfg_.regexes()));
      return cfg_.terminal(regex);
    }
    if (format.kind == Kind::kGrammar) {
      PLUMB_ASSIGN(Cfg part, read_tag_grammar(format, options_.join_regular, &budget_));
      return cfg_.absorb(std::move(part));
    }
    JsonSchemaOptions json = options_.json;
    json.any_order = json.any_order || format.any_order;
    json.lenient = json.lenient || format.lenient;
    if (format.style != TagStyle::kJson) {
      return write_tag_parameters(format.text, format.style, json, &cfg_, &budget_, ignored);
    }
    PLUMB_ASSIGN(JsonSchemaGrammar schema, compile_json_schema(format.text, json, &budget_));
    *ignored = std::move(schema.ignored);
    return cfg_.absorb(std::move(schema.cfg));
  }

  // From the last part to the first.
  Next sequence(const TagFormat& format, const Next& next, bool is_needed = false) {
    std::vector<bool> needs(format.parts.size(), false);  // to know how what follows it begins
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const bool passed_on = i == 0 ? is_needed : needs[i - 1];
      needs[i] = is_open(format.parts[i]) || (passed_on && is_nullable(format.parts[i]));
    }
    Next behind = next;
    for (std::size_t i = needs.size(); i-- > 0 && status_.ok();) {
      const bool is_known = i == 0 ? is_needed : needs[i - 1];
      behind = is_known ? known(format.parts[i], behind)
                        : Next{.symbol = write(format.parts[i], behind)};
    }
    return behind;
  }

  SymbolId any_of(const TagFormat& format, const Next& next) {
    std::vector<SymbolId> alternatives;
    for (const TagFormat& part : format.parts) {
      alternatives.push_back(write(part, next));
    }
    return cfg_.any_of(alternatives);
  }

  SymbolId repeat(const TagFormat& part, std::int64_t min, std::int64_t max, const Next& next) {
    if (min == 0 && max == 1) {
      return cfg_.any_of(std::array{write(part, next), next.symbol});
    }
    if (is_open(part)) {
      fail(part.path, "free text that is repeated needs an end; put it into a tag");
      return empty_;
    }
    const SymbolId once = alone(part);
    return then(cfg_.repeat(once, min, max), next.symbol);
  }

  // What is behind the begin of a tag, its end included: written once, as tags in tags double.
  SymbolId body(const TagFormat& tag) {
    const auto known = bodies_.find(&tag);
    return known != bodies_.end() ? known->second
                                  : bodies_.emplace(&tag, write_body(tag)).first->second;
  }

  SymbolId write_body(const TagFormat& tag) {
    const TagFormat& content = tag.parts[0];
    if (!is_open(content)) {
      const SymbolId inside = alone(content);
      return tag.ends.empty() ? inside : then(inside, any_end(tag));
    }
    Next next{.is_known = true};
    for (const TagMark& end : tag.ends) {
      next.openings.push_back({end, empty_});
      if (!end.is_token && end.text.empty()) {
        fail(end.path, "is empty, and free text before it would never end");
        return empty_;
      }
    }
    if (tag.ends.empty()) {
      fail(content.path, "free text after a pattern needs an end; put it into a tag");
      return empty_;
    }
    next.symbol = any_end(tag);
    return write(content, next);
  }

  SymbolId any_end(const TagFormat& tag) {
    std::vector<SymbolId> ends;
    for (const TagMark& end : tag.ends) {
      ends.push_back(terminal(end));
    }
    return cfg_.any_of(ends);
  }

  // The format and what comes next, as openings. Fails if how it begins is not known.
  Next known(const TagFormat& format, const Next& next) {
    if (!goes_on()) {
      return next;
    }
    switch (format.kind) {
      case Kind::kConstString:
        return format.text.empty()
                   ? next
                   : opening({.text = format.text, .path = format.path}, next.symbol);
      case Kind::kToken:
        return opening(format.begin, next.symbol);
      case Kind::kTag:
        if (!format.begin.is_token && format.begin.text.empty()) {
          break;
        }
        return opening(format.begin, then(body(format), next.symbol));
      case Kind::kSequence:
        return sequence(format, next, /*is_needed=*/true);
      case Kind::kOr: {
        Next out{.is_known = true};
        for (const TagFormat& part : format.parts) {
          add(known(part, next), &out);
        }
        return joined(std::move(out));
      }
      case Kind::kRepeat:
        return known_repeat(format, next);
      case Kind::kTagsWithSeparator:
        return known_tags(format, next);
      default:
        break;
    }
    fail(format.path,
         "follows free text, but does not begin with a fixed text that ends it; put the free text "
         "into a tag");
    return next;
  }

  Next opening(const TagMark& mark, SymbolId rest) {
    return {.symbol = then(terminal(mark), rest), .is_known = true, .openings = {{mark, rest}}};
  }

  static void add(const Next& from, Next* to) {
    to->openings.insert(to->openings.end(), from.openings.begin(), from.openings.end());
    to->may_end = to->may_end || from.may_end;
  }

  Next joined(Next next) {
    std::vector<SymbolId> alternatives;
    for (const Opening& opening : next.openings) {
      alternatives.push_back(then(terminal(opening.mark), opening.rest));
    }
    if (next.may_end) {
      alternatives.push_back(empty_);
    }
    next.symbol = cfg_.any_of(alternatives);
    return next;
  }

  // The first one, with the others behind it, or what comes next.
  Next known_repeat(const TagFormat& format, const Next& next) {
    const TagFormat& part = format.parts[0];
    Next more = next;
    if (format.max == kUnbounded || format.max > 1) {
      const std::int64_t min = std::max<std::int64_t>(format.min - 1, 0);
      const std::int64_t max = format.max == kUnbounded ? kUnbounded : format.max - 1;
      more = {.symbol = repeat(part, min, max, next)};
    }
    Next out = format.max == 0 ? next : known(part, more);
    if (format.min == 0 && format.max != 0) {
      add(next, &out);
      out = joined(std::move(out));
    }
    return out;
  }

  Next known_tags(const TagFormat& format, const Next& next) {
    const SymbolId behind = then(more_tags(format, one_tag(format)), next.symbol);
    Next out{.is_known = true};
    for (const TagFormat& tag : format.parts) {
      add(known(tag, {.symbol = behind}), &out);
    }
    if (!format.at_least_one) {
      add(next, &out);
    }
    return joined(std::move(out));
  }

  SymbolId one_tag(const TagFormat& format) {
    std::vector<SymbolId> tags;
    for (const TagFormat& tag : format.parts) {
      tags.push_back(alone(tag));
    }
    return cfg_.any_of(tags);
  }

  // What may stand behind the first tag.
  SymbolId more_tags(const TagFormat& format, SymbolId tag) {
    if (format.stop_after_first) {
      return empty_;
    }
    return cfg_.repeat(then(literal(format.text), tag), 0, kUnbounded);
  }

  SymbolId tags_with_separator(const TagFormat& format, const Next& next) {
    const SymbolId tag = one_tag(format);
    const SymbolId tags = then(tag, more_tags(format, tag));
    return then(format.at_least_one ? tags : cfg_.optional(tags), next.symbol);
  }

  SymbolId any_text(const TagFormat& format, const Next& next) {
    return free_text(format, next.openings, next);
  }

  // Free text, the trigger, the rest of a tag, and so on.
  SymbolId triggered_tags(const TagFormat& format, const Next& next) {
    const SymbolId text = cfg_.nonterminal("triggered tags");
    const SymbolId behind = format.stop_after_first ? next.symbol : text;
    std::vector<SymbolId> bodies;
    for (const TagFormat& tag : format.parts) {
      bodies.push_back(then(body(tag), behind));
    }
    std::vector<Opening> openings;
    for (const TagMark& trigger : format.triggers) {
      std::vector<SymbolId> tags;
      for (std::size_t t = 0; t < format.parts.size(); ++t) {
        const TagMark& begin = format.parts[t].begin;
        if (trigger.is_token ? begin == trigger : begin.text.starts_with(trigger.text)) {
          const std::string_view rest =
              std::string_view(begin.text)
                  .substr(trigger.is_token ? begin.text.size() : trigger.text.size());
          tags.push_back(then(literal(rest), bodies[t]));
        }
      }
      openings.push_back({trigger, cfg_.any_of(tags)});
    }
    const bool needs_text = !format.at_least_one || !format.stop_after_first;
    if (needs_text) {
      openings.insert(openings.end(), next.openings.begin(), next.openings.end());
      cfg_.add_rule(text, {free_text(format, openings, next)});
    }
    if (!format.at_least_one) {
      return text;
    }
    std::vector<SymbolId> first;
    for (std::size_t t = 0; t < format.parts.size(); ++t) {
      first.push_back(then(terminal(format.parts[t].begin), bodies[t]));
    }
    return cfg_.any_of(first);
  }

  // Free text up to one of the openings with what is behind it, or to the end.
  SymbolId free_text(const TagFormat& format, const std::vector<Opening>& openings,
                     const Next& next) {
    if (!status_.ok()) {
      return empty_;
    }
    const bool of_tokens = format.kind == Kind::kAnyTokens ||
                           (!format.triggers.empty() && format.triggers[0].is_token);
    return of_tokens ? tokens_up_to(format, openings, next) : text_up_to(format, openings, next);
  }

  SymbolId text_up_to(const TagFormat& format, const std::vector<Opening>& openings,
                      const Next& next) {
    std::vector<std::string> stops;
    for (const Opening& opening : openings) {
      if (!opening.mark.is_token) {
        stops.push_back(opening.mark.text);
      } else if (!is_control(token_bytes(opening.mark))) {
        fail(opening.mark.path,
             "text before it would hide this token, which is text too; end the "
             "text by a string or by a control token");
      }
    }
    std::vector<std::string> excludes;
    for (const TagMark& mark : format.excludes) {
      excludes.push_back(mark.text);
    }
    if (all_can_come(openings)) {
      status_ = budget_.check_expressions(cfg_.num_expressions() +
                                          TagText::max_size(excludes, stops, format.max_tokens));
    }
    if (!status_.ok()) {
      return empty_;
    }
    const TagText text(excludes, stops, format.max_tokens, &cfg_.regexes());
    const auto terminal_of = [&](RegexId regex) {
      return text.has_marks() ? cfg_.token_terminal(regex) : cfg_.terminal(regex);
    };
    std::vector<SymbolId> alternatives;
    alternatives.reserve(openings.size() + 1);
    for (const Opening& opening : openings) {
      alternatives.push_back(
          opening.mark.is_token
              ? cfg_.sequence({terminal_of(text.alone()), terminal(opening.mark), opening.rest})
              : then(terminal_of(text.up_to(opening.mark.text)), opening.rest));
    }
    if (next.may_end) {
      alternatives.push_back(terminal_of(text.alone()));
    }
    return cfg_.any_of(alternatives);
  }

  static bool is_control(std::string_view marked) {
    return marked.size() > 1 && marked[1] == '\xFF';
  }

  // A text that another one ends inside of never comes.
  bool all_can_come(const std::vector<Opening>& openings) {
    for (const Opening& one : openings) {
      if (!goes_on()) {
        return false;
      }
      for (const Opening& other : openings) {
        if (one.mark.is_token || other.mark.is_token) {
          continue;
        }
        const std::size_t at = one.mark.text.find(other.mark.text);
        if (at != std::string::npos && at + other.mark.text.size() < one.mark.text.size()) {
          fail(one.mark.path, "never comes, because '" + other.mark.text.substr(0, 64) + "' (" +
                                  other.mark.path + ") is inside it");
        }
      }
    }
    return status_.ok();
  }

  SymbolId any_tokens(const TagFormat& format, const Next& next) {
    if (!is_open(format)) {  // exactly so many
      return then(cfg_.repeat(one_token(format, {}), format.min, format.max), next.symbol);
    }
    return free_text(format, next.openings, next);
  }

  SymbolId tokens_up_to(const TagFormat& format, const std::vector<Opening>& openings,
                        const Next& next) {
    std::vector<SymbolId> alternatives;
    for (const Opening& opening : openings) {
      if (!opening.mark.is_token) {
        fail(opening.mark.path, "a text cannot end free tokens; end them by a token");
        return empty_;
      }
      alternatives.push_back(then(terminal(opening.mark), opening.rest));
    }
    if (next.may_end) {
      alternatives.push_back(empty_);
    }
    const SymbolId tokens = cfg_.repeat(one_token(format, openings), format.min,
                                        format.kind == Kind::kAnyTokens ? format.max : kUnbounded);
    return then(tokens, cfg_.any_of(alternatives));
  }

  // Any token but the excluded ones and the openings.
  SymbolId one_token(const TagFormat& format, const std::vector<Opening>& openings) {
    RegexSet& set = cfg_.regexes();
    std::vector<RegexId> excluded;
    for (const TagMark& mark : format.excludes) {
      excluded.push_back(set.literal(token_bytes(mark)));
    }
    for (const Opening& opening : openings) {
      excluded.push_back(set.literal(token_bytes(opening.mark)));
    }
    ByteSet inside = ByteSet::all();
    inside.erase(Cfg::kTokenMark);
    const RegexId mark = set.byte_range(Cfg::kTokenMark, Cfg::kTokenMark);
    const RegexId any =
        set.concat(std::array{mark, set.repeat(set.byte_set(inside), 1, kUnbounded), mark});
    return cfg_.token_terminal(set.all_of(std::array{any, set.complement(set.any_of(excluded))}));
  }

  struct LeafKey {
    Kind kind;
    TagStyle style;
    bool any_order;
    bool lenient;
    bool is_lark;
    bool in_json_text;
    std::string text;
    auto operator<=>(const LeafKey&) const = default;
  };

  const StructuralTagOptions& options_;
  CompileBudget& budget_;
  Status status_;
  Cfg cfg_;
  SymbolId empty_{};
  std::map<LeafKey, Leaf> leaves_;
  std::vector<std::string> ignored_;
  std::map<const TagFormat*, SymbolId> bodies_;
};

}  // namespace

Result<Cfg> write_structural_tag(const TagFormat& root, const StructuralTagOptions& options,
                                 CompileBudget* budget, std::vector<std::string>* ignored) {
  TagWriter writer(options, budget);
  Result<Cfg> cfg = writer.write(root);
  if (ignored != nullptr) {
    *ignored = std::move(writer.ignored());
  }
  return cfg;
}

}  // namespace plumb
