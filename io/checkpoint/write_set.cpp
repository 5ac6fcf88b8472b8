#include "io/checkpoint/write_set.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "io/checkpoint/tf_saver.h"
#include "io/core/parallel.h"
#include "io/storage/uring_queue.h"

namespace stoker {
namespace {

struct Image {
  std::string name;
  Bytes bytes;
  FileAccess access;
};

struct ImagePart {
  size_t image;
  uint64_t offset;
};

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

void write_images(const std::vector<Image>& images, SetWriter& writer,
                  const CheckpointOptions& options, const WriteControl& control) {
  std::vector<ImagePart> chunks;
  for (size_t i = 0; i < images.size(); ++i) {
    writer.add_file(images[i].name, images[i].bytes.size(), images[i].access);
    for (uint64_t at = 0; at < images[i].bytes.size(); at += kChunkBytes) chunks.push_back({i, at});
  }
  const int64_t threads = options.resolve_threads();
  std::atomic<size_t> next{0};
  parallel_for(threads, threads, [&](int64_t) {
    std::string why;
    const std::unique_ptr<Uring> queue =
        options.write == WriteMode::uring ? Uring::open(why) : nullptr;
    for (size_t i = next++; i < chunks.size(); i = next++) {
      if (control.stop()) throw Error(ExitCode::sigterm, "the process ended before it was written");
      const auto [image, offset] = chunks[i];
      const Bytes bytes = images[image].bytes;
      const uint64_t size = std::min(kChunkBytes, bytes.size() - offset);
      writer.write(image, offset, bytes.subspan(offset, size), queue.get());
      control.progress();
    }
  });
}

}  // namespace

void write_set(SetStore& store, const Snapshot& snapshot, Manifest manifest,
               const CheckpointOptions& options, const WriteControl& control) {
  snapshot.describe(manifest);
  std::vector<Image> images;
  const bool direct = options.write != WriteMode::buffered;
  for (size_t i = 0; i < snapshot.layout().files.size(); ++i) {
    images.push_back({snapshot.layout().files[i].name, snapshot.image(i),
                      direct ? FileAccess::direct : FileAccess::buffered});
  }
  const std::vector<TextFile> texts = tf_saver_texts(manifest);
  for (const TextFile& text : texts) {
    images.push_back({text.name, bytes_of(text.text), FileAccess::buffered});
    manifest.files.push_back(sums_of(text.name, bytes_of(text.text)));
  }
  SetWriter writer(store.tree(), store.directory(), manifest.step, options.durability);
  write_images(images, writer, options, control);
  writer.commit(manifest);
  control.progress();
  if (options.verify != Verify::all) return;
  try {
    store.verify(manifest, options.resolve_threads(),
                 [&](size_t, uint64_t, Bytes) { control.progress(); });
  } catch (const Error&) {
    store.remove(manifest.step);
    throw;
  }
}

}  // namespace stoker
