#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/dataset/shards/sharded.h"
#include "io/dataset/shards/tar_members.h"

namespace stoker {
namespace {

using Strings = std::vector<std::string>;

// Which members of a sample are what. A value.
struct TarNames {
  // Ends of names, behind the first dot, in small letters.
  Strings images;
  std::string label;
  bool is_image(const std::string& end) const {
    return std::ranges::find(images, end) != images.end();
  }
};

// Members with one name up to the first dot of their names.
struct TarGroup {
  std::string key;
  // By what is behind the dot: the numbers of the members.
  std::map<std::string, size_t> parts;
  // Those that end as another one does, and have another name.
  std::vector<size_t> twice;
};

// Up to so many links one after another are followed.
constexpr int kMostLinks = 40;
// A number has fewer digits.
constexpr size_t kMostLabel = 32;

// All members of a shard, joined to samples.
class TarScan {
 public:
  TarScan(const TarNames& names, const Storage& tier, const ObjectInfo& shard)
      : names_(names), tier_(tier), shard_(shard) {}

  ShardContents run() {
    TarMembers tar(tier_, shard_);
    while (std::optional<TarMember> member = tar.next()) add(std::move(*member), tar);
    if (tar.behind() > 0) {
      contents_.passed_over.push_back(
          fmt::format("{} bytes behind its end, which are no tar archive", tar.behind()));
    }
    std::map<size_t, ShardSample> samples;  // in the order of their images
    for (const TarGroup& group : groups_) {
      const auto image = std::ranges::find_if(
          group.parts, [&](const auto& part) { return names_.is_image(part.first); });
      if (image == group.parts.end()) continue;
      samples.emplace(image->second, sample_of(group, image->first));
      for (const auto& [end, member] : group.parts) used_[member] = true;
      for (const size_t member : group.twice) used_[member] = true;
    }
    for (auto& [member, sample] : samples) contents_.samples.push_back(std::move(sample));
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!used_[i]) contents_.passed_over.push_back(members_[i].path);
    }
    if (contents_.samples.empty()) contents_.instead = what_ends();
    const bool known = !contents_.samples.empty() && contents_.samples.back().bad;
    if (tar.cut() && !known) {
      ShardSample& last = contents_.samples.emplace_back();
      last.key = shard_.key;
      last.bad = BadSample(BadReason::truncated, "its shard ends here, too early");
    }
    return std::move(contents_);
  }

 private:
  using Kind = TarMember::Kind;

  // Key and end; no end: no part of a sample.
  static std::pair<std::string, std::string> parts_of(const std::string& path) {
    const size_t base = path.rfind('/') + 1;  // npos + 1 is 0
    const size_t dot = path.find('.', base);
    if (dot == std::string::npos || dot == base) return {};
    std::string end = path.substr(dot + 1);
    for (char& c : end) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return {path.substr(0, dot), end};
  }
  static bool is_comment(const std::string& key) {
    const std::string base = key.substr(key.rfind('/') + 1);
    return base.starts_with("__") && base.ends_with("__");
  }

  void add(TarMember member, TarMembers& tar) {
    if (member.archive != archive_) open_.clear();  // names begin anew
    archive_ = member.archive;
    if (member.kind == Kind::folder) return;
    const auto [key, end] = parts_of(member.path);
    if (end == names_.label && member.kind == Kind::file) {
      labels_[members_.size()] = tar.text(kMostLabel);
    }
    by_path_[member.path] = members_.size();
    if (!end.empty() && member.kind != Kind::other && !is_comment(key)) {
      join(key, end, member.path);
    }
    used_.push_back(is_comment(key));
    members_.push_back(std::move(member));
  }

