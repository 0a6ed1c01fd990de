#include "sim/sweep/database.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "sim/sweep/space.hpp"
#include "sim/sweep/statement.hpp"

namespace tsim::sim {
namespace {

constexpr int kApplication = 0x7473696d;  // "tsim", PRAGMA application_id

constexpr std::array kRecomputes{"none", "selective", "full", "operators"};
constexpr std::array<const char*, 10> kEstimateColumns{
    "known", "composed",  "fits",      "step",      "work",
    "idle",  "transfers", "gradients", "optimizer", "memory"};

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

std::string sql_text(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) { quoted += c == '\'' ? std::string("''") : std::string(1, c); }
  return quoted + "'";
}

void bind_field(Statement& row, int at, Field field, std::int64_t value) {
  if (field == Field::schedule) {
    row.bind(at, strategies::schedules()[static_cast<std::size_t>(value)].name);
  } else if (field == Field::recompute) {
    row.bind(at, std::string_view(kRecomputes[static_cast<std::size_t>(value)]));
  } else {
    row.bind(at, value);
  }
}

void bind_estimate(Statement& row, int at, const Estimate& e) {
  row.bind(at, std::int64_t{e.known});
  row.bind(at + 1, std::int64_t{e.composed});
  row.bind(at + 2, std::int64_t{e.fits});
  for (const double value : {e.step, e.work, e.idle, e.transfers, e.gradients, e.optimizer}) {
    row.bind(at + 3, value);
    ++at;
  }
  row.bind(at + 3, e.memory);
}

std::vector<Goal> other_goals(const SweepSpec& spec) {
  std::vector<Goal> goals;
  for (const Goal goal : spec.goals) {
    if (goal != Goal::step_time && goal != Goal::memory) { goals.push_back(goal); }
  }
  return goals;
}

}  // namespace

std::vector<std::string> columns(const SweepSpec& spec) {
  std::vector<std::string> names;
  for (const FieldEntry& f : fields()) { names.emplace_back(f.name); }
  for (const Axis& axis : spec.axes) {
    if (!axis.field) { names.push_back(axis.name); }
  }
  names.insert(names.end(), kEstimateColumns.begin(), kEstimateColumns.end());
  for (const Goal goal : other_goals(spec)) { names.emplace_back(name_of(goal)); }
  return names;
}

void Database::fail(const std::string& what) const {
  throw DatabaseError(path_.string() + ": " + what);
}

void Database::run(const std::string& sql) const {
  char* message = nullptr;
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &message) != SQLITE_OK) {
    const std::string text = message == nullptr ? sqlite3_errmsg(db_) : message;
    sqlite3_free(message);
    fail(text);
  }
}

void Database::open(int flags) {
  if (sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr) != SQLITE_OK) {
    const std::string text = db_ == nullptr ? "no memory" : sqlite3_errmsg(db_);
    fail(text);
  }
  sqlite3_busy_timeout(db_, 2000);
}

Database::Database(const std::filesystem::path& path, const SweepSpec& spec,
                   std::string_view version)
    : path_(path) {
  std::error_code missing;
  const bool old =
      std::filesystem::exists(path, missing) && std::filesystem::file_size(path, missing) > 0;
  open(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  try {
    if (old) { check(spec, version); }
    // One writer: a second search on the same file is told so instead of mixing its rows in.
    run("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    if (!old) { create(spec, version); }
  } catch (...) {
    sqlite3_close(db_);
    throw;
  }
}

Database::Database(const std::filesystem::path& path) : path_(path) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(path, missing)) {
    throw WrongDatabase(path.string() + ": no such file");
  }
  open(SQLITE_OPEN_READWRITE);
  try {
    Statement id(db_, "PRAGMA application_id");
    if (!id.step() || id.number(0) != kApplication) {
      throw DatabaseError("found another database, expected one that `tsim sweep --db` wrote");
    }
  } catch (const DatabaseError& error) {
    sqlite3_close(db_);
    throw WrongDatabase(path.string() + ": " + error.what());
  }
}

Database::~Database() { sqlite3_close(db_); }

void Database::create(const SweepSpec& spec, std::string_view version) {
  std::string table = "CREATE TABLE configuration (point INTEGER PRIMARY KEY";
  for (const std::string& name : columns(spec)) { table += ", " + quoted(name); }
  table += ", event_step, event_memory, event_fits, event_failure) STRICT";
  // STRICT asks for types; ANY keeps what is bound.
  std::string typed;
  for (const char c : table) { typed += c == ',' ? std::string(" ANY,") : std::string(1, c); }
  typed.replace(typed.find("INTEGER PRIMARY KEY ANY"), 23, "INTEGER PRIMARY KEY");
  typed.replace(typed.rfind(") STRICT"), 8, " ANY) STRICT");
  run("BEGIN");
  run("PRAGMA application_id = " + std::to_string(kApplication));
  run("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) STRICT");
  run("CREATE TABLE part (number INTEGER PRIMARY KEY, points INTEGER, passed INTEGER, "
      "legal INTEGER, estimated INTEGER, planned INTEGER, fitting INTEGER) STRICT");
  run("CREATE TABLE removed (reason TEXT PRIMARY KEY, points INTEGER) STRICT");
  run(typed);
  run("INSERT INTO meta VALUES ('schema', " + sql_text(std::to_string(kSchema)) +
      "), ('version', " + sql_text(version) + "), ('spec', " + sql_text(spec.document.dump()) +
      "), ('scenario', " + sql_text(spec.scenario.dump()) + "), ('file', " +
      sql_text(spec.file.string()) + ")");
  run("COMMIT");
}

