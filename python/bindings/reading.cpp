#include "python/bindings/reading.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "io/checkpoint/restoring/safetensors.h"
#include "io/core/threads.h"

namespace stoker::python {

Reading::Reading(Wanted wanted) : wanted_(std::move(wanted)) {
  if (wanted_.threads == 0) wanted_.threads = kReadingThreads;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

template <class Done>
bool Reading::within(std::chrono::milliseconds time, const Done& done) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, done);
}

bool Reading::opened_within(std::chrono::milliseconds time) {
  return within(time, [this] { return opened_ || over_; });
}

bool Reading::there_within(std::chrono::milliseconds time, size_t piece) {
  return within(time, [this, piece] { return there_.at(piece) || over_; });
}

bool Reading::over_within(std::chrono::milliseconds time) {
  return within(time, [this] { return over_; });
}

void Reading::check() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

void Reading::free(size_t piece) {
  {
    const std::lock_guard lock(mutex_);
    freed_ = piece;
  }
  changed_.notify_all();
}

void Reading::tell(bool& what) {
  {
    const std::lock_guard lock(mutex_);
    what = true;
  }
  changed_.notify_all();
}

void Reading::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "tensors");
  const Interruptible scope(stop);
  try {
    open();
    tell(opened_);
    read();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
  }
  tell(over_);
}

// Sets are read here already: their checksums are compared on the way.
void Reading::open() {
  std::vector<LoadSource> sources;
  for (const std::string& path : wanted_.paths) {
    const LoadSource source = load_source(path, trees_.emplace_back());
    if (source.from.exists(source.path + "/" + kManifestName)) {
      read_one_set(source);
    } else if (is_safetensors_index(source.path)) {
      add_indexed(source, sources);
    } else {
      sources.push_back(source);
    }
  }
  first_ = images_.size();
  files_.emplace(sources, wanted_.access);
  for (const TensorFiles::File& file : files_->files()) {
    Image image{file.path, file.image_bytes(), {}, file.header.tensors};
    for (StoredTensor& tensor : image.tensors) tensor.begin = file.place(tensor);
    if (wanted_.ring_bytes == 0) image.memory = allocate_image(wanted_.allocate, image.bytes);
    images_.push_back(std::move(image));
  }
  there_.resize(files_->pieces().size());
  if (wanted_.ring_bytes == 0 || there_.empty()) return;
  const uint64_t most = files_->piece_bytes();
  const uint64_t slots = std::clamp<uint64_t>(wanted_.ring_bytes / most, 2, there_.size() + 1);
  ring_ = allocate_image(wanted_.allocate, slots * most);
}

void Reading::add_indexed(const LoadSource& index, std::vector<LoadSource>& sources) {
  const SetFile file = index.from.open(index.path, FileAccess::buffered);
  // One byte too many is enough to refuse it.
  std::string text(std::min(file.size(), kMaxSafetensorsHeader + 1), '\0');
  file.read_at(0, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
  for (auto& [name, named] : parse_safetensors_index(text, file.full())) {
    sources.push_back({index.from, name, std::move(named)});
  }
}

void Reading::read() {
  if (ring_.bytes > 0) {
    const auto place = [this](size_t piece) {
      std::unique_lock lock(mutex_);
      wait_interruptibly(changed_, lock, [&] { return piece < freed_ + slots(); });
      return ring_.data.get() + slot(piece);
    };
    const auto done = [this](size_t piece, Bytes) {
      {
        const std::lock_guard lock(mutex_);
        there_[piece] = true;
      }
      changed_.notify_all();
    };
    files_->read({.threads = wanted_.threads, .place = place, .done = done});
    return;
  }
  std::vector<HostMemory> memory;
  for (size_t i = first_; i < images_.size(); ++i) memory.push_back(images_[i].memory);
  files_->read(memory, wanted_.threads);
}

void Reading::read_one_set(const LoadSource& source) {
  Manifest manifest = read_manifest(source.from, source.path);
  const std::vector<size_t> files = whole_set(source.from, source.path, manifest);
  Room room;
  if (wanted_.own_memory) {
    uint64_t bytes = 0;
    for (const FileSums& file : manifest.files) bytes += rounded_up(file.bytes, kDirectAlignment);
    room.push_back(allocate_image(wanted_.allocate, bytes));
  }
  LoadedState state(std::move(manifest), source.from.full(source.path), room);
  state.read(source.from, source.path, files, wanted_.threads);
  add_images(state);
}

// Tensors that lie in one file as a whole stay where they are. Others get memory of their own.
void Reading::add_images(const LoadedState& state) {
  std::vector<bool> whole(state.tensors().size());
  const SetLayout& layout = state.manifest().layout;
  for (size_t i = 0; i < layout.files.size(); ++i) {
    const HostMemory& memory = state.memory(i);
    Image image{state.path(), memory.bytes, memory, {}};
    for (const TensorPiece& piece : layout.files[i].pieces) {
      const TensorInfo& info = layout.tensors[piece.tensor];
      if (piece.bytes < info.bytes || whole[piece.tensor]) continue;
      whole[piece.tensor] = true;
      image.tensors.push_back({info, piece.offset});
    }
    images_.push_back(std::move(image));
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    if (whole[i]) continue;
    const TensorInfo& info = layout.tensors[i];
    const HostMemory memory = wanted_.allocate(info.bytes);
    state.copy(i, memory.data.get(), wanted_.threads);
    images_.push_back({state.path(), info.bytes, memory, {{info, 0}}});
  }
}

}  // namespace stoker::python