  // Puts the next member into the group of its key. One whose whole name comes again is another
  // sample's, for shards are joined by tar --concatenate.
  void join(const std::string& key, const std::string& end, const std::string& path) {
    size_t& group = open_.try_emplace(key, groups_.size()).first->second;
    if (group < groups_.size()) {
      const auto [same, is_new] = groups_[group].parts.try_emplace(end, members_.size());
      if (is_new) return;
      if (members_[same->second].path != path) {
        return groups_[group].twice.push_back(members_.size());
      }
      group = groups_.size();
    }
    groups_.push_back({key, {{end, members_.size()}}, {}});
  }

  // The file that a member is or leads to; null: it leads to none that is there.
  const TarMember* resolve(const TarMember& member) {
    const TarMember* at = &member;
    for (int i = 0; i < kMostLinks && at->kind != Kind::file; ++i) {
      const auto found = by_path_.find(at->target);
      if (found == by_path_.end()) return nullptr;
      used_[found->second] = true;
      at = &members_[found->second];
    }
    return at->kind == Kind::file ? at : nullptr;
  }

  ShardSample sample_of(const TarGroup& group, const std::string& image) {
    ShardSample sample;
    sample.key = group.key;
    place(members_[group.parts.at(image)], sample);
    if (const auto label = group.parts.find(names_.label); label != group.parts.end()) {
      read_label(label->second, sample);
    } else if (!class_of(sample.key).empty()) {
      sample.named = true;
    } else if (!sample.bad) {
      sample.bad = without_label(group, image);
    }
    const auto images = std::ranges::count_if(
        group.parts, [&](const auto& part) { return names_.is_image(part.first); });
    if (!group.twice.empty()) {
      sample.bad = BadSample(BadReason::unsupported, "two of its members end alike");
    } else if (images > 1) {
      sample.bad = BadSample(BadReason::unsupported, "it has two images: choose by dataset.images");
    }
    return sample;
  }

  // Says where the image lies.
  void place(const TarMember& member, ShardSample& sample) {
    const TarMember* const file = resolve(member);
    if (file == nullptr) {
      sample.bad = BadSample(
          BadReason::missing,
          fmt::format("its image is a link to '{}', which is not in the shard: write the shard "
                      "with tar --dereference",
                      member.target));
      return;
    }
    sample.offset = file->offset;
    sample.bytes = file->bytes;
    sample.parts = file->parts;
    uint64_t stored = file->parts.empty() ? file->bytes : 0;
    for (const ShardPart& part : file->parts) stored += part.bytes;
    if (stored > shard_.bytes - std::min(file->offset, shard_.bytes)) {
      sample.bad = BadSample(BadReason::truncated, "its shard ends in the middle of it");
      sample.parts.clear();
    }
  }

  void read_label(size_t member, ShardSample& sample) {
    const TarMember* const file = resolve(members_[member]);
    std::string text;
    if (const auto known = labels_.find(member); known != labels_.end()) {
      text = known->second;
    } else if (file != nullptr) {
      Buffer bytes;
      tier_.read(shard_.key, bytes, {file->offset, std::min<uint64_t>(file->bytes, kMostLabel)});
      text.assign(bytes.bytes().begin(), bytes.bytes().end());
    }
    const std::string_view number = trimmed(text);
    const char* const end = number.data() + number.size();
    int64_t label = 0;
    const auto [rest, error] = std::from_chars(number.data(), end, label);
    if (error == std::errc() && rest == end) {
      sample.label = label;
    } else {
      sample.bad = BadSample(BadReason::unsupported,
                             fmt::format("member .{} is no number of a class, but '{}'",
                                         names_.label, to_text(number)));
    }
  }

  BadSample without_label(const TarGroup& group, const std::string& image) const {
    Strings others;
    for (const auto& [end, member] : group.parts) {
      if (end != image) others.push_back(end);
    }
    return {BadReason::unsupported,
            fmt::format("it has no label: no member ends in .{}{}, and its name has no folder: set "
                        "dataset.label",
                        names_.label, others.empty() ? "" : what_is_there(names_.label, others))};
  }

