#include "io/storage/cached/cached.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/storage/cached/cache_index.h"
#include "io/storage/tiers.h"

namespace stoker {
namespace {

std::unique_ptr<Storage> open_part(const Component<Storage>& tier, Storage::Inputs inputs,
                                   const char* part) {
  inputs.name += part;
  return open_tier(tier, inputs);
}

// A tier with copies of some of its objects on another one. A copy is never dropped to make room: a
// random permutation in every epoch would drop each just before it is read again.
class CachedStorage final : public Storage {
 public:
  using Options = CachedOptions;
  CachedStorage(const Options& options, const Inputs& inputs)
      : inputs_(inputs),
        fill_(options.fill),
        rule_(options.rule),
        inner_(open_part(options.inner, inputs, ".inner")),
        in_(open_part(options.in, inputs, ".in")),
        index_(options.rule.limit.bytes) {
    if (rule_.order == StagingOrder::plan) {
      planned_ = candidates(inner_->list(""), rule_);
      for (const ObjectInfo& object : planned_) named_.insert(object.key);
    }
    report_size();
  }

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return inner_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override;
  void expect(std::span<const ObjectRange> reads) const override {
    std::vector<ObjectRange> copies, originals;
    for (const ObjectRange& read : reads) {
      (index_.find(std::string(read.key)) ? copies : originals).push_back(read);
    }
    in_->expect(copies);
    inner_->expect(originals);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override;
  void remove(const std::string& key) override {
    change(key, [&] { inner_->remove(key); });
  }

  // Runs `f`, which replaces or removes an object, while there is no copy of it. The copy goes
  // first: were it still there when the process dies in between, the next one would take it for
  // good.
  template <class F>
  void change(const std::string& key, F f) {
    look_around();
    const bool copied = index_.begin_change(key);
    bool removed = false;
    const auto end = [&](void*) {
      index_.end_change(key, removed);
      report_size();
    };
    const std::unique_ptr<CacheIndex, decltype(end)> at_end(&index_, end);
    if (copied) {
      in_->remove(key);
      removed = true;
    }
    f();
  }

 private:
  // Finds what an earlier process left, once.
  void look_around() const;
  bool read_copy(const std::string& key, Buffer& out, Range range, uint64_t bytes) const;
  void read_and_keep(const std::string& key, Buffer& out, Range range) const;
  // May there be a copy of it, whatever room is left?
  bool allows(const std::string& key, uint64_t bytes) const {
    return rule_.allows(bytes) && (rule_.order != StagingOrder::plan || named_.contains(key));
  }
  bool store(const std::string& key, Bytes bytes) const;
  void note_read(const std::string& key) const;

  void stage_ahead(const std::stop_token& stop) const;
  bool wait_for_reads(size_t count, const std::stop_token& stop) const;
  void stage(const ObjectInfo& object, const std::stop_token& stop) const;

  void report_size() const {
    if (inputs_.meter != nullptr) inputs_.meter->set_cache(index_.bytes(), rule_.limit.bytes);
  }
  // From here on nothing more is copied; what is there goes on being read.
  void stop_filling(const std::string& why) const {
    if (index_.close()) inputs_.remark("no more copies are made: " + why);
  }

  const Inputs inputs_;
  const CacheFill fill_;
  const StagingRule rule_;
  const std::unique_ptr<Storage> inner_;
  const std::unique_ptr<Storage> in_;
  std::vector<ObjectInfo> planned_;  // of order: plan, which named_ are the keys of
  std::unordered_set<std::string> named_;
  // Copies are not part of what a reader sees, so reading may make them.
  mutable CacheIndex index_;
  mutable std::once_flag looked_;
  mutable std::once_flag begun_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any counted_;
  mutable ReadCounts reads_;
  mutable size_t read_count_ = 0;
  mutable std::atomic<bool> counting_ = true;
  mutable std::jthread ahead_;
};

class CachedWriter final : public ObjectWriter {
 public:
  CachedWriter(CachedStorage& storage, std::string key, std::unique_ptr<ObjectWriter> inner)
      : storage_(storage), key_(std::move(key)), inner_(std::move(inner)) {}
  void append(Bytes bytes) override { inner_->append(bytes); }
  void commit() override {
    storage_.change(key_, [this] { inner_->commit(); });
  }

