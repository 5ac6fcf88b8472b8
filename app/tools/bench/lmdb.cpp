#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/process/stop_signal.h"
#include "app/tools/bench/bench_tier.h"
#include "app/tools/bench/benchmarks.h"
#include "app/tools/bench/lmdb_tables.h"
#include "io/core/system/child_process.h"
#include "io/core/system/file.h"
#include "io/core/text/csv.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/experiment/experiment_data.h"
#include "io/metrics/clock.h"
#include "io/storage/page_cache.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The most bytes of the file that are read sequentially, and the bytes of a piece.
constexpr uint64_t kMostRaw = uint64_t{256} << 20;
constexpr uint64_t kRawPiece = uint64_t{4} << 20;

const LmdbReaderFacts* facts_of(const std::string& name) {
  const auto& all = lmdb_readers();
  const auto found = std::ranges::find(all, name, &LmdbReaderFacts::name);
  if (found != all.end()) return &*found;
  std::string known;
  for (const LmdbReaderFacts& one : all)
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  throw Error(ExitCode::config,
              fmt::format("bench lmdb: no reader is called '{}': {}", name, known));
}

// The cells, with the readers in the order in which each adds an idea to the one before.
std::vector<LmdbCell> cells_of(const LmdbBenchArguments& arguments) {
  std::vector<const LmdbReaderFacts*> readers;
  for (const std::string_view name : split_at(arguments.readers, ',')) {
    readers.push_back(facts_of(std::string(name)));
  }
  std::ranges::sort(readers);
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  std::vector<LmdbCell> cells;
  for (const int64_t ranks : arguments.ranks) {
    for (const LmdbReaderFacts* reader : readers) cells.push_back({reader, ranks, {}});
  }
  if (cells.empty()) throw Error(ExitCode::config, "bench lmdb: name a reader by --readers");
  return cells;
}

// The runs of one command.
class LmdbRuns {
 public:
  explicit LmdbRuns(const LmdbBenchArguments& arguments)
      : arguments_(arguments),
        experiment_(options(arguments)),
        data_(experiment_, print_note),
        info_(data_.dataset().info(Split::train, 0)) {
    const int64_t batches =
        data_.dataset().size(Split::train) / experiment_.loader.info().batch_size;
    steps_ = arguments.steps > 0 ? arguments.steps : std::max<int64_t>(1, batches);
    if (arguments.page_cache != "cold" || steps_ <= batches) return;
    throw Error(
        ExitCode::config,
        fmt::format("bench lmdb: an epoch has {}, and in a second one its pages are "
                    "in the cache: --steps {} or fewer, more records, or --page-cache as_is",
                    plural(batches, "step"), batches));
  }

  void run() {
    std::vector<LmdbCell> cells = cells_of(arguments_);
    LmdbConditions conditions{info_.bytes, {}};
    int64_t last_round = -1;
    interleave(cells, arguments_.rounds, 0, [&](LmdbCell& cell, int64_t round) {
      if (std::exchange(last_round, round) != round) raw(conditions);
      if (!arguments_.json) {
        print_note(fmt::format("bench lmdb: round {} of {}: {} on {}", round + 1, arguments_.rounds,
                               cell.reader->name, plural(cell.ranks, "rank")));
      }
      cell.summaries.push_back(train(cell));
      return true;
    });
    json result = conditions_json(cells, conditions);
    result.update(lmdb_json(cells, conditions));
    print_result(arguments_.json, result, heading(result) + lmdb_text(cells, conditions));
  }

 private:
  static DataOptions options(const LmdbBenchArguments& arguments) {
    DataOptions experiment = read_data_options(arguments.config, arguments.overrides, print_note);
    // Where the loader has no readers, this says so.
    static_cast<void>(changed(experiment.loader, {"reader=lmdb"}));
    return experiment;
  }

  std::vector<std::string> words(const LmdbCell& cell) const {
    std::vector<std::string> words{"launch", arguments_.config};
    words.insert(words.end(), arguments_.overrides.begin(), arguments_.overrides.end());
    for (const std::string& fixed :
         {std::string("checkpoint={type: none}"), std::string("evaluation={enabled: false}"),
          std::string("loader.digest=false"), std::string("training.epochs=1000000"),
          fmt::format("training.max_steps={}", steps_),
          fmt::format("loader.reader={}", cell.reader->name),
          "run.page_cache=" + arguments_.page_cache,
          fmt::format("run.drop_caches={}", arguments_.drop_caches), "run.dir=" + runs(),
          fmt::format("--ranks={}", cell.ranks), std::string("--json"), std::string("--quiet")}) {
      words.push_back(fixed);
    }
    return words;
  }

  // Where the runs leave what they leave.
  std::string runs() const { return scratch_.path() + "/runs"; }
  std::string log() const { return scratch_.path() + "/log.txt"; }

