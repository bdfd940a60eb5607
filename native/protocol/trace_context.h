// The W3C Trace Context: which trace a message belongs to, and which span it comes from
// (https://www.w3.org/TR/trace-context/, version 00). Both protocols carry it as `traceparent`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "protocol/field_reader.h"

namespace tap::protocol {

struct TraceContext {
  uint64_t traceHigh = 0;
  uint64_t traceLow = 0;
  uint64_t span = 0;
  uint8_t flags = 0;

  // Nothing for any text but one of version 00 whose ids are not zero.
  [[nodiscard]] static std::optional<TraceContext> parse(std::string_view text);
  static constexpr size_t kTextSize = 55;
  using Text = std::array<char, kTextSize>;
  [[nodiscard]] Text chars() const;
  [[nodiscard]] std::string text() const {
    const Text own = chars();
    return {own.data(), own.size()};
  }

  [[nodiscard]] bool isSet() const { return span != 0; }
  bool operator==(const TraceContext&) const = default;
};

// The field `traceparent` of a message. A message with a malformed one counts as one without:
// a trace that is broken elsewhere must not cost a call.
struct TraceField {
  TraceContext context;  // not set: none was given, or it is malformed
  bool malformed = false;

  bool operator==(const TraceField&) const = default;
};
[[nodiscard]] TraceField readTrace(const FieldReader& fields);
// The field, if there is one to write.
void writeTrace(json::Writer& writer, const TraceField& trace);

}  // namespace tap::protocol
