#include "io/dataset/formats/hdf5/program/parent.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stoker {
namespace {

constexpr uint64_t kBlock = uint64_t{64} << 10;
constexpr size_t kBlocks = 512;

void send(const void* bytes, size_t count) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  while (count > 0) {
    const ssize_t sent = ::write(STDIN_FILENO, at, count);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) ::_exit(1);
    at += sent;
    count -= static_cast<size_t>(sent);
  }
}

void receive(void* to, size_t count) {
  auto* at = static_cast<uint8_t*>(to);
  while (count > 0) {
    const ssize_t received = ::read(STDIN_FILENO, at, count);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) ::_exit(1);
    at += received;
    count -= static_cast<size_t>(received);
  }
}

void send_last(Hdf5Verb verb, const void* bytes, size_t count) {
  const Hdf5Message message{verb, 0, count};
  send(&message, sizeof message);
  send(bytes, count);
}

void fetch(uint64_t offset, size_t bytes, uint8_t* to) {
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min<size_t>(bytes - done, kHdf5MaxRead);
    const Hdf5Message message{Hdf5Verb::read, offset + done, part};
    send(&message, sizeof message);
    receive(to + done, part);
    done += part;
  }
}

}  // namespace

bool Hdf5Parent::read(uint64_t offset, size_t bytes, void* out) {
  if (offset > bytes_ || bytes > bytes_ - offset) return false;
  auto* to = static_cast<uint8_t*>(out);
  if (bytes > kBlock) {
    fetch(offset, bytes, to);
    return true;
  }
  while (bytes > 0) {
    const std::vector<uint8_t>& from = block(offset / kBlock);
    const size_t skip = offset % kBlock;
    const size_t part = std::min(bytes, from.size() - skip);
    std::memcpy(to, from.data() + skip, part);
    to += part;
    offset += part;
    bytes -= part;
  }
  return true;
}

const std::vector<uint8_t>& Hdf5Parent::block(uint64_t number) {
  const auto known = blocks_.find(number);
  if (known != blocks_.end()) return known->second;
  if (blocks_.size() == kBlocks) blocks_.clear();
  std::vector<uint8_t>& made = blocks_[number];
  made.resize(std::min(kBlock, bytes_ - number * kBlock));
  fetch(number * kBlock, made.size(), made.data());
  return made;
}

void Hdf5Parent::answer(Bytes bytes) { send_last(Hdf5Verb::answer, bytes.data(), bytes.size()); }

void Hdf5Parent::refuse(const std::string& why) {
  send_last(Hdf5Verb::refusal, why.data(), why.size());
}

void Hdf5Parent::miss(const Hdf5Absent& absent) {
  std::string text = absent.path + '\0' + absent.what_to_do + '\0';
  for (const std::string& path : absent.there) text += path + '\0';
  send_last(Hdf5Verb::absent, text.data(), text.size());
}

}  // namespace stoker
