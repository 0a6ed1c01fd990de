// The command line as values. CLI11 is known in options.cpp and options/ only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tsim::cli {

/// `--set /json/pointer=value`: `value` is JSON, or text where it is not.
struct Setting {
  std::string pointer;
  std::string value;
  bool operator==(const Setting&) const = default;
};

struct RunOptions {
  std::filesystem::path scenario;
  bool json = false;
  std::filesystem::path trace;  // empty: none is written
  int trace_ranks = 0;          // ranks in the trace; 0: all
  std::vector<Setting> settings;
  bool operator==(const RunOptions&) const = default;
};

struct ModelsOptions {
  bool json = false;
  bool names_only = false;  // one name a line, for completion and scripts
  bool operator==(const ModelsOptions&) const = default;
};

struct DevicesOptions {
  std::string show;           // name or path of one device; empty: all are listed
  std::filesystem::path svg;  // drawing of its points; empty: none
  bool json = false;
  bool names_only = false;
  bool operator==(const DevicesOptions&) const = default;
};

struct ExplainOptions {
  std::string model;  // a name, or the path of a Hugging Face config.json
  std::int64_t micro_batch = 1;
  std::int64_t sequence = 0;  // 0: the model's default
  std::string device;         // empty: no times are given
  std::string dtype = "fp16";
  std::string fusion = "framework";
  bool flash_attention = false;
  bool no_dropout = false;
  bool json = false;
  bool operator==(const ExplainOptions&) const = default;
};

/// A collective on a cluster. Ranks, sizes and algorithms are checked against the cluster later.
struct NetOptions {
  std::string cluster;  // a name or a path
  std::string op = "all_reduce";
  std::string sizes = "1KiB:4GiB";
  std::string ranks;    // empty: all devices
  std::string servers;  // of --op parameter_server; empty: every worker serves its part
  std::string algorithm = "auto";
  std::vector<std::string> compare;  // algorithms side by side
  std::filesystem::path program;     // a collective of one's own; empty: none
  std::string fidelity = "aggregated";
  std::vector<std::string> with;  // OP:RANKS:SIZE
  std::filesystem::path plot;     // empty: none is written
  bool links = false;
  bool json = false;
  bool csv = false;
  bool operator==(const NetOptions&) const = default;
};

/// One iteration of several scenarios on a cluster that they share.
struct JobsOptions {
  std::string cluster;  // a name or a path
  std::vector<std::filesystem::path> scenarios;
  std::vector<std::string> ranks;  // of each; empty: one after the other
  bool json = false;
  bool operator==(const JobsOptions&) const = default;
};

struct TopoOptions {
  std::string cluster;  // a name or the path of a cluster file
  bool pairs = false;   // list pairs of devices
  bool paths = false;   // the same, with the path of each
  bool all = false;     // of all nodes, not of one of each kind
  bool json = false;
  std::filesystem::path svg, dot;  // empty: none is written
  std::vector<Setting> settings;
  bool operator==(const TopoOptions&) const = default;
};

enum class ImportKind : std::uint8_t { topo, simgrid, taccl, program };
std::string_view name_of(ImportKind kind);

struct ImportOptions {
  ImportKind kind{};
  std::filesystem::path file;
  std::filesystem::path sketch;      // of TACCL; empty: none
  std::filesystem::path out, msccl;  // empty: not written
  std::string device;                // empty: guessed
  int nodes = 1;
  int pcie = 0;             // generation; 0: the usual one
  std::string nvlink, nic;  // rates; empty: the usual ones
  bool operator==(const ImportOptions&) const = default;
};

struct SynthesiseOptions {
  std::string cluster;  // name or path of a cluster file
  std::string op = "all_reduce";
  std::string size = "64MiB";
  std::string ranks;                // empty: all
  std::int64_t pieces = 0;          // 0: several numbers are tried
  std::vector<std::string> allow;   // FROM:TO
  std::vector<std::string> rotate;  // OFFSET:SIZE
  std::filesystem::path out;        // .xml: MSCCL, else JSON; empty: none is written
  std::vector<Setting> settings;    // of the cluster
  bool steps = false;               // print all of them
  bool json = false;
  bool operator==(const SynthesiseOptions&) const = default;
};

