// Rules of low-rank adapters: how layers with them may be split.
#include "sim/input/rules/check.hpp"
#include "strategies/tensor/tensor_layout.hpp"

namespace tsim::sim {

void check_adapters(const Check& check) {
  if (check.scenario.model.lora.rank == 0) { return; }
  const strategies::Strategy& s = check.scenario.strategy;
  const auto fail = [&check](const char* path, const char* found, const char* expected) {
    check.fail(path, found, expected, "adapters follow Megatron-LM's split of their products");
  };
  if (is_grid(s.grid)) {
    fail("/strategy/tensor_layout", "a grid", "\"1d\" for a model with lora");
  }
  if (!s.operators.empty()) {
    fail("/strategy/operators", "cuts of operators", "no such key for a model with lora");
  }
  if (s.experts.shadowing.on) {
    check.fail("/strategy/moe/shadow", "true", "false for a model with lora",
               "shadowed experts are modelled with the gradients that training them sends");
  }
}

}  // namespace tsim::sim
