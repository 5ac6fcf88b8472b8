#include "python/bindings/loaded_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/core/text/json.h"
#include "python/bindings/process.h"

namespace nb = nanobind;

namespace stoker::python {

LoadedSet::LoadedSet(LoadedState state, int64_t threads, Read read)
    : state_(std::move(state)),
      threads_(threads),
      read_(std::move(read)),
      there_(files(), read_ == nullptr) {}

std::string LoadedSet::values() const { return json_text(state_.training()); }

nb::list LoadedSet::tensors() const {
  nb::list rows;
  for (const TensorInfo& info : state_.tensors()) {
    nb::list shape;
    for (const int64_t size : info.shape) shape.append(size);
    rows.append(nb::make_tuple(info.name, info.dtype, nb::tuple(shape)));
  }
  return rows;
}

void LoadedSet::read(const std::vector<size_t>& files) {
  std::vector<size_t> missing;
  for (const size_t file : files) {
    if (!there_.at(file)) missing.push_back(file);
  }
  if (missing.empty()) return;
  {
    const Released without;
    read_(state_, missing);
  }
  for (const size_t file : missing) there_[file] = true;
}

void LoadedSet::copy(size_t index, const Target& target, uint64_t begin) {
  const TensorInfo& saved = state_.tensors().at(index);
  const TensorInfo info = info_of(saved.name, target);
  const bool fits = begin <= saved.bytes && info.bytes <= saved.bytes - begin;
  if (info.dtype != saved.dtype || !fits) {
    refuse_tensor(saved.name, fmt::format("the set has {} bytes of {}, and the target {} of {}",
                                          saved.bytes, saved.dtype, info.bytes, info.dtype));
  }
  std::vector<size_t> files;
  for (size_t file = 0; file < this->files(); ++file) {
    const auto& pieces = state_.manifest().layout.files[file].pieces;
    const bool needed = std::ranges::any_of(pieces, [&](const TensorPiece& piece) {
      return piece.tensor == index && piece.begin < begin + info.bytes &&
             begin < piece.begin + piece.bytes;
    });
    if (needed) files.push_back(file);
  }
  read(files);
  const Released without;
  state_.copy(index, begin, {static_cast<uint8_t*>(target.data()), info.bytes}, threads_);
}

}  // namespace stoker::python
