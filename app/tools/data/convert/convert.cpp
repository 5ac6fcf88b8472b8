#include "app/tools/data/convert/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/tools/data/convert/shard_run.h"
#include "app/tools/data/convert/verify.h"
#include "io/core/threads.h"
#include "io/dataset/read_sample.h"
#include "io/dataset/shards/shard_index.h"
#include "io/storage/cached/staging.h"
#include "io/storage/storage.h"

namespace stoker {
namespace {

// Another tier, as it is while one shard is written: it remembers which objects were made, and how
// many bytes each has. One thread at a time; the other tier must outlive it. Fails as that does.
class RecordedObjects final : public Storage, public KeepsFiles {
 public:
  explicit RecordedObjects(Storage& inner) : inner_(inner) {}
  // In the order of their commits.
  std::vector<ObjectInfo> take() { return std::exchange(objects_, {}); }

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return inner_.list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    inner_.read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return std::make_unique<Writer>(*this, key);
  }
  void remove(const std::string& key) override { inner_.remove(key); }
  const FileTree* files() const override { return files_of(inner_); }

 private:
  class Writer final : public ObjectWriter {
   public:
    Writer(RecordedObjects& of, const std::string& key)
        : of_(of), object_{key, 0}, inner_(of.inner_.create(key)) {}
    void append(Bytes bytes) override {
      inner_->append(bytes);
      object_.bytes += bytes.size();
    }
    void commit() override {
      inner_->commit();
      of_.objects_.push_back(object_);
    }

   private:
    RecordedObjects& of_;
    ObjectInfo object_;
    const std::unique_ptr<ObjectWriter> inner_;
  };

  Storage& inner_;
  std::vector<ObjectInfo> objects_;
};

// Takes samples for nothing but to know what would be written.
class NoShard final : public ShardWriter {
 public:
  void add(const SampleToWrite&) override {}
  void commit() override {}
};

class Conversion {
 public:
  Conversion(const Dataset& dataset, const Decoder& decoder, const ConvertTarget& target,
             const ConvertOptions& options, const ConvertHooks& hooks)
      : dataset_(dataset),
        decoder_(options.format.info().pixels ? &decoder : nullptr),
        target_(target),
        options_(options),
        hooks_(hooks),
        to_(target.tiers.at(target.tier)),
        writer_(options.format.create({dataset.classes(), decoder.spec(), options.source})),
        plan_(dataset, *writer_, options.format.info(), options.plan,
              decoder_ ? std::optional<uint64_t>(decoder.spec().bytes()) : std::nullopt) {}

  ConvertResult run() {
    if (std::optional<ConvertResult> before = written_before()) return std::move(*before);
    const std::vector<PlannedShard>& shards = plan_.shards();
    receipts_.assign(shards.size(), {});
    done_ = left_out_ = 0;
    journal_.emplace(to_, target_.prefix(), work(), dataset_.classes().size(),
                     options_.format.info().apart);
    std::vector<size_t> missing;
    for (size_t i = 0; i < shards.size(); ++i) {
      if (std::optional<ShardReceipt> found = journal_->find(shards[i])) {
        for (const LeftOutSample& sample : found->left_out) count(&sample);
        done_ += std::ssize(found->written.samples);
        receipts_[i] = std::move(*found);
      } else {
        missing.push_back(i);
      }
    }
    write(missing);
    WrittenSet written = written_set();
    writer_->finish(to_, target_.prefix(), written);
    if (options_.verify) verify(written);
    journal_->finish(shards);
    return result(written, shards.size() - missing.size());
  }

 private:
  ConvertJournal::Work work() const {
    return {{"format", to_yaml(options_.format.dump())},
            {"data or order of samples", plan_.hash()},
            {"--shard-size", std::to_string(options_.plan.shard_bytes)},
            {"decoder", decoder_ ? options_.pixels : ""}};
  }

  // What is there, if it is what this call would write.
  std::optional<ConvertResult> written_before() {
    if (!has_planned_shards()) return std::nullopt;
    const std::vector<PlannedShard>& shards = plan_.shards();
    const bool tests = std::ranges::any_of(
        shards, [](const PlannedShard& shard) { return shard.split == Split::test; });
    std::unique_ptr<Dataset> dataset;
    try {
      dataset = open(tests);
    } catch (const Error&) {
      return std::nullopt;  // something else is there
    }
    if (dataset->size(Split::train) + dataset->size(Split::test) > plan_.samples()) {
      return std::nullopt;
    }
    receipts_.assign(shards.size(), {});
    std::vector<size_t> all(shards.size());
    std::iota(all.begin(), all.end(), size_t{0});
    write(all);
    const WrittenSet written = written_set();
    if (compare(*dataset, written).unlike) return std::nullopt;
    ConvertResult found = result(written, shards.size());
    found.complete_before = true;
    return found;
  }

