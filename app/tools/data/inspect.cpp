#include "app/tools/data/inspect.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/experiment/experiment_options.h"
#include "io/decoder/jpeg_header.h"
#include "io/experiment/experiment_data.h"

namespace stoker {
namespace {

// "YCbCr 4:2:0", "gray", "CMYK"
std::string colours(Bytes file) {
  static constexpr std::array kSpaces{"RGB", "YCbCr", "gray", "CMYK", "YCCK"};
  static constexpr std::array kSamplings{" 4:4:4", " 4:2:2", " 4:2:0", "", " 4:4:0", " 4:1:1"};
  const std::unique_ptr<void, decltype([](void* h) { tjDestroy(h); })> handle(tjInitDecompress());
  int width = 0;
  int height = 0;
  int sampling = 0;
  int space = 0;
  if (tjDecompressHeader3(handle.get(), file.data(), file.size(), &width, &height, &sampling,
                          &space) != 0) {
    return "with unusual subsampling";
  }
  return std::string(kSpaces.at(static_cast<size_t>(space))) +
         (space == TJCS_RGB ? "" : kSamplings.at(static_cast<size_t>(sampling)));
}

// The format of a file that is no JPEG, by its first bytes; empty: unknown.
std::string other_format(Bytes file) {
  const std::string_view head(reinterpret_cast<const char*>(file.data()),
                              std::min<size_t>(file.size(), 12));
  if (head.starts_with("\x89PNG\r\n")) return "png";
  if (head.starts_with("BM")) return "bmp";
  if (head.starts_with("RIFF") && head.ends_with("WEBP")) return "webp";
  return "";
}

class Inspection {
 public:
  Inspection(const Dataset& dataset, const Decoder* tolerant) {
    if (tolerant != nullptr) {
      session_ = tolerant->open();
      sample_.resize(tolerant->spec().bytes());
      report_.decodable = 0;
    }
    for (const std::string& name : dataset.classes()) report_.classes.push_back({name, 0, 0});
    report_.ignored = dataset.ignored();
  }

  void add(const Dataset& dataset, Split split, int64_t index) {
    const SampleInfo info = dataset.info(split, index);
    auto& count = report_.classes[static_cast<size_t>(info.label)];
    ++(split == Split::train ? count.train : count.test);
    report_.bytes += info.bytes;
    bytes_.push_back(info.bytes);
    Bytes file;
    const auto unreadable = [&](BadReason reason, const char* why) {
      const bool decodable = !file.empty() && can_decode(file);
      if (decodable) ++*report_.decodable;
      report_.unreadable.push_back({info.key, reason, why, decodable});
    };
    try {
      file = dataset.read(split, index, buffer_).bytes;
      look_at(file);
    } catch (const BadSample& bad) {
      unreadable(bad.reason(), bad.what());
    } catch (const IoError& error) {
      unreadable(BadReason::missing, error.what());
    }
  }

  DatasetReport finish() {
    report_.encoded_bytes = percentiles(std::move(bytes_));
    report_.width = percentiles(std::move(widths_));
    report_.height = percentiles(std::move(heights_));
    report_.pixels = percentiles(std::move(pixels_));
    return std::move(report_);
  }

 private:
  void look_at(Bytes file) {
    const std::string other = other_format(file);
    if (!other.empty()) {
      ++report_.kinds[other];
      return;
    }
    const JpegHeader header = read_jpeg_header(file);
    if (!count_jpeg_scans(file, header).complete) {
      throw BadSample(BadReason::truncated, "the file ends before its image does");
    }
    ++report_.kinds[std::string(to_string(header.process)) + " " + colours(file)];
    widths_.push_back(static_cast<uint64_t>(header.width));
    heights_.push_back(static_cast<uint64_t>(header.height));
    pixels_.push_back(static_cast<uint64_t>(header.width * header.height));
  }

  bool can_decode(Bytes file) {
    if (session_ == nullptr) return false;
    try {
      session_->decode(file, {}, sample_.data());
      return true;
    } catch (const BadSample&) {
      return false;
    }
  }

