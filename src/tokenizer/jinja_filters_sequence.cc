// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "tokenizer/jinja_filters.h"
#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_operators.h"
#include "tokenizer/jinja_predicates.h"

namespace plumb::jinja {

namespace {

Value optional(const Value& value) {
  return value.is_missing() ? Value::none() : value;
}

/// Looks up "a.b.0" in values; with ignore_case, strings come out in lower case.
class Getter {
 public:
  Getter(Interpreter& in, const Value& path, bool ignore_case,
         const Value& fallback = Value::none())
      : in_(in), fallback_(fallback), ignore_case_(ignore_case) {
    if (path.is_string()) {
      add_parts(path, path.str());
    } else if (!path.is_none() && !path.is_missing()) {
      parts_.push_back(path);
    }
  }

  Result<Value> operator()(Value value) const {
    for (const Value& part : parts_) {
      PLUMB_ASSIGN(value, in_.item(value, part));
      if (!fallback_.is_none() && value.is_undefined()) {
        value = fallback_;
      }
    }
    if (ignore_case_ && value.is_string()) {
      return map_case(in_, value, CaseMap::kLower);
    }
    return value;
  }

 private:
  void add_parts(const Value& path, std::string_view text) {
    const char* base = text.data();
    for (const std::string_view part : split(text, '.')) {
      std::int64_t index = 0;
      const bool digits = !part.empty() && std::all_of(part.begin(), part.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
      if (digits && parse_int64(part, &index)) {
        parts_.push_back(Value::integer(index));
      } else {
        parts_.push_back(
            substring(path, static_cast<std::size_t>(part.data() - base), part.size()));
      }
    }
  }

  Interpreter& in_;
  std::vector<Value> parts_;
  Value fallback_;
  bool ignore_case_;
};

struct Keyed {
  Value key;
  Value value;
};

/// Stable merge sort that survives comparisons which fail or contradict each other.
class Sorter {
 public:
  Sorter(Interpreter& in, bool reverse) : in_(in), reverse_(reverse) {}

  Status sort(std::vector<Keyed>* items) {
    for (std::size_t width = 1; width < items->size(); width *= 2) {
      std::vector<Keyed> merged;
      merged.reserve(items->size());
      for (std::size_t begin = 0; begin < items->size(); begin += 2 * width) {
        const std::size_t middle = std::min(begin + width, items->size());
        PLUMB_RETURN_IF_ERROR(
            merge(*items, begin, middle, std::min(middle + width, items->size()), &merged));
      }
      *items = std::move(merged);
    }
    return {};
  }

 private:
  Status merge(const std::vector<Keyed>& items, std::size_t left, std::size_t middle,
               std::size_t end, std::vector<Keyed>* out) {
    std::size_t right = middle;
    while (left < middle && right < end) {
      PLUMB_ASSIGN(const Ordering o, order(in_, items[right].key, items[left].key));
      const bool take_right = o == (reverse_ ? Ordering::kGreater : Ordering::kLess);
      out->push_back(items[take_right ? right++ : left++]);
    }
    out->insert(out->end(), items.begin() + static_cast<std::ptrdiff_t>(left),
                items.begin() + static_cast<std::ptrdiff_t>(middle));
    out->insert(out->end(), items.begin() + static_cast<std::ptrdiff_t>(right),
                items.begin() + static_cast<std::ptrdiff_t>(end));
    return {};
  }

