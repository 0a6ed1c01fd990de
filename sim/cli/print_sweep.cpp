#include "sim/cli/print_sweep.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include <nlohmann/json.hpp>

#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/sweep/space.hpp"

namespace tsim::cli {
namespace {

using nlohmann::ordered_json;
using sim::Axis;
using sim::Field;
using sim::Goal;
using sim::Judged;

std::string plain(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string count(std::uint64_t n) { return with_separators(static_cast<std::int64_t>(n)); }

/// The value of an axis in an answer, as a scenario states it.
nlohmann::json value_at(const sim::SweepSpec& spec, const sim::Space& space, std::size_t axis,
                        const sim::Answer& answer) {
  const Axis& a = spec.axes[axis];
  if (a.formula) { return answer.choice[*a.field]; }
  return a.values[space.digits(answer.point)[axis]];
}

std::string goal_text(Goal goal, double value) {
  const double v = sim::shown(goal, value);
  switch (goal) {
    case Goal::step_time: return format(Seconds{v});
    case Goal::memory: return format(Bytes{static_cast<std::int64_t>(v)});
    default: return significant(v, 4);
  }
}

double event_goal(Goal goal, const Judged& j, std::size_t at) {
  const double analytic = j.answer.goals[at];
  if (goal == Goal::memory) { return static_cast<double>(j.events.memory); }
  const double ratio = j.events.step / j.answer.estimate.step;
  return sim::is_rate(goal) ? analytic / ratio : analytic * ratio;
}

std::string event_text(const Judged& j) {
  if (!j.simulated) { return "-"; }
  if (!j.events.failure.empty()) { return "fails"; }
  return format(Seconds{j.events.step}) + (j.events.fits ? "" : " (no fit)");
}

/// Place of each answer by the analytic tier, from 1.
std::vector<std::size_t> analytic_places(const std::vector<Judged>& answers) {
  std::vector<std::size_t> order(answers.size());
  for (std::size_t i = 0; i < order.size(); ++i) { order[i] = i; }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const sim::Answer& x = answers[a].answer;
    const sim::Answer& y = answers[b].answer;
    return x.goals < y.goals || (x.goals == y.goals && x.point < y.point);
  });
  std::vector<std::size_t> places(answers.size());
  for (std::size_t i = 0; i < order.size(); ++i) { places[order[i]] = i + 1; }
  return places;
}

bool varies(const Axis& axis) { return axis.count() > 1 || axis.formula; }
/// Objectives that are no column of every answer.
bool is_more(Goal goal) { return goal != Goal::step_time && goal != Goal::memory; }

std::vector<Column> answer_columns(const sim::SweepSpec& spec) {
  std::vector<Column> columns{{"", Align::right}, {"analytic", Align::right}};
  columns.reserve(columns.size() + spec.axes.size() + 3 + spec.goals.size());
  for (const Axis& a : spec.axes) {
    if (varies(a)) { columns.push_back({a.name, Align::right}); }
  }
  columns.push_back({"step", Align::right});
  columns.push_back({"by events", Align::right});
  columns.push_back({"memory", Align::right});
  for (const Goal goal : spec.goals) {
    if (is_more(goal)) { columns.push_back({std::string(name_of(goal)), Align::right}); }
  }
  return columns;
}

/// The cells of an answer after its places.
void add_cells(const sim::SweepSpec& spec, const sim::Space& space, const Judged& j,
               std::vector<std::string>& row) {
  for (std::size_t a = 0; a < spec.axes.size(); ++a) {
    if (varies(spec.axes[a])) { row.push_back(plain(value_at(spec, space, a, j.answer))); }
  }
  row.push_back((j.answer.estimate.known ? "" : ">= ") + format(Seconds{j.answer.estimate.step}));
  row.push_back(event_text(j));
  const bool measured = j.simulated && j.events.failure.empty();
  row.push_back(format(Bytes{measured ? j.events.memory : j.answer.estimate.memory}));
  for (std::size_t g = 0; g < spec.goals.size(); ++g) {
    const Goal goal = spec.goals[g];
    if (!is_more(goal)) { continue; }
    row.push_back(goal_text(goal, measured ? event_goal(goal, j, g) : j.answer.goals[g]));
  }
}

void print_answers(const sim::SweepSpec& spec, const sim::SweepReport& report, std::ostream& out) {
  const sim::Space space(spec);
  const std::vector<std::size_t> places = analytic_places(report.answers);
  std::vector<std::vector<std::string>> rows;
  rows.reserve(report.answers.size());
  for (std::size_t i = 0; i < report.answers.size(); ++i) {
    rows.push_back({std::to_string(i + 1), std::to_string(places[i])});
    add_cells(spec, space, report.answers[i], rows.back());
  }
  print_table(out, answer_columns(spec), rows);
}

/// Pairs whose order the event tier turned round.
void print_changes(const sim::SweepReport& report, std::ostream& out) {
  const std::vector<std::size_t> places = analytic_places(report.answers);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    moved += report.answers[i].simulated && places[i] != i + 1 ? 1 : 0;
  }
  if (moved > 0) {
    out << "\nEvents changed the order: " << moved << " of " << report.answers.size()
        << " stand elsewhere than in the analytic tier.\n";
  }
  for (const Judged& j : report.answers) {
    if (j.simulated && !j.events.failure.empty()) {
      out << "point " << j.answer.point << " fails: " << j.events.failure << "\n";
    }
  }
}

}  // namespace

