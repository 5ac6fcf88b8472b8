#include "app/tools/import_dlio/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "app/tools/bench_checkpoint/shapes.h"
#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

// Sets values in the experiment, and collects what is said about it.
class Translator {
 public:
  explicit Translator(const DlioWorkload& workload) : w_(workload) {}

  DlioTranslation training(const std::string& data);

 private:
  void set(const std::string& path, const std::string& value) {
    apply_override(out_.experiment, path + "=" + value);
  }
  void set(const std::string& path, int64_t value) { set(path, std::to_string(value)); }
  // A text of the file's, whatever is in it.
  void set_text(const std::string& path, const std::string& value) {
    apply_override(out_.experiment,
                   Node::Override{path, {}, Node(Node::Kind::scalar, {}, value, true)});
  }
  void remark(const std::string& line) { out_.remarks.push_back(line); }

  void device();
  void tier(const std::string& data);
  void bucket();
  void dataset();
  void files(const std::string& ending);
  void shards(const std::string& type, const std::string& ending);
  void decoder();
  void loader();
  void shuffle();
  void by_row_groups();
  void course();
  void left_out();
  bool by_tensorflow() const { return w_.data_loader == "tensorflow" && w_.format == "tfrecord"; }

  const DlioWorkload& w_;
  DlioTranslation out_;
};

// No sample of the workload has more bytes, as far as one can tell.
int64_t most_mib(const DlioWorkload& w) {
  const double largest = (w.record_bytes + 8 * w.record_stdev) * 2;
  return static_cast<int64_t>(std::ceil(largest / (1 << 20)));
}

std::string name_of(const std::string& model) {
  std::string name;
  for (const unsigned char c : model) {
    name += std::isalnum(c) != 0 || c == '-' || c == '_' ? static_cast<char>(c) : '-';
  }
  return name.empty() ? "dlio" : name;
}

void Translator::device() {
  set("device.type", "emulated");
  set("device.step_ms", fmt::format("{}", 1e3 * w_.computation.mean));
  const DlioTime& time = w_.computation;
  if (time.stdev > 0 && time.mean > 0) {
    const bool gamma = time.law == "gamma" || time.law == "exponential";
    set("device.distribution",
        fmt::format("{{type: {}, relative_stdev: {}}}", gamma ? "gamma" : "normal",
                    std::min(10.0, time.stdev / time.mean)));
    if (!gamma && time.law != "normal") {
      remark(
          fmt::format("train.computation_time: of type {} in DLIO, normal here, with the same "
                      "mean and deviation",
                      time.law));
    } else if (!gamma) {
      remark(
          "train.computation_time: where DLIO draws less than 0 s, it takes the amount, and the "
          "device here 0 s");
    }
  }
  // As DLIO: the next batch is asked for when the step has ended, and nothing is copied.
  set("device.queue_depth", 0);
  set("device.h2d_gb_per_s", "1000000");
  set("device.h2d_latency_us", 0);
}

void Translator::bucket() {
  if (w_.storage_root.empty()) {
    throw Error(ExitCode::config,
                "storage.storage_root is not there, and names the bucket: set it");
  }
  const auto plain = [](std::string text) {
    if (text.starts_with("s3://")) text.erase(0, 5);
    while (text.ends_with('/')) text.pop_back();
    return text;
  };
  const std::string bucket = plain(w_.storage_root);
  std::string prefix = plain(w_.data_folder);
  if (prefix == bucket) prefix.clear();
  if (prefix.starts_with(bucket + "/")) prefix.erase(0, bucket.size() + 1);
  const std::string region = w_.region.empty() ? "us-east-1" : w_.region;
  set("storage.data.type", "s3");
  set_text("storage.data.endpoint",
           w_.endpoint.empty() ? fmt::format("https://s3.{}.amazonaws.com", region) : w_.endpoint);
  set_text("storage.data.bucket", bucket);
  if (!prefix.empty()) set_text("storage.data.prefix", prefix);
  set_text("storage.data.region", region);
  remark(
      "storage.storage_options: keys are taken from AWS_ACCESS_KEY_ID and "
      "AWS_SECRET_ACCESS_KEY, or from a file (storage.data.credentials), and never from this "
      "one");
}

void Translator::tier(const std::string& data) {
  if (data.empty() && w_.storage == "s3") return bucket();
  if (data.empty() && w_.storage != "local_fs" && w_.storage != "parallel_fs") {
    throw Error(ExitCode::config,
                fmt::format("storage.storage_type {}: there is no tier of that type here: give a "
                            "folder with the data by --data DIR, or set storage.storage_type to "
                            "local_fs or s3",
                            w_.storage));
  }
  const bool relative = !w_.data_folder.starts_with('/') && !w_.storage_root.empty();
  std::string root = relative ? w_.storage_root + "/" + w_.data_folder : w_.data_folder;
  if (!data.empty()) root = data;
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  set("storage.data.type", w_.odirect ? "direct" : "posix");
  set_text("storage.data.root", root);
  if (!w_.odirect) set("run.page_cache", "cold");
}

