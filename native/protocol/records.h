// A row of the record store, and the interface that the gateway writes it to. The store itself is
// in native/records/.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/slice.h"
#include "base/table.h"

namespace tap::protocol {

// The values are stored in files: append new collections at the end.
enum class Collection : uint8_t {
  Session,
  Provider,
  ToolCall,
  Gate,
  Push,
  StreamEntry,
  EmitterRun,
  Sync,
  Notify,
  Goal,
  Claim,
  Review,
  Eval,
  Plan,
  Span,
  Diagnostic,
  State,
  Count_,
};

struct CollectionRow {
  Collection id;
  std::string_view name;  // as in queries
  int version;            // of the schema of its bodies: the field `v` of a record
  // The fields that a body may have, so that a query may name them before a record has them. A body
  // may have further fields, such as the evidence of a goal.
  std::string_view fields;
};

inline constexpr size_t kCollections = static_cast<size_t>(Collection::Count_);

inline constexpr std::array<CollectionRow, kCollections> kCollectionTable{{
    {Collection::Session, "session", 1, "event label cwd cliPid reason"},
    {Collection::Provider, "provider", 1, "provider event instance providerId code detail count"},
    {Collection::ToolCall, "tool_call", 1,
     "tool provider callId toolCallId by outcome code message ms queueMs "
     "answeredWith mimeType binaryBytes arguments argumentsBytes argumentsDigest "
     "result resultBytes resultDigest"},
    {Collection::Gate, "gate", 1, "provider gate by tool outcome reason"},
    {Collection::Push, "push", 1,
     "provider stream level outcome delivery code rule event eventBytes eventDigest "
     "prompt promptBytes promptDigest"},
    {Collection::StreamEntry, "stream_entry", 1,
     "stream text emitter number at run line rule outcome source metadata"},
    {Collection::EmitterRun, "emitter_run", 1,
     "emitter id run start status durationMs command exitCode signal error nextAt "
     "kept dropped injected"},
    {Collection::Sync, "sync", 1, "revision mode ms added removed outcome failure"},
    {Collection::Notify, "notify", 1, "provider stream prompt promptBytes promptDigest"},
    {Collection::Goal, "goal", 1,
     "goal event statement by cwd parts amends n kind text file match sha256 before "
     "stream command exitCode met reason"},
    {Collection::Claim, "claim", 1, "audit claim verdict reason records"},
    {Collection::Review, "review", 1, "review finding severity evidence status cwd"},
    {Collection::Eval, "eval", 1, "case status ms run file tap checks failed calls reasons"},
    {Collection::Plan, "plan", 1, "event plan name status node counts usage landed repo"},
    {Collection::Span, "span", 1,
     "name kind status traceId spanId parentSpanId startUs durationUs record tool "
     "callId toolCallId outcome stream provider emitter run lines plan node attempt"},
    {Collection::Diagnostic, "diagnostic", 1, "level text"},
    {Collection::State, "state", 1,
     "emitter from to part run failures leftOut closedBy exitCode identities unrecorded"},
}};
static_assert(idsAreIndices(kCollectionTable));

[[nodiscard]] constexpr std::string_view collectionName(Collection collection) {
  return kCollectionTable[static_cast<size_t>(collection)].name;
}

[[nodiscard]] constexpr std::optional<Collection> findCollection(std::string_view name) {
  for (const CollectionRow& row : kCollectionTable) {
    if (row.name == name) return row.id;
  }
  return std::nullopt;
}

// A field of a row's body whose text comes from other parties and may be large: arguments, a
// result. The store removes secrets from it and cuts it; a cut field also has `<field>Bytes` and
// `<field>Digest`, the SHA-256 of the whole text before secrets were removed.
struct Payload {
  std::string_view field;  // a name that needs no escaping in JSON; empty: no payload
  Slice text;              // JSON text; other text is stored as a string
};

// The kinds and states of OpenTelemetry's spans, with the numbers of OTLP.
enum class SpanKind : uint8_t { Internal = 1, Server, Client, Producer, Consumer };
enum class SpanStatus : uint8_t { Unset, Ok, Error };

// A span of a row. The store writes it as its own row, whose body has the id of the original row.
struct SpanInfo {
  std::array<uint8_t, 16> traceId{};
  std::array<uint8_t, 8> spanId{};
  std::array<uint8_t, 8> parentSpanId{};  // zero: a root
  int64_t startUs = 0;                    // since 1970
  int64_t durationUs = 0;
  SpanKind kind = SpanKind::Internal;
  SpanStatus status = SpanStatus::Unset;
  std::string_view name;
};

// Texts are valid UTF-8 and live as long as the call that passes the row. Secrets are removed from
// `body` as from payloads.
struct Row {
  Collection collection = Collection::Diagnostic;
  int64_t at = 0;            // Unix time in ms
  std::string_view session;  // the session's id, or empty
  std::string_view source;   // the feature or provider
  std::string_view trace;    // 32 hexadecimal digits; empty: the trace of the span, if any
  std::string_view body;     // JSON text of an object, of about 1 KB at most
  std::array<Payload, 2> payloads{};
  std::optional<SpanInfo> span;
};

// Takes rows, on the thread of the loop.
class RecordSink {
 public:
  RecordSink() = default;
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;
  virtual ~RecordSink() = default;

  // Returns at once. A row without room is counted as dropped. `notify` has more room.
  virtual void append(const Row& row) = 0;

  // The same for a row that must be durable before the caller continues. The listener is called
  // with `number` exactly once, never from inside this call.
  virtual void commit(const Row& row, uint64_t number) = 0;

  // `durable`: false if the row could not be written. An empty listener ends the calls.
  using Listener = std::function<void(uint64_t number, bool durable)>;
  virtual void onCommitted(Listener listener) = 0;
};

}  // namespace tap::protocol