  DatasetReport report_;
  Buffer buffer_;
  std::unique_ptr<DecoderSession> session_;  // null: none
  Buffer sample_;
  std::vector<uint64_t> bytes_, widths_, heights_, pixels_;
};

std::string inspection_text(const DatasetReport& report) {
  int64_t train = 0, test = 0;
  for (const ClassCount& row : report.classes) train += row.train, test += row.test;
  std::string text = fmt::format("{} classes, {} training and {} test samples, {} bytes\n",
                                 report.classes.size(), train, test, report.bytes);
  ResultTable table({{"", "of a sample"},
                     {"", "min"},
                     {"", "p1"},
                     {"", "p50"},
                     {"", "p90"},
                     {"", "p99"},
                     {"", "max"}});
  const auto add = [&](const char* name, const Percentiles& p) {
    if (p.count == 0) return;
    std::vector<ResultTable::Cell> row{name};
    for (const uint64_t value : {p.min, p.p1, p.p50, p.p90, p.p99, p.max}) {
      row.emplace_back(static_cast<int64_t>(value));
    }
    table.add(row);
  };
  add("encoded bytes", report.encoded_bytes);
  add("width", report.width);
  add("height", report.height);
  add("pixels", report.pixels);
  text += table.text(2);
  for (const auto& [kind, count] : report.kinds) text += fmt::format("  {:>8} {}\n", count, kind);
  for (const std::string& key : report.ignored) text += "  ignored: " + key + "\n";
  for (const UnreadableSample& sample : report.unreadable) {
    text += fmt::format("  unreadable: {}: {}: {}\n", sample.key, to_string(sample.reason),
                        sample.message);
  }
  if (report.decodable && !report.unreadable.empty()) {
    text += fmt::format("  {} of these {} are samples with decoder.tolerance=as_libjpeg\n",
                        *report.decodable, report.unreadable.size());
  }
  return text;
}

// The experiment's decoder, with tolerance for damage. Null if it has no option for that.
std::unique_ptr<Decoder> tolerant_decoder(const ConfigArguments& arguments,
                                          const Component<Decoder>& decoder) {
  if (decoder.info().jpeg == JpegBy::none || decoder.inner()) return nullptr;
  std::vector<std::string> overrides = arguments.overrides;
  overrides.insert(overrides.end(), {"decoder.on_device=nothing", "decoder.tolerance=as_libjpeg"});
  return read_experiment(arguments.config, overrides).decoder.create({});
}

}  // namespace

Percentiles percentiles(std::vector<uint64_t> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = [&](double percent) {
    const double position = std::ceil(percent / 100 * static_cast<double>(values.size()));
    return values[static_cast<size_t>(std::max(position, 1.0)) - 1];
  };
  return {static_cast<int64_t>(values.size()),
          values.front(),
          rank(1),
          rank(50),
          rank(90),
          rank(99),
          values.back()};
}

DatasetReport inspect_dataset(const Dataset& dataset, const Decoder* tolerant,
                              const std::function<void(int64_t, int64_t)>& progress) {
  Inspection inspection(dataset, tolerant);
  const int64_t total = dataset.size(Split::train) + dataset.size(Split::test);
  int64_t done = 0;
  for (const Split split : {Split::train, Split::test}) {
    for (int64_t i = 0; i < dataset.size(split); ++i) {
      inspection.add(dataset, split, i);
      if (progress) progress(++done, total);
    }
  }
  return inspection.finish();
}

void to_json(nlohmann::json& json, const Percentiles& p) {
  json = {{"count", p.count}, {"min", p.min}, {"p1", p.p1},  {"p50", p.p50},
          {"p90", p.p90},     {"p99", p.p99}, {"max", p.max}};
}

void to_json(nlohmann::json& json, const DatasetReport& report) {
  json = {{"bytes", report.bytes},    {"encoded_bytes", report.encoded_bytes},
          {"width", report.width},    {"height", report.height},
          {"pixels", report.pixels},  {"kinds", report.kinds},
          {"ignored", report.ignored}};
  json["classes"] = nlohmann::json::array();
  for (const ClassCount& c : report.classes) {
    json["classes"].push_back({{"name", c.name}, {"train", c.train}, {"test", c.test}});
  }
  json["unreadable"] = nlohmann::json::array();
  for (const UnreadableSample& u : report.unreadable) {
    json["unreadable"].push_back(
        {{"key", u.key}, {"reason", to_string(u.reason)}, {"message", u.message}});
    if (report.decodable) json["unreadable"].back()["decodable_as_libjpeg"] = u.decodable;
  }
  if (report.decodable) json["decodable_as_libjpeg"] = *report.decodable;
}

ExitCode inspect_experiment(const ConfigArguments& arguments) {
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  const ExperimentData data(options, print_note);
  const auto tolerant = tolerant_decoder(arguments, options.decoder);
  const DatasetReport report =
      inspect_dataset(data.dataset(), tolerant.get(), progress_of("samples"));
  return print_result(arguments.json, report, inspection_text(report), 2);
}

}  // namespace stoker
