// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/check.h"
#include "base/mutex.h"
#include "base/text.h"

namespace plumb {
namespace {

bool is_name(std::string_view name, bool colons) {
  const auto is_word = [colons](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (colons && c == ':');
  };
  return !name.empty() && is_word(name.front()) &&
         std::all_of(name.begin(), name.end(), [&is_word](char c) {
           return is_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
         });
}

// The library throws on what this function turns into a check: names are literals of our code.
// Label values may come from outside and are made valid UTF-8.
prometheus::Labels checked(const std::string& name, const MetricLabels& labels) {
  PLUMB_CHECK(is_name(name, true), "metric name '" + name + "'");
  prometheus::Labels result;
  for (const auto& [label, value] : labels) {
    PLUMB_CHECK(is_name(label, false) && !label.starts_with("__") && label != "le", label);
    result[label] = to_valid_utf8(value);
  }
  return result;
}

}  // namespace

void Counter::add(double amount) const {
  if (counter_ != nullptr) {
    counter_->Increment(amount);
  }
}

void Counter::raise_to(double total) const {
  const double missing = total - value();
  if (missing > 0) {
    add(missing);
  }
}

double Counter::value() const {
  return counter_ == nullptr ? 0 : counter_->Value();
}

void Gauge::set(double value) const {
  if (gauge_ != nullptr) {
    gauge_->Set(value);
  }
}

void Gauge::add(double amount) const {
  if (gauge_ != nullptr) {
    gauge_->Increment(amount);
  }
}

double Gauge::value() const {
  return gauge_ == nullptr ? 0 : gauge_->Value();
}

void Histogram::observe(double value) const {
  if (histogram_ != nullptr) {
    histogram_->Observe(value);
  }
}

void Histogram::set(std::span<const std::int64_t> counts, double sum) const {
  if (histogram_ == nullptr) {
    return;
  }
  const auto known = histogram_->Collect().histogram;
  PLUMB_CHECK(known.bucket.size() == counts.size(), "metrics: another number of buckets");
  std::vector<double> more;
  std::uint64_t before = 0;  // the library's counts are cumulative
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::uint64_t known_count = known.bucket[i].cumulative_count - before;
    before = known.bucket[i].cumulative_count;
    more.push_back(static_cast<double>(counts[i]) - static_cast<double>(known_count));
  }
  histogram_->ObserveMultiple(more, sum - known.sample_sum);
}

struct Metrics::Impl {
  template <class T>
  using Families = std::map<std::string, prometheus::Family<T>*>;

  // The family of that name, made by `build` when it is new.
  template <class T, class Build>
  prometheus::Family<T>& family(Families<T>* families, const std::string& name,
                                const std::string& help, Build build) PLUMB_REQUIRES(mutex) {
    const auto found = families->find(name);
    if (found != families->end()) {
      return *found->second;
    }
    PLUMB_CHECK(counters.count(name) + gauges.count(name) + histograms.count(name) == 0,
                "metric " + name + " exists with another kind");
    prometheus::Family<T>& made = build().Name(name).Help(help).Register(registry);
    families->emplace(name, &made);
    return made;
  }

  Mutex mutex;
  prometheus::Registry registry;
  Families<prometheus::Counter> counters PLUMB_GUARDED_BY(mutex);
  Families<prometheus::Gauge> gauges PLUMB_GUARDED_BY(mutex);
  Families<prometheus::Histogram> histograms PLUMB_GUARDED_BY(mutex);
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}

Metrics::~Metrics() = default;

Counter Metrics::counter(const std::string& name, const std::string& help,
                         const MetricLabels& labels) {
  const prometheus::Labels series = checked(name, labels);
  const MutexLock lock(impl_->mutex);
  return Counter(
      &impl_->family(&impl_->counters, name, help, prometheus::BuildCounter).Add(series));
}

Gauge Metrics::gauge(const std::string& name, const std::string& help, const MetricLabels& labels) {
  const prometheus::Labels series = checked(name, labels);
  const MutexLock lock(impl_->mutex);
  return Gauge(&impl_->family(&impl_->gauges, name, help, prometheus::BuildGauge).Add(series));
}

Histogram Metrics::histogram(const std::string& name, const std::string& help,
                             const std::vector<double>& bounds, const MetricLabels& labels) {
  PLUMB_CHECK(std::is_sorted(bounds.begin(), bounds.end(), std::less_equal<>()),
              "bucket bounds of metric " + name + " do not ascend");
  const prometheus::Labels series = checked(name, labels);
  const MutexLock lock(impl_->mutex);
  return Histogram(&impl_->family(&impl_->histograms, name, help, prometheus::BuildHistogram)
                        .Add(series, bounds));
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace plumb
