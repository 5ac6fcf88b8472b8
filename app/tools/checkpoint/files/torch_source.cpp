
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <isa-l.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>

#include "app/tools/checkpoint/files/open_tensors.h"
#include "app/tools/checkpoint/files/state_pickle.h"
#include "app/tools/checkpoint/files/stored_tensors.h"
#include "app/tools/checkpoint/files/zip.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

constexpr std::string_view kPickleName = "/data.pkl";
// Bytes of a tensor that has more of them than its storage.
constexpr uint64_t kMostExpanded = 1ull << 30;

// The elements of a storage that a view reaches. Empty: more than a number holds.
std::optional<uint64_t> elements_reached(const PickledTensor& tensor) {
  uint64_t last = tensor.offset;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == 0) return 0;
    uint64_t step = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(tensor.shape[i] - 1),
                               static_cast<uint64_t>(tensor.strides[i]), &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return std::nullopt;
    }
  }
  return last == UINT64_MAX ? std::nullopt : std::optional(last + 1);
}

bool row_major(const PickledTensor& tensor) {
  int64_t dense = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != dense) return false;
    dense *= std::max<int64_t>(1, tensor.shape[i]);
  }
  return true;
}

// A tensor's bytes in row-major order, out of those of its storage from its first element on.
std::vector<uint8_t> gathered(const PickledTensor& tensor, Bytes storage, uint64_t element_bytes,
                              uint64_t bytes) {
  std::vector<uint8_t> result(bytes);
  std::vector<int64_t> index(tensor.shape.size());
  uint64_t from = 0;
  for (uint64_t to = 0; to < bytes; to += element_bytes) {
    std::memcpy(&result[to], &storage[from * element_bytes], element_bytes);
    for (size_t i = index.size(); i-- > 0;) {
      const auto stride = static_cast<uint64_t>(tensor.strides[i]);
      from += stride;
      if (++index[i] < tensor.shape[i]) break;
      from -= stride * static_cast<uint64_t>(index[i]);
      index[i] = 0;
    }
  }
  return result;
}

class TorchFile final : public StoredTensors {
 public:
  explicit TorchFile(const std::string& path)
      : StoredTensors("a file of torch.save"), file_(path), entries_(read_zip(file_)) {
    find_archive();
    check_order();
    const StoredEntry& pickle = entries_.at(archive_ + std::string(kPickleName));
    if (pickle.bytes > kMaxPickle) {
      file_.refuse(
          fmt::format("its data.pkl has {} bytes; at most {} are read", pickle.bytes, kMaxPickle));
    }
    summed_ = pickle.crc32 != 0;
    const std::string text = file_.text(pickle.offset, pickle.bytes);
    const uint32_t sum =
        crc32_gzip_refl(0, reinterpret_cast<const uint8_t*>(text.data()), text.size());
    if (summed_ && sum != pickle.crc32) {
      file_.refuse(fmt::format(
          "data.pkl is damaged (CRC-32 {:08x}, expected {:08x}): take another copy of the file",
          sum, pickle.crc32));
    }
    PickledState state;
    try {
      state = read_state_pickle(text);
    } catch (const Error& error) {
      file_.refuse(std::string("data.pkl: ") + error.what());
    }
    left_out_ = std::move(state.others);
    std::set<std::string> names;
    for (PickledTensor& tensor : state.tensors) {
      if (!names.insert(tensor.name).second) {
        file_.refuse(fmt::format("tensor {} is there twice", tensor.name));
      }
      add(std::move(tensor));
    }
  }

  void read(size_t tensor, uint64_t begin, std::span<uint8_t> out) const override {
    const View& view = views_[tensor];
    if (view.dense) {
      file_.read(view.offset + begin, out);
      return;
    }
    const std::lock_guard lock(mutex_);
    if (in_order_of_ != tensor) {
      const uint64_t element = dtype_bytes(tensors_[tensor].dtype);
      std::vector<uint8_t> storage(*elements_reached(view.as_pickled) * element -
                                   view.as_pickled.offset * element);
      file_.read(view.offset, storage);
      in_order_ = gathered(view.as_pickled, storage, element, tensors_[tensor].bytes);
      in_order_of_ = tensor;
    }
    if (!out.empty()) std::memcpy(out.data(), &in_order_[begin], out.size());
  }
  // A record's sum is that of a tensor where that is all of it.
  std::optional<TensorSum> sum(size_t tensor) const override { return views_[tensor].sum; }
  std::string place(size_t) const override { return file_.path(); }