  // Neither more nor fewer, and no conversion under way.
  bool has_planned_shards() const {
    const std::string prefix = target_.prefix();
    const auto entry = [](const std::string& key) { return key.substr(0, key.find('/')); };
    std::set<std::string> there;
    for (const ObjectInfo& object : list_if_there(to_, prefix)) {
      const std::string key = object.key.substr(prefix.size());
      if (ConvertJournal::is_plan(key)) return false;
      if (!key.ends_with('/')) there.insert(entry(key));
    }
    const WritableInfo info = options_.format.info();
    if (info.apart) return !there.empty();
    std::erase_if(there, [](const std::string& name) {
      return name.ends_with(kShardIndexEnd) ||
             (!name.starts_with("train-") && !name.starts_with("test-"));
    });
    std::set<std::string> planned;
    for (const PlannedShard& shard : plan_.shards()) {
      planned.insert(entry(shard.name + info.extension));
    }
    return there == planned;
  }

  // Without a journal: into nothing.
  void write(const std::vector<size_t>& missing) {
    const int64_t at_once = std::max<int64_t>(1, std::min(options_.threads, std::ssize(missing)));
    const SampleSource source{dataset_, decoder_, (options_.threads + at_once - 1) / at_once};
    try {
      parallel_for(at_once, std::ssize(missing), [&](int64_t i) {
        try {
          write_shard(source, missing[static_cast<size_t>(i)]);
        } catch (...) {
          // The other threads stop because of this error, so theirs are not reported.
          const std::lock_guard lock(mutex_);
          if (!failed_.exchange(true)) error_ = std::current_exception();
          throw;
        }
      });
    } catch (...) {
      std::rethrow_exception(error_);
    }
  }

  void write_shard(const SampleSource& source, size_t number) {
    const PlannedShard& shard = plan_.shards()[number];
    RecordedObjects to(to_);
    ShardReceipt receipt;
    {
      const std::string key = target_.prefix() + shard.name + options_.format.info().extension;
      const std::unique_ptr<ShardWriter> writer =
          journal_ ? writer_->create(to, key) : std::make_unique<NoShard>();
      ShardRun run(
          source, [this] { check_stop(); }, [this](const LeftOutSample* s) { count(s); });
      receipt = run.run(shard.split, plan_.samples(shard), *writer);
      writer->commit();
    }
    receipt.written.objects = to.take();
    if (journal_) journal_->keep(shard, receipt);
    receipts_[number] = std::move(receipt);
  }

  void check_stop() const {
    if (failed_) throw Error(ExitCode::storage, "dataset convert: another thread failed");
    const ExitCode code = hooks_.stop ? hooks_.stop() : ExitCode::ok;
    if (code == ExitCode::ok) return;
    throw Error(code,
                "dataset convert: stopped: the same command goes on with the shards that are "
                "missing");
  }

  // A sample that was written (null), or left out.
  void count(const LeftOutSample* left_out) {
    const std::lock_guard lock(mutex_);
    if (left_out == nullptr) {
      ++done_;
    } else {
      allow(*left_out);
    }
    if (hooks_.progress) hooks_.progress("samples", done_ + left_out_, plan_.samples());
  }

  void allow(const LeftOutSample& sample) {
    const OnError& on_error = dataset_.on_error();
    const bool skip = on_error.policy == ErrorPolicy::skip;
    if (skip && ++left_out_ <= on_error.budget.of(dataset_.size(Split::train))) return;
    if (!skip) throw bad_sample_error(sample.key, sample.reason, sample.message);
    throw Error(ExitCode::data,
                fmt::format("dataset: {}: {}: {} (more bad samples than dataset.on_error.budget "
                            "allows)",
                            sample.key, sample.reason, sample.message));
  }

  WrittenSet written_set() const {
    WrittenSet written{dataset_.classes(), {}};
    bool trains = false;
    for (const ShardReceipt& receipt : receipts_) {
      written.shards.push_back(receipt.written);
      trains =
          trains || (receipt.written.split == Split::train && !receipt.written.samples.empty());
    }
    if (trains) return written;
    throw Error(ExitCode::data, "dataset convert: no training sample could be read");
  }

