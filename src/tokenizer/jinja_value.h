// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tokenizer/jinja_bigint.h"

namespace plumb::jinja {

inline constexpr int kMaxNesting = 400;  ///< of compared or hashed containers

enum class Kind : unsigned char {
  kMissing,  ///< an argument that was not given; never seen by a template
  kUndefined,
  kNone,
  kBool,
  kInt,
  kBigInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kDictView,
  kRange,
  kIterator,
  kNamespace,
  kLoop,
  kMacro,
  kJoiner,
  kCycler,
  kMethod,
  kFunction,
};

/// The bytes behind one or more string values, with the origin of each.
///
/// Origins alternate at each position in `toggles`, starting with template text at 0: [] is all
/// template text, [0] all data. A growing buffer only appends, so views by offset stay valid.
struct StrBuf {
  std::string own;
  std::string_view outside;  ///< used instead of own when frozen
  std::vector<std::uint32_t> toggles;
  std::uint32_t ascii_end = 0;  ///< bytes before this are known to be ASCII
  bool frozen = false;          ///< may not be appended to

  std::string_view view() const { return frozen ? outside : std::string_view(own); }
};

/// Everything on the heap of one rendering.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  std::uint64_t sequence = 0;  ///< order of creation: contents are older than their container
};

struct ListObj;
struct DictObj;
struct RangeObj;
struct ViewObj;
struct IteratorObj;
struct MethodObj;

/// A value of the template language; copying copies a reference to shared contents.
///
/// Ownership  the Heap of the rendering (or the template, for constants) owns what it points to.
struct Value {
  Kind kind = Kind::kUndefined;
  bool markup = false;      ///< string: marked safe
  std::uint32_t begin = 0;  ///< string: first byte in the buffer; undefined: Kind of the owner
  std::uint32_t size = 0;   ///< string: bytes

  union {
    std::int64_t i = 0;
    double f;
    StrBuf* text;  ///< string; undefined: the name, or null
    Object* ptr;
  };

  bool is(Kind k) const { return kind == k; }

  bool is_undefined() const { return kind == Kind::kUndefined; }

  bool is_none() const { return kind == Kind::kNone; }

  bool is_string() const { return kind == Kind::kString; }

  bool is_missing() const { return kind == Kind::kMissing; }

  bool is_integer() const { return kind == Kind::kInt || kind == Kind::kBigInt; }  ///< no booleans

  bool is_int_like() const { return is_integer() || kind == Kind::kBool; }

  bool is_number() const { return is_int_like() || kind == Kind::kFloat; }

  bool is_true() const { return kind == Kind::kBool && i != 0; }  ///< the constant itself

  std::string_view str() const { return text->view().substr(begin, size); }

  ListObj& list() const;  ///< of a list or a tuple
  DictObj& dict() const;
  RangeObj& range() const;
  ViewObj& view() const;
  IteratorObj& iterator() const;
  const BigInt& big() const;

  static Value none() { return of(Kind::kNone); }

  static Value missing() { return of(Kind::kMissing); }

  static Value boolean(bool b) { return integral(Kind::kBool, b ? 1 : 0); }

  static Value integer(std::int64_t n) { return integral(Kind::kInt, n); }

  static Value floating(double d) {
    Value v = of(Kind::kFloat);
    v.f = d;
    return v;
  }

  static Value object(Kind kind, Object* ptr) {
    Value v = of(kind);
    v.ptr = ptr;
    return v;
  }

  static Value string(StrBuf* text, std::size_t begin, std::size_t size) {
    Value v = of(Kind::kString);
    v.text = text;
    v.begin = static_cast<std::uint32_t>(begin);
    v.size = static_cast<std::uint32_t>(size);
    return v;
  }

  static Value integral(Kind kind, std::int64_t n) {
    Value v = of(kind);
    v.i = n;
    return v;
  }

 private:
  static Value of(Kind kind) {
    Value v;
    v.kind = kind;
    return v;
  }
};

struct BigObj : Object {
  BigInt value;
};

struct ListObj : Object {
  std::vector<Value> items;
};

struct DictEntry {
  Value key;
  Value value;
};

class Heap;

/// Insertion-ordered; keys are hashable values.
struct DictObj : Object {
  std::vector<DictEntry> items;

  Value* find(const Value& key, Heap& heap);
  Value* find(std::string_view key);
  void set(const Value& key, const Value& value, Heap& heap);

 private:
  std::unordered_multimap<std::uint64_t, std::uint32_t> index_;  ///< only for larger dicts
  std::int64_t position(const Value& key, std::uint64_t hash, Heap& heap);
};

struct RangeObj : Object {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t stop = 0;  ///< as written, for printing
  std::int64_t length = 0;

  /// Wraps on overflow, which only an index outside the range can cause.
  std::int64_t at(std::int64_t index) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                     static_cast<std::uint64_t>(step) *
                                         static_cast<std::uint64_t>(index));
  }
};

