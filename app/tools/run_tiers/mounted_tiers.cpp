#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/tools/mount/mount_server.h"
#include "app/tools/run_program/program_io.h"
#include "app/tools/run_tiers/tier_folders.h"
#include "io/core/system/file.h"
#include "io/core/text/text.h"
#include "io/metrics/hub.h"
#include "io/storage/tiers.h"

namespace stoker {
namespace {

MountMode mode_of(const std::string& name) {
  if (name == "direct") return MountMode::direct;
  return name == "cached" ? MountMode::cached : MountMode::drop;
}

// One folder: its files below the mount, reached by a descriptor; the tier; its server. One thread.
class MountedFolder {
 public:
  // Opens the folder as it is before anything is mounted. Error(environment) where it is none.
  MountedFolder(const std::string& word, const ProgramTiers::Inputs& inputs)
      : mode_(inputs.mode), notify_(inputs.notify) {
    const TierWord parts = parse_tier_word(word);
    tier_ = parts.tier;
    std::error_code error;
    folder_ = std::filesystem::canonical(parts.folder, error).string();
    if (!error && !std::filesystem::is_directory(folder_, error)) {
      error = std::make_error_code(std::errc::not_a_directory);
    }
    if (error) {
      throw Error(ExitCode::environment, fmt::format("--tier: {}: {}: name a folder that is there",
                                                     readable(parts.folder), error.message()));
    }
    files_ = open_file("open", folder_, O_RDONLY | O_DIRECTORY);
    component_ = tier_over(fmt::format("/proc/self/fd/{}", files_.get()), tier_);
  }

  const std::string& folder() const { return folder_; }

  void mount() {
    meter_ = &hub_.add_tier(tier_, component_.type(), true);
    storage_ = component_.create({tier_, notify_, &hub_, meter_});
    tree_ = std::make_unique<MountTree>(storage_->list(""));
    if (tree_->left_out() > 0) {
      notify_(
          fmt::format("--tier: {} files of {} have names that cannot be shown, and are left out",
                      tree_->left_out(), readable(folder_)));
    }
    const MountMode mode = mode_of(mode_);
    FuseOptions fuse{mount_source({tier_, true}), ::geteuid() == 0, mode == MountMode::direct};
    server_ = std::make_unique<MountServer>(
        *storage_, *tree_, *meter_,
        MountServer::Options{folder_, std::move(fuse), mode, kThreads, [] {}});
    server_->set_cost(measure_own_cost(*server_));
  }

  ProgramIo::Tier figures() const {
    ProgramIo::Tier result{folder_, tier_, mode_};
    result.files = static_cast<int64_t>(tree_->files());
    result.bytes = tree_->bytes();
    const MountStatistics::Totals opens = server_->statistics().opens();
    const MountStatistics::Totals reads = server_->statistics().reads();
    result.opens = opens.requests;
    result.reads = reads.requests;
    result.failed = opens.failed + reads.failed;
    result.bytes_read = reads.bytes;
    result.waited_s = opens.waited_s + reads.waited_s;
    result.modelled_s = opens.modelled_s + reads.modelled_s;
    for (const TierMeter::State& part : hub_.tiers()) result.overruns += part.overruns;
    return result;
  }

 private:
  static constexpr int64_t kThreads = 16;

  std::string folder_, tier_;
  const std::string mode_;
  const Notify notify_;
  FileDescriptor files_;
  Component<Storage> component_;
  Hub hub_;
  TierMeter* meter_ = nullptr;
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<MountTree> tree_;
  std::unique_ptr<MountServer> server_;
};

class MountedTiers final : public ProgramTiers {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  MountedTiers(Options, const Inputs& inputs) {
    for (const std::string& word : inputs.tiers) {
      folders_.push_back(std::make_unique<MountedFolder>(word, inputs));
    }
    if (::access("/dev/fuse", R_OK | W_OK) != 0) {
      throw Error(ExitCode::environment,
                  fmt::format("--tier: /dev/fuse cannot be used ({}): run it as root, load the "
                              "module fuse, or start the container with --device /dev/fuse",
                              std::strerror(errno)));
    }
    take_own_mounts();
    // One above another is mounted first, or it would hide the other.
    std::vector<MountedFolder*> order;
    for (const auto& folder : folders_) order.push_back(folder.get());
    std::ranges::sort(order, {}, &MountedFolder::folder);
    for (MountedFolder* folder : order) folder->mount();
    enter_working_folder_again();
  }
  ~MountedTiers() override {
    // Those within others end before them.
    std::ranges::sort(folders_, std::greater(), &MountedTiers::name);
    folders_.clear();
  }

  std::vector<ProgramIo::Tier> figures() const override {
    std::vector<ProgramIo::Tier> all;
    for (const auto& folder : folders_) all.push_back(folder->figures());
    return all;
  }

 private:
  static const std::string& name(const std::unique_ptr<MountedFolder>& folder) {
    return folder->folder();
  }

  std::vector<std::unique_ptr<MountedFolder>> folders_;
};

STOKER_REGISTER(ProgramTiers, "mounted", MountedTiers);

}  // namespace
}  // namespace stoker
