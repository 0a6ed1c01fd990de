#include "sim/cli/print_synthesis.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"

namespace tsim::cli {
namespace {

using cost::Candidate;
using cost::Step;
using Rows = std::vector<std::vector<std::string>>;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Those of the library, the winner, and the next best of those made, by time.
std::vector<const Candidate*> shown(const cost::Synthesis& s) {
  constexpr int kMade = 3;
  std::vector<const Candidate*> all;
  for (const Candidate& c : s.candidates) {
    if (c.judged) { all.push_back(&c); }
  }
  std::ranges::stable_sort(all, {}, [&](const Candidate* c) {
    return std::pair{c != &s.candidates[s.winner], c->time};
  });
  int made = 0;
  std::erase_if(all, [&](const Candidate* c) { return !c->of_library && ++made > kMade; });
  return all;
}

std::string times_slower(Seconds time, Seconds best) {
  return best.value > 0 ? significant(time / best, 3) : "1.00";
}

void print_candidates(const SynthesisAnswer& a, std::ostream& out) {
  const cost::Synthesis& s = a.run->synthesis;
  Rows rows;
  for (const Candidate* c : shown(s)) {
    rows.push_back({c->name, c->protocol, std::to_string(c->steps), format(c->time),
                    times_slower(c->time, s.time)});
  }
  rows.push_back({"auto: " + a.automatic + ", its steps added up", "", "", format(a.automatic_time),
                  times_slower(a.automatic_time, s.time)});
  print_table(out,
              {{"program"},
               {"protocol"},
               {"steps", Align::right},
               {"time", Align::right},
               {"times the best", Align::right}},
              rows);
  const auto run = std::ranges::count(s.candidates, true, &Candidate::judged);
  out << "\n"
      << run << " of " << s.candidates.size()
      << " programs were run; the others take longer at least\n";
}

/// Channels by the time that their bytes take, the longest first.
std::vector<int> busiest(const SynthesisAnswer& a) {
  const auto& bytes = a.run->channel_bytes;
  std::vector<int> order(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int c) { return bytes[index(c)] <= 0; });
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](int c) {
    return bytes[index(c)] / a.cluster->topology.channels[index(c)].bandwidth.value;
  });
  return order;
}

/// Of the program's time, that the channel is busy.
double use(const SynthesisAnswer& a, int channel) {
  const double rate = a.cluster->topology.channels[index(channel)].bandwidth.value;
  const double time = a.run->synthesis.time.value;
  return time > 0 ? a.run->channel_bytes[index(channel)] / rate / time : 0;
}

void print_links(const SynthesisAnswer& a, std::ostream& out) {
  constexpr std::size_t kMost = 8;
  const std::vector<int> order = busiest(a);
  Rows rows;
  for (std::size_t i = 0; i < std::min(order.size(), kMost); ++i) {
    const double bytes = a.run->channel_bytes[index(order[i])];
    rows.push_back({a.cluster->topology.channels[index(order[i])].name,
                    format(Bytes{std::llround(bytes)}), percent(use(a, order[i]))});
  }
  out << "\nBusiest links, of " << order.size() << "\n";
  print_table(out, {{"link"}, {"bytes", Align::right}, {"busy", Align::right}}, rows);
}

std::string place(cost::Buffer buffer, int chunk, int count) {
  std::string text = std::string(name_of(buffer)) + " " + std::to_string(chunk);
  if (count > 1) { text += "-" + std::to_string(chunk + count - 1); }
  return text;
}

std::string list_of(std::span<const cost::StepId> steps) {
  constexpr std::size_t kMost = 6;
  std::string text;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == kMost) { return text + ", ..."; }
    text.append(i > 0 ? ", " : "").append(std::to_string(steps[i]));
  }
  return text;
}

void print_steps(const SynthesisAnswer& a, std::ostream& out) {
  constexpr std::size_t kFirst = 12;
  const cost::CollectiveProgram& p = a.run->synthesis.program;
  const std::size_t count = a.all_steps ? p.steps.size() : std::min(kFirst, p.steps.size());
  Rows rows;
  for (cost::StepId i = 0; i < count; ++i) {
    const Step& s = p.steps[i];
    rows.push_back({std::to_string(i), std::to_string(s.from), std::to_string(s.to),
                    place(s.source_buffer, s.source, s.count), s.reduce ? "adds to" : "becomes",
                    place(s.target_buffer, s.target, s.count), list_of(dependencies(p, i))});
  }
  out << "\nSteps, in chunks of 1/" << p.chunks << " of the buffer";
  if (count < p.steps.size()) {
    out << " (the first " << count << " of " << p.steps.size() << "; --steps lists all)";
  }
  out << "\n";
  print_table(out,
              {{"step", Align::right},
               {"from", Align::right},
               {"to", Align::right},
               {"source"},
               {""},
               {"target"},
               {"after"}},
              rows);
}

}  // namespace

void print_synthesis_text(const SynthesisAnswer& a, std::ostream& out) {
  const cost::Synthesis& s = a.run->synthesis;
  const cost::SynthesisRequest& r = *a.request;
  const double over = s.bound.time.value > 0 ? s.time / s.bound.time - 1 : 0;
  out << name_of(r.op) << " of " << format(r.payload) << " over " << r.devices.size()
      << " ranks on " << a.cluster->name << "\n";
  out << "  best     " << s.candidates[s.winner].name << "\n";
  out << "  time     " << format(s.time);
  if (s.time.value > 0) {
    out << ", algbw " << significant(to_double(r.payload) / s.time.value / 1e9, 4) << " GB/s";
  }
  out << "\n  bound    " << format(s.bound.time) << " by " << s.bound.reason << "; the time is "
      << percent(over) << " above it\n\n";
  print_candidates(a, out);
  print_links(a, out);
  print_steps(a, out);
}

void print_synthesis_json(const SynthesisAnswer& a, std::ostream& out) {
  const cost::Synthesis& s = a.run->synthesis;
  nlohmann::ordered_json json;
  json["op"] = name_of(a.request->op);
  json["cluster"] = a.cluster->name;
  json["devices"] = a.request->devices;
  json["bytes"] = a.request->payload.value;
  json["time_s"] = s.time.value;
  json["bound_s"] = s.bound.time.value;
  json["bound_by"] = s.bound.reason;
  json["best"] = s.candidates[s.winner].name;
  json["automatic"] = {{"algorithm", a.automatic}, {"time_s", a.automatic_time.value}};
  for (const Candidate& c : s.candidates) {
    nlohmann::ordered_json row{{"program", c.name},
                               {"library", c.of_library},
                               {"protocol", c.protocol},
                               {"steps", c.steps}};
    row["time_s"] = c.judged ? nlohmann::ordered_json(c.time.value) : nullptr;
    json["programs"].push_back(std::move(row));
  }
  for (const int c : busiest(a)) {
    json["links"].push_back({{"link", a.cluster->topology.channels[index(c)].name},
                             {"bytes", a.run->channel_bytes[index(c)]},
                             {"busy", use(a, c)}});
  }
  out << json.dump(2) << "\n";
}

}  // namespace tsim::cli
