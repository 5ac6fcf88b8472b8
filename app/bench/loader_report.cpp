#include "app/bench/loader_report.h"

#include <fmt/format.h>

#include "app/base/statistics.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr double kMb = 1e-6;

json ceiling_json(const DecodeCeiling& ceiling) {
  return {{"library", "libjpeg-turbo"},
          {"threads", ceiling.threads},
          {"samples", ceiling.samples},
          {"left_out", ceiling.left_out},
          {"bytes_per_image", ceiling.bytes_per_image},
          {"pixels_per_image", ceiling.pixels_per_image},
          {"header", spread(ceiling.header)},
          {"entropy", spread(ceiling.entropy)},
          {"decode", spread(ceiling.decode)},
          {"read_decode", spread(ceiling.read_decode)}};
}

template <class T>
void put(json& out, const char* key, const std::optional<T>& value, double scale = 1) {
  if (value) out[key] = static_cast<double>(*value) * scale;
}

std::string ceiling_text(const DecodeCeiling& ceiling, double rate) {
  const double read_decode = spread(ceiling.read_decode).median;
  const double decode = spread(ceiling.decode).median;
  return fmt::format(
      "  libjpeg-turbo alone on {} of the same files, {} threads: header {:.0f}, entropy decoding "
      "{:.0f},\n    full decode {:.0f}, read and full decode {:.0f} images/s (medians of {} "
      "rounds; "
      "{:.0f} bytes, {:.0f} pixels an image)\n"
      "  efficiency {:.1f} % of read and full decode, {:.1f} % of full decode\n",
      ceiling.samples, ceiling.threads, spread(ceiling.header).median,
      spread(ceiling.entropy).median, decode, read_decode, ceiling.decode.size(),
      ceiling.bytes_per_image, ceiling.pixels_per_image, 100 * rate / read_decode,
      100 * rate / decode);
}

std::string copies_text(const LoaderReport& report) {
  const LoaderBenchmark& measured = report.measured;
  std::string text = "  per image: ";
  if (measured.allocations) {
    text += fmt::format("{:.2f} allocations ({:.2f} of them by libjpeg itself); ",
                        *measured.allocations, *measured.libjpeg_allocations);
  }
  text += "copied";
  if (measured.bytes_by_read_calls) {
    text += fmt::format(" {:.0f} bytes by read calls,", *measured.bytes_by_read_calls);
  }
  if (measured.bytes_moved) {
    text += fmt::format(" {:.0f} by memcpy and memmove (streaming stores not counted),",
                        *measured.bytes_moved);
  }
  text += fmt::format(" decoded into a slot of {} bytes\n", measured.sample_bytes);
  if (!report.uncounted.empty()) text += "  not counted: " + report.uncounted + "\n";
  return text;
}

// Empty: the rate means what it says.
std::string remark(const LoaderBenchmark& measured) {
  if (measured.resident) {
    return "samples stay where the device computes: nothing was read or decoded after the warm-up";
  }
  constexpr int64_t kLong = 10;
  if (measured.batches >= kLong * measured.batches_ahead) return "";
  return fmt::format(
      "an epoch has {} batches, of which up to {} may be ready before it begins: its rate is too "
      "high",
      measured.batches, measured.batches_ahead);
}

}  // namespace

json loader_report_json(const LoaderReport& report) {
  const LoaderBenchmark& measured = report.measured;
  const Spread rate = spread(measured.images_per_s);
  json out = {{"name", "stoker-" + report.type},
              {"loader", report.loader},
              {"decoder", report.decoder},
              {"device", report.device},
              {"workers", report.workers},
              {"epochs", measured.images_per_s.size()},
              {"images", measured.images},
              {"images_per_s", rate},
              {"rates", measured.images_per_s},
              {"first_batch_s", measured.first_batch_s},
              {"cpu_s_per_1000", measured.cpu_s_per_1000},
              {"per_cpu_s", 1000 / measured.cpu_s_per_1000},
              {"read_us", measured.read_us},
              {"decode_us", measured.decode_us},
              {"bytes_per_image", measured.bytes_per_image},
              {"sample_bytes", measured.sample_bytes},
              {"switches_per_1000",
               {{"voluntary", measured.voluntary_switches},
                {"involuntary", measured.involuntary_switches}}},
              {"queue_mb", kMb * static_cast<double>(measured.queue_bytes)},
              {"skipped", measured.skipped},
              {"shape", report.probe.shape()},
              {"layout", report.probe.layout()},
              {"page_cache", "as it was; one warm-up epoch"}};
  put(out, "mean", report.probe.mean());
  put(out, "rss_mb", measured.memory.peak, kMb);
  put(out, "pss_mb", measured.memory.proportional, kMb);
  put(out, "allocations_per_image", measured.allocations);
  put(out, "libjpeg_allocations_per_image", measured.libjpeg_allocations);
  put(out["copied_bytes_per_image"], "read_calls", measured.bytes_by_read_calls);
  put(out["copied_bytes_per_image"], "memory", measured.bytes_moved);
  if (!report.uncounted.empty()) out["not_counted"] = report.uncounted;
  if (!remark(measured).empty()) out["remark"] = remark(measured);
  if (!report.ceiling) return out;
  out["ceiling"] = ceiling_json(*report.ceiling);
  out["efficiency"] = {{"decode", rate.median / spread(report.ceiling->decode).median},
                       {"read_decode", rate.median / spread(report.ceiling->read_decode).median}};
  return out;
}

std::string loader_report_text(const LoaderReport& report) {
  const LoaderBenchmark& measured = report.measured;
  const Spread rate = spread(measured.images_per_s);
  std::string text = fmt::format(
      "{}: {:.0f} images/s (median of {} epochs of {} images; min {:.0f}, max {:.0f}), {} "
      "workers\n",
      report.type, rate.median, measured.images_per_s.size(), measured.images, rate.min, rate.max,
      report.workers);
  text += fmt::format(
      "  {:.0f} images per CPU second ({:.3f} CPU seconds per 1,000); per image {:.1f} us reading, "
      "{:.1f} us decoding, {:.0f} bytes\n",
      1000 / measured.cpu_s_per_1000, measured.cpu_s_per_1000, measured.read_us, measured.decode_us,
      measured.bytes_per_image);
  if (report.ceiling) text += ceiling_text(*report.ceiling, rate.median);
  text += copies_text(report);
  text += fmt::format("  context switches per 1,000 images: {:.1f} voluntary, {:.1f} involuntary\n",
                      measured.voluntary_switches, measured.involuntary_switches);
  if (measured.memory.peak) {
    text += fmt::format("  peak memory {:.0f} MB, of which batches in host memory {:.0f} MB\n",
                        kMb * static_cast<double>(*measured.memory.peak),
                        kMb * static_cast<double>(measured.queue_bytes));
  }
  text +=
      fmt::format("  first batch of the warm-up epoch after {:.3f} s; {} bad samples replaced\n",
                  measured.first_batch_s, measured.skipped);
  if (!remark(measured).empty()) text += "  " + remark(measured) + "\n";
  return text +
         "  page cache as it was, after one warm-up epoch; no model, batches dropped at once\n";
}

}  // namespace stoker
