#include "io/storage/object/s3_answers.h"

#include <tinyxml2.h>

#include "io/core/config/config.h"
#include "io/core/error.h"

namespace stoker {
namespace {

using tinyxml2::XMLElement;

constexpr size_t kLongestText = 200;
// tinyxml2 reads no DTD, so that no entity grows, and refuses elements more than 100 deep. But a
// document takes about thirty times its size in memory. A page of 1,000 keys has at most 7 MiB.
constexpr size_t kLargestAnswer = size_t{8} << 20;

[[noreturn]] void bad_answer(const std::string& what) {
  throw Error(ExitCode::data, "an answer of S3 " + what);
}

// Returns null where the document begins with another element. It belongs to `document`.
const XMLElement* read_root(tinyxml2::XMLDocument& document, std::string_view xml,
                            const char* name) {
  if (xml.size() > kLargestAnswer) bad_answer("has more than 8 MiB");
  if (document.Parse(xml.data(), xml.size()) != tinyxml2::XML_SUCCESS) {
    bad_answer(std::string("is not XML: ") + document.ErrorName());
  }
  const XMLElement* root = document.RootElement();
  return root != nullptr && root->Name() == std::string_view(name) ? root : nullptr;
}

// The text directly inside the first element of this name; empty: there is no such element.
std::string text_of(const XMLElement& parent, const char* name) {
  std::string text;
  const XMLElement* element = parent.FirstChildElement(name);
  const tinyxml2::XMLNode* node = element == nullptr ? nullptr : element->FirstChild();
  for (; node != nullptr; node = node->NextSibling()) {
    if (node->ToText() != nullptr) text += node->Value();
  }
  return text;
}

S3Listing::Object object_of(const XMLElement& contents) {
  S3Listing::Object object{.key = text_of(contents, "Key"), .etag = text_of(contents, "ETag")};
  if (object.key.empty()) bad_answer("has an object without a key");
  const std::string size = text_of(contents, "Size");
  if (!size.empty() && !parse_number(size, object.bytes))
    bad_answer("has a size that is no number");
  return object;
}

}  // namespace

S3Error parse_s3_error(std::string_view xml) {
  tinyxml2::XMLDocument document;
  try {
    const XMLElement* error = read_root(document, xml, "Error");
    if (error == nullptr) return {};
    const auto text = [&](const char* name) {
      return text_of(*error, name).substr(0, kLongestText);
    };
    return {text("Code"), text("Message"), text("Region"), text("Endpoint")};
  } catch (const Error&) {
    return {};  // a page of a proxy, or cut
  }
}

S3Listing parse_s3_listing(std::string_view xml) {
  tinyxml2::XMLDocument document;
  const XMLElement* root = read_root(document, xml, "ListBucketResult");
  if (root == nullptr) bad_answer("is no listing");
  S3Listing listing;
  for (const XMLElement* each = root->FirstChildElement("Contents"); each != nullptr;
       each = each->NextSiblingElement("Contents")) {
    listing.objects.push_back(object_of(*each));
  }
  if (text_of(*root, "IsTruncated") != "true") return listing;
  listing.next = text_of(*root, "NextContinuationToken");
  if (listing.next.empty()) bad_answer("says that more follows, but not how");
  return listing;
}

std::string parse_s3_upload_id(std::string_view xml) {
  tinyxml2::XMLDocument document;
  const XMLElement* root = read_root(document, xml, "InitiateMultipartUploadResult");
  std::string id = root == nullptr ? "" : text_of(*root, "UploadId");
  if (id.empty()) bad_answer("has no UploadId");
  return id;
}

}  // namespace stoker