  json train(const LmdbCell& cell) const {
    fs::remove_all(runs());
    fs::remove(log());
    const ChildResult result = run_child(words(cell), log(), [this] { return stop_.requested(); });
    if (stop_.requested()) throw Error(stop_.exit_code(), "bench lmdb: stopped by a signal");
    const std::string said = read_if_there(log()).value_or("");
    if (result.exit_code == 0) return parse_json(result.output);
    throw Error(result.exit_code < 128 ? static_cast<ExitCode>(result.exit_code) : ExitCode::bug,
                fmt::format("bench lmdb: {} on {}: {}", cell.reader->name,
                            plural(cell.ranks, "rank"), said));
  }

  // Reads the beginning of the file through the tier, in large pieces, one after the other.
  void raw(LmdbConditions& conditions) const {
    const FileTree* files = data_.files();
    if (arguments_.page_cache == "cold" && files != nullptr) {
      evict(FileTree(files->root()), std::span(&object(), 1));
    }
    const Storage& tier = data_.tiers().at(data_.tier());
    const uint64_t bytes = std::min(kMostRaw, file_bytes());
    Buffer piece;
    const TimePoint begin = Clock::now();
    for (uint64_t at = 0; at < bytes; at += kRawPiece) {
      tier.read(object(), piece, {at, std::min(kRawPiece, bytes - at)});
    }
    conditions.raw_mb_per_s.push_back(1e-6 * static_cast<double>(bytes) /
                                      seconds(Clock::now() - begin));
  }

  const std::string& object() const { return info_.object.empty() ? info_.key : info_.object; }
  uint64_t file_bytes() const {
    const FileTree* files = data_.files();
    return files == nullptr ? info_.bytes : fs::file_size(files->full(object()));
  }

  // How far the kernel reads ahead on the file system of the data, in KiB; empty where it does not
  // say.
  std::optional<double> kernel_read_ahead() const {
    const FileTree* files = data_.files();
    struct stat found {};
    if (files == nullptr || ::stat(files->full(object()).c_str(), &found) != 0) return {};
    std::ifstream said(fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(found.st_dev),
                                   minor(found.st_dev)));
    double kib = 0;
    return said >> kib ? std::optional(kib) : std::nullopt;
  }

  json conditions_json(const std::vector<LmdbCell>& cells, const LmdbConditions& conditions) const {
    const json& first = cells.front().summaries.front();
    const Node loader = experiment_.loader.dump();
    const Node* const ahead = loader.find("read_ahead");
    json result{{"name", "bench lmdb"},
                {"config", arguments_.config},
                {"rounds", arguments_.rounds},
                {"steps", steps_},
                {"batch_size", experiment_.loader.info().batch_size},
                {"records", data_.dataset().size(Split::train)},
                {"record_bytes", info_.bytes},
                {"object", object()},
                {"object_bytes", file_bytes()},
                {"raw_mb_per_s", spread(conditions.raw_mb_per_s)},
                {"raw_bytes", std::min(kMostRaw, file_bytes())},
                {"read_ahead", ahead == nullptr || ahead->scalar != "false"},
                {"page_cache", arguments_.page_cache},
                {"page_cache_found", first.value("/page_cache/text"_json_pointer, "")},
                {"ranks_open", "together"},
                {"device", first.value("/device/name"_json_pointer, "")},
                {"tiers", tiers_json(parts_of_tier(data_.hub(), data_.tier()))}};
    if (const auto kib = kernel_read_ahead()) result["kernel_read_ahead_kib"] = *kib;
    return result;
  }

  std::string heading(const json& result) const {
    std::string text = fmt::format(
        "{} of {} of {} of {} records of {} bytes, on {}; medians\n"
        "{} of {:.0f} MB: {:.1f} MB/s read sequentially ({:.0f} MB, pieces of 4 MiB)\n"
        "read-ahead of mapped files: {}{}; page cache: {}; ranks open the file together\n",
        plural(arguments_.rounds, "round"), plural(steps_, "step"),
        result["batch_size"].get<int64_t>(), result["records"].get<int64_t>(), info_.bytes,
        result["device"].get<std::string>(), object(), 1e-6 * static_cast<double>(file_bytes()),
        result["raw_mb_per_s"]["median"].get<double>(), 1e-6 * result["raw_bytes"].get<double>(),
        result["read_ahead"].get<bool>() ? "yes" : "no",
        result.contains("kernel_read_ahead_kib")
            ? fmt::format(" (the kernel's: {:.0f} KiB)",
                          result["kernel_read_ahead_kib"].get<double>())
            : "",
        arguments_.page_cache == "cold" ? "dropped of this file before each run (first run: " +
                                              result["page_cache_found"].get<std::string>() + ")"
                                        : "kept");
    for (const std::string& line : tiers_text(parts_of_tier(data_.hub(), data_.tier()))) {
      text += line + "\n";
    }
    return text;
  }

  const LmdbBenchArguments& arguments_;
  const StopSignal stop_;
  const TemporaryFolder scratch_{"lmdb"};
  const DataOptions experiment_;
  ExperimentData data_;
  const SampleInfo info_;
  int64_t steps_ = 0;
};

}  // namespace

ExitCode bench_lmdb(const LmdbBenchArguments& arguments) {
  LmdbRuns(arguments).run();
  return ExitCode::ok;
}

}  // namespace stoker
