#include "app/tools/mount/mount.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/process/log.h"
#include "app/tools/bench/bench_tier.h"
#include "app/tools/mount/mount_point.h"
#include "app/tools/mount/mount_server.h"
#include "io/core/system/child_process.h"
#include "io/core/text/text.h"
#include "io/experiment/data_options.h"
#include "io/metrics/hub.h"
#include "io/storage/tiers.h"

namespace stoker {
namespace {

// While it lives, these signals come to nobody but wait(): threads that are made meanwhile block
// them, too. One thread.
class AwaitedSignals {
 public:
  AwaitedSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) sigaddset(&set_, signal);
    struct sigaction hang_up = {};  // nohup ignores it
    sigaction(SIGHUP, nullptr, &hang_up);
    if (hang_up.sa_handler != SIG_IGN) sigaddset(&set_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  // What came meanwhile shall not end the process: it wanted to wake us up, or is the same request
  // once more (timeout(1) signals a process and its group).
  ~AwaitedSignals() {
    constexpr timespec kNow{};
    while (sigtimedwait(&set_, nullptr, &kNow) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  AwaitedSignals(const AwaitedSignals&) = delete;
  AwaitedSignals& operator=(const AwaitedSignals&) = delete;

  int wait() const {
    int signal = 0;
    while (sigwait(&set_, &signal) != 0) {
    }
    return signal;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

MountMode mode_of(const std::string& name) {
  if (name == "direct") return MountMode::direct;
  return name == "drop" ? MountMode::drop : MountMode::cached;
}

// Until something ends it. SIGUSR2 is also how the server wakes us up.
ExitCode wait_for_end(MountServer& server, const AwaitedSignals& signals) {
  for (;;) {
    const int signal = signals.wait();
    if (signal == SIGINT) return ExitCode::sigint;
    if (signal != SIGUSR2) return ExitCode::sigterm;
    if (server.ended()) return ExitCode::ok;
    server.drop();
  }
}

nlohmann::json cost_json(const OwnCost& cost) {
  return {{"before_us", 1e6 * seconds(cost.before)},
          {"after_us", 1e6 * seconds(cost.after)},
          {"after_us_per_mib", 1e6 * cost.after_per_byte_s * (1 << 20)}};
}

std::string cost_text(const OwnCost& cost) {
  return fmt::format("own cost, taken off: {:.0f} us a request and {:.0f} us a MiB",
                     1e6 * seconds(cost.before + cost.after),
                     1e6 * cost.after_per_byte_s * (1 << 20));
}

struct MountReport {
  const MountArguments& arguments;
  const MountTree& tree;
  const OwnCost& cost;
  const MountStatistics& statistics;
  const std::vector<TierMeter::State> parts;

  void print() const {
    nlohmann::json json = statistics.json();
    const bool emulated = !parts.empty() && parts.front().emulated;
    json["name"] = "stoker-mount";
    json["tier"] = arguments.tier;
    json["mode"] = arguments.mode;
    json["files"] = tree.files();
    json["bytes"] = tree.bytes();
    json["tiers"] = tiers_json(parts);
    if (emulated) {
      json["overruns"] = parts.front().overruns;
      json["overrun_s"] = parts.front().overrun_s;
      json["own_cost"] = cost_json(cost);
    }
    std::string text = fmt::format("tier {}, mode {}, {}\n", arguments.tier, arguments.mode,
                                   plural(tree.files(), "file")) +
                       statistics.text();
    for (const std::string& line : tiers_text(parts)) text += line + "\n";
    if (emulated) text += cost_text(cost) + "\n";
    print_result(arguments.json, json, text);
  }
};

}  // namespace

ExitCode mount_tier(const MountArguments& arguments) {
  RunLog log(false);
  const Notify notify = log.notify();
  const DataOptions options = read_tier_options(arguments.config, arguments.overrides, print_note);
  const Component<Storage>& component = find_tier(options, arguments.tier);
  auto signals = std::make_unique<AwaitedSignals>();
  end_with_starter();  // a sweep that is killed leaves no mount
  const std::string directory = prepare_mount_point(arguments.directory, notify);
  Hub hub;
  TierMeter& meter = hub.add_tier(arguments.tier, component.type(), component.info().emulated);
  const auto tier = component.create({arguments.tier, notify, &hub, &meter});
  const MountTree tree(tier->list(""));
  if (tree.left_out() > 0) {
    log.warn(fmt::format("{} objects whose keys are no paths are left out", tree.left_out()));
  }
  MountServer::Options how{directory, {}, mode_of(arguments.mode), arguments.threads, {}};
  how.fuse = {mount_source({arguments.tier, component.info().emulated}), arguments.allow_other,
              how.mode == MountMode::direct};
  how.wake = [] { ::kill(::getpid(), SIGUSR2); };
  ExitCode code = ExitCode::ok;
  MountServer server(*tier, tree, meter, std::move(how));
  if (arguments.read_ahead) set_read_ahead(directory, arguments.read_ahead->bytes, notify);
  const OwnCost cost = measure_own_cost(server);
  server.set_cost(cost);
  if (!server.realtime()) {
    log.info(
        "its threads have no real-time priority (CAP_SYS_NICE): on a busy machine answers come "
        "late");
  }
  // A sweep waits for this line.
  log.info(fmt::format("mounted tier {} on {}: {}, {:.1f} MB, mode {}; {}", arguments.tier,
                       readable(directory), plural(tree.files(), "file"),
                       1e-6 * static_cast<double>(tree.bytes()), arguments.mode, cost_text(cost)));
  code = wait_for_end(server, *signals);
  server.end();
  // The next one has its default action.
  signals.reset();
  MountReport{arguments, tree, cost, server.statistics(), parts_of_tier(hub, arguments.tier)}
      .print();
  return code;
}

}  // namespace stoker
