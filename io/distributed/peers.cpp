#include "io/distributed/peers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>

#include "io/core/error.h"
#include "io/core/config/plugin.h"
#include "io/core/system/shortage.h"
#include "io/device/cuda_library.h"
#include "io/distributed/c10d.h"
#include "io/distributed/channel.h"
#include "io/distributed/collectives.h"
#include "io/distributed/heartbeat.h"
#include "io/distributed/reducer.h"

namespace stoker {
namespace {

constexpr size_t kBroadcastBytes = 250u << 20;

class NoPeers final : public Peers {
 public:
  NoPeers() : Peers({}, nullptr) {}
  Gathered gather(const std::string& own) override {
    return [own] { return std::vector<std::string>{own}; };
  }
  void broadcast(const std::vector<at::Tensor>&, int64_t) override {}
  std::unique_ptr<GradientExchange> exchange(const std::vector<at::Tensor>&,
                                             std::function<void()>) override {
    return nullptr;
  }
  std::vector<std::string> meet(const std::string&, const std::string& own,
                                const std::function<bool()>&) override {
    return {own};
  }
};

// What is thrown while ranks talk to each other, and who is to blame for it.
using Guard = std::function<void(const char* what, const std::function<void()>& f)>;

// Its errors name the rank that is gone.
class GuardedExchange final : public GradientExchange {
 public:
  GuardedExchange(std::unique_ptr<GradientExchange> exchange, Guard guard)
      : exchange_(std::move(exchange)), guard_(std::move(guard)) {}
  void before_forward() override {
    guard_("before the step", [this] { exchange_->before_forward(); });
  }
  void backward(const at::Tensor& loss) override {
    guard_("the exchange of gradients", [&] { exchange_->backward(loss); });
  }

 private:
  const std::unique_ptr<GradientExchange> exchange_;
  const Guard guard_;
};

const Collectives& loaded(const std::string& backend) {
  const Collectives& found = collectives().at(backend);
  if (found.add) return found;
  // The plug-in is not linked to LibTorch's CUDA half, whose functions it calls.
  if (const auto problem = load_cuda()) {
    throw Error(ExitCode::device, "distributed.backend: " + backend + ": " + *problem +
                                      "; use distributed.backend=gloo");
  }
  const std::string path = plugin_beside_library(found.plugin);
  if (!std::filesystem::exists(path)) {
    throw Error(ExitCode::environment, "distributed.backend: " + backend + ": there is no " + path +
                                           ": STOKER_GPU=1 ./run.sh builds it; or use "
                                           "distributed.backend=gloo");
  }
  load_plugin(path);
  return found;
}

class ProcessGroupPeers final : public Peers {
 public:
  ProcessGroupPeers(const Ranks& ranks, const DistributedOptions& options)
      : Peers(ranks, &heartbeat_),
        options_(options),
        store_(ranks, std::chrono::milliseconds(options.timeout.ms)),
        heartbeat_(ranks, store_, std::chrono::milliseconds(options.timeout.ms)) {
    run("the meeting of the ranks", [&] {
      control_ = group("gloo", "control");
      gradients_ = options.backend == "gloo" ? control_ : group(options.backend, "gradients");
    });
  }
  Gathered gather(const std::string& own) override {
    const auto size = static_cast<int64_t>(own.size());
    const at::Tensor mine = at::empty({size}, at::kByte);
    std::memcpy(mine.data_ptr(), own.data(), own.size());
    std::vector<std::vector<at::Tensor>> all(1);
    for (int64_t i = 0; i < ranks().world; ++i) all[0].push_back(at::empty({size}, at::kByte));
    std::vector<at::Tensor> mine_list{mine};
    c10::intrusive_ptr<c10d::Work> work;
    run("gather", [&] { work = control_->allgather(all, mine_list); });
    return [this, all, mine, work] {
      run("gather", [&] { work->wait(); });
      std::vector<std::string> out;
      for (const at::Tensor& each : all[0]) {
        out.emplace_back(static_cast<const char*>(each.data_ptr()),
                         static_cast<size_t>(each.numel()));
      }
      return out;
    };
  }
  void broadcast(const std::vector<at::Tensor>& tensors, int64_t from) override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> values;
    for (const at::Tensor& tensor : tensors) values.push_back(tensor.detach());
    if (values.empty()) return;
    const auto& group = values.front().is_cpu() ? control_ : gradients_;
    run("broadcast",
        [&] { c10d::broadcast_coalesced(group, values, kBroadcastBytes, static_cast<int>(from)); });
  }
  std::unique_ptr<GradientExchange> exchange(const std::vector<at::Tensor>& parameters,
                                             std::function<void()> ready) override {
    if (options_.backend == "nccl" && !parameters.front().is_cuda()) {
      throw Error(ExitCode::config,
                  "distributed.backend: nccl exchanges what lies on GPUs, and this model does not: "
                  "use distributed.backend=gloo, or device.type=cuda");
    }
    std::unique_ptr<GradientExchange> exchange;
    run("the first look at the parameters", [&] {
      exchange = make_reducer(gradients_, parameters, static_cast<int64_t>(options_.bucket.bytes),
                              std::move(ready));
    });
    return std::make_unique<GuardedExchange>(
        std::move(exchange),
        [this](const char* what, const std::function<void()>& f) { run(what, f); });
  }
  std::vector<std::string> meet(const std::string& name, const std::string& own,
                                const std::function<bool()>& go_on) override {
    std::string missing;
    try {
      return channel(name).meet(own, [&] {
        if (!go_on()) throw Error(ExitCode::sigterm, "no longer waiting for the other ranks");
        missing = heartbeat_.surely_missing();
        if (!missing.empty()) throw Error(ExitCode::device, missing);
      });
    } catch (const Error& error) {
      if (error.code() == ExitCode::sigterm) throw;
      if (missing.empty()) missing = heartbeat_.missing();
      fail(missing.empty() ? error.what() : missing);
    }
  }

