#include "app/tools/import_dlio/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace stoker {
namespace {

constexpr double kTimesMemory = 5;
constexpr int64_t kLeastSteps = 500;

// The trainings of MLPerf Storage v2.0 (configs/dlio/workload), with what CLOSED leaves as it is.
struct Closed {
  const char* model;
  const char* accelerator;
  const char* format;
  int64_t samples_per_file;
  double record_bytes;
  double record_stdev;
  double record_resize;
  int64_t batch;
  int64_t epochs;
  double computation;
  double au;
};
constexpr Closed kClosed[] = {
    {"unet3d", "a100", "npz", 1, 146600628, 68341808, 2097152, 7, 5, 0.636, 0.9},
    {"unet3d", "h100", "npz", 1, 146600628, 68341808, 2097152, 7, 5, 0.323, 0.9},
    {"resnet50", "a100", "tfrecord", 1251, 114660.07, 0, 150528, 400, 5, 0.435, 0.9},
    {"resnet50", "h100", "tfrecord", 1251, 114660.07, 0, 150528, 400, 5, 0.224, 0.9},
    {"cosmoflow", "a100", "tfrecord", 1, 2828486, 71311, 0, 1, 5, 0.00551, 0.7},
    {"cosmoflow", "h100", "tfrecord", 1, 2828486, 71311, 0, 1, 5, 0.0035, 0.7}};

// What may be changed in CLOSED.
constexpr std::string_view kAllowed[] = {
    "dataset.num_files_train", "dataset.num_subfolders_train", "dataset.data_folder",
    "reader.read_threads",     "reader.computation_threads",   "reader.transfer_size",
    "reader.odirect",          "reader.prefetch_size",         "checkpoint.checkpoint_folder",
    "storage.storage_type",    "storage.storage_root"};

// Of this model, the one whose step is nearest. Null: MLPerf has none of that name.
const Closed* closed_of(const DlioWorkload& w) {
  const Closed* nearest = nullptr;
  const auto far = [&](const Closed& one) {
    return std::abs(one.computation - w.computation.mean);
  };
  for (const Closed& one : kClosed) {
    if (w.model.name != one.model) continue;
    if (nearest == nullptr || far(one) < far(*nearest)) nearest = &one;
  }
  return nearest;
}

DlioRule closed_rule(const DlioWorkload& w, const std::vector<std::string>& changed) {
  const Closed* const closed = closed_of(w);
  if (closed == nullptr) {
    return {"closed", false,
            fmt::format("MLPerf Storage v2.0 has no training '{}': it has unet3d, resnet50 and "
                        "cosmoflow",
                        w.model.name)};
  }
  std::vector<std::string> others;
  const auto compare = [&](const char* key, auto is, auto has) {
    if (is != has) others.push_back(fmt::format("{} is {}, and has to be {}", key, is, has));
  };
  compare("dataset.format", w.format, std::string(closed->format));
  compare("dataset.num_samples_per_file", w.samples_per_file, closed->samples_per_file);
  compare("dataset.record_length_bytes", w.record_bytes, closed->record_bytes);
  compare("dataset.record_length_bytes_stdev", w.record_stdev, closed->record_stdev);
  compare("dataset.record_length_bytes_resize", w.record_resize, closed->record_resize);
  compare("reader.batch_size", w.batch, closed->batch);
  compare("train.epochs", w.epochs, closed->epochs);
  compare("train.computation_time", w.computation.mean, closed->computation);
  compare("metric.au", w.au, closed->au);
  if (std::string_view(closed->model) == "unet3d" && !w.checkpoint) {
    others.emplace_back("workflow.checkpoint is False, and has to be True");
  }
  for (const std::string& key : changed) {
    if (std::ranges::find(kAllowed, key) == std::end(kAllowed) && !key.starts_with("workflow.")) {
      others.push_back(fmt::format("{} may not be changed", key));
    }
  }
  const std::string name = fmt::format("{} on {}", closed->model, closed->accelerator);
  if (others.empty()) return {"closed", true, fmt::format("the parameters are those of {}", name)};
  return {"closed", false, fmt::format("not {}: {}", name, fmt::join(others, "; "))};
}

int64_t files_by_memory(const DlioWorkload& w, const DlioMachines& machines) {
  const double bytes =
      kTimesMemory * static_cast<double>(machines.memory) * static_cast<double>(machines.hosts);
  return static_cast<int64_t>(bytes / (static_cast<double>(w.samples_per_file) * w.record_bytes));
}

int64_t files_by_steps(const DlioWorkload& w, const DlioMachines& machines) {
  return kLeastSteps * machines.accelerators * w.batch / w.samples_per_file;
}

}  // namespace

std::vector<DlioRule> check_rules(const DlioWorkload& w, const DlioMachines& machines,
                                  const std::vector<std::string>& changed) {
  constexpr double kGib = 1 << 30;
  const int64_t by_memory = files_by_memory(w, machines), by_steps = files_by_steps(w, machines);
  return {
      {"five times memory", w.files >= by_memory,
       fmt::format("{} files are {:.1f} GiB, and {} {} GiB of memory: {} files are needed", w.files,
                   w.bytes() / kGib, machines.hosts == 1 ? "this machine has" : "the machines have",
                   std::llround(static_cast<double>(machines.hosts) *
                                static_cast<double>(machines.memory) / kGib),
                   by_memory)},
      {"500 steps in an epoch", w.files >= by_steps,
       fmt::format("{} steps of {} samples on {} accelerator{}: {} files are needed",
                   w.steps(machines.accelerators), w.batch, machines.accelerators,
                   machines.accelerators == 1 ? "" : "s", by_steps)},
      closed_rule(w, changed)};
}

uint64_t memory_of_machine() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace stoker