void print_removed(const sim::Counts& counts, std::ostream& out) {
  std::vector<std::pair<std::uint64_t, std::string>> list;
  for (const auto& [reason, points] : counts.removed) { list.emplace_back(points, reason); }
  std::ranges::sort(list, [](const auto& a, const auto& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
  });
  std::vector<std::vector<std::string>> rows;
  rows.reserve(list.size());
  for (const auto& [points, reason] : list) { rows.push_back({count(points), reason}); }
  if (!rows.empty()) { print_table(out, {{"removed", Align::right}, {"because"}}, rows); }
}

void print_sweep_text(const sim::SweepSpec& spec, const sim::SweepReport& report,
                      std::ostream& out) {
  const sim::Counts& c = report.counts;
  out << "space      " << count(report.size) << " points";
  if (c.points != report.size) { out << ", " << count(c.points) << " of them searched"; }
  out << "\nlegal      " << count(c.legal) << "\nestimated  " << count(c.estimated);
  if (spec.search == sim::Search::best && spec.goals.size() == 1) {
    out << "; the others are sure to be slower than the best";
    if (c.passed > 0) { out << " (" << count(c.passed) << " unseen)"; }
  }
  out << "\n";
  if (c.planned > 0) {
    out << "           " << count(c.planned)
        << " of them planned one by one, as no sums are known for them\n";
  }
  out << "fitting    " << count(c.fitting) << "\n\n";
  print_removed(c, out);
  if (!c.removed.empty() && !report.answers.empty()) { out << "\n"; }
  if (report.answers.empty()) { return; }
  print_answers(spec, report, out);
  print_changes(report, out);
}

void print_sweep_json(const sim::SweepSpec& spec, const sim::SweepReport& report,
                      std::ostream& out) {
  const sim::Space space(spec);
  const sim::Counts& c = report.counts;
  ordered_json document;
  document["space"] = report.size;
  document["searched"] = c.points;
  document["legal"] = c.legal;
  document["estimated"] = c.estimated;
  document["planned"] = c.planned;
  document["fitting"] = c.fitting;
  document["stopped"] = report.stopped;
  document["removed"] = ordered_json::object();
  for (const auto& [reason, points] : c.removed) { document["removed"][reason] = points; }
  document["answers"] = ordered_json::array();
  const std::vector<std::size_t> places = analytic_places(report.answers);
  for (std::size_t i = 0; i < report.answers.size(); ++i) {
    const Judged& j = report.answers[i];
    ordered_json answer;
    answer["point"] = j.answer.point;
    answer["analytic_place"] = places[i];
    for (std::size_t a = 0; a < spec.axes.size(); ++a) {
      answer["set"][spec.axes[a].pointer] = value_at(spec, space, a, j.answer);
    }
    const sim::Estimate& e = j.answer.estimate;
    answer["analytic"] = {
        {"known", e.known},           {"step_s", e.step},           {"work_s", e.work},
        {"idle_s", e.idle},           {"transfers_s", e.transfers}, {"gradients_s", e.gradients},
        {"optimizer_s", e.optimizer}, {"memory_bytes", e.memory},   {"fits", e.fits}};
    if (j.simulated && j.events.failure.empty()) {
      answer["events"] = {
          {"step_s", j.events.step}, {"memory_bytes", j.events.memory}, {"fits", j.events.fits}};
    } else if (j.simulated) {
      answer["events"] = {{"failure", j.events.failure}};
    }
    for (std::size_t g = 0; g < spec.goals.size(); ++g) {
      answer["objectives"][std::string(name_of(spec.goals[g]))] =
          sim::shown(spec.goals[g], j.answer.goals[g]);
    }
    document["answers"].push_back(std::move(answer));
  }
  out << document.dump(2) << "\n";
}

void print_rows_text(const sim::Rows& rows, std::ostream& out) {
  std::vector<Column> columns;
  for (const std::string& name : rows.columns) { columns.push_back({name, Align::right}); }
  print_table(out, columns, rows.rows);
}