void Translator::files(const std::string& ending) {
  set("dataset.type", "image_folder");
  set("dataset.storage", "data");
  set("dataset.folder", "train");
  if (w_.evaluate && w_.test_files > 0) set("dataset.test_folder", "valid");
  set("dataset.one_class", "true");
  set("dataset.extensions", "[" + ending + "]");
  set("dataset.max_file_bytes", fmt::format("{}MiB", std::max<int64_t>(64, most_mib(w_))));
}

void Translator::shards(const std::string& type, const std::string& ending) {
  set("dataset.type", type);
  set("dataset.storage", "data");
  set_text("dataset.train", std::string("train/") + (w_.subfolders > 1 ? "*/*" : "*") + ending);
  const bool tests = w_.evaluate && w_.test_files > 0;
  if (tests) {
    set_text("dataset.test",
             std::string("valid/") + (w_.test_subfolders > 1 ? "*/*" : "*") + ending);
  }
  set("dataset.max_sample_bytes", fmt::format("{}MiB", std::max<int64_t>(64, most_mib(w_))));
}

void Translator::dataset() {
  refuse_format(w_);
  if (w_.format == "npz" || w_.format == "npy" || w_.format == "png") {
    files("." + w_.format);
  } else if (w_.format == "jpeg") {
    files(".jpeg");
  } else if (w_.format == "hdf5") {
    shards("hdf5", ".hdf5");
    set("dataset.images", w_.hdf5_name);
    remark(
        fmt::format("dataset.format hdf5: the records are the data set {}; files of versions 1 and "
                    "2 call it records, of version 3 records_0 (dataset.images)",
                    w_.hdf5_name));
    set("dataset.labels", "labels");
    set("dataset.samples", "rows");
  } else if (w_.format == "tfrecord") {
    shards("tfrecord", ".tfrecord");
    set("dataset.image", "image");
    for (const char* const name : {"label", "text", "filename"})
      set_text(std::string("dataset.") + name, "");
    if (by_tensorflow()) set("dataset.readers", std::max<int64_t>(1, w_.read_threads));
  } else if (w_.format == "parquet") {
    shards("parquet", ".parquet");
    set("dataset.images", "data");
    set_text("dataset.label", "");
  } else {
    shards("indexed_binary", "." + w_.format);
    if (w_.format == "mmap_indexed_binary") {
      remark(
          "dataset.format mmap_indexed_binary: DLIO maps the file, and here its records are read");
    }
  }
}

void Translator::decoder() {
  const int64_t side = sample_side(w_);
  if (w_.format == "jpeg" || w_.format == "png") {
    set("decoder.type", w_.format == "jpeg" ? "jpeg" : "opencv");
    set("decoder.size", std::min<int64_t>(side, 4096));
    remark(
        fmt::format("dataset.format {}: a sample is a decoded image of three colours; DLIO "
                    "decodes the image and hands out one that it made at its start",
                    w_.format));
    return;
  }
  set("decoder.type", "numpy");
  if (w_.format == "npz") set("decoder.array", "x");
  set("decoder.height", side);
  set("decoder.width", side);
  set("decoder.channels", 1);
  set("decoder.fit", "cut");
  if (most_mib(w_) > 1024) set("decoder.max_bytes", fmt::format("{}MiB", most_mib(w_)));
}

void Translator::loader() {
  const int64_t threads =
      by_tensorflow() ? std::max<int64_t>(1, w_.computation_threads) : w_.read_threads;
  set("loader.type", threads == 0 ? "sync" : "prefetched");
  set("loader.batch_size", w_.batch);
  if (threads > 0) {
    set("loader.workers", threads);
    // PyTorch divides it among its workers, and rounds up; 0 becomes its default of 2 each.
    const int64_t each = w_.prefetch == 0 ? 2 : (w_.prefetch + threads - 1) / threads;
    set("loader.prefetch_batches",
        by_tensorflow() ? std::max<int64_t>(1, w_.prefetch) : threads * each);
  }
  // PyTorch's workers fill a batch each, and begin none of the next epoch: so DLIO's first step,
  // which is not counted, waits for as many batches as there are workers.
  if (threads > 0 && w_.data_loader == "pytorch") set("loader.filling", "apart");
  set("loader.drop_last", "true");
  shuffle();
  if (w_.data_loader != "pytorch" && w_.data_loader != "tensorflow") {
    remark(
        fmt::format("reader.data_loader {}: Stoker's own loader reads instead, with as many "
                    "workers and batches ahead",
                    w_.data_loader));
  }
}

