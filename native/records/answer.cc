#include "records/answer.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "base/encoding.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "records/query.h"

namespace tap::records {

namespace {

constexpr std::chrono::milliseconds kQueryTime{1000};
constexpr std::chrono::milliseconds kSqlTime{2000};

// The answer for a statement that failed.
[[nodiscard]] Answer failed(const Database& database, std::chrono::milliseconds time) {
  Answer answer;
  answer.damaged = database.failure() == Failure::Corrupt;
  if (database.failure() == Failure::TimedOut) {
    answer.text = "It was ended after " + inSeconds(time) +
                  ". Ask for less: a collection, a session, a shorter time.";
  } else {
    answer.text = "SQLite: " + visible(database.problem(), false, 512) + ".";
  }
  return answer;
}

// Text of the file: it may be invalid, since other programs can write it.
void writeText(json::Writer& writer, std::string_view text) {
  if (utf8::isValid(text)) {
    writer.string(text);
  } else {
    writer.string(visible(text, true, kMaxAnswerBytes));
  }
}

void bindAll(Statement& statement, const std::vector<Operand>& parameters) {
  int at = 0;
  for (const Operand& parameter : parameters) {
    ++at;
    if (const auto* whole = std::get_if<int64_t>(&parameter)) {
      statement.bind(at, *whole);
    } else if (const auto* number = std::get_if<double>(&parameter)) {
      statement.bind(at, *number);
    } else if (const auto* text = std::get_if<std::string>(&parameter)) {
      statement.bind(at, std::string_view(*text));
    }
  }
}

// The fields that bodies have or may have; empty if there are too many to list.
[[nodiscard]] std::optional<std::set<std::string>> listFields(Database& database,
                                                              const Query& query) {
  constexpr size_t kMaxFieldsOfCollection = 200;
  std::set<std::string> fields;
  const bool one = query.collection.has_value();
  Statement names = database.prepare(one ? "SELECT name FROM fields WHERE collection = ?1"
                                         : "SELECT DISTINCT name FROM fields");
  if (!names) return std::nullopt;
  if (one) names.bind(1, static_cast<int64_t>(*query.collection));
  while (names.step()) fields.emplace(names.text(0));
  if (one && fields.size() >= kMaxFieldsOfCollection) return std::nullopt;
  for (const protocol::CollectionRow& row : protocol::kCollectionTable) {
    if (one && row.id != *query.collection) continue;
    for (std::string_view rest = row.fields; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      fields.emplace(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return fields;
}

// The reason if a condition names a field that no record has or may have; else empty.
[[nodiscard]] std::string unknownField(Database& database, const Query& query) {
  std::optional<std::set<std::string>> fields;
  for (const Condition& condition : query.where) {
    if (!condition.column.empty()) continue;
    if (!fields) fields = listFields(database, query);
    if (!fields) return {};
    if (fields->contains(condition.top)) continue;
    std::string list = columnNames();
    for (const std::string& field : *fields) list += ", " + visible(field, false, 64);
    return "The query is refused: there is no field " +
           inQuotes(visible(condition.field, false, 64)) + " here; there are " + list + ".";
  }
  return {};
}

void writeRecord(json::Writer& writer, const Statement& row) {
  const auto collection = static_cast<size_t>(row.integer(2));
  writer.beginObject().field("id", row.integer(0)).field("at", row.integer(1));
  if (collection < protocol::kCollections)
    writer.field("collection", protocol::kCollectionTable[collection].name);
  constexpr std::array<std::string_view, 3> kTexts{"session", "source", "trace"};
  for (size_t i = 0; i < kTexts.size(); ++i) {
    const std::string_view text = row.text(static_cast<int>(3 + i));
    if (text.empty()) continue;
    writer.key(kTexts[i]);
    writeText(writer, text);
  }
  writer.field("v", row.integer(6)).key("body");
  const std::string_view body = row.text(7);
  json::Scanner scanner;
  if (utf8::isValid(body) && scanner.scan(body)) {
    writer.raw(body);
  } else {
    writeText(writer, body);
  }
  writer.endObject();
}

void writeNumber(json::Writer& writer, double number) {
  std::array<char, 32> digits{};
  const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  if (!std::isfinite(number) || problem != std::errc()) {
    writer.null();
  } else {
    writer.raw({digits.data(), static_cast<size_t>(end - digits.data())});
  }
}

void writeColumn(json::Writer& writer, const Statement& row, int column) {
  switch (sqlite3_column_type(row.get(), column)) {
    case SQLITE_INTEGER:
      writer.integer(row.integer(column));
      return;
    case SQLITE_FLOAT:
      writeNumber(writer, sqlite3_column_double(row.get(), column));
      return;
    case SQLITE_NULL:
      writer.null();
      return;
    default:
      writeText(writer, row.text(column));
      return;
  }
}

// printf() and format() can make a hundred million characters, and cannot be interrupted.
bool isAllowedFunction(std::string_view name) {
  return name != "load_extension" && name != "printf" && name != "format";
}

// Allows reading tables, functions, and SELECT. Opening files, changing settings and loading code
// are denied.
int authorize(void* /*unused*/, int action, const char* /*first*/, const char* second,
              const char* /*database*/, const char* /*trigger*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second == nullptr || isAllowedFunction(second) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

// Compiles a single statement.
[[nodiscard]] Statement prepareOne(Database& database, std::string_view sql, std::string& problem) {
  sqlite3_stmt* compiled = nullptr;
  const char* rest = nullptr;
  sqlite3_set_authorizer(database.get(), authorize, nullptr);
  const int status = sqlite3_prepare_v2(database.get(), sql.data(), static_cast<int>(sql.size()),
                                        &compiled, &rest);
  sqlite3_set_authorizer(database.get(), nullptr, nullptr);
  Statement statement(compiled);
  const std::string_view after(
      rest, rest == nullptr ? 0 : static_cast<size_t>(sql.data() + sql.size() - rest));
  const bool reads = compiled == nullptr || sqlite3_stmt_readonly(compiled) != 0;
  const std::string message = visible(database.problem(), false, 512);
  const bool ofFunction = message.find("function") != message.npos;
  if (!reads || (status == SQLITE_AUTH && !ofFunction)) {
    problem = "Only statements that read records are allowed, such as SELECT.";
  } else if (status != SQLITE_OK) {
    problem = "SQLite: " + message + ".";
  } else if (!statement) {
    problem = "There is no statement.";
  } else if (after.find_first_not_of(" \t\r\n;") != after.npos) {
    problem = "Only a single statement is allowed.";
  }
  return statement;
}

}  // namespace

Answer answerQuery(Database& database, std::string_view text, int64_t now) {
  const Result<Query, std::string> parsed = parseQuery(text, now);
  if (!parsed) return {false, parsed.error(), false};
  const Query& query = parsed.value();
  database.limitTime(kQueryTime);
  if (std::string problem = unknownField(database, query); !problem.empty())
    return {false, std::move(problem), false};
  const Prepared prepared = toSql(query);
  Statement rows = database.prepare(prepared.sql);
  if (!rows) return failed(database, kQueryTime);
  bindAll(rows, prepared.parameters);
  std::string out;
  json::Writer writer(out);
  writer.beginObject().key("records").beginArray();
  Cursor last{.since = query.cursor && query.cursor->since ? query.cursor->since : query.since};
  bool more = false;
  for (int64_t count = 0; rows.step(); ++count) {
    more = count == query.limit || out.size() > kMaxAnswerBytes;
    if (more) break;
    last.at = rows.integer(1);
    last.id = rows.integer(0);
    writeRecord(writer, rows);
  }
  if (!more && database.failure() != Failure::None) return failed(database, kQueryTime);
  writer.endArray();
  if (more) writer.field("cursor", cursorText(last));
  writer.endObject();
  return {true, std::move(out), false};
}

Answer answerSql(Database& database, std::string_view sql) {
  Answer answer;
  if (!utf8::isValid(sql)) return {false, "The statement is not UTF-8.", false};
  database.limitTime(kSqlTime);
  Statement rows = prepareOne(database, sql, answer.text);
  if (!answer.text.empty()) return answer;
  const int columns = sqlite3_column_count(rows.get());
  json::Writer writer(answer.text);
  writer.beginObject().key("columns").beginArray();
  for (int i = 0; i < columns; ++i) writeText(writer, sqlite3_column_name(rows.get(), i));
  writer.endArray().key("rows").beginArray();
  bool cut = false;
  for (int64_t count = 0; rows.step(); ++count) {
    cut = count == kMaxSqlRows || answer.text.size() > kMaxAnswerBytes;
    if (cut) break;
    writer.beginArray();
    for (int i = 0; i < columns; ++i) writeColumn(writer, rows, i);
    writer.endArray();
  }
  if (!cut && database.failure() != Failure::None) return failed(database, kSqlTime);
  writer.endArray();
  if (cut) writer.field("cut", true);
  writer.endObject();
  answer.good = true;
  return answer;
}

}  // namespace tap::records
