#include "records/query.h"

#include <array>
#include <charconv>

#include "base/encoding.h"
#include "base/json.h"
#include "base/utf8.h"
#include "records/moment.h"

namespace tap::records {

namespace {

constexpr std::array<std::string_view, 6> kKeys{"collection", "where", "since",
                                                "until",      "limit", "cursor"};
constexpr std::array<std::string_view, 6> kColumns{"id", "at", "session", "source", "trace", "v"};

struct OpRow {
  Op op;
  std::string_view name;
};
constexpr std::array<OpRow, 5> kOps{
    {{Op::Eq, "eq"}, {Op::Ne, "ne"}, {Op::Lt, "lt"}, {Op::Gt, "gt"}, {Op::Prefix, "prefix"}}};

template <class Range, class Name>
[[nodiscard]] std::string joinNames(const Range& range, Name name) {
  std::string list;
  for (const auto& one : range) {
    if (!list.empty()) list += ", ";
    list += name(one);
  }
  return list;
}

[[nodiscard]] std::string collections() {
  return joinNames(protocol::kCollectionTable, [](const auto& row) { return row.name; });
}
[[nodiscard]] std::string ops() {
  return joinNames(kOps, [](const OpRow& row) { return row.name; });
}

[[nodiscard]] std::string decodeKey(const json::Member& member) {
  if (!member.escaped) return std::string(member.key);
  const std::string_view quoted(member.key.data() - 1, member.key.size() + 2);
  return json::decodeString({json::Kind::String, quoted});
}

bool takeNumber(std::string_view& text, int64_t& out) {
  const char* const end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, out);
  if (problem != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(at - text.data()));
  return true;
}
bool takePoint(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

// Reads a query. It ends at the first problem.
class QueryReader {
 public:
  explicit QueryReader(int64_t now) : now_(now) {}

  [[nodiscard]] Result<Query, std::string> read(std::string_view text) {
    if (text.size() > kMaxQueryBytes) return refusal("it is longer than 16 KB");
    if (!utf8::isValid(text)) return refusal("it is not UTF-8");
    const auto root = scanner_.scan(text);
    if (!root || root.value().kind != json::Kind::Object) return refusal("it is not a JSON object");
    for (const json::Member& member : scanner_.members()) {
      if (!top(decodeKey(member), member.value)) return refusal(problem_);
    }
    return query_;
  }

 private:
  [[nodiscard]] static std::string refusal(const std::string& problem) {
    return "The query is refused: " + problem + ".";
  }
  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  bool top(const std::string& key, json::Value value) {
    if (key == "collection") return collection(value);
    if (key == "where") return where(value);
    if (key == "since") return moment(key, value, query_.since);
    if (key == "until") return moment(key, value, query_.until);
    if (key == "limit") return limit(value);
    if (key == "cursor") return cursor(value);
    return refuse("it has no field " + inQuotes(visible(key, false, 64)) + "; there are " +
                  joinNames(kKeys, [](auto name) { return name; }));
  }

  bool collection(json::Value value) {
    if (value.kind == json::Kind::String) {
      const std::string name = json::decodeString(value);
      query_.collection = protocol::findCollection(name);
      if (query_.collection) return true;
      return refuse("there is no collection " + inQuotes(visible(name, false, 64)) +
                    "; there are " + collections());
    }
    return refuse("collection must be in this list: " + collections());
  }

  bool moment(const std::string& key, json::Value value, std::optional<int64_t>& out) {
    if (value.kind == json::Kind::Number) {
      out = json::decodeInteger(value);
    } else if (value.kind == json::Kind::String) {
      out = parseMoment(json::decodeString(value), now_);
    }
    if (out) return true;
    return refuse(key +
                  " must be a time such as \"2026-01-31T12:00:00Z\", a time before now such as "
                  "\"15m\", \"2h\" or \"7d\", or milliseconds since 1970");
  }

  bool limit(json::Value value) {
    const auto number =
        value.kind == json::Kind::Number ? json::decodeInteger(value) : std::nullopt;
    if (!number || *number < 1 || *number > kMaxLimit)
      return refuse("limit must be a whole number from 1 to " + std::to_string(kMaxLimit));
    query_.limit = *number;
    return true;
  }

  bool cursor(json::Value value) {
    const std::string text = value.kind == json::Kind::String ? json::decodeString(value) : "";
    std::string_view rest = text;
    Cursor read;
    if (takeNumber(rest, read.at) && takePoint(rest) && takeNumber(rest, read.id)) {
      int64_t since = 0;
      const bool hasSince = takePoint(rest);
      const bool isWhole = !hasSince || takeNumber(rest, since);
      if (hasSince) read.since = since;
      if (isWhole && rest.empty()) {
        query_.cursor = read;
        return true;
      }
    }
    return refuse("cursor must come from an answer; without a cursor you get the newest records");
  }

  bool where(json::Value value) {
    if (value.kind != json::Kind::Object)
      return refuse("where must be an object such as {\"tool\": \"build\"}");
    json::Members members(value);
    for (json::Member member; members.next(member);) {
      if (!field(decodeKey(member), member.value)) return false;
    }
    return true;
  }

  bool field(const std::string& name, json::Value value) {
    Condition condition;
    condition.field = name;
    if (!place(condition)) return false;
    if (value.kind != json::Kind::Object) return add(condition, Op::Eq, value);
    json::Members members(value);
    size_t some = 0;
    for (json::Member member; members.next(member); ++some) {
      const std::string key = decodeKey(member);
      const OpRow* found = nullptr;
      for (const OpRow& row : kOps) {
        if (row.name == key) found = &row;
      }
      if (found == nullptr)
        return refuse("there is no op " + inQuotes(visible(key, false, 64)) + "; there are " +
                      ops());
      if (!add(condition, found->op, member.value)) return false;
    }
    if (some > 0) return true;
    return refuse("the condition of " + inQuotes(visible(name, false, 64)) +
                  " has no op; there are " + ops());
  }

  // Finds the field: a column, or a path in the body.
  bool place(Condition& condition) {
    for (const std::string_view column : kColumns) {
      if (condition.field == column) {
        condition.column = column;
        return true;
      }
    }
    std::string_view rest = condition.field;
    condition.path = "$";
    while (true) {
      const size_t dot = std::min(rest.find('.'), rest.size());
      const std::string_view name = rest.substr(0, dot);
      if (name.empty() || name.find_first_of(std::string_view("\"\\\0", 3)) != name.npos)
        return refuse("there is no field " + inQuotes(visible(condition.field, false, 64)) +
                      "; there are " + columnNames() + ", and the fields of bodies");
      if (condition.top.empty()) condition.top = name;
      condition.path.append(".\"").append(name).append("\"");
      if (dot == rest.size()) return true;
      rest.remove_prefix(dot + 1);
    }
  }

  bool add(Condition condition, Op op, json::Value value) {
    condition.op = op;
    switch (value.kind) {
      case json::Kind::Null:
        break;
      case json::Kind::Boolean:
        condition.operand = int64_t{json::decodeBoolean(value)};
        break;
      case json::Kind::Number:
        if (const auto whole = json::decodeInteger(value)) {
          condition.operand = *whole;
        } else {
          condition.operand = json::decodeNumber(value);
        }
        break;
      case json::Kind::String:
        condition.operand = json::decodeString(value);
        break;
      case json::Kind::Object:
      case json::Kind::Array:
        return refuse("the value of " + inQuotes(visible(condition.field, false, 64)) +
                      " must be a text, a number, true, false or null");
    }
    const auto* text = std::get_if<std::string>(&condition.operand);
    if (text != nullptr && text->find('\0') != text->npos)
      return refuse("a text with the character U+0000 cannot be looked for");
    if (op == Op::Prefix && text == nullptr) return refuse("prefix needs a text");
    const bool orders = op == Op::Lt || op == Op::Gt;
    if (orders && std::holds_alternative<std::monostate>(condition.operand))
      return refuse("lt and gt need a text or a number");
    if (query_.where.size() == kMaxConditions)
      return refuse("it has more than " + std::to_string(kMaxConditions) + " conditions");
    query_.where.push_back(std::move(condition));
    return true;
  }

  int64_t now_;
  json::Scanner scanner_;
  Query query_;
  std::string problem_;
};

// Appends the condition, with its parameters.
void appendSql(const Condition& condition, Prepared& out) {
  const auto parameter = [&out](Operand value) {
    out.parameters.push_back(std::move(value));
    return "?" + std::to_string(out.parameters.size());
  };
  const std::string value = condition.column.empty()
                                ? "json_extract(body, " + parameter(condition.path) + ")"
                                : std::string(condition.column);
  const bool isNull = std::holds_alternative<std::monostate>(condition.operand);
  const bool isText = std::holds_alternative<std::string>(condition.operand);
  const std::string operand = isNull ? "NULL" : parameter(condition.operand);
  out.sql += " AND ";
  switch (condition.op) {
    case Op::Eq:
      out.sql += value + (isNull ? " IS " : " = ") + operand;
      return;
    case Op::Ne:
      out.sql += value + " IS NOT " + operand;
      return;
    case Op::Lt:
    case Op::Gt:
      // SQLite sorts numbers before texts; in queries they do not compare.
      out.sql += value + (condition.op == Op::Lt ? " < " : " > ") + operand + " AND typeof(" +
                 value + (isText ? ") = 'text'" : ") IN ('integer', 'real')");
      return;
    case Op::Prefix:
      out.sql += "substr(" + value + ", 1, length(" + operand + ")) = " + operand + " AND typeof(" +
                 value + ") = 'text'";
      return;
  }
}

}  // namespace

Result<Query, std::string> parseQuery(std::string_view json, int64_t now) {
  return QueryReader(now).read(json);
}

namespace {

constexpr std::string_view kOrder = " ORDER BY at DESC, id DESC LIMIT ";

// The conditions of all rows, as " AND …".
[[nodiscard]] Prepared buildConditions(const Query& query) {
  Prepared out;
  const auto parameter = [&out](int64_t value) {
    out.parameters.emplace_back(value);
    return "?" + std::to_string(out.parameters.size());
  };
  const auto since = query.cursor && query.cursor->since ? query.cursor->since : query.since;
  if (since) out.sql += " AND at >= " + parameter(*since);
  if (query.until) out.sql += " AND at < " + parameter(*query.until);
  if (query.cursor) {
    const std::string at = parameter(query.cursor->at);
    out.sql +=
        " AND at <= " + at + " AND (at < " + at + " OR id < " + parameter(query.cursor->id) + ")";
  }
  for (const Condition& condition : query.where) appendSql(condition, out);
  return out;
}

[[nodiscard]] bool namesSession(const Query& query) {
  for (const Condition& condition : query.where) {
    if (condition.column == "session" && condition.op == Op::Eq) return true;
  }
  return false;
}

}  // namespace

Prepared toSql(const Query& query) {
  const Prepared conditions = buildConditions(query);
  const std::string columns = "SELECT id, at, collection, session, source, trace, v, body FROM ";
  const std::string end = std::string(kOrder) + std::to_string(query.limit + 1);
  const auto of = [&](Collection collection) {
    return columns + "rows WHERE collection = " + std::to_string(static_cast<int>(collection)) +
           conditions.sql + end;
  };
  if (query.collection) return {of(*query.collection), conditions.parameters};
  if (namesSession(query))
    return {columns + "rows WHERE 1" + conditions.sql + end, conditions.parameters};
  // The index is by collection and time: merges the newest rows of each.
  std::string all;
  for (const protocol::CollectionRow& row : protocol::kCollectionTable) {
    if (!all.empty()) all += " UNION ALL ";
    all += "SELECT * FROM (" + of(row.id) + ")";
  }
  return {columns + "(" + all + ")" + end, conditions.parameters};
}

std::string cursorText(const Cursor& cursor) {
  const std::string text = std::to_string(cursor.at) + "." + std::to_string(cursor.id);
  return cursor.since ? text + "." + std::to_string(*cursor.since) : text;
}

std::string columnNames() {
  return joinNames(kColumns, [](auto name) { return name; });
}

}  // namespace tap::records
