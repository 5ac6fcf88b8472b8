#include "io/storage/object/xml_reader.h"

#include <algorithm>
#include <cstdint>

#include "io/core/error.h"

namespace stoker {
namespace {

constexpr size_t kDeepestXml = 32;
constexpr size_t kLongestName = 256;

[[noreturn]] void bad_xml(const char* what) {
  throw Error(ExitCode::data, std::string("XML: ") + what);
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  return begin == text.npos ? std::string_view()
                            : text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

void add_utf8(std::string& text, uint32_t code) {
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code == 0 || code > 0x10ffff || surrogate) bad_xml("a number that is no character");
  const auto byte = [&](uint32_t value) { text += static_cast<char>(value); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
  }
  byte(0x80 | (code & 0x3f));
}

// "#38" or "#x26".
uint32_t character_number(std::string_view entity) {
  entity.remove_prefix(1);
  const bool hex = entity.starts_with('x');
  if (hex) entity.remove_prefix(1);
  if (entity.empty() || entity.size() > 8) bad_xml("an entity that is not known");
  uint32_t code = 0;
  for (const char c : entity) {
    uint32_t digit = 99;
    if (c >= '0' && c <= '9') digit = static_cast<uint32_t>(c - '0');
    if (hex && c >= 'a' && c <= 'f') digit = static_cast<uint32_t>(c - 'a' + 10);
    if (hex && c >= 'A' && c <= 'F') digit = static_cast<uint32_t>(c - 'A' + 10);
    if (digit > (hex ? 15 : 9)) bad_xml("an entity that is not known");
    code = std::min<uint32_t>(code * (hex ? 16 : 10) + digit, 0x110000);
  }
  return code;
}

}  // namespace

void XmlReader::add_text(std::string_view raw) {
  if (lengths_.empty()) {
    if (!without_blanks(raw).empty()) bad_xml("text outside of the document");
    return;
  }
  for (size_t at = 0; at < raw.size();) {
    const size_t mark = std::min(raw.find('&', at), raw.size());
    text_ += raw.substr(at, mark - at);
    if (mark == raw.size()) return;
    const size_t end = raw.find(';', mark);
    if (end == raw.npos) bad_xml("an '&' without its ';'");
    const std::string_view entity = raw.substr(mark + 1, end - mark - 1);
    if (entity == "amp") {
      text_ += '&';
    } else if (entity == "lt") {
      text_ += '<';
    } else if (entity == "gt") {
      text_ += '>';
    } else if (entity == "quot") {
      text_ += '"';
    } else if (entity == "apos") {
      text_ += '\'';
    } else if (entity.starts_with('#')) {
      add_utf8(text_, character_number(entity));
    } else {
      bad_xml("an entity that is not known");
    }
    at = end + 1;
  }
}

// Comments, processing instructions and CDATA, at the "<" that begins one.
bool XmlReader::skip_markup() {
  struct Kind {
    std::string_view begin, end;
  };
  for (const Kind& kind : {Kind{"<!--", "-->"}, Kind{"<?", "?>"}, Kind{"<![CDATA[", "]]>"}}) {
    if (!rest_.starts_with(kind.begin)) continue;
    const size_t end = rest_.find(kind.end, kind.begin.size());
    if (end == rest_.npos) bad_xml("it ends too early");
    if (kind.end == "]]>") {
      if (lengths_.empty()) bad_xml("text outside of the document");
      text_ += rest_.substr(kind.begin.size(), end - kind.begin.size());
    }
    rest_.remove_prefix(end + kind.end.size());
    return true;
  }
  if (rest_.starts_with("<!")) bad_xml("a DTD, which is not read");
  return false;
}

XmlReader::Event XmlReader::open(std::string_view tag) {
  to_close_ = tag.ends_with('/');
  if (to_close_) tag.remove_suffix(1);
  const std::string_view name = tag.substr(0, tag.find_first_of(" \t\r\n"));
  if (name.empty() || name.size() > kLongestName || name.find('/') != name.npos) {
    bad_xml("an element without a proper name");
  }
  if (lengths_.empty() && seen_root_) bad_xml("a second document");
  if (lengths_.size() >= kDeepestXml) bad_xml("nested too deep");
  seen_root_ = true;
  lengths_.push_back(path_.size());
  if (!path_.empty()) path_ += '/';
  path_ += name;
  text_.clear();
  return Event::begin;
}

XmlReader::Event XmlReader::close(std::string_view name) {
  if (lengths_.empty()) bad_xml("an end without a begin");
  const size_t before = lengths_.back();
  const std::string_view open = std::string_view(path_).substr(before == 0 ? 0 : before + 1);
  if (without_blanks(name) != open) bad_xml("an element ends that was not begun last");
  to_pop_ = true;
  return Event::end;
}

XmlReader::Event XmlReader::next() {
  if (to_pop_) {
    to_pop_ = false;
    path_.resize(lengths_.back());
    lengths_.pop_back();
    text_.clear();
  }
  if (to_close_) {
    to_close_ = false;
    to_pop_ = true;
    return Event::end;
  }
  for (;;) {
    const size_t mark = std::min(rest_.find('<'), rest_.size());
    add_text(rest_.substr(0, mark));
    rest_.remove_prefix(mark);
    if (rest_.empty()) {
      if (!lengths_.empty() || !seen_root_) bad_xml("it ends too early");
      return Event::finished;
    }
    if (skip_markup()) continue;
    const size_t end = rest_.find('>');
    if (end == rest_.npos) bad_xml("it ends too early");
    const std::string_view tag = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return tag.starts_with('/') ? close(tag.substr(1)) : open(tag);
  }
}

}  // namespace stoker
