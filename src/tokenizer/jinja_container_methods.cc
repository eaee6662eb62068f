// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_number.h"
#include "tokenizer/jinja_operators.h"

namespace plumb::jinja {

namespace {

Value make_view(Interpreter& in, const Value& self, ViewKind which) {
  auto* view = in.heap().make<ViewObj>();
  view->dict = &self.dict();
  view->which = which;
  return Value::object(Kind::kDictView, view);
}

Result<Value> dict_items(Interpreter& in, const Value& self, const Args&) {
  return make_view(in, self, ViewKind::kItems);
}

Result<Value> dict_keys(Interpreter& in, const Value& self, const Args&) {
  return make_view(in, self, ViewKind::kKeys);
}

Result<Value> dict_values(Interpreter& in, const Value& self, const Args&) {
  return make_view(in, self, ViewKind::kValues);
}

Result<Value> dict_get(Interpreter& in, const Value& self, const Args& args) {
  const Value& key = args.positional[0];
  if (!is_hashable(key, in.heap())) {
    return raise("unhashable type: '" + std::string(type_name(key)) + "'");
  }
  if (const Value* value = self.dict().find(key, in.heap())) {
    return *value;
  }
  return args.positional[1].is_missing() ? Value::none() : args.positional[1];
}

Result<Value> dict_copy(Interpreter& in, const Value& self, const Args&) {
  auto* copy = in.heap().make<DictObj>();
  for (const DictEntry& entry : self.dict().items) {
    copy->set(entry.key, entry.value, in.heap());
  }
  return Value::object(Kind::kDict, copy);
}

Result<Value> dict_fromkeys(Interpreter& in, const Value&, const Args& args) {
  std::vector<Value> keys;
  PLUMB_RETURN_IF_ERROR(in.collect(args.positional[0], &keys));
  auto* dict = in.heap().make<DictObj>();
  for (const Value& key : keys) {
    if (!is_hashable(key, in.heap())) {
      return raise("unhashable type: '" + std::string(type_name(key)) + "'");
    }
    dict->set(key, args.positional[1].is_missing() ? Value::none() : args.positional[1], in.heap());
  }
  return Value::object(Kind::kDict, dict);
}

Result<Value> list_count(Interpreter& in, const Value& self, const Args& args) {
  std::int64_t count = 0;
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(self, &items));
  for (const Value& item : items) {
    const bool same = same_object(item, args.positional[0]);
    count += same || equals(item, args.positional[0], in.heap()) ? 1 : 0;
  }
  return Value::integer(count);
}

Result<Value> list_index(Interpreter& in, const Value& self, const Args& args) {
  std::vector<Value> items;
  PLUMB_RETURN_IF_ERROR(in.collect(self, &items));
  const auto length = static_cast<std::int64_t>(items.size());
  std::int64_t bounds[2] = {0, length};
  for (std::size_t i = 0; i < 2; ++i) {
    const Value& bound = args.positional[i + 1];
    if (!bound.is_missing() && !to_index(bound, &bounds[i])) {
      return raise("list.index: bounds must be integers");
    }
    bounds[i] += bounds[i] < 0 ? length : 0;
  }
  for (std::int64_t i = std::max<std::int64_t>(bounds[0], 0); i < std::min(bounds[1], length);
       ++i) {
    if (equals(items[static_cast<std::size_t>(i)], args.positional[0], in.heap())) {
      return Value::integer(i);
    }
  }
  return raise("value is not in the list");
}

Result<Value> list_copy(Interpreter& in, const Value& self, const Args&) {
  return in.heap().make_list(self.list().items);
}

bool is_container(const Value& value) {
  switch (value.kind) {
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kIterator:
    case Kind::kNamespace:
    case Kind::kCycler:
      return true;
    default:
      return false;
  }
}

void push_contents(const Value& value, std::vector<Value>* out) {
  const auto push_dict = [out](const DictObj& dict) {
    for (const DictEntry& entry : dict.items) {
      out->push_back(entry.key);
      out->push_back(entry.value);
    }
  };
  const auto push_all = [out](const std::vector<Value>& items) {
    out->insert(out->end(), items.begin(), items.end());
  };
  switch (value.kind) {
    case Kind::kList:
    case Kind::kTuple:
      return push_all(value.list().items);
    case Kind::kIterator:
      return push_all(value.iterator().items);
    case Kind::kCycler:
      return push_all(static_cast<CyclerObj*>(value.ptr)->items);
    case Kind::kDict:
      return push_dict(value.dict());
    case Kind::kDictView:
      return push_dict(*value.view().dict);
    case Kind::kNamespace:
      return push_dict(static_cast<NamespaceObj*>(value.ptr)->attributes);
    default:
      return;
  }
}

// Whether `list` can be reached from `value`; a list must not contain itself.
bool reaches(const Value& value, const Object* list, Heap& heap) {
  if (!is_container(value)) {
    return false;
  }
  std::vector<Value> open = {value};
  std::unordered_set<const Object*> seen;
  while (!open.empty() && !heap.exhausted()) {
    const Value next = open.back();
    open.pop_back();
    heap.charge_steps(1);
    if (!is_container(next) || !seen.insert(next.ptr).second) {
      continue;
    }
    if (next.ptr == list) {
      return true;
    }
    push_contents(next, &open);
  }
  return false;
}

Result<Value> list_append(Interpreter& in, const Value& self, const Args& args) {
  const Value& value = args.positional[0];
  if (reaches(value, self.ptr, in.heap())) {
    return raise("a list cannot be appended to itself");
  }
  in.heap().charge_bytes(sizeof(Value));
  self.list().items.push_back(value);
  return Value::none();
}

Result<Value> list_pop(Interpreter&, const Value& self, const Args& args) {
  std::vector<Value>& items = self.list().items;
  std::int64_t index = -1;
  if (!args.positional[0].is_missing() && !to_index(args.positional[0], &index)) {
    return raise("pop: index must be an integer");
  }
  const auto length = static_cast<std::int64_t>(items.size());
  index += index < 0 ? length : 0;
  if (index < 0 || index >= length) {
    return raise(length == 0 ? "pop from an empty list" : "pop: index out of range");
  }
  const Value out = items[static_cast<std::size_t>(index)];
  items.erase(items.begin() + index);
  return out;
}

Result<Value> cycler_next(Interpreter&, const Value& self, const Args&) {
  auto& cycler = *static_cast<CyclerObj*>(self.ptr);
  const Value out = cycler.items[static_cast<std::size_t>(cycler.position)];
  cycler.position = (cycler.position + 1) % static_cast<std::int64_t>(cycler.items.size());
  return out;
}

Result<Value> cycler_reset(Interpreter&, const Value& self, const Args&) {
  static_cast<CyclerObj*>(self.ptr)->position = 0;
  return Value::none();
}

Result<Value> number_bit_length(Interpreter&, const Value& self, const Args&) {
  return Value::integer(to_big(self).num_bits());
}

Result<Value> number_conjugate(Interpreter&, const Value& self, const Args&) {
  return self.is(Kind::kBool) ? Value::integer(self.i) : self;
}

Result<Value> float_is_integer(Interpreter&, const Value& self, const Args&) {
  const double d = self.f;
  return Value::boolean(d - d == 0 && BigInt::from_double(d).to_double() == d);
}

constexpr MethodEntry kDictMethods[] = {
    {"get", dict_get, {{"key", "default"}, 1, false}},
    {"items", dict_items, kNoArgs},
    {"keys", dict_keys, kNoArgs},
    {"values", dict_values, kNoArgs},
    {"copy", dict_copy, kNoArgs},
    {"fromkeys", dict_fromkeys, {{"iterable", "value"}, 1, false}},
    {"update", nullptr, kNoArgs},
    {"pop", nullptr, kNoArgs},
    {"popitem", nullptr, kNoArgs},
    {"setdefault", nullptr, kNoArgs},
    {"clear", nullptr, kNoArgs},
};

constexpr MethodEntry kSequenceMethods[] = {
    {"index", list_index, {{"value", "start", "stop"}, 1, false}},
    {"count", list_count, {{"value"}, 1, false}},
};

// Of the methods that change a list, templates in use need append and pop.
constexpr MethodEntry kListMethods[] = {
    {"append", list_append, {{"object"}, 1, false}},
    {"pop", list_pop, {{"index"}, 0, false}},
    {"copy", list_copy, kNoArgs},
    {"insert", nullptr, kNoArgs},
    {"extend", nullptr, kNoArgs},
    {"remove", nullptr, kNoArgs},
    {"clear", nullptr, kNoArgs},
    {"reverse", nullptr, kNoArgs},
    {"sort", nullptr, kNoArgs},
};

constexpr MethodEntry kCyclerMethods[] = {
    {"next", cycler_next, kNoArgs},
    {"reset", cycler_reset, kNoArgs},
};

constexpr MethodEntry kIntegerMethods[] = {
    {"bit_length", number_bit_length, kNoArgs},
    {"conjugate", number_conjugate, kNoArgs},
};

constexpr MethodEntry kFloatMethods[] = {
    {"is_integer", float_is_integer, kNoArgs},
    {"conjugate", number_conjugate, kNoArgs},
};

template <std::size_t N>
const MethodEntry* find_in(const MethodEntry (&table)[N], std::string_view name) {
  const auto* it = std::find_if(std::begin(table), std::end(table),
                                [name](const MethodEntry& entry) { return entry.name == name; });
  return it == std::end(table) ? nullptr : it;
}

}  // namespace

const MethodEntry* find_method(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kString:
      return find_str_method(name);
    case Kind::kDict:
      return find_in(kDictMethods, name);
    case Kind::kList:
      if (const MethodEntry* entry = find_in(kListMethods, name)) {
        return entry;
      }
      return find_in(kSequenceMethods, name);
    case Kind::kTuple:
    case Kind::kRange:
      return find_in(kSequenceMethods, name);
    case Kind::kCycler:
      return find_in(kCyclerMethods, name);
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kBigInt:
      return find_in(kIntegerMethods, name);
    case Kind::kFloat:
      return find_in(kFloatMethods, name);
    default:
      return nullptr;
  }
}

}  // namespace plumb::jinja
