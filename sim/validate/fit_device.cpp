#include "sim/validate/fit_device.hpp"

#include <algorithm>
#include <cmath>

#include "sim/input/truth/read_split.hpp"
#include "sim/validate/run_rows.hpp"

namespace tsim::validate {
namespace {

using Values = std::vector<double>;

/// Training rows and what they take with given figures.
class Trainer {
 public:
  Trainer(const Split& split, std::span<const Source> sources, int jobs)
      : split_(split), sources_(sources), items_(items_of(sources)), jobs_(jobs) {}

  /// Results of all sources for each point, from one round of processes.
  std::vector<std::vector<SourceResult>> results(const std::vector<Values>& points,
                                                 Tier tier = Tier::closed_form) const {
    std::vector<sim::StandIns> stand_ins;
    stand_ins.reserve(points.size());
    for (const Values& values : points) {
      stand_ins.push_back({{split_.device, sim::changed_device(split_, values)}});
    }
    std::vector<Item> items;
    items.reserve(points.size() * items_.size());
    for (const sim::StandIns& one : stand_ins) {
      for (Item item : items_) {
        item.stand_ins = &one;
        item.tier = tier;
        items.push_back(item);
      }
    }
    const std::vector<Outcome> outcomes =
        tier == Tier::events ? run_in_tiers(items, jobs_) : run_items(items, jobs_);
    std::vector<std::vector<SourceResult>> all;
    all.reserve(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto part = std::span(outcomes).subspan(i * items_.size(), items_.size());
      all.push_back(validation(sources_, part, {}));
    }
    return all;
  }

 private:
  const Split& split_;
  std::span<const Source> sources_;
  std::vector<Item> items_;
  int jobs_;
};

/// Residuals of a point: log ratios, each source with the same weight.
Values residuals_of(const std::vector<SourceResult>& results) {
  std::size_t rows = 0;
  for (const SourceResult& result : results) { rows += result.rows.size(); }
  Values residuals;
  residuals.reserve(rows);
  for (const SourceResult& result : results) {
    const double weight = std::sqrt(static_cast<double>(rows) /
                                    static_cast<double>(results.size() * result.rows.size()));
    for (const RowResult& row : result.rows) {
      residuals.push_back(row.error ? weight * std::log1p(*row.error) : 0.0);
    }
  }
  return residuals;
}

double root_mean_square(const Values& residuals) {
  double sum = 0;
  for (const double r : residuals) { sum += r * r; }
  return residuals.empty() ? 0.0 : std::sqrt(sum / static_cast<double>(residuals.size()));
}

Values starts_of(const Split& split) {
  Values starts;
  starts.reserve(split.parameters.size());
  for (const FitParameter& p : split.parameters) { starts.push_back(p.start); }
  return starts;
}

cost::SquaresFit fitted(const Split& split, const Trainer& trainer) {
  std::vector<cost::Bounded> bounds;
  bounds.reserve(split.parameters.size());
  for (const FitParameter& p : split.parameters) { bounds.push_back({p.start, p.least, p.most}); }
  return cost::least_squares(bounds, [&](const std::vector<Values>& points) {
    std::vector<Values> lists;
    lists.reserve(points.size());
    for (const auto& results : trainer.results(points)) { lists.push_back(residuals_of(results)); }
    return lists;
  });
}

/// Fits without one source and looks at what it then says of that source.
LeftOut left_out(const Split& split, std::span<const Source> training, std::size_t which,
                 int jobs) {
  std::vector<Source> others(training.begin(), training.end());
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(which));
  LeftOut result{.source = training[which].name};
  result.values = fitted(split, Trainer(split, others, jobs)).values;
  const auto both = Trainer(split, training.subspan(which, 1), jobs)
                        .results({starts_of(split), result.values}, Tier::events);
  result.before = both[0].front().step;
  result.after = both[1].front().step;
  return result;
}

bool is_training(const Split& split, const FitRows& wanted, const Row& row) {
  return !row.weak && !row.collective && row.measured.figure != Figure::none &&
         row.id.find(wanted.match) != std::string::npos && !row.choices.empty() &&
         sim::device_of(row.choices.front().document) == split.device;
}

}  // namespace

std::vector<Source> training_rows(const Split& split, std::vector<Source> sources) {
  for (Source& source : sources) {
    std::erase_if(source.rows, [&](const Row& row) {
      return std::none_of(split.train.begin(), split.train.end(), [&](const FitRows& wanted) {
        return wanted.source == source.name && is_training(split, wanted, row);
      });
    });
  }
  std::erase_if(sources, [](const Source& source) { return source.rows.empty(); });
  return sources;
}

DeviceFit fit_device(const Split& split, std::span<const Source> training, int jobs) {
  DeviceFit result;
  const Trainer trainer(split, training, jobs);
  const std::vector<SourceResult> at_start = trainer.results({starts_of(split)}).front();
  for (const SourceResult& source : at_start) {
    for (const RowResult& row : source.rows) {
      const std::string name = source.source->name + "/" + row.row->id;
      if (row.error) {
        result.rows.push_back(name);
      } else {
        result.not_run.push_back(name + ": " + row.why);
      }
    }
  }
  result.fit = fitted(split, trainer);
  const auto both = trainer.results({starts_of(split), result.fit.values}, Tier::events);
  result.before = root_mean_square(residuals_of(both[0]));
  result.after = root_mean_square(residuals_of(both[1]));
  if (training.size() < 2) { return result; }
  result.left_out.reserve(training.size());
  for (std::size_t i = 0; i < training.size(); ++i) {
    result.left_out.push_back(left_out(split, training, i, jobs));
  }
  return result;
}

}  // namespace tsim::validate
