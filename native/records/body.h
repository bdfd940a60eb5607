// The body of a record as it is stored: a JSON object of at most 4 KB, without secrets.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "records/row_queue.h"

namespace tap::records {

inline constexpr size_t kMaxBody = 4096;

// Makes one body after another, and keeps its memory between them.
class BodyEncoder {
 public:
  // Called with the name of each field that a body gets.
  using OnField = std::function<void(std::string_view name)>;

  // The fields of the row's body, then its payloads. A payload that does not fit is cut: the field
  // is then a string, `<field>Bytes` its size and `<field>Digest` the SHA-256 of all of it in
  // hexadecimal digits. There is no digest where the queue had no room for all of it. A body that
  // does not fit even so is left out: `bodyBytes` and `bodyDigest` stand for it.
  // Lives until the next one.
  [[nodiscard]] std::string_view encode(const QueuedRow& row, const OnField& onField);
  // Gives the memory back.
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

// JSON text that ends anywhere, closed so that it is JSON again: without what is not whole. Any
// other text may come back as anything.
[[nodiscard]] std::string closedJson(std::string_view begun);

}  // namespace tap::records
