#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "io/dataset/formats/hdf5/program/library.h"
#include "io/dataset/formats/hdf5/program/parent.h"
#include "io/dataset/formats/hdf5/program/scan.h"
#include "io/dataset/formats/hdf5/program/write.h"

// Works on one HDF5 file for the process that started it (protocol.h), with libhdf5, which it must
// outlive. What a damaged or hostile file makes of this process reaches no file, and ends.

namespace stoker {
namespace {

using Words = std::vector<std::string>;

void limit(decltype(RLIMIT_CPU) what, rlim_t most) {
  const rlimit both{most, most};
  ::setrlimit(what, &both);
}

// From then on no file can be opened or grow, and memory and time are limited.
void confine() {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 3);
  limit(RLIMIT_CPU, 300);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these take it all first
  limit(RLIMIT_AS, rlim_t{4} << 30);
#endif
}

void set_up() {
  ::prctl(PR_SET_DUMPABLE, 0);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  // Not every build of libhdf5 has plug-ins; a build without them loads nothing.
  H5PLset_loading_state(0);
  check_hdf5(H5Lunregister(H5L_TYPE_EXTERNAL) >= 0, "libhdf5 follows external links");
}

uint64_t number(const std::string& word) { return std::strtoull(word.c_str(), nullptr, 10); }

std::vector<uint8_t> bytes_of(const void* from, size_t count) {
  const auto* const at = static_cast<const uint8_t*>(from);
  return {at, at + count};
}

std::vector<uint8_t> answer_to(const Words& words) {
  if (words.size() == 1 && words[0] == "version") {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    const std::string text =
        std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
    return bytes_of(text.data(), text.size());
  }
  set_up();
  if (words.size() >= 7 && words.size() <= 7 + kHdf5MaxBeside && words[0] == "scan") {
    confine();
    Hdf5Parent parent(number(words[1]));
    const auto form = static_cast<Hdf5Form>(number(words[2]));
    return scan_hdf5(parent, {form, words[3], words[4], words[5], words[6],
                              Words(words.begin() + 7, words.end())});
  }
  if (words.size() % 4 == 1 && words[0] == "write") {
    const std::vector<uint64_t> places = write_hdf5(Words(words.begin() + 1, words.end()));
    return bytes_of(places.data(), places.size() * sizeof(uint64_t));
  }
  throw Hdf5Refusal("can't be read: stoker_hdf5 is of another release");
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  using namespace stoker;
  try {
    const std::vector<uint8_t> answer = answer_to({argv + 1, argv + argc});
    Hdf5Parent::answer(answer);
  } catch (const Hdf5Refusal& refusal) {
    Hdf5Parent::refuse(refusal.what());
  } catch (const Hdf5Absent& absent) {
    Hdf5Parent::miss(absent);
  } catch (const std::bad_alloc&) {
    Hdf5Parent::refuse("is damaged or too large: libhdf5 finds no memory for it");
  } catch (const std::exception& error) {
    Hdf5Parent::refuse(std::string("can't be read: ") + error.what());
  }
  // Without libhdf5's own end: what is open may be damaged.
  std::_Exit(0);
}
