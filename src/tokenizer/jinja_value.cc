// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_value.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tokenizer/jinja_number.h"
#include "tokenizer/jinja_text.h"

namespace plumb::jinja {

namespace {

constexpr std::size_t kSmallDict = 8;    // up to here a linear search is faster than an index
constexpr std::int64_t kWorkUnit = 64;   // bytes or elements compared in one step of the budget
constexpr std::int64_t kTextUnit = 256;  // bytes copied in one step

std::size_t first_toggle_after(const StrBuf& buf, std::size_t at) {
  const auto it =
      std::upper_bound(buf.toggles.begin(), buf.toggles.end(), static_cast<std::uint32_t>(at));
  return static_cast<std::size_t>(it - buf.toggles.begin());
}

void set_origin(StrBuf* buf, bool data) {
  const bool current = buf->toggles.size() % 2 == 1;
  if (current == data) {
    return;
  }
  const auto at = static_cast<std::uint32_t>(buf->own.size());
  if (!buf->toggles.empty() && buf->toggles.back() == at) {
    buf->toggles.pop_back();
  } else {
    buf->toggles.push_back(at);
  }
}

bool equal_lists(const ListObj& a, const ListObj& b, Heap& heap, int depth) {
  if (a.items.size() != b.items.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!equals(a.items[i], b.items[i], heap, depth + 1)) {
      return false;
    }
  }
  return true;
}

bool equal_dicts(const DictObj& a, DictObj& b, Heap& heap, int depth) {
  if (a.items.size() != b.items.size()) {
    return false;
  }
  for (const DictEntry& entry : a.items) {
    const Value* other = b.find(entry.key, heap);
    if (other == nullptr || !equals(entry.value, *other, heap, depth + 1)) {
      return false;
    }
  }
  return true;
}

bool equal_ranges(const RangeObj& a, const RangeObj& b) {
  if (a.length != b.length || a.length == 0) {
    return a.length == b.length;
  }
  return a.start == b.start && (a.length == 1 || a.step == b.step);
}

bool equal_views(const ViewObj& a, const ViewObj& b, Heap& heap, int depth) {
  if (&a == &b) {
    return true;
  }
  if (a.which != b.which || a.which == ViewKind::kValues ||
      a.dict->items.size() != b.dict->items.size()) {
    return false;
  }
  if (a.which == ViewKind::kItems) {
    return equal_dicts(*a.dict, *b.dict, heap, depth);
  }
  return std::all_of(a.dict->items.begin(), a.dict->items.end(), [&](const DictEntry& entry) {
    return b.dict->find(entry.key, heap) != nullptr;
  });
}

std::uint64_t mix(std::uint64_t h) {
  h ^= h >> 33U;
  h *= 0xff51afd7ed558ccdULL;
  h ^= h >> 33U;
  return h;
}

}  // namespace

ListObj& Value::list() const {
  return *static_cast<ListObj*>(ptr);
}

DictObj& Value::dict() const {
  return *static_cast<DictObj*>(ptr);
}

RangeObj& Value::range() const {
  return *static_cast<RangeObj*>(ptr);
}

ViewObj& Value::view() const {
  return *static_cast<ViewObj*>(ptr);
}

IteratorObj& Value::iterator() const {
  return *static_cast<IteratorObj*>(ptr);
}

const BigInt& Value::big() const {
  return static_cast<BigObj*>(ptr)->value;
}

StrBuf* Heap::make_buffer() {
  buffers_.push_back(std::make_unique<StrBuf>());
  charge_bytes(static_cast<std::int64_t>(sizeof(StrBuf)));
  return buffers_.back().get();
}

Value Heap::make_string(std::string_view text, bool data) {
  StrBuf* buf = make_buffer();
  charge_bytes(static_cast<std::int64_t>(text.size()));
  buf->own = text;
  if (data) {
    buf->toggles.push_back(0);
  }
  return Value::string(buf, 0, text.size());
}