 private:
  Channel& channel(const std::string& name) {
    const std::lock_guard lock(channels_mutex_);
    return channels_
        .try_emplace(name, ranks(), store_, name, std::chrono::milliseconds(options_.timeout.ms))
        .first->second;
  }
  c10::intrusive_ptr<c10d::ProcessGroup> group(const std::string& backend, const char* name) {
    const auto prefixed = c10::make_intrusive<c10d::PrefixStore>(
        name, c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store_.c10d()));
    auto group = c10::make_intrusive<c10d::ProcessGroup>(prefixed, static_cast<int>(ranks().rank),
                                                         static_cast<int>(ranks().world));
    loaded(backend).add(*group, ranks(), options_.timeout.ms);
    return group;
  }
  void run(const char* what, const std::function<void()>& f) {
    try {
      f();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      if (shortage(error)) throw;
      const std::string missing = heartbeat_.missing();
      fail(missing.empty() ? std::string(what) + ": " + first_line(error) : missing);
    }
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ExitCode::device,
                fmt::format("rank {} of {}: {}", ranks().rank, ranks().world, why));
  }

  const DistributedOptions options_;
  RankStore store_;
  Heartbeat heartbeat_;
  std::mutex channels_mutex_;
  std::map<std::string, Channel> channels_;
  c10::intrusive_ptr<c10d::ProcessGroup> control_;
  c10::intrusive_ptr<c10d::ProcessGroup> gradients_;
};

}  // namespace

std::map<std::string, Collectives>& collectives() {
  static std::map<std::string, Collectives> all{{"nccl", {nullptr, "stoker_nccl"}}};
  return all;
}

void DistributedOptions::check(const Section& section) const {
  std::vector<std::string> known;
  for (const auto& [name, each] : collectives()) known.push_back(name);
  if (!collectives().contains(backend)) {
    section.fail("backend", fmt::format("is no backend of collectives that is there: '{}'{}",
                                        backend, suggestion(backend, known)));
  }
  if (timeout.ms <= 0) section.fail("timeout", "must be more than nothing");
  if (bucket.bytes == 0) section.fail("bucket", "must be more than nothing");
}

std::string Peers::gone() const {
  return heartbeat_ == nullptr ? "" : heartbeat_->surely_missing();
}

void Peers::leave(const std::string& why) const {
  if (heartbeat_ != nullptr) heartbeat_->leave(why);
}

std::string share(Peers& peers, const std::string& text) {
  return peers.meet("share", text, [] { return true; }).front();
}

std::unique_ptr<Peers> no_peers() { return std::make_unique<NoPeers>(); }

std::unique_ptr<Peers> meet_peers(const Ranks& ranks, const DistributedOptions& options) {
  return std::make_unique<ProcessGroupPeers>(ranks, options);
}

}  // namespace stoker
