// Results of a search in an SQLite file, written by one process, part by part.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/sweep/outcome.hpp"
#include "sim/sweep/spec.hpp"

struct sqlite3;

namespace tsim::sim {

/// The file cannot be used or written; what() names it and says why.
struct DatabaseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The file or an SQL text is not what it should be.
struct WrongDatabase : DatabaseError {
  using DatabaseError::DatabaseError;
};

/// Rows of an SQL query, as text; NULL is empty.
struct Rows {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Version of the tables (docs/sweep.md).
inline constexpr int kSchema = 1;

class Database {
 public:
  /// Opens or creates the file for `spec`. Throws WrongDatabase when it is another thing than a
  /// search's results, or another search's or version's.
  Database(const std::filesystem::path& path, const SweepSpec& spec, std::string_view version);
  /// Opens one to be read.
  explicit Database(const std::filesystem::path& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Parts that are done, by their number, and what was counted in them.
  std::vector<std::int64_t> parts() const;
  Counts counts() const;
  /// The answers of a part, its counts and that it is done: all or nothing.
  void add(std::int64_t part, const Outcome& outcome, const SweepSpec& spec);
  /// What the event tier says of a point.
  void add(std::uint64_t point, const Simulated& simulated);
  /// The best points in the analytic tier that fit, by the first goal; all for a count of 0.
  void best(const SweepSpec& spec, std::size_t count,
            const std::function<void(Answer answer)>& take) const;
  std::optional<Simulated> simulated(std::uint64_t point) const;

  std::string spec_text() const;
  /// SELECT ... over `configuration`; wrong SQL is a WrongDatabase with SQLite's reason.
  Rows query(const std::string& sql) const;
  /// The same row by row, the names of the columns first.
  void query(const std::string& sql,
             const std::function<void(const std::vector<std::string>&)>& take) const;

 private:
  void run(const std::string& sql) const;
  void open(int flags);
  void create(const SweepSpec& spec, std::string_view version);
  void check(const SweepSpec& spec, std::string_view version) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::filesystem::path path_;
  sqlite3* db_ = nullptr;
};

/// Columns of the table of configurations after `point`: the choice, other axes, estimate, goals.
std::vector<std::string> columns(const SweepSpec& spec);

}  // namespace tsim::sim
