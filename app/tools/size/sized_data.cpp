#include "app/tools/size/sized_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/tools/bench/benchmarks.h"
#include "app/tools/data/own_data.h"
#include "app/tools/simulate/measured.h"
#include "io/core/config/config.h"
#include "io/core/text/text.h"
#include "io/experiment/experiment_data.h"
#include "io/loader/loader_options.h"

namespace stoker {
namespace {

// Of Stoker's decoder with a resize to 224 x 224: 1,072 photographs of 108 KB, and 6,091 files of
// 14 KB a second and core (docs/results.md, "on photographs").
constexpr double kJpegBytesPerS = 90e6;
constexpr int64_t kSide = 224;
constexpr int64_t kMeasured = 512;           // samples
constexpr int64_t kMostSamples = 2'000'000;  // of a set whose number is not known

// A sample of a data set, before anybody asks how many GPUs there are.
struct Sample {
  int64_t count = 0;  // 0: not known
  uint64_t bytes = 0;
  uint64_t all_bytes = 0;
  uint64_t pixel_bytes = kSide * kSide * 3;
  std::optional<double> decode_ms;
  std::string decoding;
};

Sample named_sample(const std::string& text) {
  const size_t comma = text.rfind(',');
  const std::string format = text.substr(0, comma);
  Sample sample;
  ByteSize size;
  std::string number = comma == std::string::npos ? "" : text.substr(comma + 1);
  // People write KB and MB for the powers of ten.
  for (const char* unit : {"KB", "MB", "kB"}) {
    if (number.ends_with(unit)) number = number.substr(0, number.size() - 1);
  }
  if (!number.empty() && (number.back() == 'K' || number.back() == 'M')) {
    number.back() = static_cast<char>(number.back() - 'A' + 'a');
  }
  if (format.empty() || !Scalar<ByteSize>::parse(number, size) || size.bytes == 0) {
    throw Error(ExitCode::config,
                "--data must be a folder, or a format and the size of a sample, "
                "such as jpeg,110KB; got '" +
                    text + "'");
  }
  sample.bytes = size.bytes;
  if (format == "jpeg") {
    sample.decode_ms = 1e3 * static_cast<double>(size.bytes) / kJpegBytesPerS;
    sample.decoding = fmt::format(
        "assumed: {:.0f} MB of JPEG files a second and core; measure your own by --data FOLDER "
        "--measure",
        1e-6 * kJpegBytesPerS);
  } else if (format == "raw") {
    sample.decode_ms = 0;
    sample.decoding = "pixels need no decoding";
    sample.pixel_bytes = size.bytes;
  }
  return sample;
}

Sample folder_sample(const SizeArguments& arguments) {
  const DataOptions options = read_data_tree(own_data(arguments.data).experiment, print_note);
  const ExperimentData data(options, print_note);
  Sample sample;
  sample.count = data.dataset().size(Split::train);
  for (int64_t i = 0; i < sample.count; ++i) {
    sample.all_bytes += data.dataset().info(Split::train, i).bytes;
  }
  if (sample.count > 0) sample.bytes = sample.all_bytes / static_cast<uint64_t>(sample.count);
  sample.pixel_bytes = data.decoder().spec().bytes();
  if (arguments.measure) {
    const int64_t count = std::min(kMeasured, sample.count);
    const Spread us = decode_time(data.dataset(), data.decoder(), count, 3);
    sample.decode_ms = 1e-3 * us.median;
    const std::string busy = rounds_differ(us);
    sample.decoding =
        fmt::format("measured on this machine, on one core: {} of {}, {:.3g} to {:.3g} ms{}{}",
                    plural(count, "sample"), arguments.data, 1e-3 * us.min, 1e-3 * us.max,
                    busy.empty() ? "" : "; ", busy);
  } else {
    sample.decode_ms = 1e3 * static_cast<double>(sample.bytes) / kJpegBytesPerS;
    sample.decoding = fmt::format(
        "assumed: {:.0f} MB of JPEG files a second and core; --measure decodes some here",
        1e-6 * kJpegBytesPerS);
  }
  return sample;
}

SizedData described(const SizeArguments& arguments) {
  if (arguments.data.empty()) {
    throw Error(ExitCode::config,
                "what is read? Give --data FOLDER, --data FORMAT,SIZE (jpeg,110KB), or --run RUN");
  }
  if (arguments.images_per_s <= 0) {
    throw Error(
        ExitCode::config,
        "how fast is a GPU? Give --images-per-s, which a run of the model on synthetic data "
        "measures, or --run RUN");
  }
  std::error_code error;
  const bool there = std::filesystem::exists(arguments.data, error);
  if (!there && arguments.measure) {
    throw Error(ExitCode::config, "--measure decodes samples of --data FOLDER, and '" +
                                      arguments.data + "' is no folder");
  }
  Sample sample = there ? folder_sample(arguments) : named_sample(arguments.data);
  if (arguments.decode_ms) {
    sample.decode_ms = arguments.decode_ms;
    sample.decoding = "given";
  }
  if (!sample.decode_ms) {
    throw Error(ExitCode::config,
                "how long does a core decode a sample? Give --decode-ms: that is "
                "assumed of jpeg and raw alone, and '" +
                    arguments.data + "' is neither");
  }
  const int64_t gpus = std::max<int64_t>(1, arguments.gpus);
  const int64_t batch = arguments.batch_size > 0 ? arguments.batch_size : 256;
  const int64_t whole = batch * gpus * arguments.nodes;
  const std::string yaml = fmt::format(
      "workload:\n"
      "  loader: {{type: prefetched, batch_size: {}, workers: 1}}\n"
      "  data: {{samples: {}, sample_bytes: {}}}\n"
      "  costs: {{decode_ms: {}, step_ms: {}, queue_depth: 2}}\n"
      "machine: {{nodes: {}, ranks_per_node: {}}}\n",
      whole, std::max(whole, sample.count > 0 ? sample.count : std::min(kMostSamples, 32 * whole)),
      sample.bytes, *sample.decode_ms, 1e3 * static_cast<double>(batch) / arguments.images_per_s,
      arguments.nodes, gpus);
  SizedData sized;
  sized.inputs =
      read_simulation(merge_inputs(parse_yaml(yaml, "the arguments"), "", arguments.overrides));
  sized.decoding = sample.decoding;
  sized.pixel_bytes = sample.pixel_bytes;
  sized.all_bytes = sample.all_bytes;
  return sized;
}

// The same for a run that was measured, with more GPUs, or faster ones.
SizedData measured(const SizeArguments& arguments) {
  MeasuredInputs run = measured_inputs(arguments.config);
  std::vector<std::string> words{"workload.checkpoint={type: none}"};
  SimulationInputs inputs = read_simulation(merge_inputs(run.tree, "", words));
  const SimulatedMachine& machine = inputs.options.machine;
  const int64_t ranks = machine.ranks(), gpus = arguments.gpus > 0 ? arguments.gpus : ranks;
  const int64_t own = simulated_loader(inputs.options.workload).batch_size / ranks;
  const int64_t batch = arguments.batch_size > 0 ? arguments.batch_size : std::max<int64_t>(1, own);
  const int64_t whole = batch * gpus * arguments.nodes;
  words.push_back(fmt::format("machine.ranks_per_node={}", gpus));
  words.push_back(fmt::format("machine.nodes={}", arguments.nodes));
  words.push_back(fmt::format("workload.loader.batch_size={}", whole));
  if (arguments.images_per_s > 0) {
    words.emplace_back("workload.costs.image_ms=0");
    words.push_back(fmt::format("workload.costs.step_ms={}",
                                1e3 * static_cast<double>(batch) / arguments.images_per_s));
  }
  if (arguments.decode_ms) {
    words.push_back(fmt::format("workload.costs.decode_ms={}", *arguments.decode_ms));
  }
  const uint64_t all_bytes = static_cast<uint64_t>(inputs.options.workload.data.samples) *
                             inputs.options.workload.data.sample_bytes.bytes;
  if (inputs.options.workload.data.samples < whole) {
    words.push_back(fmt::format("workload.data.samples={}", whole));
  }
  words.insert(words.end(), arguments.overrides.begin(), arguments.overrides.end());
  SizedData sized;
  sized.inputs = read_simulation(merge_inputs(std::move(run.tree), "", words));
  if (std::ssize(run.sample_bytes) == sized.inputs.options.workload.data.samples) {
    sized.inputs.sample_bytes = std::move(run.sample_bytes);
  }
  sized.decoding = arguments.decode_ms ? "given" : "measured by the run " + arguments.config;
  const DataOptions options = read_data_options(arguments.config + "/config.yaml", {});
  sized.pixel_bytes = options.decoder.create({})->spec().bytes();
  sized.all_bytes = all_bytes;
  if (const auto& tier = sized.inputs.options.workload.data.tier) sized.own_tier = tier->name;
  return sized;
}

}  // namespace

SizedData sized_data(const SizeArguments& arguments) {
  return arguments.config.empty() ? described(arguments) : measured(arguments);
}

NamedTier read_tier_file(const std::string& path, const Notify& notify) {
  Node node = load_yaml(path);
  if (const Node* why = node.find("why")) {
    notify(path + ": what was fitted does not behave like the tier (" + why->scalar +
           "); its row is as uncertain");
  }
  if (const Node* fitted = node.find("yaml")) node = parse_yaml(fitted->scalar, path);
  // Of an emulated tier; what it is emulated on says nothing of its speed.
  std::erase_if(node.entries, [](const Node::Entry& entry) {
    return entry.key == "type" || entry.key == "inner" || entry.key == "shared";
  });
  NamedTier result{std::filesystem::path(path).stem().string(), {}};
  read_struct(Section(node, "", "", nullptr), result.tier);
  return result;
}

}  // namespace stoker
