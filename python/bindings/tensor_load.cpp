#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/restoring/tensor_files.h"
#include "io/core/error.h"
#include "python/bindings/arrays.h"
#include "python/bindings/module.h"
#include "python/bindings/process.h"
#include "python/bindings/reading.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

// How long a signal waits until its handler runs, and a caller for a reading that it gave up.
constexpr std::chrono::milliseconds kLookAgain{50};
constexpr std::chrono::seconds kPatience{1};

// Names of safetensors. Types of 8 bits that are newer than nanobind's list have DLPack's numbers.
nb::dlpack::dtype dlpack_type(const std::string& dtype) {
  struct Known {
    const char* name;
    uint8_t code;
    uint8_t bits;
  };
  static constexpr Known kTypes[] = {
      {"F64", 2, 64},     {"F32", 2, 32},     {"F16", 2, 16},         {"BF16", 4, 16},
      {"I64", 0, 64},     {"I32", 0, 32},     {"I16", 0, 16},         {"I8", 0, 8},
      {"U64", 1, 64},     {"U32", 1, 32},     {"U16", 1, 16},         {"U8", 1, 8},
      {"BOOL", 6, 8},     {"C64", 5, 64},     {"F8_E4M3", 10, 8},     {"F8_E4M3FNUZ", 11, 8},
      {"F8_E5M2", 12, 8}, {"F8_E8M0", 14, 8}, {"F8_E5M2FNUZ", 13, 8},
  };
  for (const Known& known : kTypes) {
    if (dtype == known.name) return {known.code, known.bits, 1};
  }
  throw Error(ExitCode::bug, "no DLPack type for " + dtype);
}

// A reading that was given up while a call of the system does not return. It goes, with its memory,
// when another one is left behind and it is over. With the GIL held.
void leave_behind(OwnedHere<Reading> reading) {
  using All = std::vector<OwnedHere<Reading>>;
  static All& all = *std::make_unique<All>().release();
  std::erase_if(all, [](const OwnedHere<Reading>& one) {
    return one.get_deleter().process.here() && one->over_within({});
  });
  all.push_back(std::move(reading));
}

// stoker._core.TensorLoad: safetensors files, and sets, on their way to memory. In a forked child
// every method is an Error. Waits release the GIL, and end where a signal's handler raises.
class TensorLoadHandle {
 public:
  // ring_bytes: so much memory of allocate's, through which all files pass piece by piece; 0: each
  // file stays in memory.
  TensorLoadHandle(std::vector<std::string> paths, const std::string& access, int64_t threads,
                   const nb::object& allocate, uint64_t ring_bytes) {
    Reading::Wanted wanted;
    wanted.paths = std::move(paths);
    wanted.threads = threads;
    wanted.own_memory = !allocate.is_none();
    wanted.ring_bytes = ring_bytes;
    // Not touched: that is done beside the reading.
    wanted.allocate = wanted.own_memory ? allocator_of(allocate)
                                        : [](size_t bytes) { return allocate_huge(bytes, false); };
    bool known = false;
    for (const auto& [name, value] : enum_names(LoadAccess{})) {
      if (access != name) continue;
      wanted.access = value;
      known = true;
    }
    if (!known || threads < 0 || threads > 1024) {
      throw Error(ExitCode::config,
                  fmt::format("access must be auto, direct or buffered, and threads 0 to 1024: got "
                              "{} and {}",
                              access, threads));
    }
    reading_.reset(std::make_unique<Reading>(std::move(wanted)).release());
  }
  ~TensorLoadHandle() { close(); }
  TensorLoadHandle(const TensorLoadHandle&) = delete;
  TensorLoadHandle& operator=(const TensorLoadHandle&) = delete;

