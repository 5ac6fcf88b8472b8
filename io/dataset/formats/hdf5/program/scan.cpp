#include "io/dataset/formats/hdf5/program/scan.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "io/dataset/formats/hdf5/program/data_set.h"

namespace stoker {
namespace {

// What is sent, as the list of protocol.h.
class Words {
 public:
  void word(uint64_t value) { append(&value, sizeof value); }
  template <class T>
  void list(const std::vector<T>& values) {
    static_assert(sizeof(T) == sizeof(uint64_t));
    word(values.size());
    append(values.data(), values.size() * sizeof(T));
  }
  void text(const std::string& bytes) {
    word(bytes.size());
    append(bytes.data(), bytes.size());
  }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  void append(const void* from, size_t count) {
    if (count == 0) return;
    const auto* const at = static_cast<const uint8_t*>(from);
    bytes_.insert(bytes_.end(), at, at + count);
  }
  std::vector<uint8_t> bytes_;
};

// A data set with this path, or nothing.
std::optional<Hdf5DataSet> find(hid_t file, const std::string& path) {
  if (path.empty() || !Hdf5DataSet::is_there(file, path)) return std::nullopt;
  return std::optional<Hdf5DataSet>(std::in_place, file, path);
}

[[noreturn]] void miss(hid_t file, const std::string& path, const std::string& what_to_do) {
  throw Hdf5Absent{path, what_to_do, Hdf5DataSet::all_paths(file)};
}

// The one that has to be there.
Hdf5DataSet need(hid_t file, const std::string& path, const std::string& what_to_do) {
  if (path.empty() || !Hdf5DataSet::is_there(file, path)) miss(file, path, what_to_do);
  return {file, path};
}

Hdf5Form form_of(const Hdf5DataSet& images, const Hdf5Scan& scan) {
  if (images.shape().empty()) images.refuse("is a single value");
  const Hdf5Form form = scan.form != Hdf5Form::automatic ? scan.form
                        : images.shape().size() > 1      ? Hdf5Form::rows
                                                         : Hdf5Form::encoded;
  if (form == Hdf5Form::encoded && (images.shape().size() != 1 || images.element_bytes() != 1)) {
    images.refuse("holds no encoded files: these are one row of bytes");
  }
  if (form == Hdf5Form::rows && images.shape().size() < 2) {
    images.refuse("has one dimension alone, and so no arrays as samples");
  }
  return form;
}

// The filters of a chunked one, with the sizes of shuffle's elements.
void add_filters(const Hdf5DataSet& images, Words& words) {
  const int count = H5Pget_nfilters(images.list());
  if (count > static_cast<int>(kHdf5MaxFilters)) images.refuse("has a filter twice");
  words.word(static_cast<uint64_t>(count));
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    unsigned flags = 0, settings = 0, value = 0;
    size_t values = 1;
    const H5Z_filter_t filter =
        H5Pget_filter2(images.list(), i, &flags, &values, &value, 0, nullptr, &settings);
    words.word(static_cast<uint64_t>(filter));
    words.word(filter == H5Z_FILTER_SHUFFLE && values > 0 ? value : 0);
  }
}

void add_contiguous(const Hdf5DataSet& images, Words& words) {
  words.word(0);  // no filters
  words.word(0);  // no chunks
  const haddr_t address = H5Dget_offset(images.id());
  const bool empty = images.elements() == 0;
  if (address == HADDR_UNDEF && !empty) images.refuse("was never written");
  words.list(std::vector<uint64_t>{empty ? 0 : address, H5Dget_storage_size(images.id()), 0});
}

void add_chunks(const Hdf5DataSet& images, Words& words) {
  const std::vector<hsize_t>& shape = images.shape();
  std::vector<hsize_t> chunk(shape.size());
  check_hdf5(H5Pget_chunk(images.list(), static_cast<int>(chunk.size()), chunk.data()) ==
                 static_cast<int>(shape.size()),
             "can't be read: its chunks have other dimensions");
  if (chunk[0] == 0 || !std::equal(shape.begin() + 1, shape.end(), chunk.begin() + 1)) {
    images.refuse(
        "has chunks that hold parts of rows: only chunks along the first axis can be read in "
        "pieces; write it again with chunks of whole samples, such as (1, ...)");
  }
  const uint64_t count = shape[0] / chunk[0] + (shape[0] % chunk[0] == 0 ? 0 : 1);
  if (count > kHdf5MaxSamples) images.refuse("has too many chunks");
  add_filters(images, words);
  words.word(chunk[0]);
  unsigned options = 0;
  H5Pget_chunk_opts(images.list(), &options);
  const bool plain_edge = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
  std::vector<uint64_t> chunks;
  chunks.reserve(3 * count);
  for (uint64_t i = 0; i < count; ++i) {
    std::vector<hsize_t> at(shape.size(), 0);
    at[0] = i * chunk[0];
    unsigned skipped = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t bytes = 0;
    check_hdf5(H5Dget_chunk_info_by_coord(images.id(), at.data(), &skipped, &address, &bytes) >= 0,
               "can't be read: the index of its chunks is damaged");
    if (plain_edge && shape[0] - at[0] < chunk[0]) skipped = UINT32_MAX;
    const bool there = address != HADDR_UNDEF && bytes != 0;
    chunks.insert(chunks.end(), {there ? address : 0, there ? bytes : 0, skipped});
  }
  words.list(chunks);
}

// How its numbers lie.
void add_array(const Hdf5DataSet& images, Words& words) {
  if (images.shape().empty()) images.refuse("is a single value");
  const H5T_class_t type = images.type_class();
  if (type != H5T_INTEGER && type != H5T_FLOAT) images.refuse("has elements that are no numbers");
  if (images.big_endian()) images.refuse("has big-endian elements: write it little-endian");
  (void)images.elements();
  words.word(static_cast<uint64_t>(type == H5T_FLOAT ? 'f' : images.is_signed() ? 'i' : 'u'));
  words.word(images.element_bytes());
  words.list(images.shape());
  switch (H5Pget_layout(images.list())) {
    case H5D_CONTIGUOUS:
      return add_contiguous(images, words);
    case H5D_CHUNKED:
      return add_chunks(images, words);
    default:
      images.refuse("lies among the file's headers (compact): write it contiguous or chunked");
  }
}

}  // namespace

