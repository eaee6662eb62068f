// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <ctime>
#include <limits>

#include "base/clock.h"
#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_operators.h"

namespace plumb::jinja {

namespace {

constexpr std::int64_t kMaxRange = 100'000;

Result<Value> make_range(Interpreter& in, const Args& args) {
  std::array<std::int64_t, 3> numbers = {0, 0, 1};
  const std::size_t count = args.positional.size();
  if (count < 1 || count > 3 || !args.named.empty()) {
    return raise("range takes one to three numbers");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Value& number = args.positional[i];
    if (number.is_undefined() || !to_index(number, &numbers[count == 1 ? 1 : i]) ||
        number.is(Kind::kBigInt)) {
      return raise("range: '" + std::string(type_name(number)) + "' is no usable integer");
    }
  }
  const auto [start, stop, step] = numbers;
  if (step == 0) {
    return raise("range: the step must not be zero");
  }
  const BigInt distance = step > 0 ? BigInt(stop) - BigInt(start) : BigInt(start) - BigInt(stop);
  std::int64_t length = 0;
  if (!distance.is_negative() && !distance.is_zero()) {
    BigInt whole;
    BigInt rest;
    BigInt::divide(distance - BigInt(1), step > 0 ? BigInt(step) : -BigInt(step), &whole, &rest);
    if (!(whole + BigInt(1)).to_int64(&length) || length > kMaxRange) {
      return raise("range is larger than " + std::to_string(kMaxRange));
    }
  }
  auto* range = in.heap().make<RangeObj>();
  range->start = start;
  range->stop = stop;
  range->step = step;
  range->length = length;
  return Value::object(Kind::kRange, range);
}

Status fill_dict(Interpreter& in, const Args& args, std::string_view what, DictObj* out) {
  if (args.positional.size() > 1) {
    return raise(std::string(what) + " takes at most one positional argument");
  }
  if (!args.positional.empty()) {
    const Value& source = args.positional[0];
    if (source.is_undefined()) {
      return Interpreter::undefined_error(source);
    }
    if (source.is(Kind::kDict)) {
      for (const DictEntry& entry : source.dict().items) {
        out->set(entry.key, entry.value, in.heap());
      }
    } else {
      std::vector<Value> pairs;
      PLUMB_RETURN_IF_ERROR(in.collect(source, &pairs));
      for (const Value& item : pairs) {
        std::vector<Value> pair;
        PLUMB_RETURN_IF_ERROR(in.collect(item, &pair));
        if (pair.size() != 2 || !is_hashable(pair[0], in.heap())) {
          return raise(std::string(what) + " needs pairs of a hashable key and a value");
        }
        out->set(pair[0], pair[1], in.heap());
      }
    }
  }
  for (const auto& [key, value] : args.named) {
    out->set(key, value, in.heap());
  }
  return {};
}

Result<Value> make_joiner(Interpreter& in, Args args) {
  PLUMB_RETURN_IF_ERROR(bind(&args, "joiner", {{"sep"}}));
  auto* joiner = in.heap().make<JoinerObj>();
  joiner->separator =
      args.positional[0].is_missing() ? in.heap().make_string(", ", false) : args.positional[0];
  return Value::object(Kind::kJoiner, joiner);
}

Result<Value> make_cycler(Interpreter& in, const Args& args) {
  if (args.positional.empty() || !args.named.empty()) {
    return raise("cycler: at least one item has to be provided");
  }
  auto* cycler = in.heap().make<CyclerObj>();
  cycler->items = args.positional;
  return Value::object(Kind::kCycler, cycler);
}

Result<Value> raise_exception(Interpreter& in, Args args) {
  PLUMB_RETURN_IF_ERROR(bind(&args, "raise_exception", {{"message"}, 1}));
  return raise(std::string(to_str(args.positional[0], in.heap()).str()));
}

// The directives that are not the C library's, or print nothing for a time without zone.
std::string replace_directives(std::string_view format, std::int64_t micros) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out.push_back(format[i]);
      continue;
    }
    const char kind = format[++i];
    if (kind == 'f') {
      const std::string digits = std::to_string(micros);
      out.append(6 - digits.size(), '0').append(digits);
    } else if (kind != 'z' && kind != 'Z') {
      out.append({'%', kind});
    }
  }
  return out;
}

Result<Value> strftime_now(Interpreter& in, Args args) {
  PLUMB_RETURN_IF_ERROR(bind(&args, "strftime_now", {{"format"}, 1}));
  if (!args.positional[0].is_string()) {
    return raise("strftime_now: the format must be a string");
  }
  using std::chrono::system_clock;
  const bool fixed = in.now().has_value();
  const system_clock::time_point now = fixed ? *in.now() : plumb::system_clock().wall_now();
  const std::time_t seconds =
      system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(now));
  const auto micros = std::chrono::floor<std::chrono::microseconds>(now.time_since_epoch()).count();
  std::tm parts{};
  if ((fixed ? gmtime_r(&seconds, &parts) : localtime_r(&seconds, &parts)) == nullptr) {
    return raise("strftime_now: the time cannot be represented");
  }
  // A byte in front keeps an empty result apart from one that did not fit.
  const std::string format =
      "x" +
      replace_directives(args.positional[0].str(), ((micros % 1'000'000) + 1'000'000) % 1'000'000);
  if (format.size() > 4096) {
    return raise("strftime_now: the format is longer than 4096 bytes");
  }
  std::string text(format.size() * 32 + 256, '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &parts));
  return in.heap().make_string(text.empty() ? text : text.substr(1), has_data(args.positional[0]));
}

}  // namespace

Value find_global(std::string_view name) {
  constexpr std::pair<std::string_view, Function> kFunctions[] = {
      {"range", Function::kRange},           {"dict", Function::kDict},
      {"namespace", Function::kNamespace},   {"joiner", Function::kJoiner},
      {"cycler", Function::kCycler},         {"raise_exception", Function::kRaise},
      {"strftime_now", Function::kStrftime}, {"lipsum", Function::kLipsum},
  };
  for (const auto& [key, function] : kFunctions) {
    if (key == name) {
      return Value::integral(Kind::kFunction, static_cast<std::int64_t>(function));
    }
  }
  return Value::missing();
}

Result<Value> call_function(Interpreter& in, Function function, Args args) {
  switch (function) {
    case Function::kRange:
      return make_range(in, args);
    case Function::kDict: {
      auto* dict = in.heap().make<DictObj>();
      PLUMB_RETURN_IF_ERROR(fill_dict(in, args, "dict", dict));
      return Value::object(Kind::kDict, dict);
    }
    case Function::kNamespace: {
      auto* space = in.heap().make<NamespaceObj>();
      PLUMB_RETURN_IF_ERROR(fill_dict(in, args, "namespace", &space->attributes));
      return Value::object(Kind::kNamespace, space);
    }
    case Function::kJoiner:
      return make_joiner(in, std::move(args));
    case Function::kCycler:
      return make_cycler(in, args);
    case Function::kRaise:
      return raise_exception(in, std::move(args));
    case Function::kStrftime:
      return strftime_now(in, std::move(args));
    case Function::kLipsum:
      break;
  }
  return Status(Code::kUnsupported, "lipsum gives random text and is not supported");
}

}  // namespace plumb::jinja
