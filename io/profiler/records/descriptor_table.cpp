#include "io/profiler/records/descriptor_table.h"

#include <mutex>

namespace stoker {

DescriptorTable::Descriptor* DescriptorTable::at(int fd) const {
  const auto number = static_cast<unsigned>(fd);  // a negative one is too large
  if (number >= kMost) return nullptr;
  Page* const page = pages_[number / kPage].load(std::memory_order_acquire);
  return page == nullptr ? nullptr : &page->descriptors[number % kPage];
}

DescriptorTable::Descriptor* DescriptorTable::make(int fd) {
  if (Descriptor* const known = at(fd)) return known;
  const auto number = static_cast<unsigned>(fd);
  if (number >= kMost) return nullptr;
  {
    const std::lock_guard lock(making_);
    std::atomic<Page*>& page = pages_[number / kPage];
    if (page.load(std::memory_order_relaxed) == nullptr) {
      page.store(arena_.make<Page>(), std::memory_order_release);
    }
  }
  return at(fd);
}

FileRecord* DescriptorTable::find(int fd) const {
  const Descriptor* const descriptor = at(fd);
  return descriptor == nullptr ? nullptr : descriptor->file.load(std::memory_order_acquire);
}

bool DescriptorTable::set(int fd, FileRecord* file, int64_t since_ns) {
  Descriptor* const descriptor = file == nullptr ? at(fd) : make(fd);
  if (descriptor == nullptr) return file == nullptr;
  const std::lock_guard lock(mutex_of(fd));
  descriptor->since_ns = since_ns;
  descriptor->file.store(file, std::memory_order_release);
  return true;
}

void DescriptorTable::set_if_unknown(int fd, FileRecord* file) {
  Descriptor* const descriptor = make(fd);
  if (descriptor == nullptr) return;
  const std::lock_guard lock(mutex_of(fd));
  if (descriptor->file.load(std::memory_order_relaxed) != nullptr) return;
  descriptor->since_ns = 0;
  descriptor->file.store(file, std::memory_order_release);
}

FileRecord* DescriptorTable::close(int fd, int64_t begin_ns) {
  Descriptor* const descriptor = at(fd);
  if (descriptor == nullptr) return nullptr;
  const std::lock_guard lock(mutex_of(fd));
  if (descriptor->since_ns > begin_ns) return nullptr;
  return descriptor->file.exchange(nullptr, std::memory_order_acq_rel);
}

unsigned DescriptorTable::end() const {
  for (size_t i = pages_.size(); i > 0; --i) {
    if (pages_[i - 1].load(std::memory_order_acquire) != nullptr) {
      return static_cast<unsigned>(i) * kPage;
    }
  }
  return 0;
}

void DescriptorTable::clear() {
  for (unsigned fd = 0; fd < end(); ++fd) set(static_cast<int>(fd), nullptr, 0);
}

}  // namespace stoker
