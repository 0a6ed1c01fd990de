// One reader for each model_type of Hugging Face configurations.
#pragma once

#include "models/model.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim::hf {

// Defaults are those of the configuration classes in github.com/huggingface/transformers v4.57,
// src/transformers/models/<model_type>/configuration_<model_type>.py.

models::ModelConfig read_bert(Reader& in);
models::ModelConfig read_roberta(Reader& in);
models::ModelConfig read_vit(Reader& in);
models::ModelConfig read_gpt2(Reader& in);
models::ModelConfig read_opt(Reader& in);
models::ModelConfig read_bloom(Reader& in);
models::ModelConfig read_gpt_neox(Reader& in);
models::ModelConfig read_llama(Reader& in);
models::ModelConfig read_mistral(Reader& in);
models::ModelConfig read_qwen2(Reader& in);
models::ModelConfig read_qwen3(Reader& in);
models::ModelConfig read_phi3(Reader& in);
models::ModelConfig read_gemma(Reader& in);
models::ModelConfig read_t5(Reader& in);

// With experts.
models::ModelConfig read_mixtral(Reader& in);
models::ModelConfig read_qwen2_moe(Reader& in);
models::ModelConfig read_qwen3_moe(Reader& in);
models::ModelConfig read_dbrx(Reader& in);
models::ModelConfig read_deepseek_v2(Reader& in);
models::ModelConfig read_deepseek_v3(Reader& in);
models::ModelConfig read_switch(Reader& in);

}  // namespace tsim::sim::hf
