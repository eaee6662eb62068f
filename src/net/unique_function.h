// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace plumb {

template <class Signature>
class UniqueFunction;

/// A callable that is moved, never copied, so that it may own streams, promises and leases.
///
/// Requires a call is made only on a non-empty function. Cost: one allocation when built.
template <class R, class... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;

  UniqueFunction(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): f = nullptr;

  template <class F>

  requires(!std::same_as<std::remove_cvref_t<F>, UniqueFunction> &&
           std::is_invocable_r_v<R, F&, Args...>)
      UniqueFunction(F f)  // NOLINT(google-explicit-constructor): pass a lambda
      : callable_(std::make_unique<Holder<F>>(std::move(f))) {}

  R operator()(Args... args) { return callable_->call(std::forward<Args>(args)...); }

  explicit operator bool() const { return callable_ != nullptr; }

 private:
  struct Callable {
    virtual ~Callable() = default;
    virtual R call(Args... args) = 0;
  };

  template <class F>
  struct Holder final : Callable {
    explicit Holder(F f) : f_(std::move(f)) {}

    R call(Args... args) override { return f_(std::forward<Args>(args)...); }

    F f_;
  };

  std::unique_ptr<Callable> callable_;
};

}  // namespace plumb
