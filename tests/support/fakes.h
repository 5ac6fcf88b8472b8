#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/device/device.h"

// Doubles for what surrounds a loader: they run no LibTorch kernel, so that sanitizers see only us.

namespace stoker {

// `samples` training samples of eight bytes: their index. Reading one of `bad` is a BadSample.
// Sample i lies in file `files[i]`; none: it has one of its own.
class FakeDataset final : public Dataset {
 public:
  FakeDataset(int64_t samples, std::set<int64_t> bad = {}, OnError on_error = {},
              std::vector<int64_t> files = {})
      : Dataset(on_error), samples_(samples), bad_(std::move(bad)), files_(std::move(files)) {}
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t size(Split) const override { return samples_; }
  SampleInfo info(Split, int64_t index) const override {
    return {"sample/" + std::to_string(index), index % 3, sizeof index,
            files_.empty() ? -1 : files_.at(static_cast<size_t>(index))};
  }
  // Reading this sample fails as a tier does.
  void fail(int64_t index, int errno_value) { failing_ = {index, errno_value}; }
  // Reading this sample takes until another one is named, or the thread is interrupted; -1: of
  // none, -2: of any.
  void hang(int64_t index) { hanging_->index = index; }
  // Until a thread reads one that hangs.
  void wait_for_reader() const {
    while (hanging_->readers == 0) std::this_thread::yield();
  }

  EncodedSample read(Split, int64_t index, Buffer& scratch) const override {
    while (hanging_->index == index || hanging_->index == -2) hang_now();
    if (failing_.first == index) fail_now();
    if (bad_.contains(index)) throw BadSample(BadReason::corrupt, "broken on purpose");
    std::memcpy(scratch.resize(sizeof index), &index, sizeof index);
    return {scratch.bytes(), index % 3};
  }

 private:
  struct Hanging {
    std::atomic<int64_t> index{-1};
    std::atomic<int> readers{0};
  };
  void hang_now() const {
    ++hanging_->readers;
    const auto leave = [](Hanging* hanging) { --hanging->readers; };
    const std::unique_ptr<Hanging, decltype(leave)> at_end(hanging_.get(), leave);
    sleep_interruptibly(std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
  }
  void fail_now() const {
    IoError error("failed on purpose", failing_.second);
    error.passes("data");
    throw error;
  }

  std::vector<std::string> classes_{"a", "b", "c"};
  int64_t samples_;
  std::set<int64_t> bad_;
  std::vector<int64_t> files_;
  std::pair<int64_t, int> failing_{-1, 0};
  std::shared_ptr<Hanging> hanging_ = std::make_shared<Hanging>();
};

// 2x2 pixels: index and seed (augments: false leaves it out). Counts what it decoded; odd samples
// take longer, so that workers overtake one another.
class FakeDecoder final : public Decoder {
 public:
  // Samples of `damaged` are tolerated.
  explicit FakeDecoder(bool augments = true, std::set<int64_t> damaged = {})
      : augments_(augments), damaged_(std::move(damaged)) {}
  SampleSpec spec() const override { return {2, 2, 4}; }
  std::unique_ptr<DecoderSession> open() const override {
    struct Session final : DecoderSession {
      Session(std::atomic<int64_t>& count, bool augmenting, const std::set<int64_t>& bad)
          : decoded(count), augments(augmenting), damaged(bad) {}
      void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override {
        int64_t index = 0;
        std::memcpy(&index, encoded.data(), sizeof index);
        if (index % 2 == 1) std::this_thread::sleep_for(std::chrono::microseconds(200));
        std::memcpy(out, &index, sizeof index);
        const uint64_t seed = augments ? mode.seed : 0;
        std::memcpy(out + sizeof index, &seed, sizeof seed);
        tolerated_ = damaged.contains(index) ? "damaged on purpose" : "";
        ++decoded;
      }
      std::atomic<int64_t>& decoded;
      const bool augments;
      const std::set<int64_t>& damaged;
    };
    return std::make_unique<Session>(decoded_, augments_, damaged_);
  }
  int64_t decoded() const { return decoded_; }

 private:
  const bool augments_;
  const std::set<int64_t> damaged_;
  mutable std::atomic<int64_t> decoded_{0};
};

// Ordinary memory; counts slots and copies.
class FakeDevice final : public Device {
 public:
  explicit FakeDevice(bool own_memory = true) {
    info_.name = "fake", info_.own_memory = own_memory;
  }
  const DeviceInfo& info() const override { return info_; }
  HostMemory allocate(size_t bytes) override {
    ++slots_;
    return {std::shared_ptr<uint8_t>(new uint8_t[bytes], std::default_delete<uint8_t[]>()), bytes,
            false};
  }
  DeviceBatch copy(const Batch& batch, const SampleSpec&) override {
    ++copies_;
    DeviceBatch result;
    result.host = batch;
    return result;
  }
  void run(const DeviceBatch*, const std::function<void()>& work) override { work(); }
  std::vector<BusyInterval> collect(bool) override { return {}; }
  int64_t slots() const { return slots_; }
  int64_t copies() const { return copies_; }

 private:
  DeviceInfo info_;
  std::atomic<int64_t> slots_{0};
  std::atomic<int64_t> copies_{0};
};

}  // namespace stoker