enum class ViewKind : unsigned char { kKeys, kValues, kItems };

struct ViewObj : Object {
  DictObj* dict = nullptr;
  ViewKind which = ViewKind::kKeys;
};

/// A one-shot sequence (what filters such as map give): its items, then possibly an error.
struct IteratorObj : Object {
  std::vector<Value> items;
  std::int64_t position = 0;
  Status error;
};

struct NamespaceObj : Object {
  DictObj attributes;
};

struct JoinerObj : Object {
  Value separator;
  bool used = false;
};

struct CyclerObj : Object {
  std::vector<Value> items;
  std::int64_t position = 0;
};

/// Owns the objects of one rendering and counts what it costs.
///
/// Thread: one. A heap that is exhausted keeps working for small objects but drops long text; the
/// interpreter turns the flag into an error at its next step.
class Heap {
 public:
  Heap(std::int64_t max_bytes, std::int64_t max_steps)
      : bytes_left_(max_bytes), steps_left_(max_steps) {}

  template <class T>
  T* make() {
    auto owned = std::make_unique<T>();
    T* raw = owned.get();
    raw->sequence = ++sequence_;
    objects_.push_back(std::move(owned));
    charge_bytes(static_cast<std::int64_t>(sizeof(T)) + 16);
    return raw;
  }

  StrBuf* make_buffer();
  Value make_string(std::string_view text, bool data);
  /// A view of text that outlives the rendering; nothing is copied.
  Value borrow_string(std::string_view text, bool data);
  Value make_list(std::vector<Value> items, Kind kind = Kind::kList);
  Value make_integer(const BigInt& value);  ///< a plain integer if it fits
  Value make_iterator(std::vector<Value> items, Status error = {});

  /// True if that much more may be allocated at once.
  bool has_room(std::int64_t bytes) const { return bytes >= 0 && bytes <= bytes_left_; }

  void charge_bytes(std::int64_t bytes) { bytes_left_ -= bytes; }

  void charge_steps(std::int64_t steps) { steps_left_ -= steps; }

  bool exhausted() const { return bytes_left_ < 0 || steps_left_ < 0; }

  bool out_of_steps() const { return steps_left_ < 0; }

 private:
  std::vector<std::unique_ptr<Object>> objects_;
  std::vector<std::unique_ptr<StrBuf>> buffers_;
  std::int64_t bytes_left_;
  std::int64_t steps_left_;
  std::uint64_t sequence_ = 0;
};

/// Builds a string and keeps the origin of each byte.
class StrBuilder {
 public:
  explicit StrBuilder(Heap& heap) : heap_(heap), buf_(heap.make_buffer()) {}

  void append(std::string_view text, bool data);
  /// Bytes [begin, begin + size) of a string value, with their origins.
  void append(const Value& string, std::size_t begin, std::size_t size);

  void append(const Value& string) { append(string, 0, string.size); }

  std::size_t size() const { return buf_->own.size(); }

  const StrBuf& buffer() const { return *buf_; }

  bool exhausted() const { return heap_.exhausted(); }

  Value take() const { return Value::string(buf_, 0, buf_->own.size()); }

 private:
  Heap& heap_;
  StrBuf* buf_;
};

/// left followed by right; appends in place where left ends its buffer, so that growing a string
/// piece by piece is linear.
Value concatenate(const Value& left, const Value& right, Heap& heap);
/// A part of a string value, sharing its bytes. Requires begin + size within it.
Value substring(const Value& string, std::size_t begin, std::size_t size);
/// True if any byte of a string value came from data.
bool has_data(const Value& string);
/// Whether the byte at `at` (offset in the string value) came from data.
bool is_data_at(const Value& string, std::size_t at);
bool is_ascii(const Value& string);

bool truthy(const Value& value);
/// Python's type name, for messages ("str", "int", ...).
std::string_view type_name(const Value& value);
bool equals(const Value& a, const Value& b, Heap& heap, int depth = 0);
bool is_hashable(const Value& value, Heap& heap, int depth = 0);
std::uint64_t hash_value(const Value& value, Heap& heap, int depth = 0);
bool same_object(const Value& a, const Value& b);
/// Number of elements; false if the value has no length.
bool length_of(const Value& value, std::int64_t* out);

/// What printing the value gives (Python's str) and what it looks like in a container (repr).
void append_str(StrBuilder* out, const Value& value);
void append_repr(StrBuilder* out, const Value& value, int depth = 0);
Value to_str(const Value& value, Heap& heap);  ///< strings are returned as they are
std::string float_text(double value);          ///< Python's repr of a float
/// Decimal digits of an integer or boolean-as-integer.
std::string integer_text(const Value& value);

inline Status raise(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

}  // namespace plumb::jinja
