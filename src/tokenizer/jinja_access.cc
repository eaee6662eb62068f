// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tokenizer/jinja_interpreter.h"
#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_operators.h"
#include "tokenizer/jinja_text.h"

namespace plumb::jinja {

namespace {

// Outcome of looking for what Python calls an attribute.
enum class Found : unsigned char { kNo, kYes, kUnsafe };

Value bind_method(const Value& object, const MethodEntry* entry, Heap& heap) {
  auto* method = heap.make<MethodObj>();
  method->self = object;
  method->entry = entry;
  return Value::object(Kind::kMethod, method);
}

Found number_attribute(const Value& object, std::string_view name, Heap& heap, Value* out) {
  const bool is_float = object.is(Kind::kFloat);
  if (name == "real" || (!is_float && name == "numerator")) {
    *out = object.is(Kind::kBool) ? Value::integer(object.i) : object;
    return Found::kYes;
  }
  if (name == "imag" || (!is_float && name == "denominator")) {
    *out = is_float ? Value::floating(0) : Value::integer(name == "imag" ? 0 : 1);
    return Found::kYes;
  }
  if (const MethodEntry* entry = find_method(object.kind, name)) {
    *out = bind_method(object, entry, heap);
    return Found::kYes;
  }
  return Found::kNo;
}

Found macro_attribute(const MacroObj& macro, std::string_view name, Heap& heap, Value* out) {
  const Stmt& node = *macro.node;
  if (name == "name") {
    *out = macro.anonymous ? Value::none() : node.text;
  } else if (name == "arguments") {
    std::vector<Value> names;
    for (const Param& param : node.params) {
      names.push_back(param.name);
    }
    *out = heap.make_list(std::move(names), Kind::kTuple);
  } else if (name == "catch_kwargs") {
    *out = Value::boolean(node.uses_kwargs);
  } else if (name == "catch_varargs") {
    *out = Value::boolean(node.uses_varargs);
  } else if (name == "caller") {
    *out = Value::boolean(node.uses_caller);
  } else {
    return Found::kNo;
  }
  return Found::kYes;
}

Found cycler_attribute(const Value& object, std::string_view name, Heap& heap, Value* out) {
  const auto& cycler = *static_cast<CyclerObj*>(object.ptr);
  if (name == "current") {
    *out = cycler.items[static_cast<std::size_t>(cycler.position)];
  } else if (name == "items") {
    *out = heap.make_list(cycler.items, Kind::kTuple);
  } else if (name == "pos") {
    *out = Value::integer(cycler.position);
  } else if (const MethodEntry* entry = find_method(object.kind, name)) {
    *out = bind_method(object, entry, heap);
  } else {
    return Found::kNo;
  }
  return Found::kYes;
}

Result<Found> python_attribute(const Value& object, const Value& key, Heap& heap, Value* out) {
  const std::string_view name = key.str();
  switch (object.kind) {
    case Kind::kNamespace: {
      const Value* value = static_cast<NamespaceObj*>(object.ptr)->attributes.find(name);
      if (value == nullptr) {
        return Found::kNo;
      }
      *out = *value;
      return name.substr(0, 1) == "_" ? Found::kUnsafe : Found::kYes;
    }
    case Kind::kLoop: {
      bool found = false;
      PLUMB_ASSIGN(*out, static_cast<LoopObj*>(object.ptr)->attribute(name, heap, &found));
      return found ? Found::kYes : Found::kNo;
    }
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kBigInt:
    case Kind::kFloat:
      return number_attribute(object, name, heap, out);
    case Kind::kMacro:
      return macro_attribute(*static_cast<MacroObj*>(object.ptr), name, heap, out);
    case Kind::kCycler:
      return cycler_attribute(object, name, heap, out);
    case Kind::kTuple:
      // The groups that groupby gives name their two parts.
      if (object.markup && (name == "grouper" || name == "list")) {
        *out = object.list().items[name == "list" ? 1 : 0];
        return Found::kYes;
      }
      break;
    case Kind::kJoiner:
      if (name == "sep" || name == "used") {
        const auto& joiner = *static_cast<JoinerObj*>(object.ptr);
        *out = name == "sep" ? joiner.separator : Value::boolean(joiner.used);
        return Found::kYes;
      }
      return Found::kNo;
    case Kind::kRange:
      if (name == "start" || name == "stop" || name == "step") {
        const RangeObj& range = object.range();
        *out = Value::integer(name == "start"  ? range.start
                              : name == "stop" ? range.stop
                                               : range.step);
        return Found::kYes;
      }
      [[fallthrough]];
    default:
      break;
  }
  const MethodEntry* entry = find_method(object.kind, name);
  if (entry == nullptr) {
    return Found::kNo;
  }
  if (entry->fn == nullptr) {
    return Found::kUnsafe;
  }
  *out = bind_method(object, entry, heap);
  return Found::kYes;
}

// object[key] where that works at all; false where Python raises TypeError or LookupError.
bool subscript(const Value& object, const Value& key, Heap& heap, Value* out) {
  std::int64_t index = 0;
  std::int64_t length = 0;
  if (object.is(Kind::kDict)) {
    const Value* value = is_hashable(key, heap) ? object.dict().find(key, heap) : nullptr;
    if (value != nullptr) {
      *out = *value;
    }
    return value != nullptr;
  }
  const bool sequence = object.is_string() || object.is(Kind::kList) || object.is(Kind::kTuple) ||
                        object.is(Kind::kRange);
  if (!sequence || !to_index(key, &index)) {
    return false;
  }
  if (object.is_string() && !is_ascii(object)) {
    heap.charge_steps(object.size / 64);
  }
  length_of(object, &length);
  index += index < 0 ? length : 0;
  if (index < 0 || index >= length) {
    return false;
  }
  if (object.is(Kind::kRange)) {
    *out = Value::integer(object.range().at(index));
  } else if (!object.is_string()) {
    *out = object.list().items[static_cast<std::size_t>(index)];
  } else if (is_ascii(object)) {
    *out = substring(object, static_cast<std::size_t>(index), 1);
  } else {
    const std::string_view text = object.str();
    const std::size_t begin = byte_offset(text, index);
    std::size_t end = begin;
    next_code_point(text, &end);
    *out = substring(object, begin, end - begin);
  }
  return true;
}

struct SliceRange {
  std::int64_t start;
  std::int64_t stop;
  std::int64_t step;
  std::int64_t count;
};

Result<SliceRange> resolve_slice(std::int64_t length, const Value& start, const Value& stop,
                                 const Value& step) {
  std::int64_t step_by = 1;
  if (!step.is_none() && !to_index(step, &step_by)) {
    return raise("slice indices must be integers or none");
  }
  if (step_by == 0) {
    return raise("slice step cannot be zero");
  }
  step_by = std::max(step_by, -INT64_MAX);
  const auto resolve = [&](const Value& part, std::int64_t absent, std::int64_t* out) {
    if (part.is_none()) {
      *out = absent;
      return true;
    }
    if (!to_index(part, out)) {
      return false;
    }
    const std::int64_t low = step_by < 0 ? -1 : 0;
    const std::int64_t high = step_by < 0 ? length - 1 : length;
    if (*out < 0) {
      *out = *out < -length ? low : std::max(*out + length, low);
    } else {
      *out = std::min(*out, high);
    }
    return true;
  };
  std::int64_t first = 0;
  std::int64_t last = 0;
  if (!resolve(start, step_by < 0 ? length - 1 : 0, &first) ||
      !resolve(stop, step_by < 0 ? -1 : length, &last)) {
    return raise("slice indices must be integers or none");
  }
  std::int64_t count = 0;
  if (step_by > 0 && first < last) {
    count = (last - first - 1) / step_by + 1;
  } else if (step_by < 0 && first > last) {
    count = (first - last - 1) / -step_by + 1;
  }
  return SliceRange{first, last, step_by, count};
}

Value slice_string(const Value& text, const SliceRange& range, Heap& heap) {
  const std::string_view bytes = text.str();
  if (range.step == 1 || range.count == 0) {
    const bool ascii = is_ascii(text);
    const auto begin = ascii ? static_cast<std::size_t>(range.count == 0 ? 0 : range.start)
                             : byte_offset(bytes, range.count == 0 ? 0 : range.start);
    const auto size = ascii ? static_cast<std::size_t>(range.count)
                            : byte_offset(bytes.substr(begin), range.count);
    return substring(text, begin, size);
  }
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < bytes.size();) {
    starts.push_back(at);
    next_code_point(bytes, &at);
  }
  starts.push_back(bytes.size());
  heap.charge_steps(static_cast<std::int64_t>(starts.size()) / 8);
  StrBuilder out(heap);
  for (std::int64_t i = 0; i < range.count && !out.exhausted(); ++i) {
    const auto at = static_cast<std::size_t>(range.start + i * range.step);
    out.append(text, starts[at], starts[at + 1] - starts[at]);
  }
  Value result = out.take();
  result.markup = text.markup;
  return result;
}

}  // namespace

