#include "protocol/tool_result.h"

#include <algorithm>
#include <string>

namespace tap::protocol {

namespace {

constexpr std::string_view kPath = "tool.result.file";
constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxTypeBytes = 256;
constexpr int64_t kMaxInteger = (int64_t{1} << 53) - 1;
constexpr int64_t kMaxSeconds = 1'000'000'000;

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool isAbsolute(std::string_view path) {
  if (path.starts_with('/')) return true;
  return path.size() > 2 && isLetter(path[0]) && path[1] == ':' &&
         (path[2] == '\\' || path[2] == '/');
}

// RFC 6838, section 4.2.
bool isTypeName(std::string_view name) {
  constexpr std::string_view kOthers = "!#$&-^_.+";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return isLetter(c) || (c >= '0' && c <= '9') || kOthers.find(c) != std::string_view::npos;
  });
}

// "text/html" of "Text/HTML; charset=utf-8"; empty if it is not a type.
std::string mimeEssence(std::string_view type) {
  std::string essence(type.substr(0, type.find(';')));
  while (essence.ends_with(' ')) essence.pop_back();
  const size_t slash = std::min(essence.find('/'), essence.size());
  const std::string_view view = essence;
  if (slash == essence.size() || !isTypeName(view.substr(0, slash)) ||
      !isTypeName(view.substr(slash + 1))) {
    return {};
  }
  for (char& c : essence) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return essence;
}

std::optional<FileReference> readFileReference(FieldReader& result, Problem& problem) {
  const auto object = result.optional("file", json::Kind::Object);
  if (!object) return std::nullopt;
  FieldReader fields(*object, kPath, problem);
  FileReference file;
  file.path = fields.requiredText("path", kMaxPathBytes);
  if (!isAbsolute(file.path) || file.path.find('\0') != std::string::npos) {
    problem.report("tool.result.file.path: expected an absolute path");
  }
  file.mimeType = mimeEssence(fields.requiredText("mimeType", kMaxTypeBytes));
  if (file.mimeType.empty()) {
    problem.report("tool.result.file.mimeType: expected a type like \"image/png\"");
  }
  file.size = static_cast<uint64_t>(fields.requiredInteger("size", 0, kMaxInteger));
  file.ttl = Millis(fields.requiredInteger("ttl", 0, kMaxSeconds) * 1000);
  return file;
}

// The receiver may keep a result for long, and with it the whole buffer.
constexpr size_t kSmallMessage = size_t{64} * 1024;  // bytes

Slice sliceData(json::Value data, const Slice& message) {
  const bool isMostOfIt = message.size() <= kSmallMessage || 2 * data.raw.size() >= message.size();
  return isMostOfIt ? message.part(data.raw) : Slice::copy(data.raw);
}

}  // namespace

ToolResult readToolResult(FieldReader& fields, const Slice& text, Problem& problem) {
  ToolResult result;
  result.id = fields.requiredSlice("id", kMaxIdBytes, text);
  const std::optional<json::Value> code = fields.optional("errorCode", json::Kind::String);
  const std::optional<json::Value> error = fields.optional("error", json::Kind::String);
  result.failed = code || error;
  if (code) result.errorCode = callErrorFromWire(json::decodeString(*code));
  if (error) result.error = json::decodeString(*error);
  const auto retryable = fields.optional("retryable", json::Kind::Boolean);
  result.retryable = retryable && json::decodeBoolean(*retryable);
  if (const auto data = fields.find("data")) result.data = sliceData(*data, text);
  result.trace = readTrace(fields);
  result.file = readFileReference(fields, problem);
  if (result.file && !result.data.empty()) {
    problem.report("tool.result: expected data or file, got both");
  }
  return result;
}

}  // namespace tap::protocol