Value Heap::borrow_string(std::string_view text, bool data) {
  StrBuf* buf = make_buffer();
  buf->outside = text;
  buf->frozen = true;
  if (data) {
    buf->toggles.push_back(0);
  }
  return Value::string(buf, 0, text.size());
}

Value Heap::make_list(std::vector<Value> items, Kind kind) {
  auto* list = make<ListObj>();
  charge_bytes(static_cast<std::int64_t>(items.size() * sizeof(Value)));
  list->items = std::move(items);
  return Value::object(kind, list);
}

Value Heap::make_integer(const BigInt& value) {
  std::int64_t small = 0;
  if (value.to_int64(&small)) {
    return Value::integer(small);
  }
  auto* big = make<BigObj>();
  charge_bytes(value.num_bits() / 8);
  big->value = value;
  return Value::object(Kind::kBigInt, big);
}

Value Heap::make_iterator(std::vector<Value> items, Status error) {
  auto* iterator = make<IteratorObj>();
  charge_bytes(static_cast<std::int64_t>(items.size() * sizeof(Value)));
  iterator->items = std::move(items);
  iterator->error = std::move(error);
  return Value::object(Kind::kIterator, iterator);
}

void StrBuilder::append(std::string_view text, bool data) {
  if (text.empty()) {
    return;
  }
  heap_.charge_bytes(static_cast<std::int64_t>(text.size()));
  heap_.charge_steps(1 + static_cast<std::int64_t>(text.size()) / kTextUnit);
  if (heap_.exhausted()) {
    return;
  }
  set_origin(buf_, data);
  buf_->own.append(text);
}

void StrBuilder::append(const Value& string, std::size_t begin, std::size_t size) {
  const StrBuf& from = *string.text;
  std::size_t at = string.begin + begin;
  const std::size_t end = at + size;
  for (std::size_t toggle = first_toggle_after(from, at); at < end; ++toggle) {
    const std::size_t next =
        toggle < from.toggles.size() ? std::min<std::size_t>(from.toggles[toggle], end) : end;
    append(from.view().substr(at, next - at), toggle % 2 == 1);
    at = next;
  }
}

Value concatenate(const Value& left, const Value& right, Heap& heap) {
  if (left.size == 0) {
    return Value::string(right.text, right.begin, right.size);
  }
  StrBuf* buf = left.text;
  const std::size_t end = left.begin + left.size;
  const bool in_place = !buf->frozen && end == buf->own.size() && buf != right.text;
  if (!in_place) {
    StrBuilder out(heap);
    out.append(left);
    out.append(right);
    return out.take();
  }
  const StrBuf& from = *right.text;
  std::size_t at = right.begin;
  const std::size_t stop = at + right.size;
  heap.charge_bytes(right.size);
  heap.charge_steps(right.size / kTextUnit);
  if (heap.exhausted()) {
    return left;
  }
  for (std::size_t toggle = first_toggle_after(from, at); at < stop; ++toggle) {
    const std::size_t next =
        toggle < from.toggles.size() ? std::min<std::size_t>(from.toggles[toggle], stop) : stop;
    set_origin(buf, toggle % 2 == 1);
    buf->own.append(from.view().substr(at, next - at));
    at = next;
  }
  return Value::string(buf, left.begin, buf->own.size() - left.begin);
}

Value substring(const Value& string, std::size_t begin, std::size_t size) {
  Value out = Value::string(string.text, string.begin + begin, size);
  out.markup = string.markup;
  return out;
}

bool is_data_at(const Value& string, std::size_t at) {
  return first_toggle_after(*string.text, string.begin + at) % 2 == 1;
}

bool has_data(const Value& string) {
  if (string.size == 0) {
    return false;
  }
  const StrBuf& buf = *string.text;
  const std::size_t toggle = first_toggle_after(buf, string.begin);
  return toggle % 2 == 1 ||
         (toggle < buf.toggles.size() && buf.toggles[toggle] < string.begin + string.size);
}

