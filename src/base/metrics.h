// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace plumb {

/// Label names and values of one time series.
using MetricLabels = std::map<std::string, std::string>;

/// A count that only grows. A default-constructed handle ignores what it is told.
/// Ownership: refers to its Metrics, which outlives it. Thread: any. Cost: one atomic operation.
class Counter {
 public:
  Counter() = default;

  explicit Counter(prometheus::Counter* counter) : counter_(counter) {}

  /// Requires amount >= 0.
  void add(double amount = 1) const;
  /// Catches up with a total that is counted elsewhere; a smaller one changes nothing.
  /// Thread: one at a time for one series.
  void raise_to(double total) const;
  double value() const;  ///< 0 for a handle of nothing

 private:
  prometheus::Counter* counter_ = nullptr;
};

/// A value that goes up and down; else as Counter.
class Gauge {
 public:
  Gauge() = default;

  explicit Gauge(prometheus::Gauge* gauge) : gauge_(gauge) {}

  void set(double value) const;
  void add(double amount) const;
  double value() const;

 private:
  prometheus::Gauge* gauge_ = nullptr;
};

/// A distribution in fixed buckets; else as Counter.
class Histogram {
 public:
  Histogram() = default;

  explicit Histogram(prometheus::Histogram* histogram) : histogram_(histogram) {}

  void observe(double value) const;

  /// Takes over what somebody else has counted: observations in each bucket alone, the one without
  /// a bound last, and their sum. Requires none is less than at the last call.
  void set(std::span<const std::int64_t> counts, double sum) const;

 private:
  prometheus::Histogram* histogram_ = nullptr;
};

/// One measured quantity, shown by a histogram for each of its names.
/// Thread: add() before anybody observes; observe() any.
class Measure {
 public:
  void add(Histogram histogram) { histograms_.push_back(histogram); }

  void observe(double value) const {
    for (const Histogram& histogram : histograms_) {
      histogram.observe(value);
    }
  }

 private:
  std::vector<Histogram> histograms_;
};

/// The metrics of one server; made once and passed to whoever counts.
///
/// Asking twice for the same name and labels gives the same series.
/// Requires  names match [a-zA-Z_:][a-zA-Z0-9_:]*, label names [a-zA-Z_][a-zA-Z0-9_]*; one name has
///           one kind, one help text and (histograms) one list of buckets.
/// Thread    any.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter counter(const std::string& name, const std::string& help,
                  const MetricLabels& labels = {});
  Gauge gauge(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  /// Requires bucket bounds ascend strictly.
  Histogram histogram(const std::string& name, const std::string& help,
                      const std::vector<double>& bounds, const MetricLabels& labels = {});

  /// Everything in the Prometheus text format 0.0.4.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plumb
