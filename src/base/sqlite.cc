// SPDX-License-Identifier: Apache-2.0
#include "base/sqlite.h"

#include <cerrno>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace plumb {
namespace {

// A quota and a limit on the size of files (RLIMIT_FSIZE) count as a full disk.
bool is_no_room(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

Code sqlite_code(sqlite3* database, int result) {
  switch (result & 0xFF) {
    case SQLITE_FULL:
      return Code::kResourceExhausted;
    case SQLITE_IOERR:
      return is_no_room(::sqlite3_system_errno(database)) ? Code::kResourceExhausted
                                                          : Code::kInternal;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::kUnavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::kDataLoss;
    default:
      return Code::kInternal;
  }
}

Status sqlite_error(sqlite3* database, int result) {
  return {sqlite_code(database, result), std::string("sqlite: ") + ::sqlite3_errmsg(database)};
}

// The file must not be readable by others from its first byte on.
Status make_private_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

  struct stat about {};

  const bool is_file = fd >= 0 && ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  if (fd >= 0) {
    ::close(fd);
  }
  return is_file ? Status()
                 : Status(Code::kInvalidArgument,
                          path + ": cannot be opened as a regular file for reading and writing");
}

}  // namespace

struct SqliteStatement::Impl {
  ~Impl() { ::sqlite3_finalize(statement); }

  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
};

struct SqliteDatabase::Impl {
  ~Impl() { ::sqlite3_close(database); }

  sqlite3* database = nullptr;
};

SqliteStatement::SqliteStatement(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SqliteStatement::SqliteStatement(SqliteStatement&& other) noexcept = default;
SqliteStatement& SqliteStatement::operator=(SqliteStatement&& other) noexcept = default;
SqliteStatement::~SqliteStatement() = default;

SqliteStatement& SqliteStatement::bind(int parameter, std::string_view text) {
  const int result =
      ::sqlite3_bind_text64(impl_->statement, parameter, text.empty() ? "" : text.data(),
                            text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  PLUMB_CHECK(result == SQLITE_OK, ::sqlite3_errmsg(impl_->database));
  return *this;
}

SqliteStatement& SqliteStatement::bind(int parameter, std::int64_t number) {
  const int result = ::sqlite3_bind_int64(impl_->statement, parameter, number);
  PLUMB_CHECK(result == SQLITE_OK, ::sqlite3_errmsg(impl_->database));
  return *this;
}

Result<bool> SqliteStatement::step() {
  const int result = ::sqlite3_step(impl_->statement);
  if (result == SQLITE_ROW) {
    return true;
  }
  const Status status = result == SQLITE_DONE ? Status() : sqlite_error(impl_->database, result);
  reset();
  if (!status.ok()) {
    return status;
  }
  return false;
}

Status SqliteStatement::run() {
  for (;;) {
    PLUMB_ASSIGN(const bool has_row, step());
    if (!has_row) {
      return {};
    }
  }
}

void SqliteStatement::reset() {
  ::sqlite3_reset(impl_->statement);
}

std::string SqliteStatement::text(int column) const {
  const unsigned char* bytes = ::sqlite3_column_text(impl_->statement, column);
  const int size = ::sqlite3_column_bytes(impl_->statement, column);
  return bytes == nullptr
             ? ""
             : std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

std::int64_t SqliteStatement::number(int column) const {
  return ::sqlite3_column_int64(impl_->statement, column);
}

SqliteDatabase::SqliteDatabase(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SqliteDatabase::~SqliteDatabase() = default;

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::string& path) {
  if (!path.empty()) {
    PLUMB_RETURN_IF_ERROR(make_private_file(path));
  }
  auto impl = std::make_unique<Impl>();
  const int result = ::sqlite3_open_v2(
      path.empty() ? ":memory:" : path.c_str(), &impl->database,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
      nullptr);
  if (result != SQLITE_OK) {
    return {Status(Code::kInvalidArgument, path + ": " + std::string(::sqlite3_errstr(result)))};
  }
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(std::move(impl)));
  // The lock is taken by the first write and kept; a log beside the file, synchronised at each
  // commit, makes a commit one write and one fsync.
  for (const char* sql :
       {"PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON", "BEGIN IMMEDIATE", "COMMIT"}) {
    Status status = database->run(sql);
    if (status.code() == Code::kUnavailable) {
      return Status(Code::kUnavailable, path + ": another process has it open");
    }
    if (!status.ok()) {
      return Status(Code::kInvalidArgument, path + ": " + status.message());
    }
  }
  return database;
}

Status SqliteDatabase::run(const std::string& sql) {
  const int result = ::sqlite3_exec(impl_->database, sql.c_str(), nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? Status() : sqlite_error(impl_->database, result);
}

bool SqliteDatabase::in_transaction() const {
  return ::sqlite3_get_autocommit(impl_->database) == 0;
}

Result<SqliteStatement> SqliteDatabase::prepare(std::string_view sql) {
  auto impl = std::make_unique<SqliteStatement::Impl>();
  impl->database = impl_->database;
  const int result = ::sqlite3_prepare_v3(impl_->database, sql.data(), static_cast<int>(sql.size()),
                                          SQLITE_PREPARE_PERSISTENT, &impl->statement, nullptr);
  if (result != SQLITE_OK) {
    return sqlite_error(impl_->database, result);
  }
  return SqliteStatement(std::move(impl));
}

}  // namespace plumb
