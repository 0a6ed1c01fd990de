#include "sim/cli/print_explain.hpp"

#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "cost/roofline.hpp"
#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"

namespace tsim::cli {
namespace {

using models::BlockRow;
using models::ClassShare;
using models::Kernel;
using models::KernelRow;
using Json = nlohmann::ordered_json;

Seconds time_of(const std::vector<Kernel>& kernels, const cost::Device& device) {
  Seconds sum;
  for (const Kernel& kernel : kernels) { sum += cost::kernel_time(kernel, device); }
  return sum;
}

std::string gflops(Flops flops) { return significant(flops.value / 1e9, 4); }
std::string dash_if_none(Bytes bytes) { return bytes.value == 0 ? "-" : format(bytes); }

/// What of a model with experts one token meets, and how many of the experts.
std::string active_text(const Explained& e) {
  const models::MoeConfig& moe = e.config.moe;
  if (moe.experts == 0) { return ""; }
  return ", " + with_separators(e.explanation.active_parameters) + " active (" +
         std::to_string(moe.top_k) + " of " + std::to_string(moe.experts) + " experts)";
}

/// What low-rank adapters leave to be trained.
std::string adapters_text(const Explained& e) {
  if (e.config.lora.rank == 0) { return ""; }
  return ", " + with_separators(e.explanation.trained_parameters) + " trained (adapters of rank " +
         std::to_string(e.config.lora.rank) + ")";
}

void print_head(const Explained& e, std::ostream& out) {
  const models::BuildOptions& o = e.options;
  out << e.config.name << "\n\n"
      << "  parameters       " << with_separators(e.explanation.parameters) << active_text(e)
      << adapters_text(e) << "\n"
      << "  micro-batch      " << o.micro_batch << " of " << e.tokens << " tokens, "
      << models::name_of(o.compute) << ", fusion " << models::name_of(e.fusion)
      << (o.flash_attention ? ", flash attention" : "") << (o.dropout ? "" : ", no dropout") << "\n"
      << "  model FLOPs      " << gflops(e.explanation.model_flops) << " GFLOP forward, "
      << gflops(e.explanation.training_flops) << " GFLOP a training step\n"
      << "  kept activations " << format(e.explanation.saved) << "\n";
  if (e.device) { out << "  device           " << e.device->description << "\n"; }
  if (!e.config.source.empty()) { out << "  source           " << e.config.source << "\n"; }
}

void print_classes(const Explained& e, std::ostream& out) {
  std::vector<Column> columns{{"  class, forward + backward"}, {"kernels", Align::right},
                              {"GFLOP", Align::right},         {"share", Align::right},
                              {"moved", Align::right},         {"share", Align::right}};
  ClassTimes times{};
  Seconds total;
  if (e.device) {
    columns.push_back({"time", Align::right});
    columns.push_back({"share", Align::right});
    times = class_times(e.explanation, *e.device);
    for (const Seconds t : times) { total += t; }
  }
  std::vector<std::vector<std::string>> rows;
  for (const ClassShare& c : e.explanation.classes) {
    rows.push_back({"  " + std::string(models::name_of(c.cls)), std::to_string(c.kernels),
                    gflops(c.flops), percent(c.flops_share), format(c.bytes),
                    percent(c.bytes_share)});
    if (e.device) {
      const Seconds t = times[static_cast<std::size_t>(c.cls)];
      rows.back().push_back(format(t));
      rows.back().push_back(percent(t / total));
    }
  }
  out << "\n";
  print_table(out, columns, rows);
}

std::vector<std::string> kernel_cells(const KernelRow& row, const Explained& e) {
  std::vector<std::string> cells{"  " + row.name,
                                 std::string(models::name_of(row.cls)),
                                 row.parameters == 0 ? "-" : with_separators(row.parameters),
                                 gflops(models::flops(row.forward)),
                                 dash_if_none(models::bytes(row.forward)),
                                 gflops(models::flops(row.backward)),
                                 dash_if_none(models::bytes(row.backward)),
                                 dash_if_none(row.saved)};
  if (e.device) {
    cells.push_back(format(time_of(row.forward, *e.device)));
    cells.push_back(format(time_of(row.backward, *e.device)));
  }
  return cells;
}

void print_block(const BlockRow& block, const Explained& e, std::ostream& out) {
  out << "\n" << block.name;
  if (block.count > 1) { out << ", one of " << block.count; }
  out << "\n";
  std::vector<Column> columns{{"  operators of a kernel"},  {"class"},
                              {"parameters", Align::right}, {"forward GFLOP", Align::right},
                              {"moved", Align::right},      {"backward GFLOP", Align::right},
                              {"moved", Align::right},      {"kept", Align::right}};
  if (e.device) {
    columns.push_back({"forward", Align::right});
    columns.push_back({"backward", Align::right});
  }
  std::vector<std::vector<std::string>> rows;
  for (const KernelRow& row : block.kernels) { rows.push_back(kernel_cells(row, e)); }
  print_table(out, columns, rows);
}

Json kernel_json(const KernelRow& row, const Explained& e) {
  Json json{{"name", row.name},
            {"class", models::name_of(row.cls)},
            {"kind", models::name_of(row.kind)},
            {"part", models::name_of(row.part)},
            {"parameters", row.parameters},
            {"saved_bytes", row.saved.value},
            {"forward_flops", models::flops(row.forward).value},
            {"forward_bytes", models::bytes(row.forward).value},
            {"backward_flops", models::flops(row.backward).value},
            {"backward_bytes", models::bytes(row.backward).value}};
  if (e.device) {
    json["forward_seconds"] = time_of(row.forward, *e.device).value;
    json["backward_seconds"] = time_of(row.backward, *e.device).value;
  }
  return json;
}

Json block_json(const BlockRow& block, const Explained& e) {
  Json kernels = Json::array();
  for (const KernelRow& row : block.kernels) { kernels.push_back(kernel_json(row, e)); }
  return {{"name", block.name},
          {"kind", models::name_of(block.kind)},
          {"count", block.count},
          {"kernels", std::move(kernels)}};
}

Json classes_json(const Explained& e) {
  const ClassTimes times = e.device ? class_times(e.explanation, *e.device) : ClassTimes{};
  Json classes = Json::array();
  for (const ClassShare& c : e.explanation.classes) {
    Json json{{"class", models::name_of(c.cls)},
              {"kernels", c.kernels},
              {"flops", c.flops.value},
              {"bytes", c.bytes.value}};
    if (e.device) { json["seconds"] = times[static_cast<std::size_t>(c.cls)].value; }
    classes.push_back(std::move(json));
  }
  return classes;
}

}  // namespace

ClassTimes class_times(const models::Explanation& explanation, const cost::Device& device) {
  ClassTimes times{};
  for (const BlockRow& block : explanation.blocks) {
    for (const KernelRow& row : block.kernels) {
      for (const auto* const list : {&row.forward, &row.backward}) {
        for (const Kernel& kernel : *list) {
          times[static_cast<std::size_t>(kernel.cls)] +=
              block.count * cost::kernel_time(kernel, device);
        }
      }
    }
  }
  return times;
}

void print_explain_text(const Explained& explained, std::ostream& out) {
  print_head(explained, out);
  print_classes(explained, out);
  for (const BlockRow& block : explained.explanation.blocks) { print_block(block, explained, out); }
}

void print_explain_json(const Explained& e, std::ostream& out) {
  Json blocks = Json::array();
  for (const BlockRow& block : e.explanation.blocks) { blocks.push_back(block_json(block, e)); }
  Json document{{"version", 1},
                {"model", e.config.name},
                {"micro_batch", e.options.micro_batch},
                {"tokens_per_sample", e.tokens},
                {"dtype", models::name_of(e.options.compute)},
                {"fusion", models::name_of(e.fusion)},
                {"parameters", e.explanation.parameters},
                {"active_parameters", e.explanation.active_parameters},
                {"forward_model_flops", e.explanation.model_flops.value},
                {"saved_bytes", e.explanation.saved.value}};
  if (e.device) { document["device"] = e.device->name; }
  document["classes"] = classes_json(e);
  document["blocks"] = std::move(blocks);
  out << document.dump(2) << '\n';
}

}  // namespace tsim::cli