Result<Value> Interpreter::attribute(const Value& object, const Value& name) {
  if (object.is_undefined()) {
    return undefined_error(object);
  }
  Value out;
  PLUMB_ASSIGN(const Found found, python_attribute(object, name, heap_, &out));
  if (found == Found::kYes) {
    return out;
  }
  if (found == Found::kNo && subscript(object, name, heap_, &out)) {
    return out;
  }
  return undefined_attribute(object, name);
}

Result<Value> Interpreter::item(const Value& object, const Value& key) {
  if (object.is_undefined()) {
    return undefined_error(object);
  }
  Value out;
  if (subscript(object, key, heap_, &out)) {
    return out;
  }
  if (key.is_string() && key.size > 0) {
    PLUMB_ASSIGN(const Found found, python_attribute(object, key, heap_, &out));
    if (found == Found::kYes) {
      return out;
    }
  }
  return undefined_attribute(object, key);
}

Result<Value> slice(Interpreter& in, const Value& value, const Value& start, const Value& stop,
                    const Value& step) {
  std::int64_t length = 0;
  const bool sequence = value.is_string() || value.is(Kind::kList) || value.is(Kind::kTuple) ||
                        value.is(Kind::kRange);
  // Unlike other subscripts, a slice that does not work raises.
  if (!sequence) {
    return raise("'" + std::string(type_name(value)) + "' object cannot be sliced");
  }
  length_of(value, &length);
  PLUMB_ASSIGN(const SliceRange range, resolve_slice(length, start, stop, step));
  if (value.is_string()) {
    in.heap().charge_steps(value.size / 256);
    return slice_string(value, range, in.heap());
  }
  if (value.is(Kind::kRange)) {
    auto* out = in.heap().make<RangeObj>();
    out->start = value.range().at(range.start);
    RangeObj steps;
    steps.step = value.range().step;
    out->step = steps.at(range.step);
    out->length = range.count;
    out->stop = value.range().at(range.stop);
    return Value::object(Kind::kRange, out);
  }
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(range.count));
  in.heap().charge_steps(range.count / 16);
  for (std::int64_t i = 0; i < range.count; ++i) {
    items.push_back(value.list().items[static_cast<std::size_t>(range.start + i * range.step)]);
  }
  return in.heap().make_list(std::move(items), value.kind);
}

}  // namespace plumb::jinja
