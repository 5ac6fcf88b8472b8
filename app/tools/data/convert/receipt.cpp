#include <nlohmann/json.hpp>

#include "app/tools/data/convert/journal.h"
#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/dataset/signed_index.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr const char* kReceipt = "stoker conversion receipt";
constexpr int kReceiptVersion = 1;

}  // namespace

std::string receipt_json(const ShardReceipt& receipt) {
  Json objects = Json::array(), samples = objects, left_out = objects, tolerated = objects;
  for (const ObjectInfo& object : receipt.written.objects)
    objects.push_back({object.key, object.bytes});
  for (const WrittenSample& sample : receipt.written.samples)
    samples.push_back({sample.key, sample.label, sample.bytes, sample.xxh3});
  for (const LeftOutSample& sample : receipt.left_out)
    left_out.push_back({sample.key, sample.reason, sample.message});
  for (const ToleratedSample& sample : receipt.tolerated)
    tolerated.push_back({sample.key, sample.message});
  return signed_json({{"test", receipt.written.split == Split::test},
                      {"objects", std::move(objects)},
                      {"samples", std::move(samples)},
                      {"left_out", std::move(left_out)},
                      {"tolerated", std::move(tolerated)}},
                     kReceipt, kReceiptVersion);
}

ShardReceipt parse_receipt(Bytes text) {
  const Json json = parse_signed_json(text, kReceipt, kReceiptVersion);
  try {
    ShardReceipt receipt;
    receipt.written.split = json.at("test").get<bool>() ? Split::test : Split::train;
    for (const Json& row : json.at("objects"))
      receipt.written.objects.push_back({row.at(0), row.at(1)});
    for (const Json& row : json.at("samples")) {
      receipt.written.samples.push_back({row.at(0), whole_number(row.at(1)), row.at(2), row.at(3)});
    }
    for (const Json& row : json.at("left_out"))
      receipt.left_out.push_back({row.at(0), row.at(1), row.at(2)});
    for (const Json& row : json.at("tolerated"))
      receipt.tolerated.push_back({row.at(0), row.at(1)});
    return receipt;
  } catch (const Json::exception& error) {
    throw Error(ExitCode::data, std::string("is damaged: ") + error.what());
  }
}

}  // namespace stoker
