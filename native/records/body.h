// The body of a record as it is stored: a JSON object of at most 4 KB, without secrets.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "records/row_queue.h"

namespace tap::records {

inline constexpr size_t kMaxBody = 4096;

// Encodes bodies, and keeps its memory between them.
class BodyEncoder {
 public:
  // Called with the name of each field that a body gets.
  using OnField = std::function<void(std::string_view name)>;

  // The fields of the row's body, then its payloads. A payload that does not fit is cut: the field
  // is then a string, `<field>Bytes` its size and `<field>Digest` the SHA-256 of its whole text in
  // hexadecimal digits. There is no digest if the queue had no room for the whole text. A body that
  // still does not fit is left out: `bodyBytes` and `bodyDigest` replace it. Valid until the next
  // call.
  [[nodiscard]] std::string_view encode(const QueuedRow& row, const OnField& onField);
  // Frees the memory.
  void trim();

 private:
  void addFields(const QueuedRow& row, const OnField& onField);
  void addPayload(const QueuedRow::Payload& payload, size_t room, const OnField& onField);
  void addCut(const QueuedRow::Payload& payload, std::string_view clean, size_t room,
              const OnField& onField);
  void name(std::string_view field);

  json::Scanner scanner_;
  std::string out_;
  std::string clean_;
};

// Closes JSON text that was cut anywhere, so that it is JSON again, without incomplete members. The
// result for any other text is unspecified.
[[nodiscard]] std::string closedJson(std::string_view begun);

}  // namespace tap::records