  // What members end in, of a shard without images.
  std::string what_ends() const {
    std::map<std::string, size_t> counts;
    for (const TarGroup& group : groups_) {
      for (const auto& [end, member] : group.parts) ++counts[end];
    }
    if (counts.empty()) return "";
    Strings ends;
    for (const auto& [end, count] : counts) ends.push_back(end);
    std::ranges::stable_sort(ends, std::ranges::greater(),
                             [&](const std::string& end) { return counts.at(end); });
    const auto image = std::ranges::find_if(ends, [&](const std::string& end) {
      return std::ranges::any_of(
          names_.images, [&](const std::string& name) { return end.ends_with("." + name); });
    });
    std::string what = "set dataset.images";
    if (image != ends.end() && ends.size() > 1 && counts.at(*image) == 1) {
      what = "an end begins at the first dot of a name, so rename members that have several";
    } else if (image != ends.end()) {
      what += "=[" + *image + "], and dataset.label to the end of those that are numbers";
    }
    return fmt::format(
        "no member of {} ends in .{} (dataset.images); there are members that end "
        "in {}: {}",
        shard_.key, fmt::join(names_.images, ", ."), some_of(ends), what);
  }

  const TarNames& names_;
  const Storage& tier_;
  const ObjectInfo& shard_;
  std::vector<TarMember> members_;
  std::unordered_map<std::string, size_t> by_path_;
  std::unordered_map<size_t, std::string> labels_;  // what those members say
  std::vector<bool> used_;                          // by member; comments count as used
  std::vector<TarGroup> groups_;
  std::unordered_map<std::string, size_t> open_;  // by key: the newest group
  int64_t archive_ = 0;
  ShardContents contents_;
};

// WebDataset's layout: members whose names are the same up to the first dot after the last '/' are
// a sample, and what is behind the dot says what each is. Its reader (webdataset 1.0,
// tariterators.py) wants them beside each other; here they may lie anywhere in their archive.
class TarFormat final : public ShardFormat {
 public:
  explicit TarFormat(TarNames names) : names_(std::move(names)) {}

  std::string name() const override {
    return fmt::format("tar 2, images {}, labels {}", fmt::join(names_.images, " "), names_.label);
  }
  std::string label_rule() const override {
    return fmt::format(
        "a class is the number in a sample's member .{} (dataset.label), or else "
        "the first folder of its name",
        names_.label);
  }
  ShardContents scan(const Storage& tier, const ObjectInfo& shard) const override {
    return TarScan(names_, tier, shard).run();
  }

  Bytes payload(Buffer& stored) const override { return stored.bytes(); }

  Bytes assemble(const ShardSample& sample, const ShardRead& read, Buffer& out) const override {
    uint8_t* to = out.resize(sample.bytes);
    Buffer scratch;
    for (const ShardPart& part : sample.parts) {
      if (part.packing == kTarHole) {
        std::memset(to, 0, part.taken);
        to += part.taken;
      } else {
        to = std::ranges::copy(read({part.offset, part.taken}, scratch), to).out;
      }
    }
    return out.bytes();
  }

 private:
  const TarNames names_;
};

// Tar files in WebDataset's layout.
class TarShards final : public Sharded {
 public:
  struct Options : ShardedOptions {
    std::vector<std::string> images{"jpg", "jpeg", "png", "bmp", "webp"};
    std::string label = "cls";
    Options() : ShardedOptions("tar_shards", "train*.tar", "test*.tar") {}
    template <class V>
    void visit(V& v) {
      ShardedOptions::visit(v);
      v("images", images,
        "Which member of a sample is its image. A member is known by the end of its name, after "
        "the first dot.");
      v("label", label,
        "Which member is the number of its class. Where a sample has no such member, the first "
        "folder of its name is the class.");
    }
  };
  TarShards(const Options& options, const Inputs& inputs)
      : Sharded(options, inputs,
                std::make_unique<TarFormat>(TarNames{options.images, options.label})) {}
};

STOKER_REGISTER(Dataset, "tar_shards", TarShards);

}  // namespace
}  // namespace stoker
