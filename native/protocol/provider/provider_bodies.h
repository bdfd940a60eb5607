// The bodies of a provider's messages, a decoder each.
#pragma once

#include "base/json.h"
#include "base/limits.h"
#include "base/slice.h"
#include "protocol/field_reader.h"
#include "protocol/provider/provider_messages.h"

namespace tap::protocol {

// The input of a decoder: the fields, the problem to report to, and the text for slices.
struct Body {
  json::Value object;
  FieldReader& fields;
  Problem& problem;
  const Limits& limits;
  const Slice& text;
  PatternSource& patterns;
};

// Reads the body of a message of that type; mistakes are reported to body.problem.
[[nodiscard]] ProviderMessage decodeBody(ProviderMessageType type, Body& body);

}  // namespace tap::protocol
