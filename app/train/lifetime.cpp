#include "app/train/lifetime.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/metrics/machine/process_stats.h"

namespace stoker {
namespace {

constexpr std::chrono::milliseconds kEvery(100);
constexpr size_t kBytes = 4096;
constexpr double kGranularity = 0.1;  // of the kernel's word for the begin, and some
constexpr double kLeastSleep = 1;
constexpr const char* kNone = "none";
constexpr const char* kLatest = "latest";

double boot_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string boot_id() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

// When this process began, by the kernel; now where that is not known.
Moment process_begin() {
  Moment begin{boot_id(), boot_now(), unix_now()};
  const auto stat = parse_process_stat(proc::read("/proc/self/stat").value_or(""));
  if (!stat) return begin;
  const double began =
      static_cast<double>(stat->start_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (began > begin.boot_s) return begin;
  begin.unix_s -= begin.boot_s - began;
  begin.boot_s = began;
  return begin;
}

std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

std::string path_of(const ExperimentOptions& options) {
  const CheckpointerInfo info = options.checkpoint.info();
  if (!info.saves) return "";
  return options.run.dir.value + "/lifetimes/" +
         (info.directory.empty() ? options.run.name : info.directory) + ".json";
}

std::string resume_of(const ExperimentOptions& options) {
  const nlohmann::json checkpoint = to_json(options.checkpoint.dump());
  return checkpoint.value("resume", std::string(kNone));
}

constexpr std::array<const char*, 3> kEnds{"none", "interrupted", "completed"};

}  // namespace

Lifetime::Lifetime(const ExperimentOptions& options, Hub& hub, Notify warn)
    : hub_(hub),
      warn_(std::move(warn)),
      config_(config_hash(options)),
      resume_(resume_of(options)),
      path_(path_of(options)),
      begin_(process_begin()) {
  if (!path_.empty() && resume_ != kNone) take_up();
  began_ = Clock::now() - from_seconds(boot_now() - begin_.boot_s);
  // Until it is known whether the run goes on from there.
  before_ = last_ ? taken_up(*last_, begin_) : anew(0);
  kept_ = last_.has_value();
  ticker_.emplace("lifetime", kEvery, [this] { write(look(ProcessEnd::none)); });
}

Lifetime::~Lifetime() = default;

void Lifetime::take_up() {
  try {
    const std::optional<std::string> text = read_if_there(path_, kBytes);
    if (!text) return;
    const nlohmann::json json = parse_json(*text);
    last_config_ = json.at("config_hash");
    last_ = json.at("record").get<Goodput>();
  } catch (const std::exception& error) {
    warn_(fmt::format("{}: what the training did with its time is known from checkpoints alone: {}",
                      path_, error.what()));
    return;
  }
  // The kernel says it to the hundredth of a second.
  const double early = last_->at.boot_s - begin_.boot_s;
  if (last_->at.boot == begin_.boot && early > 0 && early < kGranularity) begin_ = last_->at;
}

Goodput Lifetime::anew(int64_t step) const {
  Goodput record;
  record.training = random_name();
  record.at = begin_;
  record.begun_boot_s = begin_.boot_s;
  record.steps = step;
  return record;
}

void Lifetime::goes_on(bool found, const std::optional<Goodput>& saved, int64_t step) {
  const std::lock_guard lock(mutex_);
  const bool same = last_ && saved && last_->training == saved->training;
  if (same && last_->wall_s() >= saved->wall_s()) {
    before_ = gone_on_from(before_, &*saved, step);
  } else if (saved && (same || resume_ == kLatest)) {
    before_ = gone_on_from(taken_up(*saved, begin_), &*saved, step);
  } else if (!found && last_ && !last_->saved && last_config_ == config_) {
    before_ = gone_on_from(before_, nullptr, step);
  } else {
    before_ = anew(step);
  }
  before_.saved = found;
  if (before_.recovering) last_old_step_ = before_.recovering->last_step;
}

void Lifetime::keep() {
  const std::lock_guard lock(mutex_);
  kept_ = true;
}

void Lifetime::new_step(int64_t step) {
  const std::lock_guard lock(mutex_);
  recovered(before_, step, boot_now() - before_.begun_boot_s);
  last_old_step_ = INT64_MAX;
}

void Lifetime::end() {
  ticker_.reset();
  const bool completed = hub_.run().state().phase == RunPhase::completed;
  write(look(completed ? ProcessEnd::completed : ProcessEnd::interrupted));
}

Goodput Lifetime::look(ProcessEnd end) {
  const RunMeter::State run = hub_.run().state();
  const auto& report = hub_.checkpoints().state().report;
  const std::lock_guard lock(mutex_);
  const Moment at{begin_.boot, boot_now(), unix_now()};
  const auto since = [this](TimePoint moment) { return seconds(moment - began_); };
  ProcessCourse course;
  const double age_s = at.boot_s - begin_.boot_s;
  course.slept_s = age_s - since(Clock::now());
  // The two clocks are not read at once.
  if (course.slept_s < kLeastSleep) course.slept_s = 0;
  course.age_s = age_s - course.slept_s;
  if (run.loop_begin) course.loop_s = since(*run.loop_begin);
  if (course.loop_s && run.first_batch_s) {
    course.first_batch_s = *course.loop_s + *run.first_batch_s;
  }
  course.before_first = run.before_first_batch.spent_s;
  course.segments = run.doing.spent_s;
  if (run.at_end) course.over_s = run.totals.wall_s;
  Goodput record = at_moment(before_, course, at, course.loop_s ? run.totals.steps : before_.steps);
  record.end = end;
  if (end != ProcessEnd::none) record.in_loop = false;
  record.saved |= report && report->saved_step.value_or(-1) >= 0;
  hub_.run().set_goodput(record);
  return record;
}

void Lifetime::write(const Goodput& record) {
  {
    const std::lock_guard lock(mutex_);
    if (!kept_) return;
  }
  if (path_.empty() || failed_) return;
  try {
    if (!file_) {
      make_directories(path_.substr(0, path_.rfind('/')));
      file_ = open_file("write", path_, O_RDWR | O_CREAT);
    }
    const nlohmann::json json = {{"config_hash", config_}, {"record", record}};
    std::string text = json_text(json);
    text.resize(kBytes - 1, ' ');
    text += '\n';
    // At its place, whole: whoever is killed here has written all of it or nothing.
    const ssize_t written =
        uninterrupted([&] { return ::pwrite(file_.get(), text.data(), text.size(), 0); });
    if (written != static_cast<ssize_t>(text.size())) {
      throw_errno("write", path_, written < 0 ? errno : ENOSPC);
    }
  } catch (const IoError& error) {
    failed_ = true;
    warn_(fmt::format("{}: the next process will not know what this one did with its time",
                      error.what()));
  }
}

void to_json(nlohmann::json& json, const Goodput& record) {
  json = {{"training", record.training},
          {"boot", record.at.boot},
          {"at_boot_s", record.at.boot_s},
          {"at_unix_s", record.at.unix_s},
          {"begun_boot_s", record.begun_boot_s},
          {"steps", record.steps},
          {"lost_steps", record.lost_steps},
          {"processes", record.processes},
          {"interruptions", record.interruptions},
          {"recoveries", record.recoveries},
          {"recovered_s", record.recovered_s},
          {"saved", record.saved},
          {"in_loop", record.in_loop},
          {"end", kEnds[static_cast<size_t>(record.end)]}};
  for (size_t i = 0; i < kGoodputParts; ++i) {
    json["parts_s"][goodput_part_name(static_cast<GoodputPart>(i))] = record.parts_s[i];
  }
  if (record.newest_recovery_s) json["newest_recovery_s"] = *record.newest_recovery_s;
  if (record.recovering) {
    json["recovering"] = {{"since_s", record.recovering->since_s},
                          {"last_step", record.recovering->last_step}};
  }
}

void from_json(const nlohmann::json& json, Goodput& record) {
  const auto whole = [&](const char* name) { return whole_number(json.at(name)); };
  record = {};
  record.training = json.at("training");
  record.at = {json.at("boot"), json.at("at_boot_s"), json.at("at_unix_s")};
  record.begun_boot_s = json.at("begun_boot_s");
  for (size_t i = 0; i < kGoodputParts; ++i) {
    record.parts_s[i] = json.at("parts_s").at(goodput_part_name(static_cast<GoodputPart>(i)));
  }
  record.steps = whole("steps");
  record.lost_steps = whole("lost_steps");
  record.processes = whole("processes");
  record.interruptions = whole("interruptions");
  record.recoveries = whole("recoveries");
  record.recovered_s = json.at("recovered_s");
  record.saved = json.at("saved");
  record.in_loop = json.at("in_loop");
  if (const auto took = json.find("newest_recovery_s"); took != json.end()) {
    record.newest_recovery_s = took->get<double>();
  }
  if (const auto under_way = json.find("recovering"); under_way != json.end()) {
    record.recovering =
        Goodput::Recovery{under_way->at("since_s"), whole_number(under_way->at("last_step"))};
  }
  const auto end = std::ranges::find(kEnds, json.at("end").get<std::string>());
  record.end = end == kEnds.end() ? ProcessEnd::none : static_cast<ProcessEnd>(end - kEnds.begin());
}

}  // namespace stoker
