#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/tools/bench/batch_probe.h"
#include "app/tools/bench/benchmarks.h"
#include "app/tools/bench/decode_ceiling.h"
#include "app/tools/bench/loader.h"
#include "io/core/system/child_process.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

constexpr double kMb = 1e-6;

// Everything that is known at the end.
struct LoaderReport {  // NOLINT(bugprone-exception-escape): nlohmann::json's move
  std::string type;    // the loader's type
  int64_t workers = 0;
  nlohmann::json conditions;
  LoaderBenchmark measured;
  std::optional<DecodeCeiling> ceiling;
  std::string uncounted;  // why allocations and copies were not counted; empty where they were
};

LoaderReport measure(const LoaderBenchArguments& arguments) {
  const DataOptions options = read_data_options(arguments.config, arguments.overrides, print_note);
  const LoaderInfo info = options.loader.info();
  const auto device = bench_device(info, {arguments.config, arguments.overrides});
  ExperimentData data(options, print_note);
  BatchProbe probe(data.decoder().spec());
  if (!arguments.dump.empty() && data.decoder().spec().frame != 0) {
    throw Error(ExitCode::config,
                "--dump: with decoder.on_device a loader has no samples yet: set "
                "decoder.on_device=nothing");
  }
  LoaderReport report;
  report.type = options.loader.type();
  report.workers = std::max<int64_t>(1, info.workers);
  report.measured = measure_loader(
      data, info, loader_use(device), arguments.epochs,
      [&](const Batch& batch) { return probe.see(batch); }, progress_of("batches"));
  if (!arguments.dump.empty()) probe.dump(arguments.dump);
  report.conditions = {{"name", "stoker-" + report.type},
                       {"loader", to_json(options.loader.dump())},
                       {"decoder", to_json(options.decoder.dump())},
                       {"workers", report.workers},
                       {"shape", probe.shape()},
                       {"layout", probe.layout()},
                       {"page_cache", "as it was; one warm-up epoch"}};
  if (device) report.conditions["device"] = device->name();
  if (const auto mean = probe.mean()) report.conditions["mean"] = *mean;
  if (arguments.quick) return report;
  CeilingOptions ceiling;
  ceiling.samples = arguments.ceiling_samples;
  ceiling.threads = report.workers;
  report.ceiling = measure_decode_ceiling(data.dataset(), ceiling);
  return report;
}

// Allocations and copies, counted in an epoch of a process of its own: counting costs time, and is
// done by replacing functions of the C library, which must happen before a process begins.
void count_calls(const LoaderBenchArguments& arguments, LoaderReport& report) {
  const auto counter = call_counter();
  if (!counter) {
    report.uncounted = "allocations and copies: this build has no library that counts them";
    return;
  }
  std::vector<std::string> words{"bench", "loader", arguments.config};
  words.insert(words.end(), arguments.overrides.begin(), arguments.overrides.end());
  for (const char* word : {"--epochs=1", "--quick", "--json"}) words.emplace_back(word);
  const ChildResult child = run_child(words, "/dev/null", {}, {"LD_PRELOAD=" + *counter});
  const nlohmann::json output = try_parse_json(child.output).value_or(nullptr);
  if (child.exit_code != 0 || !output.is_object() || !output.contains("allocations_per_image")) {
    report.uncounted = fmt::format("allocations and copies: the process that counts ended with {}",
                                   child.exit_code);
    return;
  }
  report.measured.allocations = output.at("allocations_per_image").get<double>();
  report.measured.libjpeg_allocations = output.at("libjpeg_allocations_per_image").get<double>();
  report.measured.bytes_moved = output.at("copied_bytes_per_image").at("memory").get<double>();
}

std::optional<double> megabytes(const std::optional<uint64_t>& bytes) {
  return bytes ? std::optional(kMb * static_cast<double>(*bytes)) : std::nullopt;
}

// Why the rate does not mean what it says; empty where it does.
std::string doubt(const LoaderBenchmark& measured) {
  if (measured.resident) {
    return "samples stay where the device computes: nothing was read or decoded after the warm-up";
  }
  constexpr int64_t kLong = 10;
  if (measured.batches >= kLong * measured.batches_ahead) return "";
  return fmt::format(
      "an epoch has {}, of which up to {} may be ready before it begins: its rate is too high",
      plural(measured.batches, "batch"), measured.batches_ahead);
}

// rate: absent where it means nothing beside the library's.
void put_ceiling(const DecodeCeiling& ceiling, std::optional<double> rate, ResultTable& figures) {
  figures.put({"ceiling/library", ""}, "libjpeg-turbo");
  figures.put({"ceiling/threads", ""}, ceiling.threads);
  figures.put({"ceiling/samples", ""}, ceiling.samples);
  figures.put({"ceiling/left_out", ""}, ceiling.left_out);
  figures.put({"ceiling/bytes_per_image", "libjpeg-turbo: mean bytes of its files"},
              ceiling.bytes_per_image);
  figures.put({"ceiling/pixels_per_image", "libjpeg-turbo: mean pixels of its files"},
              ceiling.pixels_per_image);
  figures.put({"ceiling/header", "libjpeg-turbo: header, images/s"}, spread(ceiling.header));
  figures.put({"ceiling/entropy", "libjpeg-turbo: entropy decoding"}, spread(ceiling.entropy));
  figures.put({"ceiling/decode", "libjpeg-turbo: full decode"}, spread(ceiling.decode));
  figures.put({"ceiling/read_decode", "libjpeg-turbo: read and full decode"},
              spread(ceiling.read_decode));
  if (!rate) return;
  figures.put({"efficiency/decode", "efficiency, % of full decode", 1, 100},
              *rate / spread(ceiling.decode).median);
  figures.put({"efficiency/read_decode", "efficiency, % of read and full decode", 1, 100},
              *rate / spread(ceiling.read_decode).median);
}

