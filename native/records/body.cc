#include "records/body.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "records/redact.h"
#include "records/secrets.h"

namespace tap::records {

namespace {

constexpr std::string_view kBytes = "Bytes";
constexpr std::string_view kDigest = "Digest";
// The bytes of a cut payload besides its text: three names with punctuation, a number, 64 digits.
[[nodiscard]] constexpr size_t costOfCut(std::string_view field) {
  return 3 * field.size() + 128;
}

[[nodiscard]] std::string textDigest(std::string_view text) {
  const std::array<uint8_t, 32> digest = sha256(text);
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// The longest prefix of a text that takes at most `room` bytes as a JSON string.
[[nodiscard]] std::string_view longestPrefix(std::string_view text, size_t room) {
  std::string_view fits = utf8::truncate(text, room);
  for (;;) {
    const size_t size = json::Escaped(fits).view().size() + 2;
    if (size <= room) return fits;
    // An escape is at most six times as long as its character.
    const size_t less = std::max<size_t>((size - room) / 6, 1);
    fits = utf8::truncate(fits, fits.size() - std::min(less, fits.size()));
  }
}

}  // namespace

std::string closedJson(std::string_view begun) {
  std::string open;    // the closing brackets of the open values
  std::string closed;  // the same at `whole`
  size_t whole = 0;
  for (size_t i = 0; i < begun.size(); ++i) {
    const char c = begun[i];
    if (c == '"') {
      for (++i; i < begun.size() && begun[i] != '"'; ++i) {
        if (begun[i] == '\\') ++i;
      }
    } else if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
      whole = i + 1;
      closed = open;
    } else if (c == ',') {
      whole = i;
      closed = open;
    } else if ((c == '}' || c == ']') && !open.empty()) {
      open.pop_back();
    }
  }
  std::string text(begun.substr(0, whole));
  text.append(closed.rbegin(), closed.rend());
  return text;
}

void BodyEncoder::name(std::string_view field) {
  if (out_.size() > 1) out_ += ',';
  out_ += '"';
  out_ += field;
  out_ += "\":";
}

void BodyEncoder::addFields(const QueuedRow& row, const OnField& onField) {
  if (row.bodyBytes == 0) return;
  size_t most = kMaxBody;
  for (const QueuedRow::Payload& payload : row.payloads) {
    if (!payload.field.empty()) most -= costOfCut(payload.field);
  }
  const auto root = scanner_.scan(row.body);
  if (root && root.value().kind == json::Kind::Object) {
    const bool paired = Redactor::isNamedPair(root.value());
    Redactor redactor(out_, kMaxBody);
    for (const json::Member& member : scanner_.members()) {
      if (out_.size() >= most) break;
      name(member.key);
      redactor.member(member, paired && member.key == "value");
      onField(member.key);
    }
  }
  const bool lost = row.body.size() < row.bodyBytes || !root;
  if (out_.size() < most && !lost) return;
  out_.resize(1);
  name("bodyBytes");
  out_ += std::to_string(row.bodyBytes);
  if (row.body.size() < row.bodyBytes) return;
  name("bodyDigest");
  json::appendQuoted(out_, textDigest(row.body));
}

void BodyEncoder::addCut(const QueuedRow::Payload& payload, std::string_view clean, size_t room,
                         const OnField& onField) {
  const size_t cost = costOfCut(payload.field);
  const std::string field(payload.field);
  if (room > cost) {
    const std::string_view text = longestPrefix(clean, room - cost);
    name(field);
    json::appendQuoted(out_, text);
    onField(field);
  }
  name(field + std::string(kBytes));
  out_ += std::to_string(payload.wholeBytes);
  onField(field + std::string(kBytes));
  if (payload.text.size() < payload.wholeBytes) return;
  name(field + std::string(kDigest));
  json::appendQuoted(out_, textDigest(payload.text));
  onField(field + std::string(kDigest));
}

void BodyEncoder::addPayload(const QueuedRow::Payload& payload, size_t room,
                             const OnField& onField) {
  clean_.clear();
  const bool whole = payload.text.size() == payload.wholeBytes;
  std::string closed;
  auto root = scanner_.scan(payload.text, json::kMaxEnvelopeDepth);
  if (!root && !whole) {
    closed = closedJson(payload.text);
    root = scanner_.scan(closed, json::kMaxEnvelopeDepth);
  }
  const bool isJson = root.ok();
  if (isJson) {
    Redactor(clean_, room).value(root.value());
  } else {
    removeSecretTexts(payload.text, clean_);
  }
  const size_t quotes = isJson ? 0 : json::Escaped(clean_).view().size() + 2 - clean_.size();
  const size_t size = payload.field.size() + 4 + clean_.size() + quotes;
  if (whole && size <= room) {
    name(payload.field);
    if (isJson) {
      out_ += clean_;
    } else {
      json::appendQuoted(out_, clean_);
    }
    onField(payload.field);
    return;
  }
  std::string decoded;
  const bool isText = isJson && root.value().kind == json::Kind::String;
  if (isText && whole) decoded = json::decodeString({json::Kind::String, clean_});
  addCut(payload, isText && whole ? std::string_view(decoded) : clean_, room, onField);
}

std::string_view BodyEncoder::encode(const QueuedRow& row, const OnField& onField) {
  out_.assign(1, '{');
  addFields(row, onField);
  // Each payload gets half of the room, and the part of the other half that is free.
  const QueuedRow::Payload& first = row.payloads[0];
  const QueuedRow::Payload& second = row.payloads[1];
  const auto left = [this] { return kMaxBody - std::min(kMaxBody, out_.size() + 1); };
  const auto needs = [](const QueuedRow::Payload& payload) {
    return payload.field.empty() ? 0 : payload.wholeBytes + costOfCut(payload.field);
  };
  if (!first.field.empty()) {
    const size_t half = left() / 2;
    addPayload(first, left() - std::min(half, needs(second)), onField);
  }
  if (!second.field.empty()) addPayload(second, left(), onField);
  out_ += '}';
  return out_;
}

void BodyEncoder::trim() {
  out_ = {};
  clean_ = {};
  scanner_ = {};
}

}  // namespace tap::records
