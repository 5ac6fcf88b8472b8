#include "app/train/across_ranks.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "app/train/tensors.h"
#include "io/core/json.h"
#include "io/loader/batch_job.h"

namespace stoker {
namespace {

using nlohmann::json;

// As many bytes as each has.
std::vector<std::string> gather_texts(Peers& peers, std::string own) {
  const std::vector<size_t> sizes = gather_values(peers, own.size())();
  own.resize(*std::max_element(sizes.begin(), sizes.end()));
  std::vector<std::string> texts = peers.gather(own)();
  for (size_t rank = 0; rank < texts.size(); ++rank) texts[rank].resize(sizes[rank]);
  return texts;
}

constexpr std::array kSummed{"images", "images_per_s"};
// Where it is worth to know which rank is the worst.
constexpr std::array kCompared{"images_per_s", "io_share", "wall_s"};
constexpr std::array kEach{"rank",   "images",     "images_per_s", "io_share",
                           "wall_s", "segments_s", "device"};

// The least and the most of a figure, with their ranks.
json extremes(const json& each, const char* figure) {
  const auto less = [&](const json& a, const json& b) { return a.at(figure) < b.at(figure); };
  const auto [least, most] = std::minmax_element(each.begin(), each.end(), less);
  const auto one = [&](const json& rank) {
    return json{{"rank", rank.at("rank")}, {"value", rank.at(figure)}};
  };
  return {{"least", one(*least)}, {"most", one(*most)}};
}

}  // namespace

json figures_of_all(Peers& peers, const json& own) {
  if (!peers.ranks().many()) return nullptr;
  // Rank 0 may have waited for its checkpoints meanwhile, for longer than any time-out.
  share(peers, "");
  json mine;
  for (const char* name : kEach) {
    if (own.contains(name)) mine[name] = own.at(name);
  }
  json all = {{"each", json::array()}};
  for (const std::string& text : gather_texts(peers, mine.dump())) {
    all["each"].push_back(json::parse(text));
  }
  const auto there = [&](const char* name) {
    return std::ranges::all_of(all["each"], [&](const json& rank) { return rank.contains(name); });
  };
  for (const char* name : kSummed) {
    if (!there(name)) continue;
    double sum = 0;
    for (const json& rank : all["each"]) sum += rank.at(name).get<double>();
    all[name] = sum;
  }
  for (const char* name : kCompared) {
    if (there(name)) all["extremes"][name] = extremes(all["each"], name);
  }
  return all;
}

RunHistory own_history(const Ranks& ranks, const RunHistory& first) {
  if (ranks.first()) return first;
  RunHistory history;
  history.position = first.position;
  history.processes = first.processes;
  history.bad_samples = first.bad_samples;
  return history;
}

std::vector<std::string> PeersOfSets::meet(const std::string& channel, const std::string& own,
                                           const std::function<bool()>& go_on) {
  try {
    return peers_.meet("checkpoints/" + channel, own, go_on);
  } catch (const Error& error) {
    throw GroupLost(error.what());
  }
}

void PeersOfSets::broadcast(std::span<uint8_t> bytes, int64_t from) {
  if (bytes.empty() || size() == 1) return;
  try {
    peers_.broadcast({at::from_blob(bytes.data(), {static_cast<int64_t>(bytes.size())}, at::kByte)},
                     from);
  } catch (const Error& error) {
    throw GroupLost(error.what());
  }
}

void make_equal(Peers& peers, const TrainStep& step) {
  const std::vector<at::Tensor> state = state_tensors(step);
  peers.broadcast(state);
  const std::vector<uint64_t> digests = gather_values(peers, state_digest(state))();
  for (size_t rank = 1; rank < digests.size(); ++rank) {
    if (digests[rank] == digests[0]) continue;
    throw Error(ExitCode::device,
                fmt::format("rank {} has another state than rank 0 after the broadcast", rank));
  }
}

std::string digests_of_all(Peers& peers, const Batch& batch) {
  Shard shard{0, peers.ranks().world};
  // Parts differ by one sample, and all ranks have to give as many bytes.
  std::string own = batch.digests;
  own.resize(kSampleDigestBytes * static_cast<size_t>(batch.whole / shard.world + 1));
  std::string whole;
  for (const std::string& part : peers.gather(own)()) {
    const auto [begin, end] = shard.places(batch.whole);
    whole += part.substr(0, kSampleDigestBytes * static_cast<size_t>(end - begin));
    ++shard.rank;
  }
  return whole;
}

double loss_of_all(Peers& peers, double own, double samples) {
  const std::array<double, 2> part{own * samples, samples};
  double loss = 0, all = 0;
  for (const auto& [sum, of] : gather_values(peers, part)()) {
    loss += sum;
    all += of;
  }
  return loss / all;
}

Accuracy accuracy_of_all(Peers& peers, const Accuracy& own) {
  Accuracy all(own.classes());
  for (const std::string& counts : peers.gather(own.counts())()) all.add(counts);
  return all;
}

}  // namespace stoker
