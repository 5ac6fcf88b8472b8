#include "app/tools/checkpoint/set_stream.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "io/checkpoint/saving/set_committer.h"
#include "io/core/crc32c.h"
#include "io/core/digest.h"
#include "io/core/system/memory.h"
#include "io/core/threads.h"

namespace stoker {
namespace {

constexpr size_t kHeader = SIZE_MAX;

// Some bytes of one chunk that belong to one tensor, or to the header.
struct SummedPart {
  size_t tensor = kHeader;
  uint64_t begin = 0;  // in the file
  uint64_t bytes = 0;
  uint32_t sum = 0;
};

struct StreamedChunk {
  size_t file = 0;
  uint64_t begin = 0;
  uint64_t bytes = 0;
  std::vector<SummedPart> parts = {};
};

// All chunks of a file, with the tensors in each.
void add_chunks(const DataFile& file, size_t number, std::vector<StreamedChunk>& chunks) {
  const auto add = [&](size_t tensor, uint64_t begin, uint64_t bytes) {
    while (bytes > 0) {
      if (begin % kChunkBytes == 0) {
        chunks.push_back({number, begin, std::min(kChunkBytes, file.bytes - begin)});
      }
      const uint64_t part = std::min(bytes, kChunkBytes - begin % kChunkBytes);
      chunks.back().parts.push_back({tensor, begin, part});
      begin += part;
      bytes -= part;
    }
  };
  add(kHeader, 0, file.header.size());
  for (const TensorPiece& piece : file.pieces) add(piece.tensor, piece.offset, piece.bytes);
}

class SetStream {
 public:
  SetStream(SetWriter& writer, const SetLayout& layout, const FileBytes& bytes,
            const SetStreamOptions& options)
      : writer_(writer), layout_(layout), bytes_(bytes), options_(options) {
    for (size_t i = 0; i < layout.files.size(); ++i) {
      first_.push_back(chunks_.size());
      add_chunks(layout.files[i], i, chunks_);
      writer.add_file(layout.files[i].name, layout.files[i].bytes, FileAccess::direct);
    }
    first_.push_back(chunks_.size());
  }

  // Threads take chunks in order; where a file has to be written in order, whole files.
  void run() {
    std::atomic<size_t> next{0};
    const size_t works = writer_.in_order() ? layout_.files.size() : chunks_.size();
    parallel_for(options_.threads, options_.threads, [&](int64_t) {
      const HostMemory buffer = allocate_huge(kChunkBytes, false);
      for (size_t i = next++; i < works; i = next++) {
        const size_t begin = writer_.in_order() ? first_[i] : i;
        const size_t end = writer_.in_order() ? first_[i + 1] : i + 1;
        for (size_t chunk = begin; chunk < end; ++chunk) write(chunks_[chunk], buffer.data.get());
      }
    });
    writer_.finish();
  }

  PartSums sums() const {
    PartSums result;
    for (const DataFile& file : layout_.files) result.files.push_back({file.name, file.bytes, {}});
    for (const StreamedChunk& chunk : chunks_) {
      uint32_t all = 0;
      for (const SummedPart& part : chunk.parts) {
        all = crc32c_combine(all, part.sum, part.bytes);
        if (part.tensor == kHeader) continue;
        if (result.tensors.empty() || result.tensors.back().tensor != part.tensor) {
          result.tensors.push_back({part.tensor, 0, 0});
        }
        PartSums::Tensor& tensor = result.tensors.back();
        tensor.sum = crc32c_combine(tensor.sum, part.sum, part.bytes);
        tensor.bytes += part.bytes;
      }
      result.files[chunk.file].chunks.push_back(all);
    }
    return result;
  }

 private:
  void write(StreamedChunk& chunk, uint8_t* buffer) {
    const std::span out(buffer, chunk.bytes);
    bytes_(chunk.file, chunk.begin, out);
    const std::string& header = layout_.files[chunk.file].header;
    if (chunk.begin < header.size()) {
      std::memcpy(buffer, header.data() + chunk.begin,
                  std::min<uint64_t>(chunk.bytes, header.size() - chunk.begin));
    }
    for (SummedPart& part : chunk.parts) {
      part.sum = crc32c(out.subspan(part.begin - chunk.begin, part.bytes));
    }
    writer_.write(chunk.file, chunk.begin, out, nullptr);
    written_ += chunk.bytes;
    if (options_.progress) options_.progress(written_);
  }

  SetWriter& writer_;
  const SetLayout& layout_;
  const FileBytes& bytes_;
  const SetStreamOptions& options_;
  std::vector<StreamedChunk> chunks_;
  std::vector<size_t> first_;  // chunk of each file
  std::atomic<uint64_t> written_{0};
};

}  // namespace

void write_set(SetStore& store, const SetLayout& layout, Manifest manifest, const FileBytes& bytes,
               const SetStreamOptions& options) {
  const std::unique_ptr<SetWriter> writer = store.begin(manifest.step);
  SetStream stream(*writer, layout, bytes, options);
  stream.run();
  manifest.writer = unique_name("") + unique_name("");
  manifest.created = utc_now();
  put_together(manifest, layout, {stream.sums()});
  writer->commit(manifest, false);
}

}  // namespace stoker
