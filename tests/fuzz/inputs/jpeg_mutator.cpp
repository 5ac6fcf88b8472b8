#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <vector>

// libFuzzer changes a JPEG file by its parts: a segment keeps a length that is its own, and the
// entropy-coded data of each scan keep their stuffing, so that most changes get past the header.

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace stoker {
namespace {

using Part = std::vector<uint8_t>;
using Random = std::minstd_rand;

// Of a scan's header with the data that follow it, up to the next segment.
struct Segment {
  uint8_t marker;
  Part payload;
  Part data;
};

using File = std::vector<Segment>;

constexpr uint8_t kScan = 0xda;

size_t below(Random& random, size_t count) { return random() % count; }

bool is_restart(uint8_t marker) { return (marker & 0xf8) == 0xd0; }

// Where the data that begin at `at` meet a marker that is no restart; or the end.
size_t data_end(const uint8_t* data, size_t size, size_t at) {
  while (at + 1 < size && (data[at] != 0xff || data[at + 1] == 0 || is_restart(data[at + 1]))) ++at;
  return at + 1 < size ? at : size;
}

// Empty: not in this form. What follows the last segment (the end marker) belongs to its data.
std::optional<File> parse(const uint8_t* data, size_t size) {
  File file;
  for (size_t at = 2; at + 4 <= size && data[at] == 0xff;) {
    const size_t length = size_t{data[at + 2]} << 8 | data[at + 3];
    if (length < 2 || length > size - at - 2) break;
    file.push_back({data[at + 1], Part(data + at + 4, data + at + 2 + length), {}});
    at += 2 + length;
    if (file.back().marker != kScan) continue;
    size_t end = data_end(data, size, at);
    if (end + 1 < size && data[end + 1] == 0xd9) end = size;
    file.back().data.assign(data + at, data + end);
    at = end;
  }
  const auto scan = [](const Segment& segment) { return segment.marker == kScan; };
  if (std::ranges::none_of(file, scan)) return std::nullopt;
  return file;
}

Part joined(const File& file) {
  Part bytes{0xff, 0xd8};
  for (const Segment& segment : file) {
    const size_t length = segment.payload.size() + 2;
    bytes.insert(bytes.end(), {0xff, segment.marker, static_cast<uint8_t>(length >> 8),
                               static_cast<uint8_t>(length)});
    bytes.insert(bytes.end(), segment.payload.begin(), segment.payload.end());
    bytes.insert(bytes.end(), segment.data.begin(), segment.data.end());
  }
  return bytes;
}

// The data of some scan.
Part& any_data(File& file, Random& random) {
  for (;;) {
    Segment& segment = file[below(random, file.size())];
    if (segment.marker == kScan) return segment.data;
  }
}

void mutate(Part& part) {
  const size_t room = part.size() + 16;
  const size_t size = part.size();
  part.resize(room);
  part.resize(LLVMFuzzerMutate(part.data(), size, room));
}

// The data between two markers of a scan, without and then again with its stuffing.
void mutate_entropy(Part& scan, Random& random) {
  std::vector<size_t> ends;  // of the stretches; a marker or nothing follows
  for (size_t at = 0; at + 1 < scan.size(); ++at) {
    if (scan[at] == 0xff && scan[at + 1] != 0) ends.push_back(at);
  }
  ends.push_back(scan.size());
  const size_t chosen = below(random, ends.size());
  const size_t begin = chosen == 0 ? 0 : ends[chosen - 1] + 2, end = ends[chosen];
  if (begin > end) return;
  Part plain;
  for (size_t at = begin; at < end; ++at) {
    plain.push_back(scan[at]);
    if (scan[at] == 0xff) ++at;
  }
  mutate(plain);
  Part stuffed;
  for (const uint8_t byte : plain) {
    stuffed.push_back(byte);
    if (byte == 0xff) stuffed.push_back(0);
  }
  const auto at = scan.erase(scan.begin() + static_cast<ptrdiff_t>(begin),
                             scan.begin() + static_cast<ptrdiff_t>(end));
  scan.insert(at, stuffed.begin(), stuffed.end());
}

void set_size(Part& frame, Random& random) {
  if (frame.size() < 6) return;
  frame[1] = frame[3] = 0;
  frame[2] = static_cast<uint8_t>(1 + below(random, 100));
  frame[4] = static_cast<uint8_t>(1 + below(random, 100));
}

void set_sampling(Part& frame, Random& random) {
  constexpr uint8_t kFactors[] = {0x11, 0x21, 0x12, 0x22, 0x41, 0x14};
  if (frame.size() > 7) frame[7] = kFactors[below(random, std::size(kFactors))];
}

// As many codes, of other lengths.
void move_code(Part& table, Random& random) {
  if (table.size() < 17) return;
  uint8_t& from = table[1 + below(random, 16)];
  if (from == 0) return;
  --from;
  ++table[1 + below(random, 16)];
}

void mutate_segment(File& file, Random& random) {
  Segment& segment = file[below(random, file.size())];
  const bool frame = segment.marker >= 0xc0 && segment.marker <= 0xc2;
  switch (below(random, 4)) {
    case 0:
      if (frame) return set_size(segment.payload, random);
      break;
    case 1:
      if (frame) return set_sampling(segment.payload, random);
      break;
    case 2:
      if (segment.marker == 0xc4) return move_code(segment.payload, random);
      break;
    default:
      break;
  }
  mutate(segment.payload);
}

void change_order(File& file, Random& random) {
  const auto any = [&] {
    return file.begin() + static_cast<ptrdiff_t>(below(random, file.size()));
  };
  switch (below(random, 4)) {
    case 0:
      file.erase(any());
      break;
    case 1:
      file.insert(any(), Segment(*any()));
      break;
    case 2:
      std::iter_swap(any(), any());
      break;
    default:
      file.insert(any(), {0xdd, {0, static_cast<uint8_t>(below(random, 5))}, {}});
  }
}

// The restart markers in their order.
void number_restarts(Part& scan) {
  uint8_t next = 0;
  for (size_t at = 0; at + 1 < scan.size(); ++at) {
    if (scan[at] == 0xff && is_restart(scan[at + 1])) {
      scan[at + 1] = static_cast<uint8_t>(0xd0 | next++ % 8);
    }
  }
}

}  // namespace
}  // namespace stoker

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace stoker;
  Random random(seed);
  const size_t kind = below(random, 16);
  std::optional<File> file = parse(data, size);
  if (!file || kind == 0) return LLVMFuzzerMutate(data, size, max_size);
  if (kind < 8) {
    mutate_entropy(any_data(*file, random), random);
  } else if (kind < 14) {
    mutate_segment(*file, random);
  } else if (kind == 14) {
    change_order(*file, random);
  } else {
    number_restarts(any_data(*file, random));
  }
  const Part bytes = joined(*file);
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::ranges::copy(bytes, data);
  return bytes.size();
}
