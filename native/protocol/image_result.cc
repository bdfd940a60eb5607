#include "protocol/image_result.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/encoding.h"
#include "base/json.h"

namespace tap::protocol {

namespace {

constexpr std::string_view kImage = "image";
constexpr std::string_view kScheme = "data:";
constexpr std::string_view kType = "image/";
constexpr std::string_view kEncoding = ";base64,";
constexpr size_t kMaxImageTypeBytes = 64;
// The place of "WEBP" in the base64 of RIFF….WEBP, except four bits of it.
constexpr size_t kWebpAt = 11;

bool isTypeCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-';
}

// "image/png" of "data:image/png;base64,…"; empty if it is not such a URL.
std::string_view declaredType(std::string_view url) {
  if (!url.starts_with(kScheme)) return {};
  const std::string_view start = url.substr(kScheme.size(), kMaxImageTypeBytes + kEncoding.size());
  if (!start.starts_with(kType)) return {};
  const size_t size = start.find(kEncoding);
  if (size == std::string_view::npos || size <= kType.size()) return {};
  const std::string_view subtype = start.substr(kType.size(), size - kType.size());
  return std::all_of(subtype.begin(), subtype.end(), isTypeCharacter) ? start.substr(0, size)
                                                                      : std::string_view();
}

// The text of a JSON string; borrowed from `data` if it has no escapes.
Slice decodeText(json::Value string, const Slice& data) {
  const std::string_view inside = string.raw.substr(1, string.raw.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return data.part(inside);
  return Slice(json::decodeString(string));
}

}  // namespace

std::string_view imageType(std::string_view base64) {
  if (base64.starts_with("iVBORw0KGg")) return "image/png";
  if (base64.starts_with("/9j/")) return "image/jpeg";
  if (base64.starts_with("R0lGODdh") || base64.starts_with("R0lGODlh")) return "image/gif";
  const bool isRiff = base64.starts_with("UklGR") && base64.size() > kWebpAt;
  if (isRiff && base64.substr(kWebpAt).starts_with("XRUJQ")) return "image/webp";
  return {};
}

std::optional<ImageResult> takeImage(const Slice& data) {
  if (data.empty() || data.view().front() != '{') return std::nullopt;
  const json::Value object{json::Kind::Object, data.view()};
  const auto member = json::find(object, kImage);
  if (!member || member->kind != json::Kind::String) return std::nullopt;
  const Slice url = decodeText(*member, data);
  const std::string_view type = declaredType(url.view());
  if (type.empty()) return std::nullopt;
  const size_t start = kScheme.size() + type.size() + kEncoding.size();
  const Slice base64 = url.part(url.view().substr(start));
  const std::string_view real = imageType(base64.view());
  if (real.empty() || !isBase64(base64.view())) return std::nullopt;
  ImageResult result{{}, {std::string(real), base64}};
  std::string rest = json::openWithout(object, kImage);
  if (rest.size() > 1) result.rest = Slice(rest + "}");
  return result;
}

}  // namespace tap::protocol
