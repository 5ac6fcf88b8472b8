#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/dataset/pixel_store.h"
#include "io/storage/cached/cache_index.h"
#include "io/storage/cached/staging.h"
#include "io/storage/mapped_file.h"

namespace stoker {
namespace {

// A process has 65,530 mappings (vm.max_map_count) and needs some for its threads and libraries.
constexpr size_t kMaxMapped = 30'000;

class PixelTier final : public PixelStore {
 public:
  PixelTier(std::unique_ptr<Storage> in, std::string prefix, size_t sample_bytes, uint64_t limit,
            Notify remark)
      : in_(std::move(in)),
        prefix_(std::move(prefix)),
        sample_bytes_(sample_bytes),
        remark_(std::move(remark)),
        index_(limit) {
    look_around();
  }

  KeptPixels find(const std::string& name, Buffer& scratch) override {
    const std::string key = prefix_ + name;
    if (!index_.find(key)) return {};
    std::string why = "its size is another one";
    try {
      if (const Bytes mapped = map(key); !mapped.empty()) return {mapped, true};
      in_->read(key, scratch);
      if (scratch.size() == sample_bytes_) return {scratch.bytes(), false};
    } catch (const IoError& error) {
      why = error.what();
    }
    index_.distrust(key);
    remark_(fmt::format("pixels that were kept cannot be read ({}: {})", key, why));
    return {};
  }

  // They are mapped when they are asked for.
  KeptPixels keep(const std::string& name, Bytes pixels) override {
    const std::string key = prefix_ + name;
    if (!index_.claim(key)) return {};
    if (index_.reserve(key, pixels.size()) && store(key, pixels)) {
      index_.publish(key);
    } else {
      index_.abandon(key);
    }
    return {};
  }

 private:
  // Finds what an earlier process kept.
  void look_around() {
    try {
      for (const ObjectInfo& object : list_if_there(*in_, prefix_)) {
        if (object.bytes == sample_bytes_) {
          index_.adopt(object.key, object.bytes);
        } else {
          index_.avoid(object.key);
        }
      }
    } catch (const IoError& error) {
      stop_keeping(error.what());
    }
  }

  // Empty: it is to be read.
  Bytes map(const std::string& key) {
    {
      const std::lock_guard lock(mutex_);
      if (!mappable_ || mapped_.size() >= kMaxMapped) return {};
    }
    std::optional<MappedFile> file = map_object(*in_, key);
    const std::lock_guard lock(mutex_);
    if (!file) mappable_ = false;
    if (!file || file->bytes().size() != sample_bytes_ || !file->fetch(0, sample_bytes_)) return {};
    return mapped_.emplace_back(std::move(*file)).bytes();
  }

  bool store(const std::string& key, Bytes pixels) {
    try {
      write_object(*in_, key, pixels);
      return true;
    } catch (const std::exception& error) {  // memory may be out, too
      stop_keeping(error.what());
      return false;
    }
  }

  // From here on all that is not kept yet is decoded each time.
  void stop_keeping(const std::string& why) {
    if (index_.close()) remark_("no more pixels are kept: " + why);
  }

  const std::unique_ptr<Storage> in_;
  const std::string prefix_;
  const size_t sample_bytes_;
  const Notify remark_;
  CacheIndex index_;
  std::mutex mutex_;  // of what follows
  bool mappable_ = true;
  std::vector<MappedFile> mapped_;
};

}  // namespace

std::unique_ptr<PixelStore> make_pixel_tier(std::unique_ptr<Storage> in, const std::string& prefix,
                                            size_t sample_bytes, uint64_t limit, Notify remark) {
  return std::make_unique<PixelTier>(std::move(in), prefix, sample_bytes, limit, std::move(remark));
}

}  // namespace stoker
