#include "gateway/calls/file_content.h"

#include <string_view>
#include <utility>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/utf8.h"

namespace tap::gateway {

namespace {

bool isText(std::string_view mimeType) {
  return mimeType.starts_with("text/") || mimeType == "application/json";
}

}  // namespace

FileOutcome toFileContent(const std::string& bytes, const std::string& mimeType) {
  FileContent content;
  // Without bytes there is nothing to attach.
  if (!isText(mimeType) && !bytes.empty()) {
    content.binary = {mimeType, Slice(base64(bytes))};
    return content;
  }
  if (!utf8::isValid(bytes)) {
    return protocol::Refusal{protocol::ErrorCode::Internal,
                             "its file is not UTF-8, though it says " + mimeType, "tool.result"};
  }
  std::string text;
  json::appendQuoted(text, bytes);
  content.data = Slice(std::move(text));
  return content;
}

}  // namespace tap::gateway
