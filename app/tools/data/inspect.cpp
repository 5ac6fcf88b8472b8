#include "app/tools/data/inspect.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "io/core/config/suggestion.h"
#include "io/core/system/usable_cores.h"
#include "io/core/text/text.h"
#include "io/core/threads.h"
#include "io/dataset/read_sample.h"
#include "io/decoder/image_header.h"
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

// "HTML page" of "an HTML page".
std::string without_article(std::string_view name) {
  for (const std::string_view article : {"a ", "an "}) {
    if (name.starts_with(article)) name.remove_prefix(article.size());
  }
  return std::string(name);
}

// What was found by looking at samples. Those that are named stand under their numbers.
struct Findings {
  std::vector<uint64_t> widths, heights, pixels;
  std::map<std::string, int64_t> kinds;
  int64_t jpegs = 0;
  std::map<int64_t, UnreadableSample> unreadable;
  std::map<int64_t, ToleratedSample> tolerated;

  // Takes all of the other ones.
  void merge(Findings& other) {
    for (const auto& [to, from] : {std::pair{&widths, &other.widths},
                                   {&heights, &other.heights},
                                   {&pixels, &other.pixels}}) {
      to->insert(to->end(), from->begin(), from->end());
    }
    for (const auto& [kind, count] : other.kinds) kinds[kind] += count;
    jpegs += other.jpegs;
    unreadable.merge(other.unreadable);
    tolerated.merge(other.tolerated);
  }
};

// Looks at samples as a loader does. One thread; every one has its own.
class Inspector {
 public:
  explicit Inspector(const InspectOptions& options)
      : options_(options), session_(options.decoder.open()) {
    out_.resize(options.decoder.spec().bytes());
    if (options.tolerant != nullptr) tolerant_ = options.tolerant->open();
  }

  void look_at(const SamplePlace& place, int64_t number) {
    EncodedSample sample;
    try {
      sample = read_sample(place, buffer_);
      std::string damage = decode_sample(place, sample, *session_, {}, out_.data());
      if (!damage.empty()) {
        findings_.tolerated[number] = {place.info().key, std::move(damage)};
      }
      count(sample.bytes);
    } catch (const BadSample& bad) {
      findings_.unreadable[number] = {place.info().key, bad.reason(), bad.what(),
                                      !sample.bytes.empty() && can_be_won(sample.bytes)};
    }
  }

  Findings& findings() { return findings_; }

 private:
  void count(Bytes file) {
    std::string kind(options_.info.stored);
    if (kind.empty()) kind = count_file(file);
    ++findings_.kinds[kind];
  }

  std::string count_file(Bytes file) {
    const FileKind kind = file_kind(file);
    std::string name = to_string(kind.format);
    if (name.empty()) name = kind.name.empty() ? "unknown" : without_article(kind.name);
    try {
      if (kind.format == ImageFormat::jpeg) {
        const JpegHeader header = read_jpeg_header(file, nullptr, Tolerance::as_libjpeg);
        add_size(header.width, header.height);
        ++findings_.jpegs;
        return fmt::format("{} {}", to_string(header.process), colours(file));
      }
      const ImageHeader header = read_image_header(file);
      add_size(header.width, header.height);
    } catch (const BadSample&) {  // no image, and its decoder takes it all the same
    }
    return name;
  }

  void add_size(int64_t width, int64_t height) {
    findings_.widths.push_back(static_cast<uint64_t>(width));
    findings_.heights.push_back(static_cast<uint64_t>(height));
    findings_.pixels.push_back(static_cast<uint64_t>(width * height));
  }

  bool can_be_won(Bytes file) {
    if (tolerant_ == nullptr) return false;
    try {
      tolerant_->decode(file, {}, out_.data());
      return true;
    } catch (const BadSample&) {
      return false;
    }
  }

  const InspectOptions& options_;
  const std::unique_ptr<DecoderSession> session_;
  std::unique_ptr<DecoderSession> tolerant_;  // null: none
  Buffer buffer_;
  Buffer out_;
  Findings findings_;
};

// Classes and sizes, for which no sample is read.
void count_samples(const Dataset& dataset, DatasetReport& report) {
  for (const std::string& name : dataset.classes()) report.classes.push_back({name, 0, 0});
  std::vector<uint64_t> bytes;
  for (const Split split : {Split::train, Split::test}) {
    for (int64_t i = 0; i < dataset.size(split); ++i) {
      const SampleInfo info = dataset.info(split, i);
      report.bytes += info.bytes;
      bytes.push_back(info.bytes);
      if (info.label < 0 || info.label >= std::ssize(report.classes)) {
        report.without_label.push_back(info.key);
        continue;
      }
      ClassCount& count = report.classes[static_cast<size_t>(info.label)];
      ++(split == Split::train ? count.train : count.test);
    }
  }
  report.samples = std::ssize(bytes);
  report.encoded_bytes = percentiles(std::move(bytes));
}

// Looks at report.looked_at of report.samples.
Findings look_at_samples(const Dataset& dataset, const InspectOptions& options,
                         const DatasetReport& report,
                         const std::function<void(int64_t, int64_t)>& progress) {
  Findings all;
  std::mutex mutex;
  std::atomic<int64_t> next{0};
  int64_t done = 0;
  const int64_t train = dataset.size(Split::train), total = report.looked_at;
  parallel_for(options.threads, options.threads, [&](int64_t) {
    Inspector inspector(options);
    try {
      for (int64_t i = next++; i < total; i = next++) {
        // In even steps, because the beginning of a set has a few of the classes only.
        const int64_t number = i * report.samples / total;
        const bool trains = number < train;
        inspector.look_at(
            {dataset, trains ? Split::train : Split::test, trains ? number : number - train},
            number);
        if (!progress) continue;
        const std::lock_guard lock(mutex);
        progress(++done, total);
      }
    } catch (...) {
      next = total;  // the other threads need not go on
      throw;
    }
    const std::lock_guard lock(mutex);
    all.merge(inspector.findings());
  });
  return all;
}