  Interpreter& in_;
  bool reverse_;
};

Result<Value> sorted_values(Interpreter& in, std::vector<Keyed>* items, bool reverse) {
  PLUMB_RETURN_IF_ERROR(Sorter(in, reverse).sort(items));
  std::vector<Value> out;
  out.reserve(items->size());
  for (const Keyed& item : *items) {
    out.push_back(item.value);
  }
  return in.heap().make_list(std::move(out));
}

Result<Value> filter_sort(Interpreter& in, const Value& value, const Args& args) {
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(value, &items));
  const bool ignore_case = !flag(args, 1);
  const Value attribute = optional(arg(args, 2));
  std::vector<Getter> getters;
  if (attribute.is_string()) {
    const char* base = attribute.str().data();
    for (const std::string_view part : split(attribute.str(), ',')) {
      getters.emplace_back(
          in, substring(attribute, static_cast<std::size_t>(part.data() - base), part.size()),
          ignore_case);
    }
  } else {
    getters.emplace_back(in, attribute, ignore_case);
  }
  std::vector<Keyed> keyed;
  for (const Value& item : items) {
    std::vector<Value> keys;
    for (const Getter& getter : getters) {
      PLUMB_ASSIGN(const Value key, getter(item));
      keys.push_back(key);
    }
    keyed.push_back({in.heap().make_list(std::move(keys)), item});
  }
  return sorted_values(in, &keyed, flag(args, 0));
}

Result<Value> filter_dictsort(Interpreter& in, const Value& value, const Args& args) {
  const std::string_view by = arg(args, 1).is_missing()  ? "key"
                              : arg(args, 1).is_string() ? arg(args, 1).str()
                                                         : "";
  if (by != "key" && by != "value") {
    return raise("dictsort: you can only sort by either \"key\" or \"value\"");
  }
  if (!value.is(Kind::kDict)) {
    return value.is_undefined()
               ? Interpreter::undefined_error(value)
               : raise("dictsort: expected a mapping, got '" + std::string(type_name(value)) + "'");
  }
  const Getter getter(in, Value::none(), !flag(args, 0));
  std::vector<Keyed> keyed;
  for (const DictEntry& entry : value.dict().items) {
    PLUMB_ASSIGN(const Value key, getter(by == "key" ? entry.key : entry.value));
    keyed.push_back({key, in.heap().make_list({entry.key, entry.value}, Kind::kTuple)});
  }
  return sorted_values(in, &keyed, flag(args, 2));
}

Result<Value> filter_groupby(Interpreter& in, const Value& value, const Args& args) {
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(value, &items));
  const Value fallback = optional(arg(args, 1));
  const Getter getter(in, arg(args, 0), !flag(args, 2), fallback);
  const Getter exact(in, arg(args, 0), false, fallback);
  std::vector<Keyed> keyed;
  for (const Value& item : items) {
    PLUMB_ASSIGN(const Value key, getter(item));
    keyed.push_back({key, item});
  }
  PLUMB_RETURN_IF_ERROR(Sorter(in, false).sort(&keyed));
  std::vector<Value> groups;
  for (std::size_t begin = 0; begin < keyed.size();) {
    std::vector<Value> members;
    std::size_t end = begin;
    for (; end < keyed.size() && equals(keyed[end].key, keyed[begin].key, in.heap()); ++end) {
      members.push_back(keyed[end].value);
    }
    if (end == begin) {  // a key that differs from itself
      members.push_back(keyed[end++].value);
    }
    PLUMB_ASSIGN(const Value key, exact(keyed[begin].value));
    Value group = in.heap().make_list({key, in.heap().make_list(std::move(members))}, Kind::kTuple);
    group.markup = true;
    groups.push_back(group);
    begin = end;
  }
  return in.heap().make_list(std::move(groups));
}

Result<Value> extreme(Interpreter& in, const Value& value, const Args& args, Ordering wanted) {
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(value, &items));
  const Getter getter(in, optional(arg(args, 1)), !flag(args, 0));
  if (items.empty()) {
    return Value();
  }
  Value best = items[0];
  PLUMB_ASSIGN(Value best_key, getter(best));
  for (std::size_t i = 1; i < items.size(); ++i) {
    PLUMB_ASSIGN(const Value key, getter(items[i]));
    PLUMB_ASSIGN(const Ordering o, order(in, key, best_key));
    if (o == wanted) {
      best = items[i];
      best_key = key;
    }
  }
  return best;
}

Result<Value> filter_min(Interpreter& in, const Value& value, const Args& args) {
  return extreme(in, value, args, Ordering::kLess);
}

