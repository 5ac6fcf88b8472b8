#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// The elements and texts of a small XML document one after the other, as S3 answers it: no
// namespaces, no attributes' values, no DTD (refused, and with it every entity but the five known
// ones). Error(ExitCode::data) for what is no such document. One thread at a time.
class XmlReader {
 public:
  // begin and end: of the element path() names; end with the text directly inside it.
  enum class Event { begin, end, finished };

  // The text must live.
  explicit XmlReader(std::string_view text) : rest_(text) {}

  Event next();
  // "ListBucketResult/Contents/Key"; at `end`, of the element that ends.
  const std::string& path() const { return path_; }
  // Of the element that has just ended.
  const std::string& text() const { return text_; }

 private:
  Event open(std::string_view tag);
  Event close(std::string_view name);
  void add_text(std::string_view raw);
  bool skip_markup();

  std::string_view rest_;
  std::string path_;
  std::string text_;
  std::vector<size_t> lengths_;  // of path_ before each open element
  bool to_pop_ = false;
  bool to_close_ = false;
  bool seen_root_ = false;
};

}  // namespace stoker
