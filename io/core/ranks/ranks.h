#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace stoker {

// Which of the processes of one training this is, and where they meet. A value.
struct Ranks {
  int64_t rank = 0;
  int64_t world = 1;
  // Its number among the ranks of this machine, and how many these are; 0: the launcher does not
  // say.
  int64_t local_rank = 0;
  int64_t local_world = 0;
  // Who started it: "torchrun", "Open MPI" ... Empty: nobody, it is a process by itself.
  std::string launcher;
  // What the launcher calls the job, the same for all its ranks and no other's. Empty: it says
  // nothing.
  std::string job;
  // The store at which all ranks meet.
  std::string host;
  uint16_t port = 0;
  // The launcher serves that store; else rank 0 does.
  bool store_is_served = false;

  bool many() const { return world > 1; }
  bool first() const { return rank == 0; }
  // "rank 1 of 4 (torchrun, store at node1:29500)".
  std::string text() const;
};

// The value of a variable of the environment. Null: it is not set.
using Environment = std::function<const char*(const char*)>;

// What the launcher's variables say, the first of these that is recognised: torchrun (and whoever
// sets RANK and WORLD_SIZE as it does: `stoker launch`, Kubeflow's PyTorchJob), Open MPI, MPICH and
// others that speak PMI, Slurm (inside a step only: a batch script has the variables of a task,
// too), an Indexed Job of Kubernetes with WORLD_SIZE. None: one process.
//
// MASTER_ADDR and MASTER_PORT go before what the launcher has in their place. Where all ranks are
// on one machine the address need not be said. Error(ExitCode::environment) where something is
// missing or makes no sense.
Ranks find_ranks(const Environment& environment);

// The address of this machine from which packets to `host` leave: that of the interface by which
// it is reached. No packet is sent. Empty: the host is not known, or no route leads to it.
std::string address_towards(const std::string& host, uint16_t port);

// Whether this machine alone can be reached by it.
bool is_loopback(const std::string& address);

}  // namespace stoker