  // Of each: path, memory or None, bytes, and of each tensor name, dtype, shape, begin, bytes.
  nb::list images() {
    Reading& now = reading();
    await([&now] { return now.opened_within(kLookAgain); });
    now.check();
    nb::list rows;
    for (const Image& image : now.images()) {
      nb::list tensors;
      for (const StoredTensor& tensor : image.tensors) {
        nb::list shape;
        for (const int64_t size : tensor.shape) shape.append(size);
        tensors.append(nb::make_tuple(tensor.name, tensor.dtype, nb::tuple(shape), tensor.begin,
                                      tensor.bytes));
      }
      const HostMemory& memory = image.memory;
      const nb::object array = memory.data == nullptr ? nb::none()
                                                      : array_of(memory.data, memory.data.get(),
                                                                 ArrayType::uint8, {image.bytes});
      rows.append(nb::make_tuple(image.path, array, image.bytes, tensors));
    }
    return rows;
  }
  // One of an image that has memory, as an array of its own type.
  nb::object tensor(size_t image, size_t index) {
    const Image& from = reading().images().at(image);
    const StoredTensor& tensor = from.tensors.at(index);
    std::vector<size_t> shape;
    for (const int64_t size : tensor.shape) shape.push_back(static_cast<size_t>(size));
    HostMemory memory = from.memory;
    uint8_t* data = memory.data.get() + tensor.begin;
    const uint64_t element = std::max<uint64_t>(1, safetensors_dtype_bytes(tensor.dtype));
    if (reinterpret_cast<uintptr_t>(data) % element != 0) {
      memory = allocate_huge(tensor.bytes, false);
      std::memcpy(memory.data.get(), data, tensor.bytes);
      data = memory.data.get();
    }
    return array_of(memory.data, data, dlpack_type(tensor.dtype), shape);
  }
  // (image, begin, end) of each piece that passes through the ring; begin and end are in the image.
  nb::list pieces() {
    nb::list rows;
    const Reading& now = reading();
    for (const FilePiece& piece : now.pieces()) {
      rows.append(nb::make_tuple(now.first() + piece.file, piece.begin, piece.end));
    }
    return rows;
  }
  nb::object ring() {
    const HostMemory& memory = reading().ring();
    return array_of(memory.data, memory.data.get(), ArrayType::uint8, {memory.bytes});
  }
  uint64_t slots() { return reading().slots(); }
  // Waits until the piece is in the ring, and says where it begins there.
  uint64_t wait(size_t piece) {
    Reading& now = reading();
    if (now.slots() == 0) throw Error(ExitCode::bug, "wait(): there is no ring");
    await([&now, piece] { return now.there_within(kLookAgain, piece); });
    now.check();
    return now.slot(piece);
  }
  void free(size_t piece) { reading().free(piece); }
  // Waits until all is there.
  void finish() {
    Reading& now = reading();
    await([&now] { return now.over_within(kLookAgain); });
    now.check();
  }
  void close() {
    if (!reading_) return;
    OwnedHere<Reading> last = std::move(reading_);
    if (!process_.here()) return;
    last->give_up();
    bool over = false;
    {
      const Released without;
      over = last->over_within(kPatience);
      if (over) last.reset();
    }
    if (!over) leave_behind(std::move(last));
  }

 private:
  Reading& reading() const {
    process_.require("reading");
    if (!reading_) throw Error(ExitCode::config, "this reading is closed");
    return *reading_;
  }
  template <class Within>
  void await(const Within& within) const {
    for (bool reached = false; !reached;) {
      {
        const Released without;
        reached = within();
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

  const OwnProcess process_;
  OwnedHere<Reading> reading_;
};

}  // namespace

void bind_tensor_load(nb::module_& module) {
  nb::class_<TensorLoadHandle>(module, "TensorLoad")
      .def(nb::init<std::vector<std::string>, const std::string&, int64_t, const nb::object&,
                    uint64_t>(),
           nb::arg("paths"), nb::arg("access"), nb::arg("threads"), nb::arg("allocate").none(),
           nb::arg("ring_bytes"))
      .def("images", &TensorLoadHandle::images)
      .def("tensor", &TensorLoadHandle::tensor, nb::arg("image"), nb::arg("index"))
      .def("pieces", &TensorLoadHandle::pieces)
      .def("ring", &TensorLoadHandle::ring)
      .def("slots", &TensorLoadHandle::slots)
      .def("wait", &TensorLoadHandle::wait, nb::arg("piece"))
      .def("free", &TensorLoadHandle::free, nb::arg("piece"))
      .def("finish", &TensorLoadHandle::finish)
      .def("close", &TensorLoadHandle::close);
}

}  // namespace stoker::python
