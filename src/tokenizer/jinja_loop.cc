// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_interpreter.h"
#include "tokenizer/jinja_predicates.h"
#include "tokenizer/jinja_text.h"

namespace plumb::jinja {

Result<Iteration> Iteration::over(const Value& value) {
  if (!is_iterable(value)) {
    return raise("'" + std::string(type_name(value)) + "' object is not iterable");
  }
  Iteration out;
  out.source_ = value;
  return out;
}

Result<bool> Iteration::next(Value* out, Heap& heap) {
  const auto at = static_cast<std::size_t>(at_);
  switch (source_.kind) {
    case Kind::kString: {
      if (at >= source_.size) {
        return false;
      }
      std::size_t end = at;
      next_code_point(source_.str(), &end);
      *out = substring(source_, at, end - at);
      out->markup = false;
      at_ = static_cast<std::int64_t>(end);
      return true;
    }
    case Kind::kList:
    case Kind::kTuple: {
      const std::vector<Value>& items = source_.list().items;
      if (at >= items.size()) {
        return false;
      }
      *out = items[at];
      break;
    }
    case Kind::kDict:
    case Kind::kDictView: {
      const bool keys = source_.is(Kind::kDict) || source_.view().which == ViewKind::kKeys;
      const DictObj& dict = source_.is(Kind::kDict) ? source_.dict() : *source_.view().dict;
      if (at >= dict.items.size()) {
        return false;
      }
      const DictEntry& entry = dict.items[at];
      if (!keys && source_.view().which == ViewKind::kItems) {
        *out = heap.make_list({entry.key, entry.value}, Kind::kTuple);
      } else {
        *out = keys ? entry.key : entry.value;
      }
      break;
    }
    case Kind::kRange:
      if (at_ >= source_.range().length) {
        return false;
      }
      *out = Value::integer(source_.range().at(at_));
      break;
    case Kind::kIterator: {
      IteratorObj& iterator = source_.iterator();
      const auto position = static_cast<std::size_t>(iterator.position);
      if (position >= iterator.items.size()) {
        const Status error = std::exchange(iterator.error, Status());
        return error.ok() ? Result<bool>(false) : Result<bool>(error);
      }
      *out = iterator.items[position];
      ++iterator.position;
      break;
    }
    case Kind::kLoop: {
      auto& loop = *static_cast<LoopObj*>(source_.ptr);
      PLUMB_ASSIGN(const bool more, loop.advance());
      *out = heap.make_list({loop.current, source_}, Kind::kTuple);
      return more;
    }
    default:
      return false;
  }
  ++at_;
  return true;
}

Result<bool> ItemSource::next(Value* out) {
  while (true) {
    PLUMB_ASSIGN(const bool more, iteration.next(out, interpreter->heap()));
    if (!more || node->test == nullptr) {
      return more;
    }
    Scope* inner = interpreter->new_scope(scope);
    PLUMB_RETURN_IF_ERROR(interpreter->assign(*node->target, *out, inner));
    PLUMB_ASSIGN(const Value keep, interpreter->eval_in(*node->test, inner));
    if (truthy(keep)) {
      return true;
    }
  }
}

Result<bool> LoopObj::peek(Value* out) {
  if (ahead_at < ahead.size()) {
    *out = ahead[ahead_at];
    return true;
  }
  ahead.clear();
  ahead_at = 0;
  PLUMB_ASSIGN(const bool more, source.next(out));
  if (more) {
    ahead.push_back(*out);
  }
  return more;
}

Result<bool> LoopObj::advance() {
  Value value;
  bool more = ahead_at < ahead.size();
  if (more) {
    value = ahead[ahead_at++];
  } else {
    PLUMB_ASSIGN(more, source.next(&value));
  }
  if (more) {
    ++index0;
    before = current;
    current = value;
  }
  return more;
}

Result<std::int64_t> LoopObj::length() {
  if (known_length >= 0) {
    return known_length;
  }
  if (source.node->test == nullptr && length_of(iterable, &known_length)) {
    return known_length;
  }
  Value value;
  while (true) {
    PLUMB_ASSIGN(const bool more, source.next(&value));
    if (!more) {
      break;
    }
    source.interpreter->heap().charge_bytes(sizeof(Value));
    ahead.push_back(value);
  }
  known_length = static_cast<std::int64_t>(ahead.size() - ahead_at) + index0 + 1;
  return known_length;
}

std::string LoopObj::to_text() {
  const Result<std::int64_t> total = length();
  return "<LoopContext " + std::to_string(index0 + 1) + "/" +
         std::to_string(total.ok() ? total.value() : 0) + ">";
}

Result<Value> LoopObj::attribute(std::string_view name, Heap& heap, bool* found) {
  *found = true;
  if (name == "index" || name == "index0" || name == "depth" || name == "depth0") {
    const std::int64_t base = name[0] == 'i' ? index0 : depth0;
    return Value::integer(base + (name.back() == '0' ? 0 : 1));
  }
  if (name == "first") {
    return Value::boolean(index0 == 0);
  }
  if (name == "previtem") {
    return index0 == 0 ? Value() : before;
  }
  if (name == "last" || name == "nextitem") {
    Value next;
    PLUMB_ASSIGN(const bool more, peek(&next));
    return name == "last" ? Value::boolean(!more) : more ? next : Value();
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    PLUMB_ASSIGN(const std::int64_t total, length());
    return Value::integer(name == "length" ? total : total - index0 - (name.back() == '0' ? 1 : 0));
  }
  static constexpr MethodEntry kCycle = {
      "cycle",
      [](Interpreter&, const Value& self, const Args& args) -> Result<Value> {
        if (args.positional.empty() || !args.named.empty()) {
          return raise("loop.cycle needs items to cycle through");
        }
        const auto& loop = *static_cast<LoopObj*>(self.ptr);
        return args.positional[static_cast<std::size_t>(loop.index0) % args.positional.size()];
      },
      {{}, 0, false, true}};
  static constexpr MethodEntry kChanged = {
      "changed",
      [](Interpreter& in, const Value& self, const Args& args) -> Result<Value> {
        auto& loop = *static_cast<LoopObj*>(self.ptr);
        const Value now = in.heap().make_list(args.positional, Kind::kTuple);
        const bool same = equals(loop.last_changed, now, in.heap());
        loop.last_changed = now;
        return Value::boolean(!same);
      },
      {{}, 0, false, true}};
  if (name == "cycle" || name == "changed") {
    auto* method = heap.make<MethodObj>();
    method->self = Value::object(Kind::kLoop, this);
    method->entry = name == "cycle" ? &kCycle : &kChanged;
    return Value::object(Kind::kMethod, method);
  }
  *found = false;
  return Value();
}

}  // namespace plumb::jinja