void Database::check(const SweepSpec& spec, std::string_view version) const {
  try {
    Statement id(db_, "PRAGMA application_id");
    if (!id.step() || id.number(0) != kApplication) {
      throw DatabaseError("found another database, expected one that `tsim sweep --db` wrote");
    }
    Statement meta(db_, "SELECT key, value FROM meta");
    while (meta.step()) {
      const std::string key = meta.text(0);
      const std::string found = meta.text(1);
      const auto differ = [&](const std::string& expected, const char* what) {
        if (found == expected) { return; }
        throw WrongDatabase("found the results of another " + std::string(what) +
                            ", expected those of this one; hint: another file, or delete it");
      };
      if (key == "schema") { differ(std::to_string(kSchema), "version of the tables"); }
      if (key == "version") { differ(std::string(version), "version of tsim"); }
      if (key == "spec") { differ(spec.document.dump(), "spec"); }
      if (key == "scenario") { differ(spec.scenario.dump(), "scenario"); }
    }
  } catch (const DatabaseError& error) {
    if (sqlite3_errcode(db_) == SQLITE_BUSY) { fail(error.what()); }
    throw WrongDatabase(path_.string() + ": " + error.what());
  }
}

std::vector<std::int64_t> Database::parts() const {
  std::vector<std::int64_t> numbers;
  Statement select(db_, "SELECT number FROM part ORDER BY number");
  while (select.step()) { numbers.push_back(select.number(0)); }
  return numbers;
}

Counts Database::counts() const {
  Counts c;
  Statement sums(db_,
                 "SELECT sum(points), sum(passed), sum(legal), sum(estimated), sum(planned), "
                 "sum(fitting) FROM part");
  if (sums.step()) {
    int column = 0;
    for (std::uint64_t* n :
         {&c.points, &c.passed, &c.legal, &c.estimated, &c.planned, &c.fitting}) {
      *n = static_cast<std::uint64_t>(sums.number(column++));
    }
  }
  Statement removed(db_, "SELECT reason, points FROM removed");
  while (removed.step()) {
    c.removed[removed.text(0)] = static_cast<std::uint64_t>(removed.number(1));
  }
  return c;
}

void Database::add(std::int64_t part, const Outcome& outcome, const SweepSpec& spec) {
  const Space space(spec);
  const std::vector<std::string> names = columns(spec);
  const std::vector<Goal> goals = other_goals(spec);
  try {
    run("BEGIN IMMEDIATE");
    std::string sql = "INSERT INTO configuration (point";
    for (const std::string& name : names) { sql += ", " + quoted(name); }
    sql += ") VALUES (?";
    for (std::size_t i = 0; i < names.size(); ++i) { sql += ", ?"; }
    Statement insert(db_, sql + ")");
    for (const Answer& a : outcome.all) {
      int at = 1;
      insert.bind(at++, static_cast<std::int64_t>(a.point));
      for (const FieldEntry& f : fields()) { bind_field(insert, at++, f.field, a.choice[f.field]); }
      const std::vector<std::size_t> digits = space.digits(a.point);
      for (std::size_t i = 0; i < digits.size(); ++i) {
        const Axis& axis = spec.axes[i];
        if (axis.field) { continue; }
        const Json& value = axis.values[digits[i]];
        insert.bind(at++, value.is_string() ? value.get<std::string>() : value.dump());
      }
      bind_estimate(insert, at, a.estimate);
      at += static_cast<int>(kEstimateColumns.size());
      for (std::size_t g = 0; g < spec.goals.size(); ++g) {
        if (std::ranges::find(goals, spec.goals[g]) == goals.end()) { continue; }
        insert.bind(at++, shown(spec.goals[g], a.goals[g]));
      }
      insert.step();
      insert.reset();
    }
    const Counts& c = outcome.counts;
    Statement done(db_, "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?, ?)");
    int at = 1;
    done.bind(at++, part);
    for (const std::uint64_t n : {c.points, c.passed, c.legal, c.estimated, c.planned, c.fitting}) {
      done.bind(at++, static_cast<std::int64_t>(n));
    }
    done.step();
    for (const auto& [reason, count] : c.removed) {
      Statement add(db_,
                    "INSERT INTO removed VALUES (?, ?) ON CONFLICT (reason) "
                    "DO UPDATE SET points = points + excluded.points");
      add.bind(1, std::string_view(reason));
      add.bind(2, static_cast<std::int64_t>(count));
      add.step();
    }
    run("COMMIT");
  } catch (const DatabaseError& error) {
    const std::string what = error.what();
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    if (what.starts_with(path_.string())) { throw; }
    fail(what);
  }
}