/// What `tsim calibrate` is to do: import files, list the work of scenarios, or time this machine.
struct CalibrateOptions {
  std::vector<std::filesystem::path> import;     // files of measurements
  std::string base;                              // device whose other figures stand; empty: guessed
  std::filesystem::path device_file;             // empty: none is written
  std::string cluster;                           // whose wires hold for measured collectives
  std::filesystem::path cluster_file;            // that cluster with them; empty: none is written
  std::vector<std::filesystem::path> scenarios;  // whose shapes are wanted
  bool list = false;                             // print the work lines, most valuable first
  std::filesystem::path check;     // a scenario that is compared with a stack; empty: none
  std::filesystem::path measured;  // what was measured of it elsewhere; empty: nothing
  std::string device;              // "cpu", "cuda": time this machine; empty: nothing is timed
  std::vector<Setting> settings;   // of the scenario to check
  std::string budget = "60 s";
  bool operator==(const CalibrateOptions&) const = default;
};

/// A device file that is used where a row names `device`.
struct StandIn {
  std::string device, by;
  bool operator==(const StandIn&) const = default;
};

/// Predictions against published and measured rows.
struct ValidateOptions {
  std::vector<std::string> sources;  // names or paths; empty: all that are known
  std::string filter;                // part of SOURCE/ROW; empty: all rows
  int jobs = 0;                      // processes at a time; 0: one a processor
  std::vector<StandIn> devices;
  std::vector<std::filesystem::path> vtrain;  // whole tables of vTrain
  std::filesystem::path svg, html, markdown;  // empty: none is written
  bool json = false;
  bool operator==(const ValidateOptions&) const = default;
};

/// A search: of a spec, of flags, or the results of one that are shown.
struct SweepOptions {
  std::vector<std::string> words;  // SPEC, or show DATABASE
  std::string scenario;
  std::vector<std::string> vary, where, settings, objectives;
  std::string search, step_time;
  std::optional<std::int64_t> top, events, samples, seed;
  std::optional<double> price, power, tokens, memory_margin;
  std::filesystem::path database, csv;
  int jobs = 1;
  bool dry_run = false, tornado = false, pareto = false, json = false;
  bool operator==(const SweepOptions&) const = default;
};

/// The best strategies for a model on a cluster.
struct AdviseOptions {
  std::string model, cluster;
  std::int64_t global_batch = 512, sequence = 0, nodes = 0;  // 0: the model's, the cluster's
  std::string as;  // of another program: megatron, deepspeed or torchtitan; empty: none
  std::int64_t top = 3;
  int jobs = 1;
  std::vector<std::string> settings;  // of the scenario
  bool json = false;
  bool operator==(const AdviseOptions&) const = default;
};

/// Figures of a device file fitted to whole steps.
struct FitOptions {
  std::filesystem::path split;
  std::filesystem::path out;  // empty: none is written
  int jobs = 0;               // processes at a time; 0: one a processor
  bool operator==(const FitOptions&) const = default;
};

/// Nothing to do but to print `text`: help, the version (status 0), or what is wrong with the
/// command line (status 2, for stderr).
struct Message {
  std::string text;
  int status = 0;
  bool operator==(const Message&) const = default;
};

using Command =
    std::variant<Message, RunOptions, ModelsOptions, DevicesOptions, ExplainOptions, TopoOptions,
                 ImportOptions, NetOptions, JobsOptions, SynthesiseOptions, CalibrateOptions,
                 ValidateOptions, FitOptions, SweepOptions, AdviseOptions>;

/// What the command line (without the program's name) asks for. Never throws on a wrong one.
Command parse_options(const std::vector<std::string>& arguments);

/// One option of a subcommand, or of the program where `subcommand` is empty.
struct OptionName {
  std::string subcommand;
  std::string option;  // "--json"
  bool operator==(const OptionName&) const = default;
};
/// Every long option, as the shell completion must know it; subcommands have an entry with an
/// empty `option`.
std::vector<OptionName> option_names();

}  // namespace tsim::cli