  // The data set that reads it.
  Node reader(bool tests) const {
    Node node = Node::map();
    node.entries.push_back({"type", {}, Node::text(options_.format.type())});
    node.entries.push_back({"storage", {}, Node::text(target_.tier)});
    for (const auto& [name, value] :
         writer_->reading(target_.prefix(), options_.format.info().extension, tests))
      node.entries.push_back({name, {}, Node::text(value)});
    return node;
  }

  static bool has_tests(const WrittenSet& written) {
    return std::ranges::any_of(written.shards, [](const WrittenShard& shard) {
      return shard.split == Split::test && !shard.samples.empty();
    });
  }

  std::unique_ptr<Dataset> open(bool tests) const {
    return parse_component<Dataset>(reader(tests)).create({target_.tiers, 0, {}});
  }

  WrittenComparison compare(const Dataset& dataset, const WrittenSet& written) {
    return compare_written(dataset, written, *writer_, options_.format.info(), options_.threads,
                           [&](int64_t done) {
                             check_stop();
                             if (hooks_.progress) hooks_.progress("verified", done, done_);
                           });
  }

  void verify(const WrittenSet& written) {
    std::unique_ptr<Dataset> dataset;
    try {
      dataset = open(has_tests(written));
    } catch (const Error& error) {
      throw Error(ExitCode::storage,
                  fmt::format("dataset convert: what was written can't be opened: {}: remove the "
                              "shard that is named, and run the same command again",
                              error.what()));
    }
    const WrittenComparison comparison = compare(*dataset, written);
    if (comparison.unlike) {
      const UnlikeSample& sample = *comparison.unlike;
      const PlannedShard& shard = plan_.shards()[sample.shard];
      journal_->forget(shard);
      throw Error(ExitCode::storage,
                  fmt::format("dataset convert: sample {} of {} does not read as it was written: "
                              "{}: run the same command again, which writes this shard anew",
                              sample.key, shard.name, sample.how));
    }
    if (!comparison.same_order && hooks_.note) {
      hooks_.note(
          "dataset convert: this format has an order of its own: batches are others than those of "
          "the source");
    }
  }

  ConvertResult result(const WrittenSet& written, size_t found) {
    ConvertResult result;
    result.shards = std::ssize(receipts_);
    result.found = static_cast<int64_t>(found);
    result.dataset = reader(has_tests(written));
    for (ShardReceipt& receipt : receipts_) {
      result.samples += std::ssize(receipt.written.samples);
      for (const WrittenSample& sample : receipt.written.samples) result.bytes += sample.bytes;
      std::ranges::move(receipt.left_out, std::back_inserter(result.left_out));
      std::ranges::move(receipt.tolerated, std::back_inserter(result.tolerated));
    }
    return result;
  }

  const Dataset& dataset_;
  const Decoder* const decoder_;  // null: samples stay encoded
  const ConvertTarget& target_;
  const ConvertOptions& options_;
  const ConvertHooks& hooks_;
  Storage& to_;
  const std::unique_ptr<ShardFormatWriter> writer_;
  const ConvertPlan plan_;
  std::optional<ConvertJournal> journal_;  // of a conversion; none yet where nothing is written
  std::vector<ShardReceipt> receipts_;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // guards what follows
  std::exception_ptr error_;
  int64_t done_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace

std::string ConvertTarget::prefix() const {
  return folder.empty() || folder.ends_with('/') ? folder : folder + "/";
}

ConvertResult convert_dataset(const Dataset& dataset, const Decoder& decoder,
                              const ConvertTarget& target, const ConvertOptions& options,
                              const ConvertHooks& hooks) {
  const SampleSpec spec = decoder.spec();
  if (options.verify && Registry<Dataset>::global().find(options.format.type()) == nullptr) {
    throw Error(ExitCode::config, "dataset convert: no data set reads '" + options.format.type() +
                                      "', so it can't be verified: --no-verify writes it");
  }
  if (options.format.info().pixels && (spec.frame != 0 || spec.type != PixelType::uint8)) {
    throw Error(ExitCode::config,
                "dataset convert: the decoder must give pixels as uint8 here: set "
                "decoder.on_device=nothing and decoder.output=uint8");
  }
  return Conversion(dataset, decoder, target, options, hooks).run();
}

}  // namespace stoker
