#pragma once

#include <fmt/format.h>
#include <xxhash.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/core/random.h"
#include "io/loader/batch_job.h"
#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/datasets.h"
#include "tests/support/fakes.h"
#include "tests/support/lmdb_database.h"
#include "tests/support/ranks.h"

namespace stoker {

// The pixels are the XXH3-128 of all encoded bytes.
class HashDecoder final : public Decoder {
 public:
  SampleSpec spec() const override { return {2, 2, 4}; }
  std::unique_ptr<DecoderSession> open() const override {
    struct Session final : DecoderSession {
      void decode(Bytes encoded, const DecodeMode&, uint8_t* out) override {
        XXH128_canonical_t hash;
        XXH128_canonicalFromHash(&hash, XXH3_128bits(encoded.data(), encoded.size()));
        std::memcpy(out, hash.digest, sizeof hash.digest);
      }
    };
    return std::make_unique<Session>();
  }
};

// A database of random values in a folder of its own, as a data set.
class DatabaseOnDisk {
 public:
  explicit DatabaseOnDisk(const std::vector<size_t>& sizes, const std::string& more = "") {
    LmdbDatabase database;
    LmdbEntries entries;
    Random random(17);
    for (size_t i = 0; i < sizes.size(); ++i) {
      std::string value(sizes[i], '\0');
      for (char& byte : value) byte = static_cast<char>(random.next());
      entries.emplace_back(fmt::format("{:08}_{}/{}.jpg", i, i % 3 == 0 ? "cat" : "dog", i), value);
    }
    database.put(entries, 0);
    folder_.write("train/data.mdb", database.bytes());
    more_ = more;
  }
  // Built anew, as by a process of its own.
  std::unique_ptr<TestDataset> open() const {
    auto data = std::make_unique<TestDataset>(posix_storage(folder_.path()));
    data->build("{type: lmdb, storage: data, values: raw" + more_ + "}");
    return data;
  }
  const TemporaryDirectory& folder() const { return folder_; }

 private:
  const TemporaryDirectory folder_;
  std::string more_;
};

// One loader on a data set, with all that it needs.
class LoaderRun {
 public:
  // loader: its YAML.
  LoaderRun(const Dataset& dataset, const std::string& loader, Shard shard = {},
            std::shared_ptr<RankGroup> group = {}, Split split = Split::train)
      : group_(std::move(group)),
        loader_(parse_component<Loader>(parse_yaml(loader, "t.yaml"))
                    .create({dataset, decoder_, device_.allocator(), split, 7,
                             [this](const std::string& text) { remark(text); }, meter_, shard,
                             &device_, group_ ? *group_ : alone()})) {}

  Loader& loader() { return *loader_; }
  LoaderMeter& meter() { return meter_; }
  std::vector<std::string> remarks() {
    const std::lock_guard lock(mutex_);
    return remarks_;
  }
  // The digests of so many batches from there on, of as many epochs as that takes.
  std::vector<std::string> digests(int64_t epoch, int64_t batch, int64_t count) {
    std::vector<std::string> all;
    loader_->start(epoch, batch);
    while (std::ssize(all) < count) {
      const std::optional<Batch> next = loader_->next();
      if (next) {
        all.push_back(next->digests);
        for (const SkippedSample& sample : next->skipped) skipped_ += sample.key + " ";
      } else {
        loader_->start(++epoch, 0);
      }
    }
    return all;
  }
  const std::string& skipped() const { return skipped_; }

 private:
  void remark(const std::string& text) {
    const std::lock_guard lock(mutex_);
    remarks_.push_back(text);
  }
  const std::shared_ptr<RankGroup> group_;
  HashDecoder decoder_;
  FakeDevice device_;
  Tracer tracer_;
  LoaderMeter meter_{"train", tracer_};
  std::mutex mutex_;
  std::vector<std::string> remarks_;
  std::string skipped_;
  const std::unique_ptr<Loader> loader_;
};

// What ranks say of their batches, as one text each, put together again: whole batches.
inline std::string packed(const std::vector<std::string>& batches) {
  std::string text;
  for (const std::string& batch : batches) text += fmt::format("{}:", batch.size()) + batch;
  return text;
}
inline std::vector<std::string> unpacked(const std::string& text) {
  std::vector<std::string> batches;
  for (size_t at = 0; at < text.size();) {
    const size_t colon = text.find(':', at);
    if (colon == std::string::npos) return {text};  // an error
    size_t bytes = 0;
    if (!parse_number(text.substr(at, colon - at), bytes)) return {text};
    batches.push_back(text.substr(colon + 1, bytes));
    at = colon + 1 + bytes;
  }
  return batches;
}
inline std::vector<std::string> whole_batches(const std::vector<std::string>& of_ranks) {
  std::vector<std::string> whole;
  for (const std::string& text : of_ranks) {
    const std::vector<std::string> parts = unpacked(text);
    whole.resize(std::max(whole.size(), parts.size()));
    for (size_t i = 0; i < parts.size(); ++i) whole[i] += parts[i];
  }
  return whole;
}

}  // namespace stoker
