#include "gateway/calls/file_content.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "protocol/image_result.h"

namespace tap::gateway {

namespace {

bool isText(std::string_view mimeType) {
  return mimeType.starts_with("text/") || mimeType == "application/json" ||
         mimeType == "image/svg+xml";
}

protocol::Refusal refused(std::string why) {
  return {protocol::ErrorCode::Internal, std::move(why), "tool.result"};
}

}  // namespace

FileOutcome toFileContent(const std::string& bytes, const std::string& mimeType) {
  FileContent content;
  // Without bytes there is nothing to attach.
  if (!isText(mimeType) && !bytes.empty()) {
    Slice encoded(base64(bytes));
    const bool isImage = mimeType.starts_with("image/");
    std::string type(isImage ? protocol::imageType(encoded.view()) : mimeType);
    if (type.empty()) {
      return refused("its file is no PNG, JPEG, GIF or WebP, though it says " + mimeType +
                     ": convert it, or send it as application/octet-stream");
    }
    content.binary = {std::move(type), std::move(encoded)};
    return content;
  }
  if (!utf8::isValid(bytes)) return refused("its file is not UTF-8, though it says " + mimeType);
  std::string text;
  json::appendQuoted(text, bytes);
  content.data = Slice(std::move(text));
  return content;
}

}  // namespace tap::gateway
