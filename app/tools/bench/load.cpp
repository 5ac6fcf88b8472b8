
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/process/log.h"
#include "app/process/stop_signal.h"
#include "app/tools/bench/bench_tier.h"
#include "app/tools/bench/benchmarks.h"
#include "io/checkpoint/restoring/loaded_state.h"
#include "io/checkpoint/restoring/tensor_files.h"
#include "io/core/text/text.h"
#include "io/core/threads.h"
#include "io/experiment/data_options.h"
#include "io/metrics/clock.h"
#include "io/metrics/record/run_record.h"
#include "io/storage/page_cache.h"

namespace stoker {
namespace {

// One reading.
struct LoadRound {
  double seconds = 0;
  std::optional<double> cached;  // share of the bytes before it
  bool counts = true;            // it was as cold as it had to be
};

// One of the two things that are measured, in turns.
struct LoadVariant {
  std::string what;
  std::function<void()> read;
  std::vector<LoadRound> rounds = {};

  std::vector<double> seconds() const {
    std::vector<double> all;
    for (const LoadRound& round : rounds) {
      if (round.counts) all.push_back(round.seconds);
    }
    return all;
  }
};

// What is read. Its trees and its tier stay where they are.
class LoadSubject {
 public:
  LoadSubject(const LoadBenchArguments& arguments, RunLog& log) : threads_(arguments.threads) {
    for (const auto& [name, access] : enum_names(LoadAccess{})) {
      if (name == arguments.access) access_ = access;
    }
    if (!arguments.tier.empty()) open_tier(arguments, log);
    for (const std::string& file : arguments.files) {
      sources_.push_back(tier_ ? source_on_tier(file) : load_source(file, trees_.emplace_back()));
      const LoadSource& source = sources_.back();
      set_ = set_ || source.from.exists(source.path + "/" + kManifestName);
    }
    if (set_ && sources_.size() > 1) {
      throw Error(ExitCode::config, "a set is measured by itself: name its directory alone");
    }
    find_files();
  }

  // As much memory as is loaded into, written to and given back: the host of a virtual machine may
  // take seconds to find what was never used, and that is no matter of who reads. Again after a
  // slow time, for the kernel need not give the same memory next.
  void find_memory() const {
    constexpr int kMost = 2;
    constexpr double kUsedBytesPerS = 3e9;
    double pace = 0;
    for (int i = 0; i < kMost && pace < kUsedBytesPerS; ++i) {
      const TimePoint begin = Clock::now();
      allocate_huge(bytes_, true);
      pace = static_cast<double>(bytes_) / seconds(Clock::now() - begin);
    }
  }
  // Into new memory, which goes again when it is there.
  void load() {
    if (set_) {
      loaded_set_ = std::make_unique<LoadedState>(sources_[0].from, sources_[0].path, threads_);
      return;
    }
    const TensorFiles files(sources_, access_);
    const auto allocate = [](size_t bytes) { return allocate_huge(bytes, false); };
    for (const TensorFiles::File& file : files.files()) {
      loaded_.push_back(allocate_image(allocate, file.image_bytes()));
    }
    files.read(loaded_, threads_);
  }
  // The memory of the last load().
  void drop() {
    loaded_.clear();
    loaded_set_.reset();
  }
  // The same requests alone.
  void read_alone() {
    if (set_) {
      report_ = read_plainly(sources_[0].from, sources_[0].path,
                             read_manifest(sources_[0].from, sources_[0].path), threads_);
    } else {
      report_ = TensorFiles(sources_, access_).read({.threads = threads_});
    }
  }
  // Empty: the kernel does not tell, or there are no files.
  std::optional<double> cached(bool evicted) const {
    Residency all;
    for (const auto& [from, path, named] : files_) {
      if (from.tree() == nullptr) return std::nullopt;
      const std::array keys{path};
      const Residency one =
          evicted ? evict(*from.tree(), keys) : page_cache_residency(*from.tree(), keys);
      if (one.files == 0) return std::nullopt;
      all.bytes += one.bytes;
      all.cached_bytes += one.cached_bytes;
    }
    return all.cached_share();
  }

