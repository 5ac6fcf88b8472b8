#pragma once

// What LibTorch's ProcessGroupGloo.hpp needs of Gloo, whose headers its wheel lacks. Only types
// that are named there, and never made here: objects of Gloo come from LibTorch. (Debian's
// libgloo-dev has an older rendezvous::Store than the Gloo inside LibTorch.)

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {
class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};
namespace rendezvous {
class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::vector<char>& value) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) = 0;
};
}  // namespace rendezvous
namespace transport {
class Device;
class UnboundBuffer;
}  // namespace transport
}  // namespace gloo