bool is_ascii(const Value& string) {
  StrBuf& buf = *string.text;
  const std::string_view all = buf.view();
  const std::size_t end = string.begin + string.size;
  const auto plain = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (end <= buf.ascii_end) {
    return true;
  }
  // The watermark belongs to frozen text too, which threads share when it is a template's constant:
  // only text of this rendering is remembered.
  if (!buf.frozen && string.begin <= buf.ascii_end) {
    std::size_t at = buf.ascii_end;
    while (at < end && plain(all[at])) {
      ++at;
    }
    buf.ascii_end = static_cast<std::uint32_t>(at);
    return at == end;
  }
  const std::string_view part = string.str();
  return std::all_of(part.begin(), part.end(), plain);
}

bool truthy(const Value& value) {
  switch (value.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.i != 0;
    case Kind::kFloat:
      return value.f != 0;
    case Kind::kString:
      return value.size != 0;
    case Kind::kIterator:
    case Kind::kBigInt:
      return true;
    default: {
      std::int64_t length = 1;
      return !length_of(value, &length) || length != 0;
    }
  }
}

std::string_view type_name(const Value& value) {
  switch (value.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
    case Kind::kBigInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return value.markup ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kDictView:
      return "dict view";
    case Kind::kRange:
      return "range";
    case Kind::kIterator:
      return "generator";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kMacro:
      return "Macro";
    case Kind::kJoiner:
      return "Joiner";
    case Kind::kCycler:
      return "Cycler";
    case Kind::kMethod:
      return "method";
    case Kind::kFunction:
      return "function";
  }
  return "object";
}

bool length_of(const Value& value, std::int64_t* out) {
  switch (value.kind) {
    case Kind::kUndefined:
      *out = 0;
      return true;
    case Kind::kString:
      *out = is_ascii(value) ? value.size : num_code_points(value.str());
      return true;
    case Kind::kList:
    case Kind::kTuple:
      *out = static_cast<std::int64_t>(value.list().items.size());
      return true;
    case Kind::kDict:
      *out = static_cast<std::int64_t>(value.dict().items.size());
      return true;
    case Kind::kDictView:
      *out = static_cast<std::int64_t>(value.view().dict->items.size());
      return true;
    case Kind::kRange:
      *out = value.range().length;
      return true;
    default:
      return false;
  }
}

bool same_object(const Value& a, const Value& b) {
  if (a.kind != b.kind) {
    return false;
  }
  switch (a.kind) {
    case Kind::kNone:
      return true;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFunction:
      return a.i == b.i;
    case Kind::kString:
      return a.markup == b.markup && a.str() == b.str();
    case Kind::kFloat:
    case Kind::kUndefined:
    case Kind::kMethod:
      return false;
    default:
      return a.ptr == b.ptr;
  }
}

bool equals(const Value& a, const Value& b, Heap& heap, int depth) {
  heap.charge_steps(1);
  if (depth > kMaxNesting || heap.exhausted()) {
    return false;
  }
  if (a.is_number() && b.is_number()) {
    return compare_numbers(a, b) == Ordering::kEqual;
  }
  if (a.kind != b.kind) {
    return false;
  }
  switch (a.kind) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      if (a.size != b.size) {
        return false;
      }
      heap.charge_steps(a.size / kWorkUnit);
      return a.str() == b.str();
    case Kind::kList:
    case Kind::kTuple:
      return a.ptr == b.ptr || equal_lists(a.list(), b.list(), heap, depth);
    case Kind::kDict:
      return a.ptr == b.ptr || equal_dicts(a.dict(), b.dict(), heap, depth);
    case Kind::kRange:
      return equal_ranges(a.range(), b.range());
    case Kind::kDictView:
      return equal_views(a.view(), b.view(), heap, depth);
    default:
      return same_object(a, b);
  }
}