void Translator::shuffle() {
  const bool files = w_.file_shuffle != "off", samples = w_.sample_shuffle != "off";
  set("loader.shuffle", files || samples ? "true" : "false");
  if (by_tensorflow() && (files || samples)) {
    set("loader.order", "shards");
    set("loader.cycle_length", std::max<int64_t>(1, w_.read_threads));
    set("loader.window", samples ? w_.shuffle_size : 1);
    if (!files)
      remark("reader.file_shuffle off: files are in a new order here, too, for samples are");
  }
  if (w_.format == "parquet" && w_.samples_per_file > 1 && (files || samples)) by_row_groups();
  if (w_.file_shuffle == "random" || w_.sample_shuffle == "random") {
    remark(
        "reader: shuffle random: the order here is a function of run.seed, and the same in every "
        "run");
  }
  if (!w_.seed_change_epoch && (files || samples)) {
    remark("train.seed_change_epoch False: each epoch has an order of its own here");
  }
}

// Files from begin to end, a few at a time, and memory for the row groups that are then in use.
void Translator::by_row_groups() {
  const int64_t at_a_time = std::max<int64_t>(1, w_.read_threads);
  set("loader.order", "shards");
  set("loader.cycle_length", at_a_time);
  set("loader.window", w_.shuffle_size);
  const auto rows = static_cast<double>(std::min(w_.parquet_group, w_.samples_per_file));
  const auto mixed = static_cast<double>(2 * w_.shuffle_size);
  const double bytes = (mixed + 2 * rows * static_cast<double>(at_a_time)) * w_.record_bytes;
  const double mib = std::ceil(std::min(bytes, w_.bytes()) / (1 << 20));
  set("dataset.keep", fmt::format("{}MiB", std::max<int64_t>(256, static_cast<int64_t>(mib))));
  remark(
      fmt::format("dataset.format parquet: each of DLIO's readers reads a row group once an epoch, "
                  "and keeps nothing of it; here files are read from begin to end, {} samples "
                  "mixed at a time, and each row group is read once (loader.order, dataset.keep)",
                  w_.shuffle_size));
}

void Translator::course() {
  set("model.type", "linear");
  set("training.epochs", w_.epochs);
  if (w_.total_steps > 0) set("training.max_steps", w_.total_steps);
  const bool tests = w_.evaluate && w_.test_files > 0;
  if (tests) {
    set("evaluation.every_epochs", w_.epochs_between_evals);
    if (w_.evaluation.mean != w_.computation.mean) {
      remark(
          fmt::format("evaluation.eval_time {} s: a step of an evaluation takes as long here as "
                      "one of the training, {} s",
                      w_.evaluation.mean, w_.computation.mean));
    }
    if (w_.test_batch != w_.batch) {
      remark(fmt::format("reader.batch_size_eval {}: evaluations have the training's batches of {}",
                         w_.test_batch, w_.batch));
    }
  }
  set("evaluation.enabled", tests ? "true" : "false");
  // A row for each step, from which AU is computed as DLIO does.
  set("metrics.every_steps", 1);
  set("metrics.sinks", "[{type: csv}, {type: timeline}]");
}

void Translator::left_out() {
  if (w_.preprocess.mean > 0) {
    remark("reader.preprocess_time: left out, for workers here take as long as their work does");
  }
  if (w_.transfer_size > 0) {
    remark("reader.transfer_size: left out; a read asks for a whole sample or file");
  }
  if (w_.checkpoint) {
    remark("checkpoint: left out, for an emulated device has no state to save" +
           (out_.checkpoints.empty() ? std::string() : "; measure it by: " + out_.checkpoints));
  }
  remark(
      "framework: batch_size is that of one accelerator; with N ranks set loader.batch_size to N "
      "times as much");
  for (const std::string& key : w_.secrets) remark(key + ": a secret, which is not copied");
  for (const std::string& key : w_.unknown) {
    remark(
        key == "model.model_size"
            ? "model.model_size: left out by DLIO, too, which reads model_size_bytes; without it "
              "a checkpoint of DLIO's has 10,240 bytes"
            : key + ": left out, for its meaning is not known here");
  }
}

DlioTranslation Translator::training(const std::string& data) {
  set("run.name", name_of(w_.model.name));
  set("run.seed", w_.seed);
  device();
  tier(data);
  dataset();
  decoder();
  loader();
  course();
  out_.checkpoints = checkpoint_command(w_, out_.remarks);
  left_out();
  return std::move(out_);
}

}  // namespace