Result<Value> filter_max(Interpreter& in, const Value& value, const Args& args) {
  return extreme(in, value, args, Ordering::kGreater);
}

Result<Value> filter_sum(Interpreter& in, const Value& value, const Args& args) {
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(value, &items));
  const Getter getter(in, optional(arg(args, 0)), false);
  Value total = arg(args, 1).is_missing() ? Value::integer(0) : arg(args, 1);
  if (total.is_string()) {
    return raise("sum: strings cannot be added up, use join");
  }
  for (const Value& item : items) {
    PLUMB_ASSIGN(const Value next, getter(item));
    PLUMB_ASSIGN(total, binary(in, BinaryOp::kAdd, total, next));
  }
  return total;
}

Result<Value> filter_join(Interpreter& in, const Value& value, const Args& args) {
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(value, &items));
  const Value separator = arg(args, 0).is_missing() ? in.heap().make_string("", false)
                                                    : to_str(arg(args, 0), in.heap());
  const Getter getter(in, optional(arg(args, 1)), false);
  StrBuilder out(in.heap());
  for (std::size_t i = 0; i < items.size() && !out.exhausted(); ++i) {
    PLUMB_ASSIGN(const Value item, getter(items[i]));
    if (i > 0) {
      out.append(separator);
    }
    append_str(&out, item);
  }
  return out.take();
}

Result<Value> filter_list(Interpreter& in, const Value& value, const Args&) {
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(value, &items));
  return in.heap().make_list(std::move(items));
}

Result<Value> filter_items(Interpreter& in, const Value& value, const Args&) {
  if (value.is_undefined()) {
    return in.heap().make_iterator({});
  }
  if (!value.is(Kind::kDict)) {
    return in.heap().make_iterator({}, raise("items: can only get item pairs from a mapping"));
  }
  std::vector<Value> pairs;
  for (const DictEntry& entry : value.dict().items) {
    pairs.push_back(in.heap().make_list({entry.key, entry.value}, Kind::kTuple));
  }
  return in.heap().make_iterator(std::move(pairs));
}

Result<Value> filter_first(Interpreter& in, const Value& value, const Args&) {
  PLUMB_ASSIGN(Iteration iteration, Iteration::over(value));
  Value out;
  PLUMB_ASSIGN(const bool any, iteration.next(&out, in.heap()));
  return any ? out : Value();
}

bool is_reversible(const Value& value) {
  return is_iterable(value) && !value.is(Kind::kIterator) && !value.is(Kind::kLoop);
}

Result<Value> filter_last(Interpreter& in, const Value& value, const Args&) {
  if (!is_reversible(value)) {
    return raise("'" + std::string(type_name(value)) + "' object is not reversible");
  }
  if (value.is_string() || value.is(Kind::kList) || value.is(Kind::kTuple)) {
    PLUMB_ASSIGN(const Value out, in.item(value, Value::integer(-1)));
    return out;
  }
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(value, &items));
  return items.empty() ? Value() : items.back();
}

Result<Value> filter_reverse(Interpreter& in, const Value& value, const Args&) {
  if (value.is_string()) {
    return slice(in, value, Value::none(), Value::none(), Value::integer(-1));
  }
  if (!is_iterable(value)) {
    return raise("reverse: argument must be iterable");
  }
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(value, &items));
  std::reverse(items.begin(), items.end());
  return is_reversible(value) ? in.heap().make_iterator(std::move(items))
                              : in.heap().make_list(std::move(items));
}

// Filters that are lazy in the reference: an error shows only when the result is used.
template <class F>
Result<Value> lazily(Interpreter& in, const F& fill) {
  std::vector<Value> out;
  const Status error = fill(&out);
  return in.heap().make_iterator(std::move(out), error);
}

