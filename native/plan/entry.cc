#include "plan/entry.h"

#include <utility>

#include "base/json.h"
#include "base/json_writer.h"

namespace tap::plan {
namespace {

template <class Id, size_t kRows>
[[nodiscard]] bool readWord(json::Value value, const std::array<Word<Id>, kRows>& words,
                            std::optional<Id>& out) {
  if (value.kind != json::Kind::String) return false;
  const auto plain = json::plainText(value);
  if (plain) out = parseWord(words, *plain);
  return out.has_value();
}

[[nodiscard]] bool readWhole(json::Value value, int64_t& out) {
  const auto number =
      value.kind == json::Kind::Number ? json::decodeInteger(value) : std::optional<int64_t>();
  if (!number || *number < 0) return false;
  out = *number;
  return true;
}

// Returns: whether the member is known and valid.
[[nodiscard]] bool readMember(std::string_view key, json::Value value, Entry& entry,
                              std::optional<EntryKind>& kind) {
  int64_t number = 0;
  if (key == "kind") return readWord(value, kEntryWords, kind);
  if (key == "at") return readWhole(value, entry.at);
  if (key == "until") return readWhole(value, entry.until);
  if (key == "phase") return readWord(value, kPhaseWords, entry.phase);
  if (key == "next") return readWord(value, kPhaseWords, entry.next);
  if (key == "status") return readWord(value, kPhaseStatusWords, entry.status);
  if (key == "plan") return readWord(value, kPlanStatusWords, entry.plan);
  if (key == "attempt") {
    if (!readWhole(value, number) || number > UINT32_MAX) return false;
    entry.attempt = static_cast<uint32_t>(number);
    return true;
  }
  if (key == "retry") {
    entry.retry = json::decodeBoolean(value);
    return value.kind == json::Kind::Boolean;
  }
  if (key == "node") {
    if (value.kind != json::Kind::String) return false;
    entry.node = json::decodeString(value);
    return true;
  }
  if (key != "detail") return false;
  entry.detail = value.raw;
  return true;
}

}  // namespace

void writeEntry(std::string& out, const Entry& entry) {
  json::Writer writer(out);
  writer.beginObject().field("kind", text(entry.kind)).field("at", entry.at);
  if (!entry.node.empty()) writer.field("node", entry.node);
  if (entry.attempt > 0) writer.field("attempt", entry.attempt);
  if (entry.phase) writer.field("phase", text(*entry.phase));
  if (entry.next) writer.field("next", text(*entry.next));
  if (entry.status) writer.field("status", text(*entry.status));
  if (entry.plan) writer.field("plan", text(*entry.plan));
  if (entry.retry) writer.field("retry", true);
  if (entry.until > 0) writer.field("until", entry.until);
  if (!entry.detail.empty()) writer.rawField("detail", entry.detail);
  writer.endObject();
}

Result<Entry, std::string> readEntry(std::string_view text) {
  json::Scanner scanner;
  const auto scanned = scanner.scan(text, json::kMaxEnvelopeDepth);
  if (!scanned) return std::string("not JSON: ") + scanned.error().reason;
  if (scanned.value().kind != json::Kind::Object) return std::string("not an object");
  Entry entry;
  std::optional<EntryKind> kind;
  for (const json::Member& member : scanner.members()) {
    if (!readMember(member.key, member.value, entry, kind)) {
      return "not a value of " + std::string(member.key.substr(0, 32));
    }
  }
  if (!kind) return std::string("kind is missing");
  entry.kind = *kind;
  return entry;
}

}  // namespace tap::plan
