#include "sim/sweep/outcome.hpp"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace tsim::sim {
namespace {

/// Appends plain values.
class Packer {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  template <class T>
  void add_list(const std::vector<T>& list) {
    add(static_cast<std::uint64_t>(list.size()));
    for (const T& value : list) { add(value); }
  }
  void add_text(const std::string& text) {
    add(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  void add_answers(const std::vector<Answer>& answers) {
    add(static_cast<std::uint64_t>(answers.size()));
    for (const Answer& a : answers) {
      add(a.point);
      add(a.choice);
      add(a.estimate);
      add_list(a.goals);
    }
  }
  std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    need(sizeof(T));
    T value{};
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> take_list() {
    const auto count = take<std::uint64_t>();
    need(count * sizeof(T));
    std::vector<T> list;
    list.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) { list.push_back(take<T>()); }
    return list;
  }
  std::string take_text() {
    const auto size = take<std::uint64_t>();
    need(size);
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  std::vector<Answer> take_answers() {
    const auto count = take<std::uint64_t>();
    std::vector<Answer> answers;
    for (std::uint64_t i = 0; i < count; ++i) {
      Answer a;
      a.point = take<std::uint64_t>();
      a.choice = take<Choice>();
      a.estimate = take<Estimate>();
      a.goals = take_list<double>();
      answers.push_back(std::move(a));
    }
    return answers;
  }

 private:
  void need(std::uint64_t size) const {
    if (rest_.size() < size) { throw std::runtime_error("a worker's message was cut short"); }
  }
  std::string_view rest_;
};

}  // namespace

std::string packed(const Outcome& o) {
  Packer p;
  for (const std::uint64_t n : {o.counts.points, o.counts.passed, o.counts.legal,
                                o.counts.estimated, o.counts.planned, o.counts.fitting}) {
    p.add(n);
  }
  p.add(static_cast<std::uint64_t>(o.counts.removed.size()));
  for (const auto& [reason, count] : o.counts.removed) {
    p.add_text(reason);
    p.add(count);
  }
  p.add_answers(o.best);
  p.add_answers(o.all);
  return std::move(p).take();
}

Outcome unpacked_outcome(std::string_view bytes) {
  Unpacker u(bytes);
  Outcome o;
  for (std::uint64_t* n : {&o.counts.points, &o.counts.passed, &o.counts.legal, &o.counts.estimated,
                           &o.counts.planned, &o.counts.fitting}) {
    *n = u.take<std::uint64_t>();
  }
  const auto reasons = u.take<std::uint64_t>();
  for (std::uint64_t i = 0; i < reasons; ++i) {
    std::string reason = u.take_text();
    o.counts.removed[std::move(reason)] = u.take<std::uint64_t>();
  }
  o.best = u.take_answers();
  o.all = u.take_answers();
  return o;
}

std::string packed(const Request& r) {
  Packer p;
  p.add(r.first);
  p.add(r.last);
  p.add_list(r.points);
  p.add_list(r.limits);
  p.add(r.keep_all);
  p.add(r.simulate);
  p.add(r.choice);
  return std::move(p).take();
}

Request unpacked_request(std::string_view bytes) {
  Unpacker u(bytes);
  Request r;
  r.first = u.take<std::uint64_t>();
  r.last = u.take<std::uint64_t>();
  r.points = u.take_list<std::uint64_t>();
  r.limits = u.take_list<double>();
  r.keep_all = u.take<bool>();
  r.simulate = u.take<bool>();
  r.choice = u.take<Choice>();
  return r;
}

std::string packed(const Simulated& s) {
  Packer p;
  p.add(s.step);
  p.add(s.memory);
  p.add(s.fits);
  p.add_text(s.failure);
  return std::move(p).take();
}

Simulated unpacked_simulated(std::string_view bytes) {
  Unpacker u(bytes);
  Simulated s;
  s.step = u.take<double>();
  s.memory = u.take<std::int64_t>();
  s.fits = u.take<bool>();
  s.failure = u.take_text();
  return s;
}

}  // namespace tsim::sim
