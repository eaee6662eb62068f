// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "grammar/byte_set.h"

namespace plumb {

class CompileBudget;

/// A regular expression inside one RegexSet.
enum class RegexId : std::uint32_t {};

/// An inclusive range of code points.
struct CodePointRange {
  char32_t first = 0;
  char32_t last = 0;
  auto operator<=>(const CodePointRange&) const = default;
};

/// Repetition without an upper bound.
inline constexpr std::int64_t kUnbounded = -1;

/// Regular languages over bytes, closed under intersection and complement, shared structurally:
/// expressions that simplify to the same form have the same id.
///
/// Text is UTF-8: char_class() matches the encoding of one code point, never a part of one, and no
/// surrogate. Complement is relative to all byte strings: intersect it with text() to stay inside
/// well-formed UTF-8.
/// Thread  one at a time.
/// Source  Brzozowski 1964; Owens, Reppy, Turon 2009 (derivatives re-examined).
class RegexSet {
 public:
  RegexSet();

  /// No string at all.
  RegexId none() const { return none_; }

  /// The empty string only.
  RegexId empty() const { return empty_; }

  /// Every byte string.
  RegexId everything() const { return everything_; }

  /// Every well-formed UTF-8 string.
  RegexId text();

  RegexId byte_range(std::uint8_t first, std::uint8_t last);
  RegexId byte_set(const ByteSet& bytes);
  RegexId literal(std::string_view bytes);
  /// One code point of the ranges; they may overlap and need no order.
  RegexId char_class(std::span<const CodePointRange> ranges);
  /// One code point outside the ranges.
  RegexId other_char(std::span<const CodePointRange> ranges);

  RegexId concat(std::span<const RegexId> parts);
  RegexId any_of(std::span<const RegexId> parts);
  RegexId all_of(std::span<const RegexId> parts);
  RegexId complement(RegexId regex);
  /// Requires 0 <= min, and max = kUnbounded or max >= min.
  RegexId repeat(RegexId regex, std::int64_t min, std::int64_t max);

  /// One state of a deterministic automaton; no byte leads to two states.
  struct AutomatonState {
    using Edge = std::pair<std::uint32_t, ByteSet>;
    std::vector<Edge> next;
    bool accepting = false;
  };

  /// What the automaton accepts from a state. Meant for languages that count, which would be long
  /// as expressions.
  RegexId automaton(std::vector<AutomatonState> states, std::uint32_t start);

  /// The inside of JSON strings that decode to the language: characters as they are, but with the
  /// short escapes, or \u00XX, where JSON demands one. Requires well-formed UTF-8 strings only.
  RegexId json_text(RegexId decoded) { return json_text(decoded, JsonStage::kPlain); }

  /// Whether the empty string belongs to the language.
  bool is_nullable(RegexId regex) const { return node(regex).nullable; }

  /// What may follow that byte.
  RegexId derivative(RegexId regex, std::uint8_t byte);

  /// Derivatives ask the budget on their way, for one of a large expression is much work; once
  /// status() is an error of it they are none() and worth nothing. nullptr: no questions, and ok.
  void set_budget(CompileBudget* budget);

  const Status& status() const { return status_; }

  /// A superset of the bytes with which strings of the language begin.
  const ByteSet& first_bytes(RegexId regex) const { return node(regex).first; }

  /// The distinct byte sets of the expression. Derivatives by two bytes that no set separates are
  /// equal.
  std::vector<ByteSet> leaf_sets(RegexId regex) const;

  /// How deeply operators are nested, sequences not counted: bounds the recursion of derivative().
  std::int64_t depth(RegexId regex) const { return node(regex).depth; }

  /// Forgets derivatives, which are remembered to be shared within one automaton.
  void drop_derivatives() { derivatives_.clear(); }

