#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "io/core/bounded_queue.h"
#include "io/core/text/json.h"
#include "io/metrics/hub.h"
#include "io/metrics/io_sessions.h"
#include "io/profiler/counters/record_name.h"
#include "io/profiler/io_profiler.h"
#include "io/profiler/log/darshan_log.h"
#include "io/profiler/view/file_lanes.h"
#include "io/profiler/view/profile_json.h"
#include "io/profiler/wrap/counting.h"

namespace stoker {
namespace {

// Sessions begin and end on the trainer's thread. Writing a log takes longer than a step, so it is
// done on a thread of its own (`writer_`), whose own I/O the profiler does not count (OwnIo).

// Folders become beginnings of names as the recorder makes them of paths, with links and without.
IoRecorderOptions with_folders(IoRecorderOptions options, const std::vector<std::string>& folders) {
  std::error_code error;
  const std::string here = std::filesystem::current_path(error);
  for (const std::string& folder : folders) {
    for (const std::string& path :
         {folder, std::filesystem::weakly_canonical(folder, error).string()}) {
      RecordName name;
      if (name.set(here, path + "/")) options.include.emplace_back(name.text());
    }
  }
  return options;
}

// What callers have waited for each emulated tier so far, in the order of the tiers.
std::vector<IoProfile::Emulated> emulated_of(const Hub& hub) {
  std::vector<IoProfile::Emulated> all;
  for (const TierMeter::State& tier : hub.tiers()) {
    if (!tier.emulated) continue;
    const auto& [read_s, write_s, meta_s] = tier.waits;
    const auto bytes = [&](TierOp op) {
      return static_cast<int64_t>(tier.ops[static_cast<size_t>(op)].bytes);
    };
    all.push_back({tier.name, read_s, write_s, meta_s, bytes(TierOp::read), bytes(TierOp::write),
                   tier.moved[0].busy_s, tier.moved[1].busy_s});
  }
  return all;
}

void subtract(IoProfile::Emulated& of, const IoProfile::Emulated& before) {
  for (double IoProfile::Emulated::*time :
       {&IoProfile::Emulated::read_s, &IoProfile::Emulated::write_s, &IoProfile::Emulated::meta_s,
        &IoProfile::Emulated::reading_s, &IoProfile::Emulated::writing_s}) {
    of.*time -= before.*time;
  }
  of.bytes_read -= before.bytes_read;
  of.bytes_written -= before.bytes_written;
}

// As much as the live page can show at a glance.
constexpr ProfileViewLimits kLive{.files = 20, .directories = 8, .values = 4, .bins = 60};

class RunSessions final : public IoSessions {
 public:
  struct Options {
    template <class V>
    void visit(V& /*v*/) {}
  };
  RunSessions(const Options& /*options*/, const Inputs& inputs)
      : options_(with_folders(inputs.recorder, inputs.folders)),
        run_dir_(inputs.run_dir),
        hub_(inputs.hub),
        profiler_(inputs.library, std::filesystem::absolute(inputs.run_dir) / "libdarshan.darshan"),
        writer_([this] {
          const OwnIo own;
          try {
            while (const std::optional<Ended> ended = ended_.pop()) write(*ended);
          } catch (...) {
            ended_.close(std::current_exception());
          }
        }) {}
  ~RunSessions() override { ended_.close(); }

  void begin() override {
    before_ = emulated_of(hub_);
    profiler_.begin(options_);
  }
  bool open() const override { return profiler_.open(); }

  void end(const std::string& name, int64_t first, int64_t last) override {
    IoProfile profile = profiler_.end();
    profile.steps = IoProfile::Steps{first, last};
    profile.emulated = emulated_of(hub_);
    for (size_t i = 0; i < std::min(before_.size(), profile.emulated.size()); ++i) {
      subtract(profile.emulated[i], before_[i]);
    }
    // If the writer has failed, its queue is closed and drops the session.
    ended_.push({name, std::move(profile)});
  }

  void finish() override {
    ended_.close();
    writer_.join();
    while (ended_.pop()) {  // throws the writer's error, if there is one
    }
  }

 private:
  struct Ended {
    std::string name;  // of the log file, without its ending
    IoProfile profile;
  };

  void write(const Ended& ended) {
    const IoProfile& profile = ended.profile;
    write_darshan_log(profile, run_dir_ + "/" + ended.name + ".darshan");
    std::vector<TraceRow> rows = file_lanes(profile);
    nlohmann::json json = profile_json(profile, kLive);
    json["first_step"] = profile.steps->first;
    hub_.io_sessions().ended(
        {.name = ended.name,
         .json = json_text(json),
         .step = profile.steps->last,
         .begin = TimePoint(std::chrono::nanoseconds(profile.begin_monotonic_ns)),
         .rows = rows});
    hub_.tracer().add(std::move(rows));
  }

  const IoRecorderOptions options_;
  const std::string run_dir_;
  Hub& hub_;
  IoProfiler profiler_;
  std::vector<IoProfile::Emulated> before_;  // when the session began
  BoundedQueue<Ended> ended_{4};
  std::jthread writer_;
};

STOKER_REGISTER(IoSessions, "profiler", RunSessions);

}  // namespace
}  // namespace stoker
