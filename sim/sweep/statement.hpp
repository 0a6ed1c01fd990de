// An SQL statement, for database.cpp alone.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/sweep/database.hpp"

namespace tsim::sim {

/// A statement and its end. Throws DatabaseError with the reason of SQLite.
class Statement {
 public:
  Statement(sqlite3* db, const std::string& sql) : db_(db) {
    if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) { fail(); }
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int at, std::int64_t value) { sqlite3_bind_int64(statement_, at, value); }
  void bind(int at, double value) { sqlite3_bind_double(statement_, at, value); }
  void bind(int at, std::string_view text) {
    sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  /// Whether there is a row.
  bool step() {
    const int result = sqlite3_step(statement_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) { fail(); }
    return result == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(statement_); }
  int columns() const { return sqlite3_column_count(statement_); }
  std::string name(int column) const { return sqlite3_column_name(statement_, column); }
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  bool empty(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string text(int column) const {
    const unsigned char* const text = sqlite3_column_text(statement_, column);
    return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
  }
  bool reads_only() const { return sqlite3_stmt_readonly(statement_) != 0; }

 private:
  [[noreturn]] void fail() const { throw DatabaseError(sqlite3_errmsg(db_)); }
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace tsim::sim