 private:
  CachedStorage& storage_;
  const std::string key_;
  const std::unique_ptr<ObjectWriter> inner_;
};

std::unique_ptr<ObjectWriter> CachedStorage::create(const std::string& key) {
  return std::make_unique<CachedWriter>(*this, key, inner_->create(key));
}

void CachedStorage::look_around() const {
  std::call_once(looked_, [this] {
    try {
      const StagedBefore before = recognise(*inner_, *in_);
      for (const ObjectInfo& copy : before.copies) index_.adopt(copy.key, copy.bytes);
      for (const std::string& key : before.strange) index_.avoid(key);
      if (!before.strange.empty()) {
        inputs_.remark(
            fmt::format("the tier for copies holds {} other objects (such as '{}'), which are "
                        "left alone",
                        before.strange.size(), before.strange.front()));
      }
    } catch (const IoError& error) {
      stop_filling(error.what());
    }
    report_size();
  });
}

void CachedStorage::read(const std::string& key, Buffer& out, Range range) const {
  look_around();
  if (fill_ != CacheFill::read) {
    std::call_once(begun_, [this] {
      ahead_ = std::jthread([this](const std::stop_token& stop) { stage_ahead(stop); });
    });
  }
  const std::optional<uint64_t> copy = index_.find(key);
  const bool hit = copy && read_copy(key, out, range, *copy);
  if (!hit && fill_ == CacheFill::ahead) inner_->read(key, out, range);
  if (!hit && fill_ != CacheFill::ahead) read_and_keep(key, out, range);
  if (!hit && fill_ != CacheFill::read) note_read(key);
  if (inputs_.meter != nullptr) inputs_.meter->cache_read(hit);
}

bool CachedStorage::read_copy(const std::string& key, Buffer& out, Range range,
                              uint64_t bytes) const {
  std::string why;
  try {
    in_->read(key, out, range);
    if (out.size() == std::min(range.length, bytes - std::min(range.offset, bytes))) return true;
    why = "its size is another one";
  } catch (const IoError& error) {
    why = error.what();
  }
  if (index_.find(key) == bytes) {  // else the object was changed meanwhile
    index_.distrust(key);
    inputs_.remark(fmt::format("a copy cannot be read, the original is ({}: {})", key, why));
  }
  return false;
}

void CachedStorage::read_and_keep(const std::string& key, Buffer& out, Range range) const {
  if (range.offset != 0 || !index_.claim(key)) return inner_->read(key, out, range);
  bool kept = false;
  const auto end = [&](void*) { kept ? index_.publish(key) : index_.abandon(key); };
  {
    const std::unique_ptr<CacheIndex, decltype(end)> at_end(&index_, end);
    inner_->read(key, out, range);
    const bool whole = out.size() < range.length;
    kept = whole && allows(key, out.size()) && index_.reserve(key, out.size()) &&
           store(key, out.bytes());
  }
  if (kept) report_size();
}

bool CachedStorage::store(const std::string& key, Bytes bytes) const {
  try {
    write_object(*in_, key, bytes);
    return true;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {  // memory may be out, too
    stop_filling(error.what());
    return false;
  }
}

void CachedStorage::note_read(const std::string& key) const {
  if (rule_.order != StagingOrder::most_read || !counting_) return;
  const std::lock_guard lock(mutex_);
  if (!counting_) return;
  ++reads_[key];
  ++read_count_;
  counted_.notify_all();
}

bool CachedStorage::wait_for_reads(size_t count, const std::stop_token& stop) const {
  std::unique_lock lock(mutex_);
  const bool reached = counted_.wait(lock, stop, [&] { return read_count_ >= count; });
  counting_ = false;
  return reached;
}

void CachedStorage::stage_ahead(const std::stop_token& stop) const {
  pthread_setname_np(pthread_self(), "stage-ahead");
  const Interruptible scope(stop);
  try {
    std::vector<ObjectInfo> objects =
        rule_.order == StagingOrder::plan ? planned_ : inner_->list("");
    if (rule_.order == StagingOrder::most_read && !wait_for_reads(objects.size(), stop)) return;
    std::erase_if(objects, [this](const ObjectInfo& o) { return index_.find(o.key).has_value(); });
    for (const ObjectInfo& object : choose(objects, rule_, index_.bytes(), reads_).objects) {
      if (stop.stop_requested()) return;
      stage(object, stop);
    }
  } catch (const Interrupted&) {  // the tier ends
  } catch (const std::exception& error) {
    stop_filling(error.what());
  }
}

void CachedStorage::stage(const ObjectInfo& object, const std::stop_token& stop) const {
  if (!index_.claim(object.key)) return;
  bool copied = false;
  const auto end = [&](void*) { copied ? index_.publish(object.key) : index_.abandon(object.key); };
  {
    const std::unique_ptr<CacheIndex, decltype(end)> at_end(&index_, end);
    copied = index_.reserve(object.key, object.bytes) && copy_object(*inner_, *in_, object, [&] {
                                                           return stop.stop_requested();
                                                         }) == Copied::yes;
  }
  report_size();
}

STOKER_REGISTER(Storage, "cached", CachedStorage);

}  // namespace

EnumNames<CacheFill> enum_names(CacheFill) {
  return {{"read", CacheFill::read}, {"ahead", CacheFill::ahead}, {"both", CacheFill::both}};
}

}  // namespace stoker