  uint64_t bytes() const { return bytes_; }
  bool set() const { return set_; }
  const PieceReport& report() const { return report_; }
  std::vector<TierMeter::State> tiers() const { return parts_of_tier(hub_, tier_name_); }
  // The least that an emulated tier lets it take.
  std::optional<double> ideal_s() const {
    if (!info_.emulated || !info_.read_mb_per_s) return std::nullopt;
    return 1e-6 * static_cast<double>(bytes_) / *info_.read_mb_per_s;
  }

 private:
  void open_tier(const LoadBenchArguments& arguments, RunLog& log) {
    const DataOptions options = read_tier_options(arguments.config, {}, print_note);
    const Component<Storage>& component = find_tier(options, arguments.tier);
    tier_name_ = arguments.tier;
    info_ = component.info();
    TierMeter& meter = hub_.add_tier(tier_name_, component.type(), info_.emulated);
    tier_ = component.create({tier_name_, log.notify(), &hub_, &meter});
  }

  LoadSource source_on_tier(const std::string& key) const {
    const FileTree* const tree = files_of(*tier_);
    return {tree != nullptr ? SetFiles(*tree) : SetFiles(*tier_, tier_name_), key};
  }

  void find_files() {
    if (!set_) {
      files_ = sources_;
      bytes_ = TensorFiles(sources_, access_).bytes();
      return;
    }
    const auto& [from, path, named] = sources_[0];
    for (const FileSums& file : read_manifest(from, path).files) {
      files_.push_back({from, path + "/" + file.name, {}});
      bytes_ += file.bytes;
    }
  }