Result<Value> filter_unique(Interpreter& in, const Value& value, const Args& args) {
  return lazily(in, [&](std::vector<Value>* out) -> Status {
    std::vector<Value> items;
    const Status source = in.collect(value, &items);
    const Getter getter(in, optional(arg(args, 1)), !flag(args, 0));
    auto* seen = in.heap().make<DictObj>();
    for (const Value& item : items) {
      PLUMB_ASSIGN(const Value key, getter(item));
      if (!is_hashable(key, in.heap())) {
        return raise("unhashable type: '" + std::string(type_name(key)) + "'");
      }
      if (seen->find(key, in.heap()) == nullptr) {
        seen->set(key, Value::none(), in.heap());
        out->push_back(item);
      }
    }
    return source;
  });
}

Result<Value> filter_batch(Interpreter& in, const Value& value, const Args& args) {
  return lazily(in, [&](std::vector<Value>* out) -> Status {
    std::vector<Value> items;
    const Status source = in.collect(value, &items);
    std::int64_t count = 0;
    if (!to_index(arg(args, 0), &count)) {
      return raise("batch: the line count must be an integer");
    }
    std::vector<Value> line;
    for (const Value& item : items) {
      if (static_cast<std::int64_t>(line.size()) == count) {
        out->push_back(in.heap().make_list(std::move(line)));
        line = {};
      }
      line.push_back(item);
    }
    const Value fill = optional(arg(args, 1));
    const auto missing = count - static_cast<std::int64_t>(line.size());
    if (!line.empty()) {
      if (!fill.is_none() && missing > 0) {
        if (!in.heap().has_room(missing * static_cast<std::int64_t>(sizeof(Value)))) {
          return {Code::kResourceExhausted, "batch needs more memory than allowed"};
        }
        line.insert(line.end(), static_cast<std::size_t>(missing), fill);
      }
      out->push_back(in.heap().make_list(std::move(line)));
    }
    return source;
  });
}

Result<Value> filter_slice(Interpreter& in, const Value& value, const Args& args) {
  return lazily(in, [&](std::vector<Value>* out) -> Status {
    std::vector<Value> items;
    PLUMB_RETURN_IF_ERROR(in.collect(value, &items));
    std::int64_t slices = 0;
    if (!to_index(arg(args, 0), &slices) || slices == 0) {
      return raise("slice: the number of slices must be an integer above zero");
    }
    if (!in.heap().has_room(slices * 64)) {
      return {Code::kResourceExhausted, "slice needs more memory than allowed"};
    }
    const Value fill = optional(arg(args, 1));
    const std::int64_t per_slice =
        static_cast<std::int64_t>(items.size()) / std::max<std::int64_t>(slices, 1);
    const std::int64_t extra =
        static_cast<std::int64_t>(items.size()) % std::max<std::int64_t>(slices, 1);
    auto at = items.begin();
    for (std::int64_t i = 0; i < slices; ++i) {
      const auto end = at + per_slice + (i < extra ? 1 : 0);
      std::vector<Value> part(at, end);
      if (!fill.is_none() && i >= extra) {
        part.push_back(fill);
      }
      out->push_back(in.heap().make_list(std::move(part)));
      at = end;
    }
    return {};
  });
}

Result<Value> map_attribute(Interpreter& in, const Value& value, const Args& args) {
  return lazily(in, [&](std::vector<Value>* out) -> Status {
    Value attribute;
    Value fallback = Value::none();
    for (const auto& [key, item] : args.named) {
      if (key.str() == "attribute") {
        attribute = item;
      } else if (key.str() == "default") {
        fallback = item;
      } else {
        return raise("map: unexpected keyword argument '" + std::string(key.str()) + "'");
      }
    }
    if (!truthy(value)) {
      return {};
    }
    std::vector<Value> items;
    const Status source = in.collect(value, &items);
    const Getter getter(in, attribute, false, fallback);
    for (const Value& item : items) {
      PLUMB_ASSIGN(const Value mapped, getter(item));
      out->push_back(mapped);
    }
    return source;
  });
}

