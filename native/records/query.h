// Queries of records as JSON text: `{collection, where, since, until, limit, cursor}`
// (docs/records.md). All names are checked, and values reach SQL only as bound parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "protocol/records.h"

namespace tap::records {

using protocol::Collection;

inline constexpr int64_t kDefaultLimit = 100;
inline constexpr int64_t kMaxLimit = 1000;
inline constexpr size_t kMaxQueryBytes = size_t{16} * 1024;
inline constexpr size_t kMaxConditions = 32;

enum class Op : uint8_t { Eq, Ne, Lt, Gt, Prefix };

// Null, a number, a text. A boolean is 1 or 0, as in SQLite.
using Operand = std::variant<std::monostate, int64_t, double, std::string>;

struct Condition {
  std::string field;  // as it was written
  // A column of a record; empty: a field of the body, at `path`.
  std::string_view column;
  std::string path;  // of SQLite's JSON functions: $."arguments"."city"
  std::string top;   // the path's first name: a field of the body
  Op op = Op::Eq;
  Operand operand;
};

// The place where the next page continues: before this record. `since` is that of the first page,
// because "2h" is a different time on each page.
struct Cursor {
  int64_t at = 0;
  int64_t id = 0;
  std::optional<int64_t> since{};
};

struct Query {
  std::optional<Collection> collection;
  std::vector<Condition> where;
  std::optional<int64_t> since;  // Unix time in ms, inclusive
  std::optional<int64_t> until;  // exclusive
  int64_t limit = kDefaultLimit;
  std::optional<Cursor> cursor;
};

// The query, or the reason of its refusal, for people and models, with a correction. `now` is Unix
// time in ms.
[[nodiscard]] Result<Query, std::string> parseQuery(std::string_view json, int64_t now);

// An SQL statement for limit + 1 records, newest first, and its parameters in order. Its columns:
// id, at, collection, session, source, trace, v, body.
struct Prepared {
  std::string sql;
  std::vector<Operand> parameters;
};
[[nodiscard]] Prepared toSql(const Query& query);

[[nodiscard]] std::string cursorText(const Cursor& cursor);

// "collection, session, …": the names that a query may use, for its refusal.
[[nodiscard]] std::string columnNames();

}  // namespace tap::records