 private:
  struct View {
    uint64_t offset = 0;  // in the file, of the first element
    bool dense = true;
    std::optional<TensorSum> sum = {};
    PickledTensor as_pickled = {};  // of one that is not dense
  };

  // The folder in the zip that has everything.
  void find_archive() {
    for (const auto& [name, entry] : entries_) {
      if (!name.ends_with(kPickleName)) continue;
      archive_ = name.substr(0, name.size() - kPickleName.size());
      if (archive_.find('/') == std::string::npos) return;
    }
    file_.refuse(
        entries_.contains("data.pkl") || entries_.empty()
            ? "it is a zip, but none that torch.save wrote: it has no folder with a data.pkl"
            : fmt::format("it is a zip without a data.pkl: its first entry is {}. Only what "
                          "torch.save writes of a state dict is read (no TorchScript)",
                          printable(entries_.begin()->first)));
  }
  void check_order() const {
    const auto order = entries_.find(archive_ + "/byteorder");
    if (order == entries_.end()) return;  // written before PyTorch 2.1
    const std::string text =
        file_.text(order->second.offset, std::min<uint64_t>(order->second.bytes, 64));
    if (text != "little") {
      file_.refuse(
          fmt::format("its numbers are in byte order '{}', and only little is read: load it in "
                      "Python and save it anew on this machine",
                      printable(text)));
    }
  }

  void add(PickledTensor tensor) {
    const auto record = entries_.find(archive_ + "/data/" + tensor.storage);
    if (record == entries_.end()) {
      file_.refuse(fmt::format("tensor {}: there is no record data/{}", tensor.name,
                               printable(tensor.storage)));
    }
    const uint64_t element = dtype_bytes(tensor.dtype);
    const std::optional<uint64_t> bytes = tensor_bytes(tensor.dtype, tensor.shape);
    const std::optional<uint64_t> reached = elements_reached(tensor);
    if (record->second.bytes / element != tensor.storage_elements ||
        record->second.bytes % element != 0) {
      file_.refuse(
          fmt::format("tensor {}: record data/{} has {} bytes, and {} elements of {} are said "
                      "to be in it: the file is damaged",
                      tensor.name, printable(tensor.storage), record->second.bytes,
                      tensor.storage_elements, tensor.dtype));
    }
    // A view may have more elements than its storage (an expanded one), but not ask for any memory.
    if (!bytes || !reached || *reached > tensor.storage_elements ||
        *bytes > std::max(record->second.bytes, kMostExpanded)) {
      file_.refuse(fmt::format(
          "tensor {}: shape {} with strides {} from element {} on does not fit "
          "into a storage of {} elements",
          tensor.name, tensor.shape, tensor.strides, tensor.offset, tensor.storage_elements));
    }
    const uint64_t offset = *bytes == 0 ? 0 : tensor.offset * element;
    View view{record->second.offset + offset, *bytes == 0 || row_major(tensor)};
    if (summed_ && *bytes == record->second.bytes && view.dense) {
      view.sum = TensorSum{TensorSum::Kind::crc32, record->second.crc32};
    }
    tensors_.push_back({tensor.name, tensor.dtype, tensor.shape, *bytes});
    if (!view.dense) view.as_pickled = std::move(tensor);
    views_.push_back(std::move(view));
  }

  const InputFile file_;
  const std::map<std::string, StoredEntry> entries_;
  std::string archive_;
  // torch.serialization.set_crc32_options(False) puts 0 for every sum.
  bool summed_ = true;
  std::vector<View> views_;
  mutable std::mutex mutex_;  // of the tensor that was put into order last
  mutable size_t in_order_of_ = SIZE_MAX;
  mutable std::vector<uint8_t> in_order_;
};

}  // namespace

std::unique_ptr<StoredTensors> open_torch(const std::string& path) {
  return std::make_unique<TorchFile>(path);
}

}  // namespace stoker
