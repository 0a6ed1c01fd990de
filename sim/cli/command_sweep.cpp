#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ostream>

#include "sim/cli/commands.hpp"
#include "sim/cli/format.hpp"
#include "sim/cli/print_sweep.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/cli/write_file.hpp"
#include "sim/sweep/run_sweep.hpp"
#include "sim/sweep/spec_flags.hpp"
#include "sim/sweep/workers.hpp"

namespace tsim::cli {
namespace {

sim::SpecFlags flags_of(const SweepOptions& o) {
  sim::SpecFlags flags{.scenario = o.scenario,
                       .vary = o.vary,
                       .where = o.where,
                       .objectives = o.objectives,
                       .settings = {},
                       .search = o.search,
                       .top = o.top,
                       .events = o.events,
                       .samples = o.samples,
                       .seed = o.seed,
                       .price = o.price,
                       .power = o.power,
                       .tokens = o.tokens,
                       .memory_margin = o.memory_margin,
                       .step_time = o.step_time};
  flags.settings = o.settings;
  return flags;
}

/// A line that is written over, on a terminal only.
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& err) : err_(err), shown_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (written_) { err_ << "\r\x1b[K" << std::flush; }
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void operator()(const sim::Progress& p) {
    if (!shown_ || p.seconds - last_ < 0.1) { return; }
    last_ = p.seconds;
    written_ = true;
    constexpr int kWidth = 30;
    const double share = static_cast<double>(p.points) / static_cast<double>(p.size);
    std::string bar;
    for (int i = 0; i < kWidth; ++i) { bar += i < share * kWidth ? '#' : '.'; }
    const double rate = static_cast<double>(p.points) / p.seconds;
    err_ << "\r[" << bar << "] " << percent(share) << ", "
         << with_separators(static_cast<std::int64_t>(rate)) << " points/s, "
         << format(Seconds{static_cast<double>(p.size - p.points) / rate}) << " left";
    if (p.best != 0) { err_ << ", best " << significant(p.best, 4); }
    err_ << "\x1b[K" << std::flush;
  }

 private:
  std::ostream& err_;
  bool shown_, written_ = false;
  double last_ = 0;
};

/// On a terminal: times differ from run to run.
void tell_speed(const sim::SweepReport& r, std::ostream& err) {
  if (isatty(STDERR_FILENO) == 0) { return; }
  const auto here = static_cast<double>(r.counts.points - r.kept);
  err << "tsim: " << with_separators(static_cast<std::int64_t>(here)) << " points in "
      << format(Seconds{r.seconds});
  if (r.seconds > 0) {
    err << " (" << with_separators(static_cast<std::int64_t>(here / r.seconds)) << "/s)";
  }
  if (r.kept > 0) {
    err << ", " << with_separators(static_cast<std::int64_t>(r.kept)) << " were done before";
  }
  err << "; events " << format(Seconds{r.event_seconds}) << "\n";
}

extern "C" void on_interrupt(int /*signal*/) { sim::stop_requested = 1; }

/// The rows that are asked for, best first.
std::string rows_sql(const SweepOptions& o) {
  std::string sql = "SELECT * FROM configuration WHERE fits";
  for (const std::string& where : o.where) { sql += " AND (" + where + ")"; }
  if (o.pareto) {
    // In the order of steps, a row is beaten when one before it takes no more memory.
    sql =
        "WITH fitting AS (" + sql +
        "), ranked AS (SELECT point AS of, memory AS own, min(memory) OVER (ORDER BY step, memory, "
        "point ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS least FROM fitting) "
        "SELECT fitting.* FROM fitting JOIN ranked ON of = point "
        "WHERE least IS NULL OR own < least";
  }
  return sql + " ORDER BY coalesce(event_step, step), point";
}