  const int64_t threads_;
  LoadAccess access_ = LoadAccess::automatic;
  Hub hub_;
  std::string tier_name_;
  StorageInfo info_;
  std::unique_ptr<Storage> tier_;
  std::deque<std::optional<FileTree>> trees_;
  std::vector<LoadSource> sources_;
  std::vector<LoadSource> files_;  // of sources_, or of the set
  uint64_t bytes_ = 0;
  bool set_ = false;
  PieceReport report_;
  std::vector<HostMemory> loaded_;
  std::unique_ptr<LoadedState> loaded_set_;
};

std::vector<LoadVariant> measure(LoadSubject& subject, const LoadBenchArguments& arguments,
                                 const StopSignal& stop) {
  std::vector<LoadVariant> variants{
      {subject.set() ? "load and verify" : "load", [&] { subject.load(); }},
      {"read alone", [&] { subject.read_alone(); }}};
  interleave(variants, arguments.rounds, 0, [&](LoadVariant& variant, int64_t) {
    if (stop.requested()) return false;
    LoadRound round;
    round.cached = subject.cached(arguments.cold);
    round.counts = !arguments.cold || is_cold(round.cached.value_or(1));
    subject.find_memory();
    const TimePoint begin = Clock::now();
    variant.read();
    round.seconds = seconds(Clock::now() - begin);
    subject.drop();
    variant.rounds.push_back(round);
    return true;
  });
  return variants;
}

std::string conditions(const LoadSubject& subject, const LoadBenchArguments& arguments) {
  const PieceReport& report = subject.report();
  std::string text =
      fmt::format("{}, {:.1f} MB, {}, {}{}\n", fmt::join(arguments.files, " "),
                  1e-6 * static_cast<double>(subject.bytes()), plural(report.threads, "thread"),
                  report.direct ? "past the page cache" : "not past a page cache",
                  report.uring ? ", by io_uring" : "");
  for (const std::string& line : tiers_text(subject.tiers())) text += "  " + line + "\n";
  return text;
}

ResultTable table_of(const LoadSubject& subject, const std::vector<LoadVariant>& variants,
                     bool cold) {
  ResultTable table({{"what", "what"},
                     {"seconds", "s (min max)", 3},
                     {"mb_per_s", "MB/s (min max)", 0},
                     {"ideal_share", "of the ideal time", 3}});
  for (const LoadVariant& variant : variants) {
    const std::vector<double> seconds = variant.seconds();
    std::vector<ResultTable::Cell> row{variant.what, {}, {}, {}};
    if (!seconds.empty()) {
      std::vector<double> rates, shares;
      for (const double s : seconds) {
        rates.push_back(1e-6 * static_cast<double>(subject.bytes()) / s);
        if (subject.ideal_s()) shares.push_back(s / *subject.ideal_s());
      }
      row[1] = spread(seconds);
      row[2] = spread(rates);
      if (!shares.empty()) row[3] = spread(shares);
    }
    table.add(std::move(row));
    if (cold && seconds.size() < variant.rounds.size()) {
      table.note(fmt::format("{} of {} rounds did not begin cold and are left out",
                             variant.rounds.size() - seconds.size(), variant.rounds.size()));
    }
  }
  return table;
}

// Of the rate by itself, round by round.
std::vector<double> rate_shares(const std::vector<LoadVariant>& variants) {
  std::vector<double> shares;
  for (size_t i = 0; i < variants[1].rounds.size(); ++i) {
    const LoadRound& load = variants[0].rounds[i];
    const LoadRound& alone = variants[1].rounds[i];
    if (load.counts && alone.counts) shares.push_back(alone.seconds / load.seconds);
  }
  return shares;
}

nlohmann::json rounds_json(const LoadVariant& variant) {
  nlohmann::json rounds = nlohmann::json::array();
  for (const LoadRound& round : variant.rounds) {
    rounds.push_back({{"seconds", round.seconds}, {"counts", round.counts}});
    if (round.cached) rounds.back()["cached_before"] = *round.cached;
  }
  return rounds;
}

ExitCode print_load(const LoadSubject& subject, const std::vector<LoadVariant>& variants,
                    const LoadBenchArguments& arguments) {
  const ResultTable table = table_of(subject, variants, arguments.cold);
  const std::vector<double> shares = rate_shares(variants);
  nlohmann::json json = {{"name", "bench load"},
                         {"files", arguments.files},
                         {"set", subject.set()},
                         {"bytes", subject.bytes()},
                         {"threads", subject.report().threads},
                         {"direct", subject.report().direct},
                         {"uring", subject.report().uring},
                         {"cold", arguments.cold},
                         {"tiers", tiers_json(subject.tiers())},
                         {"results", table.json()}};
  for (size_t i = 0; i < variants.size(); ++i) {
    json["results"][i]["rounds"] = rounds_json(variants[i]);
  }
  std::string text = conditions(subject, arguments) + table.text(2);
  if (!shares.empty()) {
    const Spread share = spread(shares);
    json["rate_share"] = share;
    text += fmt::format("  loaded at {:.2f} of the rate by itself ({:.2f} to {:.2f})\n",
                        share.median, share.min, share.max);
  }
  if (const std::optional<double> ideal = subject.ideal_s()) json["ideal_s"] = *ideal;
  if (!arguments.cold) {
    text += "  page cache as it was; --cold evicts\n";
  } else if (!shares.empty()) {
    text += "  each reading that counts began cold (evicted, verified)\n";
  }
  print_result(arguments.json, json, text);
  return shares.empty() ? ExitCode::environment : ExitCode::ok;
}

}  // namespace

ExitCode bench_load(const LoadBenchArguments& arguments) {
  RunLog log(false);
  const StopSignal stop;
  const Interruptible scope(stop.token());
  try {
    LoadSubject subject(arguments, log);
    const std::vector<LoadVariant> variants = measure(subject, arguments, stop);
    if (!stop.requested()) return print_load(subject, variants, arguments);
  } catch (const Interrupted&) {
  }
  log.warn("stopped: nothing is reported");
  return stop.exit_code();
}

}  // namespace stoker
