// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ops/backend.h"
#include "tensor/tensor.h"

namespace plumb {

/// Where a tensor of a case lies in its buffer: `lead` elements before it and `gap` elements
/// between its rows, all NaN (or -1), as if it were some columns of a wider matrix.
struct CasePlacement {
  std::int64_t gap = 0;
  std::int64_t lead = 0;
};

/// How far a result may be from the expected value e: |got - e| <= absolute + relative |e| +
/// element[i].
struct CaseTolerance {
  double absolute = 0.0;
  double relative = 0.0;
  std::vector<double> element = {};  ///< one per element, or empty
  double mean = 0.0;                 ///< bound of the mean error; 0 = none
};

/// A result of a case as read back from the device.
struct CaseOutput {
  std::string name;
  Shape shape;
  std::vector<double> values;
  CaseTolerance tolerance;
  std::vector<double> expected;  ///< worked by hand; empty = what the reference gives
};

/// Memory of one back end for one run of a case, with traps: rows have NaN gaps, every buffer ends
/// in guard bytes, and what is no result must keep its bytes.
///
/// After a first error (no memory, a format without kernel) all calls do nothing; status() tells.
/// Thread: one at a time.
class CaseDevice {
 public:
  CaseDevice(Backend& backend, Stream& stream) : backend_(backend), stream_(stream) {}

  Tensor floats(const Shape& shape, std::span<const float> values, CasePlacement place = {});
  Tensor ints(const Shape& shape, std::span<const std::int32_t> values, CasePlacement place = {});
  /// A dense tensor of any type from its bytes.
  Tensor bytes(DType dtype, const Shape& shape, std::span<const std::byte> values);
  /// Memory for a result, full of NaN (i32: -1).
  Tensor blank(DType dtype, const Shape& shape, CasePlacement place = {});
  /// Memory that may be left in any state.
  Tensor scratch(std::int64_t num_bytes);
  /// A packed matrix; it lives as long as this. Null after an error.
  const Weight* weight(DType dtype, std::int64_t rows, std::int64_t cols,
                       std::vector<std::byte> raw);

  /// Marks a tensor as a result. Requires it was made here.
  void result(std::string_view name, const Tensor& tensor, CaseTolerance tolerance = {},
              std::span<const float> expected = {});

  /// Validates the arguments and runs the op. Requires the table offers it (else kUnsupported).
  template <class Args>
  void run(void (*op)(const Args&, Stream&), const Args& args) {
    if (!status_.ok()) {
      return;
    }
    if (op == nullptr) {
      status_ = Status{Code::kUnsupported, "no such op"};
    } else if (Status valid = validate(args); !valid.ok()) {
      status_ = Status{Code::kInternal, "case breaks its contract: " + valid.message()};
    } else {
      op(args, stream_);
      status_ = stream_.synchronize();
    }
  }

  const OpTable& ops() const { return backend_.ops(); }

  const Status& status() const { return status_; }

  /// The results in order of result(). Errors kInternal: a trap was touched, with its place.
  Result<std::vector<CaseOutput>> read();

 private:
  struct Region {
    Tensor tensor;
    Buffer buffer;
    std::vector<std::byte> image;  ///< lead, rows with gaps, guard: as written before the run
    std::int64_t lead_bytes = 0;
    bool is_scratch = false;
    bool is_result = false;
  };

  struct Wanted {
    std::size_t region;
    CaseOutput output;
  };

  Tensor place(DType dtype, const Shape& shape, const void* values, CasePlacement where);
  Status read_region(const Region& region, std::vector<std::byte>* now);
  Status check_traps(const Region& region, const std::vector<std::byte>& now) const;

  Backend& backend_;
  Stream& stream_;
  Status status_;
  std::vector<std::unique_ptr<Region>> regions_;
  std::vector<std::vector<std::byte>> raw_weights_;
  std::vector<std::unique_ptr<Weight>> weights_;
  std::vector<Wanted> wanted_;
};

}  // namespace plumb
