// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plumb {

/// One prepared statement of a database. Thread: that of its database.
class SqliteStatement {
 public:
  SqliteStatement() = default;
  SqliteStatement(SqliteStatement&& other) noexcept;
  SqliteStatement& operator=(SqliteStatement&& other) noexcept;
  ~SqliteStatement();

  /// Sets parameter 1, 2 … of the next run.
  SqliteStatement& bind(int parameter, std::string_view text);
  SqliteStatement& bind(int parameter, std::int64_t number);

  /// The next row, if there is one; without one the statement is ready for its next run.
  /// Errors: as SqliteDatabase::run(); afterwards too the statement is ready.
  Result<bool> step();
  /// Steps to the end.
  Status run();
  /// Gives up the rows that are left.
  void reset();

  /// Columns of the row, from 0.
  std::string text(int column) const;
  std::int64_t number(int column) const;

 private:
  friend class SqliteDatabase;
  struct Impl;
  explicit SqliteStatement(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

/// A database in one file, or in memory, that this process has to itself.
///
/// What run("COMMIT") returned ok for survives the end of the process at any instant, and a power
/// cut if the disk keeps its word: the log is synchronised at each commit.
/// Ownership  outlives its statements. Thread: one at a time.
class SqliteDatabase {
 public:
  /// Makes the file (mode 0600) if there is none. An empty path is a database in memory.
  /// Errors  kUnavailable: another process has it open; kInvalidArgument: no database, or the
  ///         system refuses.
  static Result<std::unique_ptr<SqliteDatabase>> open(const std::string& path);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  /// Statements without results, one after the other.
  /// Errors  kResourceExhausted: the disk is full; kDataLoss: the file is damaged; kInternal: else.
  Status run(const std::string& sql);
  Result<SqliteStatement> prepare(std::string_view sql);
  /// Whether one has begun and not ended; some errors, as that of a full disk, end it.
  bool in_transaction() const;

 private:
  struct Impl;
  explicit SqliteDatabase(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace plumb
