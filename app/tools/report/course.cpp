#include "app/tools/report/course.h"

#include <deque>
#include <optional>

#include "app/tools/report/table.h"

namespace stoker {
namespace {

Piece together(const Piece& a, const Piece& b) {
  const double length = a.length + b.length;
  return {(a.value * a.length + b.value * b.length) / length, length};
}

// What of a rank's steps.csv is followed, row by row.
class RankRows {
 public:
  RankRows(const std::string& directory, const std::vector<FollowedFigure>& figures)
      : reader_(directory + "/steps.csv"),
        step_(reader_.find("steps")),
        end_(reader_.find("wall_s")) {
    for (const FollowedFigure& figure : figures) columns_.push_back(reader_.find(figure.column));
    next();
  }
  bool there() const { return there_; }
  void next() { there_ = reader_.next(); }
  // Goes to the row of this step. False: there is none.
  bool go_to(double wanted) {
    while (there_ && step().value_or(wanted - 1) < wanted) next();
    return there_ && step() == wanted;
  }
  std::optional<double> step() const { return reader_.value(step_); }
  std::optional<double> end() const { return reader_.value(end_); }
  std::optional<double> figure(size_t i) const { return reader_.value(columns_[i]); }

 private:
  TableReader reader_;
  const size_t step_, end_;
  std::vector<size_t> columns_;
  bool there_ = false;
};

// The figure of all ranks together in the first one's row.
std::optional<double> of_all(const RankRows& first, const std::deque<RankRows>& others, size_t i,
                             bool summed) {
  std::optional<double> sum = first.figure(i);
  for (const RankRows& other : others) {
    const std::optional<double> own = other.figure(i);
    if (!sum || !own) return std::nullopt;
    *sum += *own;
  }
  if (sum && !summed) *sum /= static_cast<double>(1 + others.size());
  return sum;
}

}  // namespace

void Course::add(const Piece& window) {
  const double value = windows_ == 0 ? 0 : window.value - first_;
  if (windows_ == 0) first_ = window.value;
  sum_ += value;
  squares_ += value * value;
  products_ += value * last_;
  last_ = value;
  ++windows_;
  open_ = in_open_ == 0 ? window : together(open_, window);
  if (++in_open_ < per_piece_) return;
  pieces_.push_back(open_);
  in_open_ = 0;
  if (pieces_.size() < 2 * kMostPieces) return;
  for (size_t i = 0; i < kMostPieces; ++i) {
    pieces_[i] = together(pieces_[2 * i], pieces_[2 * i + 1]);
  }
  pieces_.resize(kMostPieces);
  per_piece_ *= 2;
}

std::vector<Piece> Course::pieces() const {
  std::vector<Piece> all = pieces_;
  if (in_open_ > 0) all.push_back(open_);
  return all;
}

// The sums of (x - mean) times its neighbour's, and of its squares. The first value is 0 here.
double Course::autocorrelation() const {
  if (windows_ < 3) return 0;
  const auto n = static_cast<double>(windows_);
  const double mean = sum_ / n;
  const double whole = squares_ - n * mean * mean;
  const double neighbours = products_ - mean * (2 * sum_ - last_) + (n - 1) * mean * mean;
  return whole > 1e-12 * squares_ ? neighbours / whole : 0;
}

std::vector<Course> courses_of(const std::vector<std::string>& ranks,
                               const std::vector<FollowedFigure>& figures) {
  RankRows first(ranks.front(), figures);
  std::deque<RankRows> others;
  for (size_t rank = 1; rank < ranks.size(); ++rank) others.emplace_back(ranks[rank], figures);
  std::vector<Course> courses(figures.size());
  for (std::optional<double> before; first.there(); first.next()) {
    const std::optional<double> end = first.end();
    const double length = end && before ? *end - *before : 0;
    before = end;
    bool all = length > 0;
    for (RankRows& other : others) all = all && first.step() && other.go_to(*first.step());
    for (size_t i = 0; all && i < figures.size(); ++i) {
      const std::optional<double> value = of_all(first, others, i, figures[i].summed);
      if (value) courses[i].add({*value, length});
    }
  }
  return courses;
}

}  // namespace stoker
