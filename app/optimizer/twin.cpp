#include "app/optimizer/twin.h"

#include <ATen/TensorIterator.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace stoker {
namespace {

// Values of a piece: with a list for the parameters, two of Adam's and the gradients it fills half
// of a second-level cache. A multiple of every vector's length.
constexpr int64_t kPiece = 16 << 10;

at::Tensor flat_at(void* memory, const at::Tensor& like) {
  return at::from_blob(memory, {like.numel()}, like.options().requires_grad(false));
}

// Calls work(i) for all i in [0, count) in one parallel region of LibTorch's own threads, so that
// kernels in `work` stay on the thread that calls them; at::parallel_for() is none where the caller
// is compiled without OpenMP, as this program is.
void on_all_threads(int64_t count, const std::function<void(int64_t)>& work) {
  const at::Tensor numbers = at::arange(count, at::kLong);
  at::TensorIterator::borrowing_nullary_op(numbers).for_each(
      [&](char** data, const int64_t* strides, int64_t inner, int64_t outer) {
        for (int64_t i = 0; i < inner * outer; ++i) {
          work(*reinterpret_cast<const int64_t*>(data[0] + i * strides[0]));
        }
      },
      /*grain_size=*/1);
}

}  // namespace

void Twin::add(const at::Tensor& tensor, uint8_t* to) {
  places_[tensor.unsafeGetTensorImpl()] = {tensor, to};
}

Twin::Flat Twin::flat(const Values& values, size_t of) {
  Flat flat;
  for (const std::vector<at::Tensor>& list : values.changed) {
    const at::Tensor& tensor = list[of];
    const auto place = places_.find(tensor.unsafeGetTensorImpl());
    if (place != places_.end()) place->second.written = true;
    flat.from.push_back(flat_at(tensor.data_ptr(), tensor));
    flat.to.push_back(place == places_.end() ? flat.from.back()
                                             : flat_at(place->second.to, tensor));
  }
  flat.gradient = flat_at(values.gradients[of].data_ptr(), values.gradients[of]);
  return flat;
}

void Twin::update(const Values& values, const Kernel& kernel) {
  struct Piece {
    size_t of;
    int64_t begin;
  };
  std::vector<Flat> flats;
  std::vector<Piece> pieces;
  for (size_t i = 0; i < values.gradients.size(); ++i) {
    flats.push_back(flat(values, i));
    for (int64_t at = 0; at < flats[i].gradient.numel(); at += kPiece) pieces.push_back({i, at});
  }
  on_all_threads(std::ssize(pieces), [&](int64_t i) {
    const at::AutoDispatchBelowADInplaceOrView plain;
    const auto [of, at] = pieces[static_cast<size_t>(i)];
    const Flat& whole = flats[of];
    const int64_t size = std::min(kPiece, whole.gradient.numel() - at);
    Values piece{{}, {whole.gradient.narrow(0, at, size)}};
    for (size_t list = 0; list < whole.to.size(); ++list) {
      const at::Tensor to = whole.to[list].narrow(0, at, size);
      if (!whole.to[list].is_same(whole.from[list])) {
        const at::Tensor from = whole.from[list].narrow(0, at, size);
        std::memcpy(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
      }
      piece.changed.push_back({to});
    }
    kernel(piece, of);
  });
}

void Twin::finish() {
  for (const auto& [impl, place] : places_) {
    if (place.written) continue;
    flat_at(place.to, place.tensor).copy_(flat_at(place.tensor.data_ptr(), place.tensor));
  }
  for (const auto& [impl, place] : places_) {
    // Of the storage, not of the tensor: detached handles and views are to follow.
    place.tensor.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(
        c10::InefficientStdFunctionContext::makeDataPtr(
            place.to, [memory = memory_](void*) {}, at::kCPU));
  }
}

}  // namespace stoker
