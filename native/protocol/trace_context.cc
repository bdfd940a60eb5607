#include "protocol/trace_context.h"

#include "base/hex_digits.h"

namespace tap::protocol {

namespace {

// The offsets of the parts of the text: "00-<32 digits>-<16 digits>-<2 digits>".
constexpr size_t kTraceAt = 3;
constexpr size_t kSpanAt = 36;
constexpr size_t kFlagsAt = 53;

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::optional<TraceContext> TraceContext::parse(std::string_view text) {
  if (text.size() != kTextSize) return std::nullopt;
  const char* const p = text.data();
  TraceContext context{hexdigits::loadValue(p + kTraceAt), hexdigits::loadValue(p + kTraceAt + 16),
                       hexdigits::loadValue(p + kSpanAt), 0};
  const size_t high = kDigits.find(p[kFlagsAt]);
  const size_t low = kDigits.find(p[kFlagsAt + 1]);
  if (high == kDigits.npos || low == kDigits.npos) return std::nullopt;
  context.flags = static_cast<uint8_t>(high << 4 | low);
  if ((context.traceHigh | context.traceLow) == 0 || context.span == 0) return std::nullopt;
  // A text with an invalid digit, hyphen or version differs from this text.
  const Text own = context.chars();
  if (text != std::string_view(own.data(), own.size())) return std::nullopt;
  return context;
}

TraceContext::Text TraceContext::chars() const {
  Text text;
  char* const p = text.data();
  p[0] = p[1] = '0';
  p[2] = p[kSpanAt - 1] = p[kFlagsAt - 1] = '-';
  hexdigits::storeDigits(p + kTraceAt, traceHigh);
  hexdigits::storeDigits(p + kTraceAt + 16, traceLow);
  hexdigits::storeDigits(p + kSpanAt, span);
  p[kFlagsAt] = kDigits[flags >> 4];
  p[kFlagsAt + 1] = kDigits[flags & 0xF];
  return text;
}

TraceField readTrace(const FieldReader& fields) {
  const std::optional<json::Value> value = fields.find("traceparent");
  if (!value || value->kind == json::Kind::Null) return {};
  if (value->kind != json::Kind::String) return {{}, true};
  // Only a text of the right size can be valid; a digit that is written as an escape makes it
  // longer.
  const auto plain = json::plainText(*value);
  const bool isShort = value->raw.size() <= 6 * TraceContext::kTextSize + 2;
  const std::optional<TraceContext> context = plain ? TraceContext::parse(*plain)
                                              : isShort
                                                  ? TraceContext::parse(json::decodeString(*value))
                                                  : std::nullopt;
  if (!context) return {{}, true};
  return {*context, false};
}

void writeTrace(json::Writer& writer, const TraceField& trace) {
  if (!trace.context.isSet()) return;
  const TraceContext::Text text = trace.context.chars();
  writer.field("traceparent", std::string_view(text.data(), text.size()));
}

}  // namespace tap::protocol
