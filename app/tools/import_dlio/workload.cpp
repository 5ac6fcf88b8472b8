#include "app/tools/import_dlio/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <set>
#include <string_view>

#include "io/core/config/config.h"
#include "io/core/error.h"

namespace stoker {
namespace {

[[noreturn]] void fail(const Node& at, const std::string& what) {
  throw Error(ExitCode::config, at.at.text() + ": " + what);
}

// Of files, of samples in one and of those in a batch: products of two of them fit 64 bits.
constexpr int64_t kMostOfEach = 1'000'000'000;

// Whether a word of this key says that its value is a secret.
bool is_secret(std::string_view key) {
  std::string lower(key);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::string_view kWords[] = {"secret",     "password",   "passwd",  "token",
                                         "credential", "access_key", "api_key", "private"};
  return std::ranges::any_of(kWords,
                             [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

// "https://user:password@host/" without what stands before the last @ of its host.
std::string without_user(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == url.npos) return url;
  const size_t at = url.rfind('@', url.find('/', begin + 3));
  if (at == url.npos || at < begin) return url;
  return url.substr(0, begin + 3) + url.substr(at + 1);
}

// One mapping of the file: values are taken out of it by their keys, and what is left over at the
// end is unknown.
class Part {
 public:
  Part(const Node& parent, std::string path) : path_(std::move(path)) {
    const Node* const node = parent.find(path_.substr(path_.rfind('.') + 1));
    if (node == nullptr || node->kind == Node::Kind::null) return;
    if (node->kind != Node::Kind::mapping) fail(*node, path_ + " must be a mapping");
    node_ = node;
  }

  const Node* find(const std::string& key) {
    seen_.insert(key);
    const Node* const node = node_ == nullptr ? nullptr : node_->find(key);
    return node == nullptr || node->kind == Node::Kind::null ? nullptr : node;
  }
  void text(const std::string& key, std::string& out) {
    const Node* const node = find(key);
    if (node == nullptr) return;
    out = scalar(*node, key);
  }
  void word(const std::string& key, std::string& out) {
    text(key, out);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  }
  void flag(const std::string& key, bool& out) {
    std::string value;
    word(key, value);
    if (value.empty()) return;
    const bool yes = value == "true" || value == "yes" || value == "on" || value == "1";
    if (!yes && value != "false" && value != "no" && value != "off" && value != "0") {
      fail(*find(key), fmt::format("{}.{} must be True or False", path_, key));
    }
    out = yes;
  }
  void real(const std::string& key, double& out, double least = 0, double most = 1e18) {
    const Node* const node = find(key);
    if (node == nullptr) return;
    out = number(*node, key, least, most);
  }
  void whole(const std::string& key, int64_t& out, int64_t least, int64_t most = int64_t{1} << 52) {
    const Node* const node = find(key);
    if (node == nullptr) return;
    const double value = number(*node, key, static_cast<double>(least), static_cast<double>(most));
    if (value != std::floor(value)) {
      fail(*node, fmt::format("{}.{} must be a whole number", path_, key));
    }
    out = static_cast<int64_t>(value);
  }
  // -1 and less: DLIO's word for none, which is 0 here.
  void count(const std::string& key, int64_t& out) {
    int64_t value = out;
    whole(key, value, -1);
    out = std::max<int64_t>(0, value);
  }
  // KEY: seconds or a distribution, and KEY_stdev.
  void time(const std::string& key, DlioTime& out);
  void ignore(std::initializer_list<const char*> keys) { seen_.insert(keys.begin(), keys.end()); }

  // Keys that nobody took.
  void leave(DlioWorkload& workload) const {
    if (node_ == nullptr) return;
    for (const Node::Entry& entry : node_->entries) {
      if (is_secret(entry.key)) {
        workload.secrets.push_back(path_ + "." + entry.key);
      } else if (!seen_.contains(entry.key)) {
        workload.unknown.push_back(path_ + "." + entry.key);
      }
    }
  }

 private:
  std::string scalar(const Node& node, const std::string& key) const {
    if (node.kind != Node::Kind::scalar)
      fail(node, fmt::format("{}.{} must be one value", path_, key));
    if (node.scalar.find("${") != std::string::npos) {
      fail(node, fmt::format("{}.{} is an interpolation of Hydra's: write its value instead, or "
                             "give it here as {}.{}=VALUE",
                             path_, key, path_, key));
    }
    return node.scalar;
  }
  double number(const Node& node, const std::string& key, double least, double most) const {
    std::string text = scalar(node, key);
    std::erase(text, '_');
    double value = 0;
    if (!parse_number(text, value) || !(value >= least && value <= most)) {
      fail(node, fmt::format("{}.{} must be a number from {:g} to {:g}", path_, key, least, most));
    }
    return value;
  }

  const std::string path_;
  const Node* node_ = nullptr;
  std::set<std::string> seen_;
};

// Mean and deviation of what DLIO draws, by the distribution's own parameters.
void read_distribution(Part& part, DlioTime& out) {
  part.real("mean", out.mean);
  part.real("stdev", out.stdev);
  part.word("type", out.law);
  double low = 0, high = 0, shape = 0, scale = 0, lambda = 0;
  part.real("min", low), part.real("max", high), part.real("shape", shape);
  part.real("scale", scale), part.real("lam", lambda);
  if (out.law == "uniform") out.mean = (low + high) / 2, out.stdev = (high - low) / std::sqrt(12.0);
  if (out.law == "gamma") out.mean = shape * scale, out.stdev = std::sqrt(shape) * scale;
  if (out.law == "exponential") out.mean = out.stdev = scale;
  if (out.law == "poisson") out.mean = lambda, out.stdev = std::sqrt(lambda);
}

void Part::time(const std::string& key, DlioTime& out) {
  const Node* const node = find(key);
  if (node != nullptr && node->kind == Node::Kind::mapping) {
    Part part(*node_, path_ + "." + key);
    read_distribution(part, out);
  } else {
    real(key, out.mean);
  }
  double stdev = out.stdev;
  real(key + "_stdev", stdev);
  if (out.law == "constant" || out.law == "normal") out.stdev = stdev;
  if (out.law == "constant" && out.stdev > 0) out.law = "normal";
  const bool known = out.law == "constant" || out.law == "normal" || out.law == "uniform" ||
                     out.law == "gamma" || out.law == "exponential" || out.law == "poisson";
  if (!known) {
    fail(*node, fmt::format("{}.{}.type must be normal, uniform, gamma, exponential or poisson",
                            path_, key));
  }
}

void read_model(const Node& root, DlioWorkload& out) {
  DlioModel& model = out.model;
  if (const Node* const node = root.find("model");
      node != nullptr && node->kind == Node::Kind::scalar) {
    model.name = node->scalar;  // versions 1 and 2
    return;
  }
  Part part(root, "model");
  part.text("name", model.name);
  part.count("num_layers", model.layers);
  part.ignore({"type", "model_size_bytes", "model_datatype", "optimizer_datatype",
               "optimization_groups", "layer_parameters"});
  if (part.find("transformer") != nullptr) {
    Part transformer(*root.find("model"), "model.transformer");
    transformer.count("hidden_size", model.hidden);
    transformer.count("ffn_hidden_size", model.ffn);
    transformer.ignore({"vocab_size", "num_attention_heads", "num_kv_heads"});
    transformer.leave(out);
  }
  if (part.find("parallelism") != nullptr) {
    Part parallel(*root.find("model"), "model.parallelism");
    parallel.whole("tensor", model.tensor, 1);
    parallel.whole("pipeline", model.pipeline, 1);
    parallel.count("data", model.data);
    parallel.whole("zero_stage", model.zero_stage, 0, 3);
    parallel.leave(out);
  }
  part.leave(out);
}

void read_dataset(const Node& root, DlioWorkload& out) {
  Part part(root, "dataset");
  part.text("data_folder", out.data_folder);
  out.data_folder = without_user(out.data_folder);
  part.word("format", out.format);
  part.text("file_prefix", out.prefix);
  part.whole("num_files_train", out.files, 0, kMostOfEach);
  part.whole("num_files_eval", out.test_files, 0, kMostOfEach);
  part.whole("num_samples_per_file", out.samples_per_file, 1, kMostOfEach);
  // Versions 1 and 2 leave out `bytes`, and call the data set of an HDF5 file otherwise.
  if (part.find("record_length") != nullptr) out.hdf5_name = "records";
  part.real("record_length", out.record_bytes, 1);
  part.real("record_length_bytes", out.record_bytes, 1);
  part.real("record_length_stdev", out.record_stdev);
  part.real("record_length_bytes_stdev", out.record_stdev);
  part.real("record_length_resize", out.record_resize);
  part.real("record_length_bytes_resize", out.record_resize);
  part.count("num_subfolders_train", out.subfolders);
  part.count("num_subfolders_eval", out.test_subfolders);
  part.word("compression", out.compression);
  part.word("record_element_type", out.element_type);
  part.ignore({"keep_files", "enable_chunking", "chunk_size", "compression_level",
               "generation_buffer_size", "record_element_bytes"});
  if (part.find("hdf5") != nullptr) {
    Part hdf5(*root.find("dataset"), "dataset.hdf5");
    hdf5.whole("num_dset_per_record", out.hdf5_sets, 1);
    hdf5.leave(out);
  }
  if (part.find("parquet") != nullptr) {
    Part parquet(*root.find("dataset"), "dataset.parquet");
    const Node* const columns = parquet.find("columns");
    out.parquet_columns = columns != nullptr && !columns->items.empty();
    parquet.text("partition_by", out.parquet_partition);
    parquet.whole("row_group_size", out.parquet_group, 1);
    parquet.ignore({"generation_batch_size", "use_s3dlio_gen"});
    parquet.leave(out);
  }
  part.leave(out);
}

void read_reader(const Node& root, DlioWorkload& out) {
  Part part(root, root.find("data_reader") != nullptr ? "data_reader" : "reader");
  part.word("data_loader", out.data_loader);
  part.whole("batch_size", out.batch, 1, kMostOfEach);
  part.whole("batch_size_eval", out.test_batch, 1);
  part.whole("read_threads", out.read_threads, 0, 1024);
  part.whole("computation_threads", out.computation_threads, 0, 1024);
  part.whole("prefetch_size", out.prefetch, 0, 1'000'000);
  part.whole("shuffle_size", out.shuffle_size, 1);
  part.word("file_shuffle", out.file_shuffle);
  part.word("sample_shuffle", out.sample_shuffle);
  part.count("transfer_size", out.transfer_size);
  part.flag("odirect", out.odirect);
  part.time("preprocess_time", out.preprocess);
  part.ignore(
      {"dont_use_mmap", "multiprocessing_context", "pin_memory", "read_type", "file_access"});
  part.leave(out);
}

void read_training(const Node& root, DlioWorkload& out) {
  Part train(root, "train");
  train.whole("epochs", out.epochs, 1);
  train.count("total_training_steps", out.total_steps);
  train.whole("seed", out.seed, 0);
  train.flag("seed_change_epoch", out.seed_change_epoch);
  train.time("computation_time", out.computation);
  train.leave(out);
  Part evaluation(root, "evaluation");
  evaluation.time("eval_time", out.evaluation);
  evaluation.whole("epochs_between_evals", out.epochs_between_evals, 1);
  evaluation.ignore({"eval_after_epoch"});
  evaluation.leave(out);
  Part metric(root, "metric");
  metric.real("au", out.au, 0, 1);
  metric.leave(out);
  Part output(root, "output");
  output.ignore({"folder", "log_file"});
  if (output.find("metric") != nullptr) {
    Part excluded(*root.find("output"), "output.metric");
    excluded.whole("exclude_start_steps", out.excluded_first, 0);
    excluded.whole("exclude_end_steps", out.excluded_last, 0);
    excluded.leave(out);
  }
  output.leave(out);
}

void read_checkpoints(const Node& root, DlioWorkload& out) {
  Part part(root, "checkpoint");
  part.text("checkpoint_folder", out.checkpoint_folder);
  out.checkpoint_folder = without_user(out.checkpoint_folder);
  part.count("num_checkpoints_write", out.checkpoints_written);
  part.flag("fsync", out.checkpoint_fsync);
  part.word("mode", out.checkpoint_mode);
  part.ignore({"checkpoint_after_epoch", "epochs_between_checkpoints", "steps_between_checkpoints",
               "model_size", "type", "num_checkpoints_read", "time_between_checkpoints",
               "rank_sync", "recovery_rank_shift", "randomize_tensor"});
  part.leave(out);
}

void read_storage(const Node& root, DlioWorkload& out) {
  Part part(root, "storage");
  part.word("storage_type", out.storage);
  part.text("storage_root", out.storage_root);
  out.storage_root = without_user(out.storage_root);
  if (part.find("storage_options") != nullptr) {
    Part options(*root.find("storage"), "storage.storage_options");
    options.text("endpoint_url", out.endpoint);
    options.text("region", out.region);
    options.ignore({"s3_force_path_style", "s3_max_attempts"});
    options.leave(out);
    out.endpoint = without_user(out.endpoint);
  }
  part.leave(out);
}

}  // namespace

// Whether the file is an experiment of ours, which has sections of the same names.
static bool is_experiment(const Node& root) {
  for (const char* section : {"framework", "workflow", "reader", "data_reader", "train"}) {
    if (root.find(section) != nullptr) return false;
  }
  const auto has_type = [&](const char* section) {
    const Node* const node = root.find(section);
    return node != nullptr && node->find("type") != nullptr;
  };
  return has_type("dataset") || has_type("checkpoint");
}

DlioWorkload read_workload(const Node& file) {
  const Node* const below = file.find("workload");
  const Node& root = below != nullptr && below->kind == Node::Kind::mapping ? *below : file;
  DlioWorkload out;
  for (const Node::Entry& entry : root.entries) {
    constexpr std::string_view kKnown[] = {
        "model",      "framework", "workflow", "dataset",    "reader",  "data_reader", "train",
        "evaluation", "metric",    "output",   "checkpoint", "storage", "profiling"};
    if (std::ranges::find(kKnown, entry.key) == std::end(kKnown)) out.unknown.push_back(entry.key);
  }
  if (root.find("dataset") == nullptr && root.find("checkpoint") == nullptr) {
    throw Error(ExitCode::config,
                "this is not a workload of DLIO, because it has neither dataset nor checkpoint: "
                "give a file such as configs/dlio/workload/unet3d_h100.yaml of MLPerf Storage");
  }
  if (is_experiment(root)) {
    fail(root, "this is an experiment of Stoker, not a workload of DLIO: run it by `stoker train`");
  }
  if (const Node* const node = root.find("framework")) out.framework = node->scalar;
  Part workflow(root, "workflow");
  workflow.flag("train", out.train);
  workflow.flag("evaluation", out.evaluate);
  workflow.flag("checkpoint", out.checkpoint);
  workflow.ignore({"generate_data", "profiling", "debug"});
  workflow.leave(out);
  out.data_loader = out.framework == "pytorch" ? "pytorch" : "tensorflow";
  read_model(root, out);
  read_dataset(root, out);
  read_reader(root, out);
  read_training(root, out);
  read_checkpoints(root, out);
  read_storage(root, out);
  return out;
}

}  // namespace stoker