bool is_hashable(const Value& value, Heap& heap, int depth) {
  heap.charge_steps(1);
  switch (value.kind) {
    case Kind::kList:
    case Kind::kDict:
    case Kind::kDictView:
      return false;
    case Kind::kTuple:
      return depth <= kMaxNesting && !heap.exhausted() &&
             std::all_of(
                 value.list().items.begin(), value.list().items.end(),
                 [&heap, depth](const Value& item) { return is_hashable(item, heap, depth + 1); });
    default:
      return true;
  }
}

std::uint64_t hash_value(const Value& value, Heap& heap, int depth) {
  heap.charge_steps(1);
  switch (value.kind) {
    case Kind::kBool:
    case Kind::kInt:
      return mix(static_cast<std::uint64_t>(value.i));
    case Kind::kFloat: {
      const double d = value.f;
      if (d == std::floor(d) && std::fabs(d) < 9.2e18) {
        return mix(static_cast<std::uint64_t>(static_cast<std::int64_t>(d)));
      }
      return std::hash<double>()(d);
    }
    case Kind::kBigInt:
      return std::hash<double>()(value.big().to_double());
    case Kind::kString:
      return std::hash<std::string_view>()(value.str());
    case Kind::kTuple: {
      std::uint64_t h = value.list().items.size();
      for (const Value& item : value.list().items) {
        if (heap.exhausted() || depth > kMaxNesting) {
          break;
        }
        h = mix(h * 31 + hash_value(item, heap, depth + 1));
      }
      return h;
    }
    case Kind::kRange:
      return mix(static_cast<std::uint64_t>(value.range().length));
    case Kind::kNone:
    case Kind::kUndefined:
      return static_cast<std::uint64_t>(value.kind);
    default:
      return mix(static_cast<std::uint64_t>(value.i));
  }
}

std::int64_t DictObj::position(const Value& key, std::uint64_t hash, Heap& heap) {
  if (items.size() <= kSmallDict) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (equals(items[i].key, key, heap)) {
        return static_cast<std::int64_t>(i);
      }
    }
    return -1;
  }
  const auto [first, last] = index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (equals(items[it->second].key, key, heap)) {
      return it->second;
    }
  }
  return -1;
}

Value* DictObj::find(const Value& key, Heap& heap) {
  const std::uint64_t hash = items.size() <= kSmallDict ? 0 : hash_value(key, heap);
  const std::int64_t at = position(key, hash, heap);
  return at < 0 ? nullptr : &items[static_cast<std::size_t>(at)].value;
}

Value* DictObj::find(std::string_view key) {
  if (items.size() <= kSmallDict) {
    for (DictEntry& entry : items) {
      if (entry.key.is_string() && entry.key.str() == key) {
        return &entry.value;
      }
    }
    return nullptr;
  }
  const auto [first, last] = index_.equal_range(std::hash<std::string_view>()(key));
  for (auto it = first; it != last; ++it) {
    DictEntry& entry = items[it->second];
    if (entry.key.is_string() && entry.key.str() == key) {
      return &entry.value;
    }
  }
  return nullptr;
}

void DictObj::set(const Value& key, const Value& value, Heap& heap) {
  const bool indexed = items.size() > kSmallDict;
  const std::uint64_t hash = indexed ? hash_value(key, heap) : 0;
  const std::int64_t at = position(key, hash, heap);
  if (at >= 0) {
    items[static_cast<std::size_t>(at)].value = value;
    return;
  }
  heap.charge_bytes(sizeof(DictEntry));
  items.push_back({key, value});
  if (indexed) {
    index_.emplace(hash, static_cast<std::uint32_t>(items.size() - 1));
  } else if (items.size() > kSmallDict) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      index_.emplace(hash_value(items[i].key, heap), static_cast<std::uint32_t>(i));
    }
  }
}

}  // namespace plumb::jinja