int64_t sample_side(const DlioWorkload& workload) {
  const double bytes = workload.record_resize > 0 ? workload.record_resize : workload.record_bytes;
  return std::clamp<int64_t>(static_cast<int64_t>(std::sqrt(bytes)), 1, 65'535);
}

DlioTranslation translate(const DlioWorkload& workload, const std::string& data) {
  if (!workload.only_checkpoints()) return Translator(workload).training(data);
  DlioTranslation out;
  out.checkpoints = checkpoint_command(workload, out.remarks);
  if (out.checkpoints.empty()) {
    throw Error(ExitCode::config,
                fmt::format("model {}: only checkpoints of LLaMA 3's forms in MLPerf Storage are "
                            "known (llama3-8b, -70b, -405b, -1t): give one of these, or measure a "
                            "model of your own by stoker bench checkpoint CONFIG",
                            workload.model.name));
  }
  for (const std::string& key : workload.unknown) out.remarks.push_back(key + ": left out");
  for (const std::string& key : workload.secrets)
    out.remarks.push_back(key + ": a secret, which is not copied");
  return out;
}

namespace {

std::optional<CheckpointShape> shape_of(const DlioModel& model) {
  for (const char* const name : {"llama3-8b", "llama3-70b", "llama3-405b", "llama3-1t"}) {
    CheckpointShape shape = find_shape(name);
    if (shape.hidden == model.hidden && shape.layers == model.layers && shape.ffn == model.ffn) {
      return shape;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string checkpoint_command(const DlioWorkload& workload, std::vector<std::string>& remarks) {
  const DlioModel& model = workload.model;
  const std::optional<CheckpointShape> shape = shape_of(model);
  if (!workload.checkpoint || !shape) return "";
  const Parallel parallel{model.tensor, model.pipeline,
                          model.data > 0 ? model.data : shape->parallel.data};
  std::string command = fmt::format("stoker bench checkpoint {} --shape {}",
                                    shell_word(workload.checkpoint_folder), shape->name);
  if (!(parallel == shape->parallel)) command += " --parallel " + to_string(parallel);
  if (workload.checkpoints_written > 0) {
    command += fmt::format(" --rounds {}", workload.checkpoints_written);
  }
  command += " --rank 0";
  if (workload.checkpoint_mode == "subset") command += ",1,2,3,4,5,6,7";
  if (model.zero_stage != shape->zero_stage) {
    remarks.push_back(
        fmt::format("model.parallelism.zero_stage {}: {} has {} here, as in MLPerf "
                    "Storage",
                    model.zero_stage, shape->name, shape->zero_stage));
  }
  if (!workload.checkpoint_fsync) {
    remarks.push_back("checkpoint.fsync: a save ends here when it is on the medium, in any case");
  }
  remarks.push_back(
      "checkpoint: --rank names the ranks that save on this machine, one here: give as "
      "many as it has accelerators");
  return command;
}

void refuse_format(const DlioWorkload& w) {
  const std::string& format = w.format;
  std::string why;
  if (format == "csv") {
    why =
        "DLIO parses its text by pandas, which this program has nothing like: write the data as "
        "npz or hdf5";
  } else if (format == "synthetic") {
    why = "it reads no file: set dataset.format to the one that is to be read";
  } else if (w.samples_per_file > 1 &&
             (format == "npz" || format == "npy" || format == "jpeg" || format == "png")) {
    throw Error(ExitCode::config,
                fmt::format("dataset.num_samples_per_file={} with format {}: DLIO reads the whole "
                            "file again for each of its samples, and a sample here is a file: set "
                            "dataset.num_samples_per_file=1, or take hdf5, tfrecord or "
                            "indexed_binary",
                            w.samples_per_file, format));
  } else if (w.hdf5_sets > 1) {
    throw Error(ExitCode::config,
                "dataset.hdf5.num_dset_per_record: records that lie in several data sets are not "
                "read: set it to 1");
  }
  constexpr std::string_view kKnown[] = {
      "npz",     "npy", "jpeg", "png", "hdf5", "parquet", "indexed_binary", "mmap_indexed_binary",
      "tfrecord"};
  if (why.empty() && std::ranges::find(kKnown, format) == std::end(kKnown)) {
    why =
        "it is not known: set it to npz, npy, jpeg, png, hdf5, parquet, tfrecord or "
        "indexed_binary";
  }
  if (format == "parquet" && (w.parquet_columns || !w.parquet_partition.empty())) {
    throw Error(ExitCode::config,
                "dataset.parquet.columns and partition_by: only the form with the one column "
                "`data` is translated: leave both out, or write an experiment of your own with "
                "dataset.type=parquet and dataset.images=COLUMN");
  }
  if (!why.empty()) {
    throw Error(ExitCode::config, fmt::format("dataset.format {}: {}", format, why));
  }
}

}  // namespace stoker
