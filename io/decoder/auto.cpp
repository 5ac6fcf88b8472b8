#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <utility>

#include "io/core/error.h"
#include "io/decoder/file_kind.h"
#include "io/decoder/jpeg_session.h"

namespace stoker {
namespace {

using AutoOptions = DecodedBy<JpegBy::ours>;

// The decoder `jpeg` with these options.
Component<Decoder> jpeg_with(const AutoOptions& options) {
  Node node = dump_struct(options);
  node.entries.insert(node.entries.begin(), {"type", {}, Node::text("jpeg")});
  return parse_component<Decoder>(node);
}

// The decoders that are chosen from. Any thread.
class Choice {
 public:
  explicit Choice(const AutoOptions& options)
      : jpeg_with_(jpeg_with(options)), jpeg_(jpeg_with_.create({})) {}

  const Decoder& jpeg() const { return *jpeg_; }
  // For a file of this kind. Loads the plug-in when it is first needed.
  // Error(ExitCode::config): it is not there.
  const Decoder& other(const FileKind& kind) const {
    const std::lock_guard lock(mutex_);
    if (other_ != nullptr) return *other_;
    try {
      Registry<Decoder>::global().need("opencv");  // which says what there is to do, and no more
      other_ = changed(jpeg_with_, {"type=opencv"}).create({});
    } catch (const Error& error) {
      throw Error(error.code(),
                  fmt::format("it is {}, which decoder.type=auto leaves to opencv: {}", kind.name,
                              error.what()));
    }
    return *other_;
  }

 private:
  const Component<Decoder> jpeg_with_;
  const std::unique_ptr<Decoder> jpeg_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::unique_ptr<Decoder> other_;
};

class AutoSession final : public DecoderSession {
 public:
  AutoSession(const AutoOptions& options, const Choice& choice)
      : choice_(choice), framing_(options), jpeg_(choice.jpeg().open()) {}

  void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override {
    const FileKind kind = file_kind(encoded);
    switch (kind.format) {
      case ImageFormat::jpeg:
      case ImageFormat::other:
      case ImageFormat::none:  // it says what the file is
        jpeg_->decode(encoded, mode, out);
        tolerated_ = jpeg_->tolerated();
        return;
      default:
        tolerated_.clear();
        decode_other(kind, encoded, mode, out);
    }
  }

 private:
  // A frame of it is a finished sample.
  void decode_other(const FileKind& kind, Bytes encoded, const DecodeMode& mode, uint8_t* out) {
    if (other_ == nullptr) other_ = choice_.other(kind).open();
    other_->decode(encoded, mode, framing_.wanted() ? Framing::pixels_of(out) : out);
    if (framing_.wanted()) Framing::put_header(framing_.for_sample(), out);
  }

  const Choice& choice_;
  const Framing framing_;
  const std::unique_ptr<DecoderSession> jpeg_;
  std::unique_ptr<DecoderSession> other_;  // null: no file needed it
};

// Whichever decoder reads the file: ours for JPEG, with all of its options, and the plug-in
// `opencv` for other images.
class Auto final : public Decoder {
 public:
  using Options = AutoOptions;
  Auto(Options options, const Inputs&) : options_(std::move(options)), choice_(options_) {}
  SampleSpec spec() const override { return options_.spec(); }
  std::unique_ptr<DecoderSession> open() const override {
    return std::make_unique<AutoSession>(options_, choice_);
  }

 private:
  const Options options_;
  const Choice choice_;
};

STOKER_REGISTER(Decoder, "auto", Auto);

}  // namespace
}  // namespace stoker
