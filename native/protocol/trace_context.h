// The W3C Trace Context: the trace of a message, and the span that it comes from
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

  // Empty unless the text is valid in version 00, with ids that are not zero.
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

// The field `traceparent` of a message. A malformed field is ignored: a broken trace must not fail
// a call.
struct TraceField {
  TraceContext context;  // not set if it is absent or malformed
  bool malformed = false;

  bool operator==(const TraceField&) const = default;
};
[[nodiscard]] TraceField readTrace(const FieldReader& fields);
// Writes the field, if set.
void writeTrace(json::Writer& writer, const TraceField& trace);

}  // namespace tap::protocol
