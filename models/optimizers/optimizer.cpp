#include "models/optimizers/optimizer.h"

#include <ATen/TensorIterator.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "models/optimizers/back_buffer.h"
#include "models/optimizers/warmup.h"

namespace stoker {

template <>
Registry<Optimizer>& Registry<Optimizer>::global() {
  static Registry registry;
  return registry;
}

void Optimizer::step_into(BackBuffer&, double) {
  throw Error(ExitCode::bug, "this optimizer writes into no back buffer");
}

template <>
Registry<Schedule>& Registry<Schedule>::global() {
  static Registry registry;
  return registry;
}

namespace {

// Number of values in a piece. Four lists of it (parameters, two of Adam's, gradients) fit into a
// second-level cache. A multiple of every vector's length.
constexpr int64_t kPiece = 32 << 10;
constexpr size_t kPieceBytes = kPiece * 8;  // at most

at::Tensor flat_at(void* memory, const at::Tensor& like, int64_t values) {
  return at::from_blob(memory, {values}, like.options().requires_grad(false));
}

at::Tensor flat_at(void* memory, const at::Tensor& like) {
  return flat_at(memory, like, like.numel());
}

uint8_t* bytes_of(const at::Tensor& tensor) { return static_cast<uint8_t*>(tensor.data_ptr()); }

// Calls work(begin, end) for parts of [0, count) in one parallel region of LibTorch's own threads,
// so that kernels in `work` stay on the thread that calls them; at::parallel_for() is not parallel
// if its caller is compiled without OpenMP, as this program is.
void on_all_threads(int64_t count, const std::function<void(int64_t, int64_t)>& work) {
  const at::Tensor numbers = at::arange(count, at::kLong);
  at::TensorIterator::borrowing_nullary_op(numbers).for_each(
      [&](char** data, const int64_t*, int64_t inner, int64_t outer) {
        const int64_t begin = *reinterpret_cast<const int64_t*>(data[0]);
        work(begin, begin + inner * outer);
      },
      /*grain_size=*/1);
}

}  // namespace

void BackBuffer::add(const at::Tensor& tensor, uint8_t* to) {
  places_[tensor.unsafeGetTensorImpl()] = {tensor, to};
}

BackBuffer::Flat BackBuffer::flat(const Values& values, size_t of) {
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

void BackBuffer::update(const Values& values, const Kernel& kernel) {
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
  on_all_threads(std::ssize(pieces), [&](int64_t begin, int64_t end) {
    const at::AutoDispatchBelowADInplaceOrView plain;
    const HostMemory cached = allocate_huge(values.changed.size() * kPieceBytes, false);
    for (int64_t i = begin; i < end; ++i) {
      const auto [of, at] = pieces[static_cast<size_t>(i)];
      const Flat& whole = flats[of];
      const int64_t size = std::min(kPiece, whole.gradient.numel() - at);
      Values piece{{}, {whole.gradient.narrow(0, at, size)}};
      const auto place = [&](const std::vector<at::Tensor>& tensors, size_t list) {
        return bytes_of(tensors[list]) + at * tensors[list].element_size();
      };
      for (size_t list = 0; list < whole.from.size(); ++list) {
        uint8_t* values = place(whole.from, list);
        if (whole.moves(list)) {
          uint8_t* const copy = cached.data.get() + list * kPieceBytes;
          std::memcpy(copy, values, size * whole.from[list].element_size());
          values = copy;
        }
        piece.changed.push_back({flat_at(values, whole.from[list], size)});
      }
      kernel(piece, of);
      for (size_t list = 0; list < whole.from.size(); ++list) {
        if (!whole.moves(list)) continue;
        const at::Tensor& changed = piece.changed[list].front();
        const bool more = at + 2 * kPiece <= whole.gradient.numel();
        stream_copy(place(whole.to, list), bytes_of(changed), changed.nbytes(),
                    more ? place(whole.from, list) + changed.nbytes() : nullptr);
      }
    }
  });
}

void BackBuffer::finish() {
  for (const auto& [impl, place] : places_) {
    if (place.written) continue;
    flat_at(place.to, place.tensor).copy_(flat_at(place.tensor.data_ptr(), place.tensor));
  }
  for (const auto& [impl, place] : places_) {
    // The pointer of the storage changes, not that of the tensor, so that detached handles and
    // views follow.
    place.tensor.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(
        c10::InefficientStdFunctionContext::makeDataPtr(
            place.to, [memory = memory_](void*) {}, at::kCPU));
  }
}

at::Tensor aligned_gradient(const at::Tensor& parameter) {
  const at::Tensor& gradient = parameter.grad();
  if (gradient.strides() == parameter.strides()) return gradient;
  return at::empty_like(parameter).copy_(gradient);
}

void Warmup::check(const Section& section) const {
  if (steps && epochs) section.fail("warmup_epochs", "cannot be given beside warmup_steps");
}

int64_t Warmup::length(const Schedule::Inputs& inputs) const {
  return steps.value_or(epochs.value_or(0) * inputs.steps_per_epoch);
}

double warmup_factor(int64_t step, int64_t length) {
  if (step >= length) return 1;
  return static_cast<double>(step + 1) / static_cast<double>(length + 1);
}

}  // namespace stoker
