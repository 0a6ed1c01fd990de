#include "sim/calibrate/work.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <sstream>

namespace tsim::calibrate {
namespace {

/// What a word of a line may be: a count, or one of some names.
struct Field {
  std::string_view name;
  std::vector<std::string_view> names{};  // empty: a count >= 1
};

struct Form {
  std::string_view kind;
  std::vector<Field> fields;
};

const std::vector<Form>& forms() {
  static const std::vector<std::string_view> dtypes{"bf16", "fp16", "fp32", "tf32", "fp8"};
  static const std::vector<std::string_view> halves{"bf16", "fp16", "fp32"};
  static const std::vector<std::string_view> ways{"fwd", "bwd"};
  static const std::vector<Form> all{
      {"gemm", {{"DTYPE", dtypes}, {"LAYOUT", {"nt", "nn", "tn", "tn+"}}, {"M"}, {"N"}, {"K"}}},
      {"bmm", {{"DTYPE", halves}, {"LAYOUT", {"nt", "nn", "tn"}}, {"BATCH"}, {"M"}, {"N"}, {"K"}}},
      {"attention",
       {{"DTYPE", halves},
        {"WAY", ways},
        {"MASK", {"full", "causal"}},
        {"HEADS"},
        {"QUERIES"},
        {"KEYS"},
        {"WIDTH"}}},
      {"map",
       {{"DTYPE", halves},
        {"OP", {"copy", "add", "gelu", "gelu_bwd", "dropout", "dropout_bwd", "bias_gelu", "join"}},
        {"ELEMENTS"}}},
      {"layernorm", {{"DTYPE", halves}, {"WAY", ways}, {"ROWS"}, {"COLUMNS"}}},
      {"softmax", {{"DTYPE", halves}, {"WAY", ways}, {"ROWS"}, {"COLUMNS"}}},
      {"cross_entropy", {{"DTYPE", halves}, {"WAY", ways}, {"ROWS"}, {"COLUMNS"}}},
      {"adam", {{"ELEMENTS"}}},
      {"memcpy", {{"WAY", {"h2d", "d2h", "d2d", "p2p", "p2p_both"}}, {"BYTES"}}},
      {"launch", {{"WHAT", {"device", "host", "graph"}}}},
      {"collective",
       {{"OP",
         {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all",
          "send_recv", "send_recv_both"}},
        {"RANKS"},
        {"BYTES"}}},
      {"overlap", {{"M"}, {"N"}, {"K"}, {"RANKS"}, {"BYTES"}}},
      {"pair", {{"FROM"}, {"TO"}, {"BYTES"}}},
      {"grouped",
       {{"DTYPE", halves}, {"LAYOUT", {"nt", "nn", "tn", "tn+"}}, {"GROUPS"}, {"M"}, {"N"}, {"K"}}},
  };
  return all;
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

std::string why_bad(const Work& work) {
  const auto form = std::find_if(forms().begin(), forms().end(),
                                 [&](const Form& one) { return one.kind == work.kind; });
  if (form == forms().end()) { return "unknown kind \"" + work.kind + "\""; }
  if (form->fields.size() != work.words.size()) {
    return "found " + std::to_string(work.words.size()) + " values after " + work.kind +
           ", expected " + std::to_string(form->fields.size());
  }
  for (std::size_t i = 0; i < form->fields.size(); ++i) {
    const Field& field = form->fields[i];
    const std::string& word = work.words[i];
    const bool good = field.names.empty() ? to_count(word) >= 1
                                          : std::find(field.names.begin(), field.names.end(),
                                                      word) != field.names.end();
    if (good) { continue; }
    return std::string(field.name) + ": found \"" + word + "\", expected " +
           (field.names.empty() ? "a whole number above 0" : "one of " + joined(field.names));
  }
  return {};
}

Work split(const std::string& line) {
  std::istringstream in(line);
  Work work;
  for (std::string word; in >> word;) {
    work.line += (work.line.empty() ? "" : " ") + word;
    if (work.kind.empty()) {
      work.kind = word;
    } else {
      work.words.push_back(word);
    }
  }
  return work;
}

void add(std::vector<std::string>& lines, const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) { line += (line.empty() ? "" : " ") + word; }
  lines.push_back(line);
}

/// The products of a transformer layer of width `h` and MLP width `ffn` over `rows` tokens, with
/// their gradients.
void add_layer(std::vector<std::string>& lines, std::int64_t rows, std::int64_t h, std::int64_t ffn,
               int tensor) {
  const auto n = [](std::int64_t value) { return std::to_string(value); };
  const std::array<std::array<std::int64_t, 2>, 4> weights{
      {{3 * h / tensor, h}, {h, h / tensor}, {ffn / tensor, h}, {h, ffn / tensor}}};
  for (const auto& [out, in] : weights) {
    add(lines, {"gemm", "bf16", "nt", n(rows), n(out), n(in)});
    add(lines, {"gemm", "bf16", "nn", n(rows), n(in), n(out)});
    add(lines, {"gemm", "bf16", "tn", n(out), n(in), n(rows)});
    add(lines, {"gemm", "bf16", "tn+", n(out), n(in), n(rows)});
  }
}

void add_collectives(std::vector<std::string>& lines, int gpus) {
  for (int ranks = 2; ranks <= gpus; ranks *= 2) {
    for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv",
                           "send_recv_both", "broadcast", "reduce"}) {
      for (std::int64_t bytes = 1024; bytes <= (std::int64_t{1} << 30); bytes *= 4) {
        add(lines, {"collective", op, std::to_string(ranks), std::to_string(bytes)});
      }
    }
  }
}

}  // namespace