Result<Value> filter_map(Interpreter& in, const Value& value, const Args& args) {
  const bool by_attribute =
      args.positional.empty() &&
      std::any_of(args.named.begin(), args.named.end(),
                  [](const auto& named) { return named.first.str() == "attribute"; });
  if (by_attribute) {
    return map_attribute(in, value, args);
  }
  return lazily(in, [&](std::vector<Value>* out) -> Status {
    if (!truthy(value)) {
      return {};
    }
    if (args.positional.empty()) {
      return raise("map requires a filter argument");
    }
    const Value& name = args.positional[0];
    std::vector<Value> items;
    const Status source = in.collect(value, &items);
    Args rest;
    rest.positional.assign(args.positional.begin() + 1, args.positional.end());
    rest.named = args.named;
    for (const Value& item : items) {
      if (!name.is_string()) {
        return raise("map: the filter must be given by name");
      }
      PLUMB_ASSIGN(const Value mapped, in.call_filter(name.str(), item, rest));
      out->push_back(mapped);
    }
    return source;
  });
}

struct Selection {
  bool by_attribute;
  bool keep;
};

Result<Value> select(Interpreter& in, const Value& value, const Args& args, Selection selection) {
  return lazily(in, [&](std::vector<Value>* out) -> Status {
    if (!truthy(value)) {
      return {};
    }
    const std::size_t first = selection.by_attribute ? 1 : 0;
    if (args.positional.size() < first) {
      return raise("missing parameter for the attribute name");
    }
    const Getter getter(in, first > 0 ? args.positional[0] : Value::none(), false);
    const bool has_test = args.positional.size() > first;
    Args rest;
    if (has_test) {
      rest.positional.assign(args.positional.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                             args.positional.end());
      rest.named = args.named;
    }
    std::vector<Value> items;
    const Status source = in.collect(value, &items);
    for (const Value& item : items) {
      PLUMB_ASSIGN(const Value subject, getter(item));
      bool holds = truthy(subject);
      if (has_test) {
        const Value& name = args.positional[first];
        if (!name.is_string()) {
          return raise("the test must be given by name");
        }
        PLUMB_ASSIGN(holds, in.call_test(name.str(), subject, rest));
      }
      if (holds == selection.keep) {
        out->push_back(item);
      }
    }
    return source;
  });
}

template <bool kByAttribute, bool kKeep>
Result<Value> filter_select(Interpreter& in, const Value& value, const Args& args) {
  return select(in, value, args, {kByAttribute, kKeep});
}

constexpr FilterEntry kSequenceFilters[] = {
    {"join", filter_join, {{"d", "attribute"}}},
    {"items", filter_items, kNoArgs},
    {"dictsort", filter_dictsort, {{"case_sensitive", "by", "reverse"}}},
    {"list", filter_list, kNoArgs},
    {"selectattr", filter_select<true, true>, kAnyArgs},
    {"rejectattr", filter_select<true, false>, kAnyArgs},
    {"select", filter_select<false, true>, kAnyArgs},
    {"reject", filter_select<false, false>, kAnyArgs},
    {"map", filter_map, kAnyArgs},
    {"first", filter_first, kNoArgs},
    {"last", filter_last, kNoArgs},
    {"reverse", filter_reverse, kNoArgs},
    {"sort", filter_sort, {{"reverse", "case_sensitive", "attribute"}}},
    {"unique", filter_unique, {{"case_sensitive", "attribute"}}},
    {"min", filter_min, {{"case_sensitive", "attribute"}}},
    {"max", filter_max, {{"case_sensitive", "attribute"}}},
    {"sum", filter_sum, {{"attribute", "start"}}},
    {"groupby", filter_groupby, {{"attribute", "default", "case_sensitive"}, 1}},
    {"batch", filter_batch, {{"linecount", "fill_with"}, 1}},
    {"slice", filter_slice, {{"slices", "fill_with"}, 1}},
};

}  // namespace

const FilterEntry* find_sequence_filter(std::string_view name) {
  const auto* it = std::find_if(std::begin(kSequenceFilters), std::end(kSequenceFilters),
                                [name](const FilterEntry& entry) { return entry.name == name; });
  return it == std::end(kSequenceFilters) ? nullptr : it;
}

}  // namespace plumb::jinja
