// Answers to queries and statements, as JSON text, from a connection that can only read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "records/database.h"

namespace tap::records {

// The maximum of an answer: a longer one ends before, and has a cursor, or "cut".
inline constexpr size_t kMaxAnswerBytes = size_t{2} * 1024 * 1024;
inline constexpr int64_t kMaxSqlRows = 10'000;

struct Answer {
  bool good = false;
  std::string text;  // JSON, or the reason of a refusal, for people
  bool damaged = false;
};

// `{"records": […], "cursor": "…"}`, newest first; no cursor on the last page. `now` is Unix time
// in ms.
[[nodiscard]] Answer answerQuery(Database& database, std::string_view query, int64_t now);

// `{"columns": […], "rows": [[…], …], "cut": true}` of a single statement that only reads.
[[nodiscard]] Answer answerSql(Database& database, std::string_view sql);

}  // namespace tap::records
