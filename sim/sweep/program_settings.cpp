// Strategies as settings of training programs.
//   Megatron-LM arguments: github.com/NVIDIA/Megatron-LM, megatron/training/arguments.py
//   DeepSpeed JSON:        www.deepspeed.ai/docs/config-json
//   torchtitan TOML:       github.com/pytorch/torchtitan, torchtitan/config/job_config.py
#include <sstream>

#include "sim/input/rules/check_scenario.hpp"
#include "sim/sweep/advise.hpp"

namespace tsim::sim {
namespace {

using strategies::Recompute;
using strategies::Strategy;

bool is_bf16(const Strategy& s) { return s.precision.compute == models::DType::bf16; }
bool is_fp16(const Strategy& s) { return s.precision.compute == models::DType::fp16; }

}  // namespace

std::string megatron_arguments(const Scenario& s, std::vector<std::string>& unstated) {
  const Strategy& t = s.strategy;
  std::ostringstream out;
  const auto add = [&out](const char* name, std::int64_t value) {
    out << (out.tellp() > 0 ? " \\\n" : "") << name << " " << value;
  };
  const auto flag = [&out](bool used, const char* text) {
    if (used) { out << " \\\n" << text; }
  };
  add("--tensor-model-parallel-size", t.tensor);
  add("--pipeline-model-parallel-size", t.pipeline);
  if (t.context > 1) { add("--context-parallel-size", t.context); }
  if (t.chunks > 1 && t.pipeline > 1) {
    add("--num-layers-per-virtual-pipeline-stage",
        layer_count(s.model) / (std::int64_t{t.pipeline} * t.chunks));
  }
  add("--micro-batch-size", s.workload.micro_batch);
  add("--global-batch-size", s.workload.global_batch);
  add("--seq-length", tokens_of(s.model, s.workload));
  flag(t.sequence_parallel && t.tensor > 1, "--sequence-parallel");
  flag(t.recompute == Recompute::selective, "--recompute-granularity selective");
  flag(t.recompute == Recompute::full,
       "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  flag(t.zero.stage >= 1, "--use-distributed-optimizer");
  flag(t.zero.stage == 2,
       "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads "
       "--no-gradient-accumulation-fusion --ckpt-format fsdp_dtensor");
  flag(t.zero.stage == 3,
       "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
       "--no-gradient-accumulation-fusion --ckpt-format fsdp_dtensor");
  flag(t.overlap_tensor && t.sequence_parallel && t.tensor > 1, "--tp-comm-overlap");
  flag(t.overlap_gradients && t.data > 1, "--overlap-grad-reduce");
  flag(t.overlap_parameters, "--overlap-param-gather");
  flag(t.flash_attention, "--use-flash-attn");
  flag(is_fp16(t), "--fp16");
  flag(is_bf16(t), "--bf16");
  if (t.pipeline > 1 && t.schedule != "1f1b" && t.schedule != "interleaved") {
    unstated.push_back("schedule " + t.schedule);
  }
  if (t.zero.stage >= 2 && t.pipeline > 1) {
    unstated.emplace_back("ZeRO-" + std::to_string(t.zero.stage) +
                          " in a pipeline: Megatron-FSDP runs without one");
  }
  if (t.overlap_tensor && t.tensor > 1 && !t.sequence_parallel) {
    unstated.emplace_back("overlap_tensor: --tp-comm-overlap needs --sequence-parallel");
  }
  return out.str() + "\n";
}

std::string deepspeed_json(const Scenario& s, std::vector<std::string>& unstated) {
  const Strategy& t = s.strategy;
  nlohmann::ordered_json j;
  j["train_batch_size"] = s.workload.global_batch;
  j["train_micro_batch_size_per_gpu"] = s.workload.micro_batch;
  j["gradient_accumulation_steps"] = micro_batches(s);
  j["zero_optimization"]["stage"] = t.zero.stage;
  if (t.zero.stage >= 1) {
    j["zero_optimization"]["overlap_comm"] = t.overlap_gradients;
    j["zero_optimization"]["reduce_bucket_size"] = t.bucket.value / size_of(t.precision.reduction);
  }
  if (is_fp16(t)) { j["fp16"]["enabled"] = true; }
  if (is_bf16(t)) { j["bf16"]["enabled"] = true; }
  if (t.gradient_clipping) { j["gradient_clipping"] = 1.0; }
  if (t.recompute == Recompute::full) {
    j["activation_checkpointing"]["partition_activations"] = t.partition_activations;
    j["activation_checkpointing"]["number_checkpoints"] = layer_count(s.model);
  }
  if (t.tensor > 1) {
    unstated.push_back("tensor parallelism " + std::to_string(t.tensor) +
                       ": the model's own (mpu)");
  }
  if (t.pipeline > 1) {
    unstated.push_back("pipeline " + std::to_string(t.pipeline) +
                       ": PipelineModule(num_stages=" + std::to_string(t.pipeline) + ")");
  }
  if (t.zero.stage >= 2 && t.pipeline > 1) {
    unstated.emplace_back("ZeRO-" + std::to_string(t.zero.stage) +
                          " in a pipeline: DeepSpeed's takes ZeRO-1 at most");
  }
  if (t.chunks > 1) { unstated.emplace_back("interleaving: DeepSpeed's pipeline has none"); }
  if (t.recompute == Recompute::selective) {
    unstated.emplace_back("selective recomputation: the model's own");
  }
  return j.dump(2) + "\n";
}

std::string torchtitan_toml(const Scenario& s, std::vector<std::string>& unstated) {
  const Strategy& t = s.strategy;
  const bool sharded = t.zero.stage >= 1;
  std::ostringstream out;
  out << "[training]\nlocal_batch_size = " << s.workload.global_batch / t.data
      << "\nglobal_batch_size = " << s.workload.global_batch
      << "\nseq_len = " << tokens_of(s.model, s.workload) << "\nmixed_precision_param = \""
      << (is_bf16(t) ? "bfloat16" : "float32") << "\"\n\n[parallelism]\n"
      << "data_parallel_replicate_degree = " << (sharded ? 1 : t.data)
      << "\ndata_parallel_shard_degree = " << (sharded ? t.data : 1)
      << "\ntensor_parallel_degree = " << t.tensor << "\ncontext_parallel_degree = " << t.context
      << "\npipeline_parallel_degree = " << t.pipeline << "\n";
  if (t.pipeline > 1) {
    out << "pipeline_parallel_schedule = \""
        << (t.chunks > 1 ? "Interleaved1F1B" : (t.schedule == "gpipe" ? "GPipe" : "1F1B"))
        << "\"\npipeline_parallel_microbatch_size = " << s.workload.micro_batch << "\n";
    if (t.chunks > 1) {
      out << "pipeline_parallel_layers_per_stage = "
          << layer_count(s.model) / (std::int64_t{t.pipeline} * t.chunks) << "\n";
    }
  }
  if (t.overlap_tensor && t.tensor > 1) { out << "enable_async_tensor_parallel = true\n"; }
  out << "fsdp_reshard_after_forward = \"" << (t.zero.stage == 3 ? "always" : "never")
      << "\"\n\n[activation_checkpoint]\nmode = \""
      << (t.recompute == Recompute::full        ? "full"
          : t.recompute == Recompute::selective ? "selective"
                                                : "none")
      << "\"\n";
  if (is_fp16(t)) { unstated.emplace_back("fp16: torchtitan trains in bf16 or fp32"); }
  if (t.zero.stage == 1) { unstated.emplace_back("ZeRO-1: shards gradients and weights, too"); }
  return out.str();
}

}  // namespace tsim::sim
