#include "io/core/ranks/ranks.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>

#include "io/core/config/config.h"
#include "io/core/digest.h"
#include "io/core/error.h"

namespace stoker {
namespace {

// torchrun's own default.
constexpr uint16_t kDefaultPort = 29500;
constexpr const char* kHost = "MASTER_ADDR";
constexpr const char* kPort = "MASTER_PORT";

// A port that all ranks of a job find, and other jobs on the machine do not: it follows from names
// and numbers that they have in common.
uint16_t port_of(const std::string& job) {
  constexpr uint64_t kFirst = 20000, kPorts = 12000;  // below Linux's ephemeral ones
  return static_cast<uint16_t>(kFirst + std::stoull(xxh3_64(job), nullptr, 16) % kPorts);
}

// The names by which a launcher tells a rank about itself.
struct Names {
  const char* launcher;
  const char* rank;
  const char* world;
  const char* local_rank;
  const char* local_world;
};
constexpr Names kTorchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kOpenMpi{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kPmi{"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
constexpr Names kSlurm{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};
constexpr Names kKubernetes{"Kubernetes", "JOB_COMPLETION_INDEX", "WORLD_SIZE", "", ""};

class Finder {
 public:
  explicit Finder(const Environment& environment) : environment_(environment) {}

  bool has(const char* name) const { return !text(name).empty(); }
  std::string text(const char* name) const {
    const char* value = *name == '\0' ? nullptr : environment_(name);
    return value == nullptr ? "" : value;
  }
  int64_t number(const char* name, int64_t least, int64_t most) const {
    int64_t value = 0;
    if (parse_number(text(name), value) && value >= least && value <= most) return value;
    throw Error(ExitCode::environment,
                fmt::format("{} must be a number from {} to {}, got '{}': start all ranks by one "
                            "launcher (README.md in io/distributed)",
                            name, least, most, text(name)));
  }
  // job: what the launcher calls this job; host: where rank 0 is, if the launcher says so.
  Ranks read(const Names& names, const std::string& job, const std::string& host = "") const {
    Ranks ranks;
    ranks.launcher = names.launcher;
    ranks.job = job;
    ranks.world = number(names.world, 1, 1 << 20);
    ranks.rank = number(names.rank, 0, ranks.world - 1);
    if (has(names.local_rank)) ranks.local_rank = number(names.local_rank, 0, ranks.world - 1);
    if (has(names.local_world)) ranks.local_world = number(names.local_world, 1, ranks.world);
    ranks.host = has(kHost) ? text(kHost) : host;
    if (ranks.host.empty() && ranks.local_world == ranks.world) ranks.host = "127.0.0.1";
    if (ranks.many() && ranks.host.empty()) {
      throw Error(ExitCode::environment,
                  fmt::format("{} does not say where rank 0 is: give every rank {} (its host), "
                              "such as by `mpirun -x {}=node1`",
                              names.launcher, kHost, kHost));
    }
    ranks.port = has(kPort)    ? static_cast<uint16_t>(number(kPort, 1, 65535))
                 : job.empty() ? kDefaultPort
                               : port_of(job);
    return ranks;
  }

 private:
  const Environment& environment_;
};

Ranks of_torchrun(const Finder& finder) {
  Ranks ranks = finder.read(kTorchrun, "");
  ranks.job = finder.text("TORCHELASTIC_RUN_ID");
  if (finder.has("STOKER_LAUNCH")) {
    ranks.launcher = "stoker launch";
  } else if (!finder.has("TORCHELASTIC_RUN_ID")) {
    ranks.launcher = "RANK and WORLD_SIZE";
  }
  ranks.store_is_served = finder.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return ranks;
}

// The first name of a list as Slurm writes it: "node[03-05,9],login" gives "node03".
std::string first_of_nodes(const std::string& list) {
  const size_t end = list.find_first_of("[,");
  std::string name = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',') return name;
  return name + list.substr(end + 1, list.find_first_of("-,]", end) - end - 1);
}

// The number of a node's tasks, of a list as Slurm writes it: "2(x3),1" gives 2 for the nodes 0
// to 2.
int64_t tasks_of_node(const std::string& list, int64_t node) {
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    int64_t tasks = 0, nodes = 1;
    if (std::sscanf(part.c_str(), "%" SCNd64 "(x%" SCNd64, &tasks, &nodes) < 1) return 0;
    if (node < nodes) return tasks;
    node -= nodes;
  }
  return 0;
}

}  // namespace

std::string Ranks::text() const {
  if (launcher.empty()) return "one process";
  return fmt::format("rank {} of {} ({}, store at {}:{})", rank, world, launcher, host, port);
}

Ranks find_ranks(const Environment& environment) {
  const Finder finder(environment);
  if (finder.has(kTorchrun.rank) && finder.has(kTorchrun.world)) return of_torchrun(finder);
  if (finder.has(kOpenMpi.rank)) {
    const char* job = finder.has("PMIX_NAMESPACE") ? "PMIX_NAMESPACE" : "OMPI_MCA_ess_base_jobid";
    return finder.read(kOpenMpi, finder.text(job));
  }
  // srun speaks PMI, too, where it is told to; then it says more by its own names.
  const bool step = finder.has("SLURM_STEP_ID") && finder.has(kSlurm.rank);
  if (finder.has(kPmi.rank) && !step) {
    return finder.read(kPmi, "");
  }
  if (step) {
    const std::string job = finder.text("SLURM_JOB_ID") + "." + finder.text("SLURM_STEP_ID");
    Ranks ranks = finder.read(kSlurm, job, first_of_nodes(finder.text("SLURM_STEP_NODELIST")));
    int64_t node = 0;
    parse_number(finder.text("SLURM_NODEID"), node);
    ranks.local_world = tasks_of_node(finder.text("SLURM_STEP_TASKS_PER_NODE"), node);
    return ranks;
  }
  if (finder.has(kKubernetes.rank) && finder.has(kKubernetes.world)) {
    return finder.read(kKubernetes, "");
  }
  return {};
}

std::string address_towards(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int socket = ::socket(each->ai_family, each->ai_socktype, 0);
    if (socket < 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* address = reinterpret_cast<sockaddr*>(&own);
    char text[NI_MAXHOST];
    const bool known =
        connect(socket, each->ai_addr, each->ai_addrlen) == 0 &&
        getsockname(socket, address, &size) == 0 &&
        getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
    close(socket);
    if (known) return text;
  }
  return "";
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

}  // namespace stoker
