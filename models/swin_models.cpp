#include "models/swin_models.hpp"

#include <array>
#include <numeric>

namespace tsim::models {
namespace {

/// What sizes of Swin Transformers differ in.
struct SwinDims {
  std::int64_t hidden = 0;  // of the first stage; heads of 32 columns
  std::array<int, 4> layers{};
};
constexpr SwinDims kTiny{96, {2, 2, 6, 2}};
constexpr SwinDims kSmall{96, {2, 2, 18, 2}};
constexpr SwinDims kBase{128, {2, 2, 18, 2}};

struct Image {
  std::int64_t side = 0, window = 0, classes = 0;
};

ModelConfig swin(const char* name, const SwinDims& d, const Image& image) {
  constexpr std::int64_t kHead = 32;
  ModelConfig c{.name = name,
                .family = Family::vision,
                .layers = std::accumulate(d.layers.begin(), d.layers.end(), 0),
                .hidden = d.hidden,
                .heads = d.hidden / kHead,
                .kv_heads = d.hidden / kHead,
                .head_dim = kHead,
                .ffn = 4 * d.hidden,
                .positions = Positions::none,
                .tied_embedding = false,
                .head = false,
                .embedding_norm = true,
                .image = image.side,
                .patch = 4,
                .channels = 3,
                .window = image.window,
                .classes = image.classes,
                .source = "Liu et al. 2021, arXiv:2103.14030, sec. 3.3; 224 x 224, 1000 classes"};
  c.stages.reserve(d.layers.size());
  std::int64_t width = d.hidden;
  for (const int layers : d.layers) {
    c.stages.push_back({layers, width, width / kHead, 4 * width});
    width *= 2;
  }
  c.sequence = image_tokens(c);
  return c;
}

/// One of 32 experts for each token, in every second layer of the last two stages; positions from
/// an MLP of 512 columns; ImageNet-22K.
ModelConfig swin_moe(const char* name, const SwinDims& d) {
  ModelConfig c = swin(name, d, {.side = 192, .window = 12, .classes = 21841});
  c.position_mlp = 512;
  c.moe = {.experts = 32, .top_k = 1, .ffn = c.ffn, .every = 2, .first_dense = 5};
  c.source =
      "Hwang et al. 2022, arXiv:2206.03382, sec. 5.3; microsoft/Swin-Transformer, "
      "configs/swinmoe: 192 x 192, window 12, 21841 classes";
  return c;
}

}  // namespace

std::vector<ModelConfig> swin_models() {
  const Image usual{.side = 224, .window = 7, .classes = 1000};
  return {swin("swin-t", kTiny, usual), swin("swin-s", kSmall, usual), swin("swin-b", kBase, usual),
          swin_moe("swin-moe-s", kSmall), swin_moe("swin-moe-b", kBase)};
}

}  // namespace tsim::models