void print_rows_json(const sim::Rows& rows, std::ostream& out) {
  ordered_json list = ordered_json::array();
  for (const auto& row : rows.rows) {
    ordered_json object;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const auto value = nlohmann::json::parse(row[c], nullptr, false);
      object[rows.columns[c]] = row[c].empty()      ? ordered_json(nullptr)
                                : value.is_number() ? ordered_json(value)
                                                    : ordered_json(row[c]);
    }
    list.push_back(std::move(object));
  }
  out << list.dump(2) << "\n";
}

void print_csv_line(const std::vector<std::string>& cells, std::ostream& out) {
  const char* separator = "";
  for (const std::string& cell : cells) {
    out << separator;
    if (cell.find_first_of(",\"\n") == std::string::npos) {
      out << cell;
    } else {
      out << '"';
      for (const char c : cell) { out << (c == '"' ? "\"\"" : std::string(1, c)); }
      out << '"';
    }
    separator = ",";
  }
  out << "\n";
}

namespace {

std::vector<std::string> csv_columns(const sim::SweepSpec& spec) {
  std::vector<std::string> columns{"point"};
  columns.reserve(6 + spec.axes.size() + spec.goals.size());
  for (const Axis& a : spec.axes) { columns.push_back(a.name); }
  for (const char* name : {"step", "memory", "event_step", "event_memory", "event_fits"}) {
    columns.emplace_back(name);
  }
  for (const Goal g : spec.goals) { columns.push_back("objective_" + std::string(name_of(g))); }
  return columns;
}

std::vector<std::string> csv_cells(const sim::SweepSpec& spec, const sim::Space& space,
                                   const Judged& j) {
  std::vector<std::string> row{std::to_string(j.answer.point)};
  row.reserve(6 + spec.axes.size() + spec.goals.size());
  for (std::size_t a = 0; a < spec.axes.size(); ++a) {
    row.push_back(plain(value_at(spec, space, a, j.answer)));
  }
  row.push_back(nlohmann::json(j.answer.estimate.step).dump());
  row.push_back(std::to_string(j.answer.estimate.memory));
  const bool measured = j.simulated && j.events.failure.empty();
  row.push_back(measured ? nlohmann::json(j.events.step).dump() : "");
  row.push_back(measured ? std::to_string(j.events.memory) : "");
  row.push_back(measured ? std::to_string(static_cast<int>(j.events.fits)) : "");
  for (std::size_t g = 0; g < spec.goals.size(); ++g) {
    row.push_back(nlohmann::json(sim::shown(spec.goals[g], j.answer.goals[g])).dump());
  }
  return row;
}

void print_tornado_json(const sim::Tornado& tornado, std::ostream& out) {
  ordered_json document;
  document["step_s"] = tornado.step;
  document["figures"] = ordered_json::array();
  for (const sim::TornadoRow& row : tornado.rows) {
    ordered_json figure{{"figure", row.figure}, {"value", row.value}};
    for (std::size_t i = 0; i < row.steps.size(); ++i) {
      figure["step_s_times_" + significant(sim::kTornadoFactors[i], 2)] = row.steps[i];
    }
    document["figures"].push_back(std::move(figure));
  }
  out << document.dump(2) << "\n";
}

std::string change_text(double step, double before) {
  if (std::isnan(step)) { return "fails"; }
  return (step >= before ? "+" : "") + percent(step / before - 1);
}

}  // namespace

void print_sweep_csv(const sim::SweepSpec& spec, const sim::SweepReport& report,
                     std::ostream& out) {
  const sim::Space space(spec);
  print_csv_line(csv_columns(spec), out);
  for (const Judged& j : report.answers) { print_csv_line(csv_cells(spec, space, j), out); }
}

void print_tornado(const sim::Tornado& tornado, bool json, std::ostream& out) {
  if (json) {
    print_tornado_json(tornado, out);
    return;
  }
  out << "step " << format(Seconds{tornado.step}) << " by events; change when a figure is\n\n";
  std::vector<Column> columns{{"figure"}, {"value", Align::right}};
  for (const double f : sim::kTornadoFactors) {
    columns.push_back({"x " + significant(f, 2), Align::right});
  }
  std::vector<std::vector<std::string>> rows;
  for (const sim::TornadoRow& row : tornado.rows) {
    std::vector<std::string> cells{row.figure, row.value};
    for (const double step : row.steps) { cells.push_back(change_text(step, tornado.step)); }
    rows.push_back(std::move(cells));
  }
  print_table(out, columns, rows);
}

}  // namespace tsim::cli