std::vector<uint8_t> scan_hdf5(Hdf5Parent& parent, const Hdf5Scan& scan) {
  const Hdf5Handle access = access_to(parent);
  const Hdf5Handle file(H5Fopen("shard", H5F_ACC_RDONLY, access.get()), H5Fclose,
                        "is no HDF5 file, or a damaged one");
  const Hdf5Handle creation(H5Fget_create_plist(file.get()), H5Pclose, "is damaged");
  hsize_t in_front = 0;
  if (H5Pget_userblock(creation.get(), &in_front) < 0 || in_front != 0) {
    throw Hdf5Refusal("can't be read: it has a user block in front: write it again without one");
  }
  const Hdf5DataSet images =
      need(file.get(), scan.images, "name the one with the samples (dataset.images)");
  const std::optional<Hdf5DataSet> labels = find(file.get(), scan.labels);
  if (labels && labels->type_class() != H5T_INTEGER) {
    labels->refuse(
        "has no whole numbers, and a class is one: name the data set with the numbers of the "
        "samples' classes (dataset.labels), and write the classes' names into classes.txt");
  }
  const std::optional<Hdf5DataSet> keys = find(file.get(), scan.keys);
  const Hdf5Form form = form_of(images, scan);

  Words words;
  words.word(static_cast<uint64_t>(form));
  add_array(images, words);
  if (!labels && !keys && !scan.labels.empty() && scan.beside.empty()) {
    miss(file.get(), scan.labels,
         "name the one with the numbers of the samples' classes (dataset.labels), or set "
         "dataset.labels='' if the first folder of a file's name is its class");
  }
  uint64_t samples = form == Hdf5Form::file ? 1 : images.shape()[0];
  std::vector<uint64_t> places;
  if (form == Hdf5Form::encoded) {
    const Hdf5DataSet offsets =
        need(file.get(), scan.offsets,
             "'" + scan.images +
                 "' is a row of bytes: name the one that says where its samples begin "
                 "(dataset.offsets)");
    places = offsets.numbers<uint64_t>(kHdf5MaxSamples + 1);
    if (places.empty()) offsets.refuse("is empty: it holds one number more than samples");
    samples = places.size() - 1;
  }
  words.list(places);
  words.list(labels ? labels->numbers<int64_t>(samples) : std::vector<int64_t>());
  words.word(keys ? keys->element_bytes() : 0);
  words.text(keys ? keys->strings(samples) : std::string());
  words.word(scan.beside.size());
  for (const std::string& path : scan.beside) {
    add_array(need(file.get(), path,
                   "name the one that follows its samples (dataset.target, dataset.stats), or "
                   "leave that out"),
              words);
  }
  return words.take();
}

}  // namespace stoker