void Database::add(std::uint64_t point, const Simulated& s) {
  Statement update(db_,
                   "UPDATE configuration SET event_step = ?, event_memory = ?, event_fits = ?, "
                   "event_failure = ? WHERE point = ?");
  if (s.failure.empty()) {
    update.bind(1, s.step);
    update.bind(2, s.memory);
    update.bind(3, std::int64_t{s.fits});
  } else {
    update.bind(4, std::string_view(s.failure));
  }
  update.bind(5, static_cast<std::int64_t>(point));
  update.step();
}

std::optional<Simulated> Database::simulated(std::uint64_t point) const {
  Statement select(db_,
                   "SELECT event_step, event_memory, event_fits, event_failure FROM configuration "
                   "WHERE point = ? AND (event_step IS NOT NULL OR event_failure IS NOT NULL)");
  select.bind(1, static_cast<std::int64_t>(point));
  if (!select.step()) { return std::nullopt; }
  return Simulated{select.real(0), select.number(1), select.number(2) != 0, select.text(3)};
}

void Database::best(const SweepSpec& spec, std::size_t count,
                    const std::function<void(Answer answer)>& take) const {
  const Goal goal = spec.goals.front();
  const std::string column = goal == Goal::step_time ? "step" : std::string(name_of(goal));
  std::string sql = "SELECT point";
  for (const FieldEntry& f : fields()) { sql += ", " + quoted(std::string(f.name)); }
  for (const char* name : kEstimateColumns) { sql += ", " + quoted(name); }
  for (const Goal g : spec.goals) {
    sql += ", " + quoted(g == Goal::step_time ? "step" : std::string(name_of(g)));
  }
  sql += " FROM configuration WHERE fits";
  if (spec.most_step > 0) { sql += " AND step <= " + std::to_string(spec.most_step); }
  sql += " ORDER BY " + quoted(column) + (is_rate(goal) ? " DESC" : "") + ", point";
  if (count > 0) { sql += " LIMIT " + std::to_string(count); }
  Statement select(db_, sql);
  while (select.step()) {
    Answer a;
    int at = 0;
    a.point = static_cast<std::uint64_t>(select.number(at++));
    for (const FieldEntry& f : fields()) {
      const std::string text = select.text(at);
      std::int64_t value = select.number(at++);
      if (f.field == Field::schedule) {
        value = strategies::schedule_named(text) - strategies::schedules().data();
      } else if (f.field == Field::recompute) {
        value = std::ranges::find(kRecomputes, text) - kRecomputes.begin();
      }
      a.choice[f.field] = value;
    }
    Estimate& e = a.estimate;
    e.known = select.number(at) != 0;
    e.composed = select.number(at + 1) != 0;
    e.fits = select.number(at + 2) != 0;
    at += 3;
    for (double* value : {&e.step, &e.work, &e.idle, &e.transfers, &e.gradients, &e.optimizer}) {
      *value = select.real(at++);
    }
    e.memory = select.number(at++);
    for (const Goal g : spec.goals) { a.goals.push_back(shown(g, select.real(at++))); }
    take(std::move(a));
  }
}

std::string Database::spec_text() const {
  Statement select(db_, "SELECT value FROM meta WHERE key = 'spec'");
  return select.step() ? select.text(0) : std::string();
}

void Database::query(const std::string& sql,
                     const std::function<void(const std::vector<std::string>&)>& take) const {
  std::optional<Statement> select;
  try {
    select.emplace(db_, sql);
    if (!select->reads_only()) { throw DatabaseError("only what reads is run"); }
  } catch (const DatabaseError& error) {
    throw WrongDatabase(path_.string() + ": " + error.what());
  }
  std::vector<std::string> cells;
  for (int c = 0; c < select->columns(); ++c) { cells.push_back(select->name(c)); }
  take(cells);
  try {
    while (select->step()) {
      for (int c = 0; c < select->columns(); ++c) {
        cells[static_cast<std::size_t>(c)] = select->text(c);
      }
      take(cells);
    }
  } catch (const DatabaseError& error) { fail(error.what()); }
}

Rows Database::query(const std::string& sql) const {
  Rows rows;
  bool names = true;
  query(sql, [&](const std::vector<std::string>& cells) {
    if (names) {
      rows.columns = cells;
    } else {
      rows.rows.push_back(cells);
    }
    names = false;
  });
  return rows;
}

}  // namespace tsim::sim
