#include "io/distributed/peers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>
#include <vector>

#include "io/core/config/plugin.h"
#include "io/core/error.h"
#include "io/core/ranks/store_group.h"
#include "io/device/cuda_library.h"
#include "io/distributed/c10d.h"
#include "io/distributed/distributed_options.h"
#include "io/distributed/tcp_store.h"

namespace stoker {
namespace {

constexpr size_t kBroadcastBytes = 250u << 20;

class NoPeers final : public Peers {
 public:
  NoPeers() : Peers({}) {}
  std::vector<std::string> meet(const std::string&, const std::string& own,
                                const std::function<bool()>&) override {
    return {own};
  }
  void leave(const std::string&) override {}
  Gathered gather(const std::string& own) override {
    return [own] { return std::vector<std::string>{own}; };
  }
  void broadcast_tensors(const std::vector<at::Tensor>&, int64_t) override {}
  std::unique_ptr<GradientExchange> exchange(const std::vector<at::Tensor>&,
                                             std::function<void()>) override {
    return nullptr;
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
  void stand_in() override {
    guard_("the exchange of gradients", [this] { exchange_->stand_in(); });
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
      : Peers(ranks),
        options_(options),
        store_(ranks, std::chrono::milliseconds(options.timeout.ms)),
        group_(ranks, store_, std::chrono::milliseconds(options.timeout.ms)) {
    run("the meeting of the ranks", [&] {
      control_ = process_group("gloo", "control");
      gradients_ =
          options.backend == "gloo" ? control_ : process_group(options.backend, "gradients");
    });
  }
  std::vector<std::string> meet(const std::string& channel, const std::string& own,
                                const std::function<bool()>& go_on) override {
    return group_.meet(channel, own, go_on);
  }
  std::string gone() const override { return group_.gone(); }
  void leave(const std::string& why) override { group_.leave(why); }
  void broadcast(std::span<uint8_t> bytes, int64_t from) override {
    if (bytes.empty()) return;
    broadcast_tensors(
        {at::from_blob(bytes.data(), {static_cast<int64_t>(bytes.size())}, at::kByte)}, from);
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
  void broadcast_tensors(const std::vector<at::Tensor>& tensors, int64_t from) override {
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

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> process_group(const std::string& backend,
                                                       const char* name) {
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
      group_.fail(std::string(what) + ": " + first_line(error));
    }
  }

  const DistributedOptions options_;
  const TcpStore store_;
  StoreGroup group_;
  c10::intrusive_ptr<c10d::ProcessGroup> control_;
  c10::intrusive_ptr<c10d::ProcessGroup> gradients_;
};

}  // namespace

std::map<std::string, Collectives>& collectives() {
  static std::map<std::string, Collectives> all{{"nccl", {nullptr, "stoker_nccl"}}};
  return all;
}

std::unique_ptr<Peers> no_peers() { return std::make_unique<NoPeers>(); }

std::unique_ptr<Peers> meet_peers(const Ranks& ranks, const DistributedOptions& options) {
  return std::make_unique<ProcessGroupPeers>(ranks, options);
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

}  // namespace stoker