  /// Expressions made so far, and their parts and automata by what they take of memory: what a
  /// limit on compilation counts.
  std::int64_t size() const {
    constexpr std::size_t kChildrenOfNode = sizeof(Node) / sizeof(RegexId);
    return static_cast<std::int64_t>(nodes_.size() + children_.size() / kChildrenOfNode) +
           automata_size_;
  }

  /// What an automaton adds to size() beside its expressions.
  static std::int64_t automaton_size(std::size_t num_states, std::size_t num_edges) {
    const std::size_t num_bytes =
        num_states * sizeof(AutomatonState) + num_edges * sizeof(AutomatonState::Edge);
    return static_cast<std::int64_t>(num_bytes / sizeof(Node));
  }

 private:
  enum class Kind : std::uint8_t {
    kNone,
    kEmpty,
    kBytes,
    kConcat,
    kAnyOf,
    kAllOf,
    kNot,
    kRepeat,
    kAutomaton,
    kJsonText
  };

  struct Node {
    Kind kind = Kind::kNone;
    bool nullable = false;
    std::uint32_t depth = 1;
    std::uint32_t first_child = 0;  ///< into children_
    std::uint32_t num_children = 0;
    std::int64_t min = 0;  ///< of a repetition; which automaton; the stage of JSON text
    std::int64_t max = 0;  ///< of a repetition; the state of an automaton
    ByteSet first;         ///< first bytes; of kBytes the set itself
  };

  struct Automaton {
    std::vector<AutomatonState> states;
    std::vector<ByteSet> sets;  // rising, each once
  };

  // How much of an escape was read.
  enum class JsonStage : std::uint8_t { kPlain, kBackslash, kU, kU0, kU00, kU000, kU001 };

  // A repetition as base{min,max}; any other expression x as x{1,1}.
  struct Counted {
    RegexId base{};
    std::int64_t min = 1;
    std::int64_t max = 1;
  };

  // An alternative as head . tail, the tail empty unless it is a sequence.
  struct Split {
    RegexId tail{};
    RegexId head{};
  };

  const Node& node(RegexId id) const { return nodes_[static_cast<std::size_t>(id)]; }

  Kind kind(RegexId id) const { return node(id).kind; }

  std::span<const RegexId> children(RegexId id) const;
  Counted counted(RegexId id) const;
  Split split(RegexId id) const;
  static std::int64_t add_max(std::int64_t a, std::int64_t b);

  RegexId intern(const Node& node, std::span<const RegexId> children);
  void grow_table();
  RegexId concat2(RegexId left, RegexId right);
  RegexId concat_once(RegexId left, RegexId right);
  void flatten_alternatives(std::span<const RegexId> parts, std::vector<RegexId>* out) const;
  bool merge_heads(std::vector<RegexId>* alternatives);
  void merge_counted(std::vector<RegexId>* heads);
  bool may_go_on();
  RegexId derive(RegexId regex, std::uint8_t byte);
  RegexId derive_node(RegexId regex, std::uint8_t byte);
  RegexId derive_sequence(RegexId regex, std::uint8_t byte);
  RegexId derive_each(RegexId regex, std::uint8_t byte, bool all);
  RegexId automaton_state(std::int64_t automaton, std::uint32_t state);
  RegexId derive_automaton(RegexId regex, std::uint8_t byte);
  RegexId json_text(RegexId decoded, JsonStage stage);
  RegexId derive_json_text(RegexId regex, std::uint8_t byte);
  RegexId continuation(std::span<const CodePointRange> ranges, int num_bytes);

  std::vector<Node> nodes_;
  std::vector<RegexId> children_;
  std::vector<std::uint32_t> table_;  // open addressing over nodes_, 0 = free, else index + 1
  std::vector<Automaton> automata_;
  std::int64_t automata_size_ = 0;
  CompileBudget* budget_ = nullptr;
  Status status_;
  std::unordered_map<std::uint64_t, RegexId> derivatives_;  // by id * 256 + byte
  RegexId none_{};
  RegexId empty_{};
  RegexId everything_{};
};

}  // namespace plumb