// The experiment's decoder, but tolerant of damage. Null: it cannot be, or is already.
std::unique_ptr<Decoder> tolerant_decoder(const Component<Decoder>& own) {
  if (own.info().jpeg == JpegBy::none || own.inner()) return nullptr;
  const auto tolerant = changed(own, {"on_device=nothing", "tolerance=as_libjpeg"});
  const bool is_already = to_yaml(tolerant.dump()) == to_yaml(own.dump());
  return is_already ? nullptr : tolerant.create({});
}

// How many samples `text` stands for.
Budget samples_of(const std::string& text) {
  Budget samples;
  if (Scalar<Budget>::parse(text, samples) && samples.value > 0) return samples;
  throw Error(ExitCode::config, "--samples " + text +
                                    ": give a number of samples, such as 1000, or "
                                    "a share of them, such as 10%");
}

}  // namespace

std::string inspection_text(const DatasetReport& report, const std::string& decoder) {
  int64_t train = 0, test = 0;
  for (const ClassCount& row : report.classes) train += row.train, test += row.test;
  std::string text = fmt::format("{}, {} and {}, {}\n", plural(report.classes.size(), "class"),
                                 plural(train, "training sample"), plural(test, "test sample"),
                                 plural(report.bytes, "byte"));
  if (!report.without_label.empty()) {
    text += fmt::format("  {} more have no label that can be used: {}\n",
                        report.without_label.size(), printable(some_of(report.without_label)));
  }
  text +=
      fmt::format("  looked at {}, by decoder.type={}\n",
                  report.looked_at == report.samples
                      ? "all of them"
                      : fmt::format("{} of {}, in even steps", report.looked_at, report.samples),
                  decoder);
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
  for (const std::string& key : report.ignored) text += "  ignored: " + printable(key) + "\n";
  for (const ToleratedSample& sample : report.tolerated) {
    text += fmt::format("  tolerated: {}: {}\n", printable(sample.key), printable(sample.message));
  }
  for (const UnreadableSample& sample : report.unreadable) {
    text += fmt::format("  unreadable: {}: {}: {}\n", printable(sample.key),
                        to_string(sample.reason), printable(sample.message));
  }
  if (report.decodable && !report.unreadable.empty()) {
    text += fmt::format("  {} of these {} are samples with decoder.tolerance=as_libjpeg\n",
                        *report.decodable, report.unreadable.size());
  }
  return text;
}

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

DatasetReport inspect_dataset(const Dataset& dataset, const InspectOptions& options,
                              const std::function<void(int64_t, int64_t)>& progress) {
  DatasetReport report;
  report.ignored = dataset.ignored();
  count_samples(dataset, report);
  report.looked_at = std::clamp<int64_t>(options.samples.of(report.samples), 1, report.samples);
  Findings found = look_at_samples(dataset, options, report, progress);
  report.width = percentiles(std::move(found.widths));
  report.height = percentiles(std::move(found.heights));
  report.pixels = percentiles(std::move(found.pixels));
  report.kinds = std::move(found.kinds);
  report.jpegs = found.jpegs;
  for (auto& [number, sample] : found.tolerated) report.tolerated.push_back(std::move(sample));
  for (auto& [number, sample] : found.unreadable) report.unreadable.push_back(std::move(sample));
  if (options.tolerant != nullptr) {
    report.decodable = std::ranges::count_if(report.unreadable, &UnreadableSample::decodable);
  }
  return report;
}

void to_json(nlohmann::json& json, const Percentiles& p) {
  json = {{"count", p.count}, {"min", p.min}, {"p1", p.p1},  {"p50", p.p50},
          {"p90", p.p90},     {"p99", p.p99}, {"max", p.max}};
}

void to_json(nlohmann::json& json, const DatasetReport& report) {
  json = {{"bytes", report.bytes},
          {"encoded_bytes", report.encoded_bytes},
          {"samples", report.samples},
          {"looked_at", report.looked_at},
          {"without_label", report.without_label},
          {"width", report.width},
          {"height", report.height},
          {"pixels", report.pixels},
          {"kinds", report.kinds},
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
  json["tolerated"] = nlohmann::json::array();
  for (const ToleratedSample& t : report.tolerated) {
    json["tolerated"].push_back({{"key", t.key}, {"message", t.message}});
  }
  if (report.decodable) json["decodable_as_libjpeg"] = *report.decodable;
}

DatasetReport inspect_data(DataOptions options, const Budget& samples) {
  // A device that is not asked would judge later what the decoder leaves to it.
  if (options.decoder.info().frames) {
    options.decoder = changed(options.decoder, {"on_device=nothing"});
  }
  const ExperimentData data(options, print_note);
  const auto tolerant = tolerant_decoder(options.decoder);
  return inspect_dataset(
      data.dataset(),
      {data.decoder(), options.decoder.info(), tolerant.get(), samples, usable_cores()},
      progress_of("samples"));
}

ExitCode inspect_experiment(const InspectArguments& arguments) {
  const Budget samples = samples_of(arguments.samples);
  const DataOptions options = read_data_options(arguments.config, arguments.overrides, print_note);
  const DatasetReport report = inspect_data(options, samples);
  return print_result(arguments.json, report, inspection_text(report, options.decoder.type()), 2);
}

}  // namespace stoker
