#include "app/tools/simulate/cores.h"

#include <algorithm>
#include <cmath>

namespace stoker {
namespace {

constexpr double kDone = 0.5;  // ns: no time is told apart from another by less

}  // namespace

SimulatedCores::SimulatedCores(const SimulatedMachine& machine, EventQueue& events)
    : cores_(machine.cores.value_or(0)),
      events_(events),
      nodes_(machine.cores ? static_cast<size_t>(machine.nodes) : 0) {}

void SimulatedCores::begin(SimTime now, int64_t node, SimTime work, uint32_t owner) {
  const auto number = static_cast<size_t>(node);
  Node& own = nodes_[number];
  pass(own, now);
  own.jobs.push({own.computed + static_cast<double>(work), begun_++, owner});
  announce(number, own);
}

std::optional<uint32_t> SimulatedCores::go_on(size_t number, SimTime now) {
  Node& own = nodes_[number];
  if (now != own.event) return std::nullopt;  // another thread began or ended meanwhile
  own.event = -1;
  pass(own, now);
  std::optional<uint32_t> ended;
  if (!own.jobs.empty() && own.jobs.top().end <= own.computed + kDone) {
    ended = own.jobs.top().owner;
    own.jobs.pop();
  }
  announce(number, own);
  return ended;
}

double SimulatedCores::speed(const Node& node) const {
  return std::min(1.0, cores_ / static_cast<double>(node.jobs.size()));
}

void SimulatedCores::pass(Node& node, SimTime now) const {
  if (!node.jobs.empty()) node.computed += static_cast<double>(now - node.at) * speed(node);
  node.at = now;
}

// An event that comes too early finds no job at its end, and announces the next one.
void SimulatedCores::announce(size_t number, Node& node) {
  if (node.jobs.empty()) return;
  const double left = std::max(0.0, node.jobs.top().end - node.computed - kDone);
  const SimTime end = node.at + static_cast<SimTime>(std::ceil(left / speed(node)));
  if (node.event >= 0 && node.event <= end) return;
  node.event = end;
  events_.add(end, SimEventKind::core, number);
}

}  // namespace stoker
