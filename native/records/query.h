// Queries of records as JSON text: `{collection, where, since, until, limit, cursor}`
// (docs/records.md). All that they name is checked, and nothing of them becomes SQL but by bound
// parameters.
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

// Null, a number, a text. A boolean is 1 or 0, as SQLite has it.
using Operand = std::variant<std::monostate, int64_t, double, std::string>;

struct Condition {
  std::string field;  // as it was written
  // One of the columns of a record; else the field of a body, whose path is `path`.
  std::string_view column;
  std::string path;  // of SQLite's JSON functions: $."arguments"."city"
  std::string top;   // the path's first name: a field of the body
  Op op = Op::Eq;
  Operand operand;
};

// Where a query goes on: before this record. `since` is that of the first page: "2h" is another
// time on each.
struct Cursor {
  int64_t at = 0;
  int64_t id = 0;
  std::optional<int64_t> since{};
};

struct Query {
  std::optional<Collection> collection;
  std::vector<Condition> where;
  std::optional<int64_t> since;  // Unix time in ms, this one included
  std::optional<int64_t> until;  // this one not
  int64_t limit = kDefaultLimit;
  std::optional<Cursor> cursor;
};

// The query, or why it is refused, for people and models: it names what would have been right.
// `now` is Unix time in ms.
[[nodiscard]] Result<Query, std::string> parseQuery(std::string_view json, int64_t now);

// An SQL statement for one record more than the limit, newest first, and its parameters in turn.
// Its columns: id, at, collection, session, source, trace, v, body.
struct Prepared {
  std::string sql;
  std::vector<Operand> parameters;
};
[[nodiscard]] Prepared toSql(const Query& query);

[[nodiscard]] std::string cursorText(const Cursor& cursor);

// "collection, session, …": what a query may name, for its refusal.
[[nodiscard]] std::string columnNames();

}  // namespace tap::records
