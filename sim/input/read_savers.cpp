#include "sim/input/read_savers.hpp"

#include <array>
#include <cmath>

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

using strategies::ActivationsAt;
using strategies::Recompute;
using strategies::RecomputeMethod;
using strategies::StatesAt;
using strategies::Strategy;

constexpr Range kLayers{1, 100'000};
constexpr std::array kRecomputes{Recompute::none, Recompute::selective, Recompute::full};
constexpr std::array kMethods{RecomputeMethod::uniform, RecomputeMethod::block,
                              RecomputeMethod::list};
constexpr std::array kKinds{Recompute::selective, Recompute::full};
constexpr std::array kStates{StatesAt::device, StatesAt::cpu, StatesAt::nvme};
constexpr std::array kActivations{ActivationsAt::device, ActivationsAt::cpu, ActivationsAt::peer};

/// Names of operators, their parts or their kinds.
void read_operators(const Place& place, Strategy& s) {
  s.recompute = Recompute::operators;
  for (const Place& entry : read_entries(place)) {
    s.recompute_operators.push_back(read_text(entry));
  }
  if (place.value->empty()) { place.fail("an empty list", "operators that run again"); }
}

/// A method, with a number of layers or a list of their numbers.
void read_method(const Place& place, Strategy& s) {
  Reader in(place);
  s.recompute_method = read_choice<RecomputeMethod>(in.take("method"), kMethods);
  const Place layers = in.take("layers");
  const Place kind = in.take("kind");
  if (kind.present() && kind.value->is_array()) {
    read_operators(kind, s);
  } else {
    s.recompute = read_choice<Recompute>(kind, kKinds, Recompute::full);
  }
  if (s.recompute_method == RecomputeMethod::list) {
    for (const Place& entry : read_entries(layers)) {
      s.recompute_list.push_back(static_cast<int>(read_count(entry, {0, kLayers.most})));
    }
    if (!layers.present()) { layers.fail("nothing", "a list of layers, from 0"); }
  } else {
    s.recompute_layers = static_cast<int>(read_count(layers, kLayers));
  }
  in.finish();
}

void read_recompute(const Place& place, Strategy& s) {
  if (!place.present()) { return; }
  if (place.value->is_object()) {
    read_method(place, s);
    return;
  }
  if (place.value->is_array()) {
    read_operators(place, s);
    return;
  }
  static constexpr std::array<std::string_view, 4> kNames{"none", "selective", "full", "fit"};
  const std::size_t choice = read_choice(place, kNames, 0);
  if (choice == kRecomputes.size()) {
    s.recompute_method = RecomputeMethod::fit;
  } else {
    s.recompute = kRecomputes[choice];
  }
}

strategies::Offload read_offload(const Place& place) {
  strategies::Offload offload;
  if (!place.present()) { return offload; }
  Reader in(place);
  offload.optimizer = read_choice<StatesAt>(in.take("optimizer"), kStates, offload.optimizer);
  offload.parameters = read_choice<StatesAt>(in.take("parameters"), kStates, offload.parameters);
  offload.activations =
      read_choice<ActivationsAt>(in.take("activations"), kActivations, offload.activations);
  offload.layers = static_cast<int>(read_count(in.take("layers"), kLayers, offload.layers));
  offload.cpu_rate = read_real(in.take("cpu_rate"), {1, 1e15}, offload.cpu_rate);
  const double memory = read_quantity(in.take("host_memory"), Dimension::size, 0.0);
  offload.host_memory = Bytes{std::llround(memory)};
  in.finish();
  return offload;
}

}  // namespace

void read_savers(Reader& in, Strategy& s) {
  read_recompute(in.take("recompute"), s);
  s.offload = read_offload(in.take("offload"));
  s.partition_activations = read_flag(in.take("partition_activations"), s.partition_activations);
  s.loss_chunks = static_cast<int>(read_count(in.take("loss_chunks"), {1, 1'000'000}, 1));
  s.tiling = static_cast<int>(read_count(in.take("tiling"), {1, 1024}, 1));
}

}  // namespace tsim::sim
