#define USE_C10D_GLOO
#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "io/core/error.h"
#include "io/core/ranks/ranks.h"
#include "io/distributed/c10d.h"

namespace stoker {
namespace {

using Gloo = c10d::ProcessGroupGloo;

std::string own_address_key(int64_t rank) { return "address/" + std::to_string(rank); }

// LibTorch's default takes what the host's name resolves to, which on Debian is a loopback address:
// ranks on other machines wait there in vain.
std::string own_address(const Ranks& ranks, c10d::Store& store) {
  std::string own = address_towards(ranks.host, ranks.port);
  store.set(own_address_key(ranks.rank), own);
  // The machine of the store sees itself as loopback: what counts is how the others reach it.
  for (int64_t rank = 0; rank < ranks.world && is_loopback(own); ++rank) {
    const std::string other = store.get_to_str(own_address_key(rank));
    if (other.empty() || is_loopback(other)) continue;
    const std::string towards = address_towards(other, ranks.port);
    if (!towards.empty()) own = towards;
  }
  return own;
}

void add(c10d::ProcessGroup& group, const Ranks& ranks, int64_t timeout_ms) {
  const auto store = group.getStore();
  const auto options = Gloo::Options::create(std::chrono::milliseconds(timeout_ms));
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  const std::string address = interface != nullptr ? "" : own_address(ranks, *store);
  if (interface != nullptr) {
    options->devices = {Gloo::createDeviceForInterface(interface)};
  } else if (!address.empty()) {
    options->devices = {Gloo::createDeviceForHostname(address)};
  } else {
    throw Error(ExitCode::device,
                "no route to " + ranks.host +
                    ": set MASTER_ADDR to an address of rank 0's machine that this one reaches");
  }
  const auto backend = c10::make_intrusive<Gloo>(store, static_cast<int>(ranks.rank),
                                                 static_cast<int>(ranks.world), options);
  group.setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::GLOO, backend);
  // By way of the host's memory.
  group.setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::GLOO, backend);
  group.setDefaultBackend(c10d::ProcessGroup::GLOO);
}

const bool registered = collectives().emplace("gloo", Collectives{add, ""}).second;

}  // namespace
}  // namespace stoker
