// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/file.h"
#include "base/json.h"
#include "base/status.h"

namespace plumb {

/// The result file of an offline run: one JSON line an input id, appended as requests end.
///
/// What commit() returned ok for is on disk. After any interruption, open() with the same input and
/// model drops a torn last line and knows which ids are done, so that nothing is repeated or lost.
/// Thread: any single one.
class OfflineOutput {
 public:
  /// Opens or creates `path` and beside it `path`.run, which holds the digest of the input and the
  /// mark of the model (ServedModelFacts::fingerprint).
  /// Errors  kInvalidArgument: the file belongs to another input or model, or has no .run file and
  /// is not empty.
  static Result<OfflineOutput> open(const std::string& path, std::string_view input_content,
                                    const std::string& model);

  bool is_done(const std::string& id) const { return done_.find(id) != done_.end(); }

  std::int64_t num_done() const { return static_cast<std::int64_t>(done_.size()); }

  /// Records that are errors, those of earlier runs included.
  std::int64_t num_failed() const { return num_failed_; }

  /// True if the last line of an earlier run was torn and has been dropped.
  bool dropped_torn_line() const { return dropped_; }

  /// Appends the record of an id. Not yet safe: see commit().
  Status append(const std::string& id, const Json& record);
  /// Makes everything appended durable.
  Status commit();

 private:
  OfflineOutput() = default;
  Status recover(const std::string& path);

  std::unique_ptr<AppendFile> file_;
  std::unordered_set<std::string> done_;
  std::int64_t num_failed_ = 0;
  bool dropped_ = false;
  bool is_dirty_ = false;
};

}  // namespace plumb