std::int64_t to_count(std::string_view word) {
  std::int64_t value = 0;
  const auto [stop, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc{} || value < 0) { return -1; }
  const std::string_view suffix(stop, static_cast<std::size_t>(word.data() + word.size() - stop));
  const std::array<std::string_view, 4> suffixes{"", "KiB", "MiB", "GiB"};
  for (std::size_t i = 0; i < suffixes.size(); ++i) {
    if (suffix == suffixes[i]) { return value << (10 * i); }
  }
  return -1;
}

std::vector<Work> read_work(std::string_view text, std::vector<BadLine>& bad) {
  std::vector<Work> works;
  std::set<std::string> seen;
  std::istringstream in{std::string(text)};
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    Work work = split(line);
    if (work.kind.empty() || work.kind.front() == '#') { continue; }
    if (std::string why = why_bad(work); !why.empty()) {
      bad.push_back({number, std::move(why)});
    } else if (seen.insert(work.line).second) {
      works.push_back(std::move(work));
    }
  }
  return works;
}

std::string work_forms() {
  std::string text;
  for (const Form& form : forms()) {
    text += "  " + std::string(form.kind);
    for (const Field& field : form.fields) { text += " " + std::string(field.name); }
    for (const Field& field : form.fields) {
      if (!field.names.empty()) {
        text += "\n      " + std::string(field.name) + ": " + joined(field.names);
      }
    }
    text += '\n';
  }
  return text;
}

namespace {

constexpr std::array<const char*, 2> kWays{"fwd", "bwd"};

std::string text_of(std::int64_t value) { return std::to_string(value); }

void add_sizes(std::vector<std::string>& lines) {
  for (const std::int64_t size : {1024, 2048, 4096, 8192}) {
    add(lines, {"gemm", "bf16", "nt", text_of(size), text_of(size), text_of(size)});
  }
  for (const std::int64_t elements : {1 << 20, 1 << 24, 1 << 26, 1 << 28}) {
    add(lines, {"map", "bf16", "copy", text_of(elements)});
    add(lines, {"map", "bf16", "add", text_of(elements)});
  }
  for (const std::int64_t elements : {1 << 20, 1 << 24, 1 << 27, 1 << 28}) {
    add(lines, {"adam", text_of(elements)});
  }
}

void add_layers(std::vector<std::string>& lines) {
  for (const std::int64_t h : {768, 1024, 2048, 4096, 5120, 6144, 8192, 12288}) {
    for (const std::int64_t rows : {2048, 8192, 512}) {
      for (const char* const way : kWays) {
        add(lines, {"layernorm", "bf16", way, text_of(rows), text_of(h)});
      }
      for (const int tensor : {1, 2, 4, 8}) { add_layer(lines, rows, h, 4 * h, tensor); }
    }
  }
}

void add_heads(std::vector<std::string>& lines) {
  for (const char* const way : kWays) {
    for (const std::int64_t rows : {4096, 65536, 262144}) {
      add(lines, {"softmax", "bf16", way, text_of(rows), "512"});
      add(lines, {"softmax", "bf16", way, text_of(rows), "2048"});
    }
    for (const std::int64_t vocabulary : {30592, 50304, 128256}) {
      add(lines, {"cross_entropy", "fp32", way, "4096", text_of(vocabulary)});
    }
  }
  for (const std::int64_t vocabulary : {30592, 50304, 128256}) {
    add(lines, {"gemm", "bf16", "nt", "4096", text_of(vocabulary), "1024"});
  }
  for (const char* const op : {"gelu", "gelu_bwd", "dropout", "dropout_bwd", "bias_gelu", "join"}) {
    for (const std::int64_t elements : {1 << 20, 1 << 22, 1 << 24, 1 << 26}) {
      add(lines, {"map", "bf16", op, text_of(elements)});
    }
  }
}

/// Fused attention of models in common use: heads of all samples, tokens of one.
void add_attention(std::vector<std::string>& lines) {
  for (const std::int64_t width : {128, 64}) {
    for (const std::int64_t tokens : {2048, 1024, 4096, 512, 8192}) {
      for (const std::int64_t heads : {32, 128}) {
        for (const char* const mask : {"causal", "full"}) {
          for (const char* const way : kWays) {
            add(lines, {"attention", "bf16", way, mask, text_of(heads), text_of(tokens),
                        text_of(tokens), text_of(width)});
          }
        }
      }
    }
  }
}

void add_overlaps(std::vector<std::string>& lines, int gpus) {
  for (int ranks = 1; ranks <= gpus; ranks *= 2) {
    for (const std::int64_t k : {2048, 4096, 8192, 16384}) {
      add(lines, {"overlap", "2048", "8192", text_of(k), text_of(ranks), text_of(32 << 20)});
    }
  }
}

void add_copies(std::vector<std::string>& lines, int gpus) {
  std::vector<const char*> ways{"h2d", "d2h", "d2d"};
  if (gpus > 1) { ways.insert(ways.end(), {"p2p", "p2p_both"}); }
  for (int from = 1; from <= gpus; ++from) {
    for (int to = 1; to <= gpus; ++to) {
      if (from == to) { continue; }
      add(lines, {"pair", text_of(from), text_of(to), text_of(1 << 26)});
    }
  }
  for (const char* const way : ways) {
    for (std::int64_t bytes = 1 << 16; bytes <= (1 << 28); bytes *= 16) {
      add(lines, {"memcpy", way, text_of(bytes)});
    }
  }
}

}  // namespace

std::vector<std::string> default_work(int gpus) {
  std::vector<std::string> lines{"launch device", "launch host", "launch graph"};
  add_sizes(lines);
  if (gpus > 1) { add_collectives(lines, gpus); }
  add_overlaps(lines, gpus);
  add_attention(lines);
  add_layers(lines);
  add_heads(lines);
  add_copies(lines, gpus);
  return lines;
}

}  // namespace tsim::calibrate
