#include "io/core/ranks/ranks.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace stoker {
namespace {

using Variables = std::map<std::string, std::string>;

Ranks ranks(const Variables& variables) {
  return find_ranks([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

// What torchrun 2.11 sets, of two processes on each of two machines.
const Variables kTorchrun{{"RANK", "3"},
                          {"WORLD_SIZE", "4"},
                          {"LOCAL_RANK", "1"},
                          {"LOCAL_WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "node1"},
                          {"MASTER_PORT", "29500"},
                          {"TORCHELASTIC_RUN_ID", "none"},
                          {"TORCHELASTIC_RESTART_COUNT", "2"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
// srun of Slurm 22.05, four tasks.
const Variables kSlurm{{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "0"},
                       {"SLURM_PROCID", "2"},  {"SLURM_STEP_NUM_TASKS", "4"},
                       {"SLURM_LOCALID", "0"}, {"SLURM_STEP_NODELIST", "node[03-05,9],x"}};

Variables with(Variables all, const Variables& more) {
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}
Variables without(Variables all, const std::string& name) {
  all.erase(name);
  return all;
}

TEST(Ranks, a_process_by_itself_is_the_only_one) {
  const Ranks alone = ranks({});
  EXPECT_EQ(alone.world, 1);
  EXPECT_FALSE(alone.many());
  EXPECT_EQ(alone.text(), "one process");
}

TEST(Ranks, torchrun_serves_the_store) {
  const Ranks found = ranks(kTorchrun);
  EXPECT_EQ(found.text(), "rank 3 of 4 (torchrun, store at node1:29500)");
  EXPECT_EQ(found.local_rank, 1);
  EXPECT_EQ(found.local_world, 2);
  EXPECT_TRUE(found.store_is_served);
}

TEST(Ranks, a_job_has_the_name_that_its_launcher_gives_it) {
  EXPECT_EQ(ranks(with(kTorchrun, {{"TORCHELASTIC_RUN_ID", "a"}})).job, "a");
  EXPECT_EQ(ranks(kSlurm).job, "17.0");
  EXPECT_EQ(ranks(without(kTorchrun, "TORCHELASTIC_RUN_ID")).job, "");
}

TEST(Ranks, whoever_sets_the_same_variables_is_understood) {
  const Ranks job = ranks(
      {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "23456"}});
  EXPECT_EQ(job.text(), "rank 0 of 2 (RANK and WORLD_SIZE, store at localhost:23456)");
  EXPECT_FALSE(job.store_is_served);
}

TEST(Ranks, mpirun_on_one_machine_needs_no_address) {
  const Variables mpi{{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "2"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                      {"PMIX_NAMESPACE", "1234567"}};
  const Ranks found = ranks(mpi);
  EXPECT_EQ(found.launcher, "Open MPI");
  EXPECT_EQ(found.host, "127.0.0.1");
  // Every rank of the job finds the same port, and another job another one.
  EXPECT_EQ(found.port, ranks(with(mpi, {{"OMPI_COMM_WORLD_RANK", "0"}})).port);
  EXPECT_NE(found.port, ranks(with(mpi, {{"PMIX_NAMESPACE", "1234568"}})).port);
  const Variables two =
      with(mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
  EXPECT_EQ(
      error_of([&] { ranks(two); }),
      "Open MPI does not say where rank 0 is: give every rank MASTER_ADDR (its host), such as "
      "by `mpirun -x MASTER_ADDR=node1`");
  EXPECT_EQ(ranks(with(two, {{"MASTER_ADDR", "a"}})).host, "a");
}

TEST(Ranks, slurm_counts_inside_a_step_only) {
  const Ranks found = ranks(kSlurm);
  EXPECT_EQ(found.launcher, "Slurm");
  EXPECT_EQ(found.rank, 2);
  EXPECT_EQ(found.world, 4);
  EXPECT_EQ(found.host, "node03");
  EXPECT_EQ(ranks(with(kSlurm, {{"SLURM_STEP_NODELIST", "login"}})).host, "login");
  EXPECT_EQ(ranks(with(kSlurm, {{"SLURM_STEP_NODELIST", "a1,b[1-2]"}})).host, "a1");
  EXPECT_EQ(found.local_world, 0);
  const Variables nodes =
      with(kSlurm, {{"SLURM_NODEID", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1,3"}});
  EXPECT_EQ(ranks(nodes).local_world, 1);
  EXPECT_EQ(ranks(with(nodes, {{"SLURM_NODEID", "1"}})).local_world, 2);
  EXPECT_EQ(ranks(with(nodes, {{"SLURM_NODEID", "3"}})).local_world, 3);
  // A batch script has the variables of task 0.
  EXPECT_FALSE(ranks(without(kSlurm, "SLURM_STEP_ID")).many());
  // torchrun inside a step: each task is an agent.
  EXPECT_EQ(ranks(with(kSlurm, kTorchrun)).launcher, "torchrun");
}

TEST(Ranks, an_indexed_job_says_how_many_they_are) {
  const Variables job{
      {"JOB_COMPLETION_INDEX", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "stoker-0.stoker"}};
  EXPECT_EQ(ranks(job).text(), "rank 1 of 2 (Kubernetes, store at stoker-0.stoker:29500)");
  EXPECT_FALSE(ranks(without(job, "WORLD_SIZE")).many());
}

TEST(Ranks, numbers_that_make_no_sense_are_errors) {
  EXPECT_EQ(
      error_of([] {
        ranks(with(kTorchrun, {{"RANK", "4"}}));
      }),
      "RANK must be a number from 0 to 3, got '4': start all ranks by one launcher (README.md "
      "in io/distributed)");
  EXPECT_NE(error_of([] { ranks(with(kTorchrun, {{"WORLD_SIZE", "many"}})); }), "");
  EXPECT_NE(error_of([] { ranks(with(kTorchrun, {{"MASTER_PORT", "0"}})); }), "");
  EXPECT_NE(error_of([] { ranks(without(kSlurm, "SLURM_STEP_NUM_TASKS")); }), "");
}

}  // namespace
}  // namespace stoker