int show(const SweepOptions& o, std::ostream& out) {
  const sim::Database database{std::filesystem::path(o.words[1])};
  const std::string sql = rows_sql(o);
  const sim::Rows rows = database.query(sql + " LIMIT " + std::to_string(o.top.value_or(10)));
  if (!o.csv.empty()) {
    write_file(o.csv, [&](std::ostream& file) {
      database.query(
          sql, [&file](const std::vector<std::string>& cells) { print_csv_line(cells, file); });
    });
  }
  (o.json ? print_rows_json : print_rows_text)(rows, out);
  return rows.rows.empty() ? kNoAnswer : 0;
}

int dry_run(const sim::SweepSpec& spec, std::ostream& out) {
  sim::Searcher searcher(spec);
  sim::Counts counts;
  searcher.count({0, searcher.space().size(), false}, counts);
  out << "space  " << with_separators(static_cast<std::int64_t>(searcher.space().size()))
      << " points\nlegal  " << with_separators(static_cast<std::int64_t>(counts.legal)) << "\n\n";
  print_removed(counts, out);
  return counts.legal > 0 ? 0 : kNoAnswer;
}

/// Why nothing is left, in one line.
void explain_nothing(const sim::SweepReport& report, std::ostream& err) {
  err << "tsim: none of the " << report.counts.points << " points is left";
  std::uint64_t most = 0;
  std::string why;
  for (const auto& [reason, points] : report.counts.removed) {
    if (points > most) { why = reason; }
    most = std::max(most, points);
  }
  if (!why.empty()) { err << "; most are removed by: " << why << " (" << most << ")"; }
  err << "\n";
}

/// Runs the search and prints what it found.
int search(const sim::SweepSpec& spec, const SweepOptions& o, std::ostream& out,
           std::ostream& err) {
  ProgressLine line(err);
  std::signal(SIGINT, on_interrupt);
  const sim::SweepReport report =
      run_sweep(spec, {.jobs = o.jobs,
                       .database = o.database,
                       .version = TSIM_VERSION,
                       .progress = [&line](const sim::Progress& p) { line(p); }});
  if (sim::under_mpi() && !sim::is_first_rank()) { return 0; }
  tell_speed(report, err);
  (o.json ? print_sweep_json : print_sweep_text)(spec, report, out);
  if (!o.csv.empty()) {
    write_file(o.csv, [&](std::ostream& file) { print_sweep_csv(spec, report, file); });
  }
  if (report.stopped) {
    err << "tsim: stopped; "
        << (o.database.empty() ? "with --db FILE a search goes on where it was stopped\n"
                               : "the same command goes on from there\n");
    return kNoAnswer;
  }
  if (report.answers.empty()) { explain_nothing(report, err); }
  return report.answers.empty() ? kNoAnswer : 0;
}

}  // namespace

namespace {

int dispatch(const SweepOptions& o, std::ostream& out, std::ostream& err) {
  if (!o.words.empty() && o.words[0] == "show") {
    if (o.words.size() == 2) { return show(o, out); }
    throw sim::InputErrors(
        "tsim sweep show",
        {{.path = "DATABASE", .found = "nothing", .expected = "a file that --db wrote"}});
  }
  if (o.words.size() > 1) {
    throw sim::InputErrors(
        "tsim sweep",
        {{.path = "SPEC", .found = "two files", .expected = "one spec, or show DATABASE"}});
  }
  const sim::SweepSpec spec = read_spec(
      o.words.empty() ? std::filesystem::path() : std::filesystem::path(o.words[0]), flags_of(o));
  if (o.tornado) {
    print_tornado(sim::tornado_of(spec.scenario, spec.file, o.jobs), o.json, out);
    return 0;
  }
  if (o.dry_run) { return dry_run(spec, out); }
  return search(spec, o, out, err);
}

}  // namespace

int sweep_command(const SweepOptions& o, std::ostream& out, std::ostream& err) {
  try {
    return dispatch(o, out, err);
  } catch (const sim::WrongDatabase& error) {
    err << "tsim: " << error.what() << "\n";
    return kWrongInput;
  }
}

}  // namespace tsim::cli