ResultTable figures_of(const LoaderReport& report) {
  const LoaderBenchmark& measured = report.measured;
  const Spread rate = spread(measured.images_per_s);
  ResultTable figures;
  figures.put({"epochs", ""}, std::ssize(measured.images_per_s));
  figures.put({"images", ""}, measured.images);
  figures.put({"images_per_s", ""}, rate);
  figures.put({"per_cpu_s", "images per CPU second"}, 1000 / measured.cpu_s_per_1000);
  figures.put({"cpu_s_per_1000", "CPU seconds per 1,000 images", 3}, measured.cpu_s_per_1000);
  figures.put({"read_us", "us reading per image", 1}, measured.read_us);
  figures.put({"decode_us", "us decoding per image", 1}, measured.decode_us);
  figures.put({"bytes_per_image", "bytes per image"}, measured.bytes_per_image);
  const bool doubtful = !doubt(measured).empty();
  if (report.ceiling) {
    put_ceiling(*report.ceiling, doubtful ? std::nullopt : std::optional(rate.median), figures);
  }
  figures.put({"allocations_per_image", "allocations per image", 2}, measured.allocations);
  figures.put({"libjpeg_allocations_per_image", "of them by libjpeg itself", 2},
              measured.libjpeg_allocations);
  figures.put({"copied_bytes_per_image/read_calls", "bytes copied per image by read calls"},
              measured.bytes_by_read_calls);
  figures.put({"copied_bytes_per_image/memory", "by memcpy and memmove, without streaming stores"},
              measured.bytes_moved);
  figures.put({"sample_bytes", "bytes of the slot that an image is decoded into"},
              static_cast<int64_t>(measured.sample_bytes));
  figures.put({"switches_per_1000/voluntary", "context switches per 1,000 images, voluntary", 1},
              measured.voluntary_switches);
  figures.put({"switches_per_1000/involuntary", "involuntary", 1}, measured.involuntary_switches);
  figures.put({"rss_mb", "peak memory, MB"}, megabytes(measured.memory.peak));
  figures.put({"queue_mb", "of it batches in host memory, MB"},
              kMb * static_cast<double>(measured.queue_bytes));
  figures.put({"pss_mb", ""}, megabytes(measured.memory.proportional));
  figures.put({"first_batch_s", "first batch of the warm-up epoch after, s", 3},
              measured.first_batch_s);
  figures.put({"skipped", "bad samples replaced"}, measured.skipped);
  figures.put({"tolerated", "damaged samples used"}, measured.tolerated);
  return figures;
}

// What a reader has to know of the rate; empty: nothing.
std::string remark(const LoaderBenchmark& measured) {
  const std::string text = doubt(measured);
  return text.empty() ? rounds_differ(spread(measured.images_per_s)) : text;
}

nlohmann::json report_json(const LoaderReport& report, const ResultTable& figures) {
  nlohmann::json json = report.conditions;
  json.update(figures.record_json());
  json["rates"] = report.measured.images_per_s;
  if (!report.uncounted.empty()) json["not_counted"] = report.uncounted;
  if (const std::string text = remark(report.measured); !text.empty()) json["remark"] = text;
  return json;
}

std::string report_text(const LoaderReport& report, const ResultTable& figures) {
  const LoaderBenchmark& measured = report.measured;
  const Spread rate = spread(measured.images_per_s);
  std::string text = fmt::format(
      "{}: {:.0f} images/s (median of {} of {}; min {:.0f}, max {:.0f}), {}\n{}", report.type,
      rate.median, plural(measured.images_per_s.size(), "epoch"), plural(measured.images, "image"),
      rate.min, rate.max, plural(report.workers, "worker"), figures.record_text(2));
  if (report.ceiling) {
    text += fmt::format("  libjpeg-turbo alone on {} of the same files, {}: medians of {}\n",
                        report.ceiling->samples, plural(report.ceiling->threads, "thread"),
                        plural(report.ceiling->decode.size(), "round"));
  }
  if (!report.uncounted.empty()) text += "  not counted: " + report.uncounted + "\n";
  if (const std::string line = remark(measured); !line.empty()) text += "  " + line + "\n";
  return text +
         "  page cache as it was, after one warm-up epoch; no model, batches dropped at once\n";
}

}  // namespace

ExitCode bench_loader(const LoaderBenchArguments& arguments) {
  if (!arguments.scaling.empty()) return bench_scaling(arguments);
  LoaderReport report = measure(arguments);
  if (!arguments.quick) count_calls(arguments, report);
  const ResultTable figures = figures_of(report);
  return print_result(arguments.json, report_json(report, figures), report_text(report, figures));
}

}  // namespace stoker
