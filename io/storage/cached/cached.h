#pragma once

#include "io/storage/cached/staging.h"
#include "io/storage/storage.h"

namespace stoker {

// Who makes copies. read: the reader of an object without a copy, in the same call. ahead: a thread
// that begins with the first read and goes through all objects in the rule's order. both: whoever
// is first, so that nothing is read a second time in order to be copied.
enum class CacheFill { read, ahead, both };
EnumNames<CacheFill> enum_names(CacheFill);

// The options of a tier of type cached, which keeps copies of the objects of `inner` on `in` and
// reads those where it has them. In a header because `dataset stage` and `bench read` deal with the
// tiers inside. A value.
struct CachedOptions {
  Component<Storage> inner;
  Component<Storage> in = default_component<Storage>("memory");
  CacheFill fill = CacheFill::read;
  StagingRule rule;
  template <class V>
  void visit(V& v) {
    v.required("inner", inner, "The tier that holds the data.");
    v("in", in, "The tier that keeps copies of its objects.");
    v("fill", fill,
      "`read`: whoever reads an object also copies it. `ahead`: a thread copies objects while "
      "others read. `both`: whichever comes first copies it.");
    rule.visit(v);
  }
  void check(const Section& section) const { rule.check(section); }
  // That of `inner`, whose objects they are; emulated where one of the two is; in the folders of
  // both.
  StorageInfo info() const {
    StorageInfo info = inner.info();
    info.keeps_copies = true;
    const StorageInfo copies = in.info();
    info.emulated = info.emulated || copies.emulated;
    info.folders.insert(info.folders.end(), copies.folders.begin(), copies.folders.end());
    return info;
  }
};

}  // namespace stoker
