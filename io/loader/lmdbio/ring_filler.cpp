#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/system/memory.h"
#include "io/loader/lmdbio/mapped_cursor.h"
#include "io/loader/lmdbio/mapped_walk.h"
#include "io/loader/lmdbio/record_pages.h"
#include "io/loader/lmdbio/record_reader.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace stoker {
namespace {

// A file as read-only memory at an address that the caller may choose. Owns the mapping; moves, no
// copies. Any thread. A page that the file no longer has, or that can't be read, ends the process
// (SIGBUS).
class FileMap {
 public:
  // at: where to map it, page-aligned; if something lies there, no map is made. read_ahead: whether
  // the kernel reads ahead at page faults. IoError if the file can't be opened or has fewer than
  // `bytes` bytes.
  FileMap(const std::string& path, size_t bytes, const uint8_t* at, bool read_ahead);
  FileMap(FileMap&& other) noexcept;
  FileMap& operator=(FileMap&&) = delete;
  ~FileMap();

  // Was it made? Not where the address is taken.
  explicit operator bool() const { return !bytes_.empty(); }
  Bytes bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

FileMap::FileMap(const std::string& path, size_t bytes, const uint8_t* at, bool read_ahead) {
  const FileDescriptor file = open_file("map", path, O_RDONLY);
  struct stat found;
  if (::fstat(file.get(), &found) != 0) throw_errno("map", path, errno);
  if (static_cast<uint64_t>(found.st_size) != bytes) {
    throw IoError("map " + path + ": it has another size than before", 0);
  }
  void* const wanted = const_cast<uint8_t*>(at);
  void* const got =
      ::mmap(wanted, bytes, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, file.get(), 0);
  if (got == MAP_FAILED) return;
  if (got != wanted) {  // a kernel before 4.17 takes the address for a hint
    ::munmap(got, bytes);
    return;
  }
  bytes_ = {static_cast<const uint8_t*>(got), bytes};
  if (!read_ahead) ::madvise(got, bytes, MADV_RANDOM);
}

FileMap::FileMap(FileMap&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

FileMap::~FileMap() {
  if (!bytes_.empty()) ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

constexpr int kTries = 200;  // as the authors' code

template <class T>
void send_value(Group& group, int64_t to, const T& value) {
  group.send(to, {reinterpret_cast<const uint8_t*>(&value), sizeof value});
}

template <class T>
T receive_value(Group& group, int64_t from) {
  const std::vector<uint8_t> bytes = group.receive(from);
  T value;
  if (bytes.size() != sizeof value) {
    throw Error(ExitCode::device, "loader: a message of another reader has a wrong size");
  }
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Somewhere between what programs and what mmap() use on their own.
uint64_t some_address(std::random_device& random) {
  constexpr uint64_t kFirst = uint64_t{1} << 44, kLast = uint64_t{1} << 46, kStep = 1 << 16;
  return kFirst + random() % ((kLast - kFirst) / kStep) * kStep;
}

// The file at one address in all readers. Nothing: it could not be had.
std::optional<FileMap> map_together(const ReaderInputs& inputs, uint64_t bytes) {
  Group& group = inputs.group;
  const bool first = group.node() == 0;
  std::random_device random;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const uint64_t address = first ? some_address(random) : receive_value<uint64_t>(group, 0);
    for (int64_t node = 1; first && node < group.nodes(); ++node) send_value(group, node, address);
    FileMap map(inputs.path, bytes,
                reinterpret_cast<const uint8_t*>(address),  // NOLINT(performance-no-int-to-ptr)
                inputs.options.read_ahead);
    auto all = static_cast<uint8_t>(map ? 1 : 0);
    if (first) {
      for (int64_t node = 1; node < group.nodes(); ++node) {
        all &= receive_value<uint8_t>(group, node);
      }
      for (int64_t node = 1; node < group.nodes(); ++node) send_value(group, node, all);
    } else {
      send_value(group, 0, all);
      all = receive_value<uint8_t>(group, 0);
    }
    if (all != 0) return map;
  }
  return std::nullopt;
}

// LMM-DM: readers hand the cursor on from node to node, each before it reads, and touch the pages
// of a guess before that.
class RingFiller final : public WindowFiller {
 public:
  RingFiller(const ReaderInputs& inputs, FileMap map, const LmdbMeta& meta)
      : inputs_(inputs), map_(std::move(map)), tree_(map_.bytes(), meta) {}

  size_t window_bytes(int64_t records) const override { return most_bytes(inputs_, records); }

  void fill(int64_t batch, Window& window) override {
    const Records stretch = inputs_.order.node_stretch(batch, inputs_.group.node());
    if (stretch.first < last_.first) guess_.start_again();
    last_ = stretch;
    const PageSpan guessed = touch(guess_.next());
    try {
      const MappedCursor start = start_of(stretch);
      MappedCursor end = start;
      tree_.advance(end, stretch.count());
      hand_on(end);
      copy(start, stretch, window);
    } catch (const LmdbDamage& damage) {
      throw_changed(inputs_, damage.what());
    }
    count(guessed, stretch);
  }

 private:
  PageSpan touch(PageSpan pages) const {
    const auto all =
        static_cast<int64_t>(rounded_up(map_.bytes().size(), page_bytes()) / page_bytes());
    pages.first = std::clamp<int64_t>(pages.first, 0, all);
    pages.last = std::clamp<int64_t>(pages.last, pages.first, all);
    for (int64_t page = pages.first; page < pages.last; ++page) {
      const volatile uint8_t* const byte =
          map_.bytes().data() + static_cast<uint64_t>(page) * page_bytes();
      static_cast<void>(*byte);
    }
    return pages;
  }

  MappedCursor start_of(const Records& stretch) {
    Group& group = inputs_.group;
    const int64_t before = (group.node() + group.nodes() - 1) % group.nodes();
    MappedCursor cursor = kept_;
    if (group.node() > 0 || (group.nodes() > 1 && begun_)) {
      const Waiting waiting(inputs_.meter);
      cursor = receive_value<MappedCursor>(group, before);
      tree_.check(cursor);
    }
    const bool there = cursor.record == stretch.first && (group.node() > 0 || begun_);
    begun_ = true;
    if (there) return cursor;
    if (group.node() > 0) throw LmdbDamage("a cursor comes with another record");
    // The first batch of an epoch, or of a run that goes on.
    cursor = tree_.first();
    tree_.advance(cursor, stretch.first);
    return cursor;
  }

  void hand_on(const MappedCursor& end) {
    Group& group = inputs_.group;
    if (group.nodes() == 1) {
      kept_ = end;
    } else {
      send_value(group, (group.node() + 1) % group.nodes(), end);
    }
  }

  void copy(MappedCursor cursor, const Records& stretch, Window& window) const {
    uint64_t offset = 0;
    int64_t record = stretch.first;
    tree_.advance(cursor, stretch.count(), [&](Bytes value) {
      const Range place = inputs_.records.place(inputs_.split, record);
      if (value.size() != place.length || value.data() != map_.bytes().data() + place.offset) {
        throw_changed(inputs_, fmt::format("record {} lies elsewhere", record));
      }
      if (!value.empty()) std::memcpy(&window.bytes()[offset], value.data(), value.size());
      window.places()[static_cast<size_t>(record - stretch.first)] = {offset, value.size()};
      offset += value.size();
      ++record;
    });
  }

  void count(const PageSpan& guessed, const Records& stretch) {
    if (stretch.count() == 0) return;
    const PageSpan used = span_of(inputs_, stretch);
    guess_.used(used);
    RecordReadCosts costs = missed_and_extra(guessed, used);
    costs.pages_needed = pages_of(inputs_, stretch);
    costs.pages_fetched = guessed.count();
    inputs_.meter.add(costs);
  }

  const ReaderInputs inputs_;
  const FileMap map_;
  const MappedTree tree_;
  PageGuess guess_;
  Records last_;
  bool begun_ = false;
  MappedCursor kept_;  // of the only node
};

}  // namespace

std::unique_ptr<WindowFiller> make_ring_filler(const ReaderInputs& inputs) {
  const MappableDatabase database = check_database(inputs);
  {
    const Waiting waiting(inputs.meter);
    inputs.group.meet_readers();
  }
  std::optional<FileMap> map = map_together(inputs, database.bytes);
  if (map) return std::make_unique<RingFiller>(inputs, std::move(*map), database.meta);
  if (inputs.group.node() == 0) {
    inputs.notify(
        fmt::format("loader: {} can't be mapped at one address in all readers, after {} "
                    "tries: reader lmm_dm reads as lmm does",
                    inputs.object, kTries));
  }
  return make_cursor_filler(inputs);
}

}  // namespace stoker
