#include "gateway/records/rows.h"

#include "gateway/records/record_builder.h"

namespace tap::gateway {

using protocol::Collection;
using protocol::SpanInfo;
using protocol::SpanKind;
using protocol::SpanStatus;
using protocol::TraceContext;

namespace {

std::string_view levelWord(protocol::PushLevel level) {
  switch (level) {
    case protocol::PushLevel::Keep:
      return "keep";
    case protocol::PushLevel::Surface:
      return "surface";
    case protocol::PushLevel::Inject:
      return "inject";
  }
  return "";
}

std::string_view shownOutcome(const PushDecided& decided) {
  if (decided.outcome == "dropped") return "filtered";
  if (!decided.outcome.empty()) return decided.outcome;
  return decided.code == wireName(protocol::ErrorCode::RateLimited) ? "over budget" : "refused";
}

// What all records of calls say. `id`: the caller's own; `toolCallId`: JSON text, or empty.
void describeCall(RecordBuilder& draft, const FinishedCall& done, std::string_view id,
                  std::string_view toolCallId) {
  json::Writer& body = draft.body();
  body.field("tool", cutName(done.tool)).field("provider", cutName(done.provider));
  body.field("callId", cutName(id));
  if (!toolCallId.empty()) body.rawField("toolCallId", toolCallId);
  body.field("by", done.byCommand ? "command" : "model");
}

SpanStatus describeOutcome(RecordBuilder& draft, const FinishedCall& done,
                           const protocol::CallResult* result, std::string_view ofFailed) {
  json::Writer& body = draft.body();
  if (result != nullptr && !result->failed) {
    body.field("outcome", "ok");
    if (!result->binary.base64.empty()) {
      body.field("mimeType", cutName(result->binary.mimeType));
      body.field("binaryBytes", result->binary.base64.size() / 4 * 3);
    }
    draft.payload(1, "result", result->data);
    return SpanStatus::Ok;
  }
  body.field("outcome", result == nullptr ? "cancelled" : ofFailed);
  body.field("code", done.code);
  draft.field("message", done.text);
  return SpanStatus::Error;
}

// The row is of the session's trace, if there is such a session.
void putInTrace(RecordBuilder& draft, const Turn& turn, std::string_view session) {
  const Session* found = session.empty() ? nullptr : turn.state.sessions.find(session);
  if (found != nullptr) draft.trace(found->trace);
}

// The provider's work in a call, as a span of its own.
void recordWork(const Turn& turn, const CallInFlight& call, const FinishedCall& done,
                const CallDetails& details, SpanStatus status) {
  RecordBuilder draft(turn, Collection::Span, done.sessionId, done.provider);
  draft.body().field("tool", cutName(done.tool)).field("callId", cutName(call.sessionCallId));
  TraceContext own = call.trace;
  own.span = details.work;
  const Millis took = turn.now.steady - *details.sent;
  SpanInfo& span = draft.span(own, call.trace.span, took, "provider ", done.provider);
  span.kind = SpanKind::Client;
  span.status = status;
  draft.write();
}

}  // namespace

// --- Calls

CallTrace startTrace(const Turn& turn, const Session* session, const protocol::TraceField& given,
                     bool byCommand) {
  State& state = turn.state;
  if (given.malformed) [[unlikely]]
    ++state.recorder.malformedTraces;
  CallTrace trace;
  if (given.context.isSet()) {
    trace.own = given.context;
  } else if (session != nullptr) {
    trace.own = session->trace;
    trace.own.flags = state.recorder.spans() ? 1 : 0;
    if (session->turnSpan != 0 && !byCommand) trace.own.span = session->turnSpan;
  } else {
    trace.own = {state.ids.spanId(), state.ids.spanId(), 0, 0};
  }
  trace.parent = trace.own.span;
  trace.own.span = state.ids.spanId();
  return trace;
}

uint64_t noteDispatch(const Turn& turn, CallInFlight& call, uint64_t parent,
                      std::string_view toolCallId) {
  call.details = std::make_unique<CallDetails>();
  call.details->toolCallId = toolCallId;
  call.details->parent = parent;
  if (!turn.state.recorder.spans()) return call.trace.span;
  call.details->work = turn.state.ids.spanId();
  return call.details->work;
}

void noteMessage(const Turn& turn, CallInFlight& call, const Slice& message, size_t args,
                 bool isSent) {
  const std::string_view text = message.view();
  if (args > 0) call.details->args = message.part(text.substr(text.size() - 1 - args, args));
  if (isSent) call.details->sent = turn.now.steady;
}

void recordCall(const Turn& turn, const CallInFlight& call, const FinishedCall& done,
                const protocol::CallResult* result) {
  static const CallDetails kUnknown;  // of a call that is older than the records
  const CallDetails& details = call.details ? *call.details : kUnknown;
  RecordBuilder draft(turn, Collection::ToolCall, done.sessionId, done.provider);
  describeCall(draft, done, call.sessionCallId, details.toolCallId);
  const Time now = turn.now.steady;
  const Millis queued = details.sent.value_or(now) - call.started;
  const SpanStatus status = describeOutcome(draft, done, result, "failed");
  draft.body().field("ms", done.took.count()).field("queueMs", queued.count());
  if (details.answeredWith.isSet()) {
    const TraceContext::Text from = details.answeredWith.chars();
    draft.body().field("answeredWith", std::string_view(from.data(), from.size()));
  }
  draft.payload(0, "arguments", details.args);
  if (turn.state.recorder.spans()) {
    SpanInfo& span = draft.span(call.trace, details.parent, done.took, "execute_tool ", done.tool);
    span.status = status;
  } else {
    draft.trace(call.trace);
  }
  draft.write();
  if (details.sent && details.work != 0) recordWork(turn, call, done, details, status);
}

void recordCallHere(const Turn& turn, const Session* session, const protocol::Call& call,
                    const FinishedCall& done, const protocol::CallResult& result) {
  RecordBuilder draft(turn, Collection::ToolCall, done.sessionId, done.provider);
  describeCall(draft, done, call.callId, call.toolCallId.view());
  const SpanStatus status = describeOutcome(draft, done, &result, "refused");
  draft.body().field("ms", 0).field("queueMs", 0);
  draft.payload(0, "arguments", call.args);
  const CallTrace trace = startTrace(turn, session, call.trace, done.byCommand);
  if (turn.state.recorder.spans()) {
    draft.span(trace.own, trace.parent, Millis(0), "execute_tool ", call.tool).status = status;
  } else {
    draft.trace(trace.own);
  }
  draft.write();
}

// --- Gates

void recordGate(const Turn& turn, const GateDecided& decided) {
  RecordBuilder draft(turn, Collection::Gate, decided.session, decided.provider);
  draft.body().field("provider", cutName(decided.provider));
  if (!decided.gate.empty()) draft.body().field("gate", cutName(decided.gate));
  draft.body().field("by", decided.gate.empty() ? "rule" : "gate");
  draft.body().field("tool", cutName(decided.tool)).field("outcome", decided.outcome);
  draft.field("reason", decided.reason);
  putInTrace(draft, turn, decided.session);
  draft.write();
}

// --- Pushes

CallTrace startTrace(const Turn& turn, const Session& session, const protocol::Push& push) {
  CallTrace trace;
  trace.own = push.trace.context.isSet() ? push.trace.context : session.trace;
  trace.parent = trace.own.span;
  if (turn.state.recorder.spans()) trace.own.span = turn.state.ids.spanId();
  return trace;
}

void recordPush(const Turn& turn, const Session& session, const Provider& provider,
                std::string_view stream, const protocol::Push& push, const CallTrace& trace,
                const PushDecided& decided) {
  RecordBuilder draft(turn, Collection::Push, session.id, provider.name);
  json::Writer& body = draft.body();
  body.field("provider", cutName(provider.name)).field("stream", cutName(stream));
  body.field("level", levelWord(push.level)).field("outcome", shownOutcome(decided));
  if (decided.outcome == "injected") body.field("delivery", "now");
  if (decided.outcome == "queued") body.field("delivery", "held");
  draft.field("code", decided.code);
  if (decided.rule >= 0) body.field("rule", decided.rule);
  // The message that they are texts of is gone when the row is handed over.
  draft.payload(0, "event", Slice::copy(push.event));
  draft.payload(1, "prompt", Slice::copy(push.prompt));
  if (turn.state.recorder.spans()) {
    SpanInfo& span = draft.span(trace.own, trace.parent, Millis(0), "push ", stream);
    span.kind = SpanKind::Producer;
    span.status = decided.code.empty() ? SpanStatus::Ok : SpanStatus::Error;
  } else {
    draft.trace(trace.own);
  }
  draft.write();
}

void recordInject(const Turn& turn, const Session& session, const PendingInject& inject,
                  std::string_view outcome) {
  RecordBuilder draft(turn, Collection::Push, session.id, inject.provider);
  draft.body().field("provider", cutName(inject.provider)).field("stream", cutName(inject.stream));
  draft.body().field("level", "inject").field("outcome", outcome);
  draft.body().field("delivery", "held");
  draft.trace(inject.trace.isSet() ? inject.trace : session.trace);
  draft.write();
}

RowPtr notifyRow(const Turn& turn, const Session& session, const PendingInject& inject) {
  RecordBuilder draft(turn, Collection::Notify, session.id, inject.provider);
  draft.body().field("provider", cutName(inject.provider)).field("stream", cutName(inject.stream));
  draft.payload(0, "prompt", Slice::copy(inject.prompt));
  draft.trace(inject.trace.isSet() ? inject.trace : session.trace);
  return draft.finish();
}

void recordDispatch(const Turn& turn, const Session& session, const PendingInject& inject,
                    SpanStatus status) {
  if (!turn.state.recorder.spans() || !inject.trace.isSet()) return;
  RecordBuilder draft(turn, Collection::Span, session.id, inject.provider);
  draft.body().field("stream", cutName(inject.stream));
  TraceContext own = inject.trace;
  own.span = turn.state.ids.spanId();
  const Millis took = turn.now.steady - inject.pushed;
  draft.span(own, inject.trace.span, took, "prompt dispatch", "").status = status;
  draft.write();
}

// --- Turns of the model

void noteTurn(const Turn& turn, Session& session) {
  if (session.turnSpan != 0 || !turn.state.recorder.spans()) return;
  session.turnSpan = turn.state.ids.spanId();
  session.turnSince = turn.now.steady;
}

void recordTurn(const Turn& turn, Session& session) {
  const uint64_t span = std::exchange(session.turnSpan, 0);
  if (span == 0 || !turn.state.recorder.spans()) return;
  RecordBuilder draft(turn, Collection::Span, session.id, "");
  TraceContext own = session.trace;
  own.span = span;
  const Millis took = turn.now.steady - session.turnSince;
  draft.span(own, session.trace.span, took, "turn", "").status = SpanStatus::Ok;
  draft.write();
}

// --- Synchronisation, providers, sessions, diagnostics

void recordSync(const Turn& turn, const Session& session, std::string_view failure) {
  const SyncNotes& notes = session.syncNotes;
  const Millis took = turn.now.steady - notes.sent;
  RecordBuilder draft(turn, Collection::Sync, session.id, "");
  json::Writer& body = draft.body();
  body.field("revision", notes.revision).field("mode", notes.reload ? "reload" : "live");
  body.field("ms", took.count()).field("added", notes.added).field("removed", notes.removed);
  body.field("outcome", failure.empty() ? "in force" : "failed");
  draft.field("failure", failure);
  if (turn.state.recorder.spans()) {
    TraceContext own = session.trace;
    own.span = turn.state.ids.spanId();
    const bool isOfTurn = session.turnSpan != 0 && notes.sent >= session.turnSince;
    const uint64_t parent = isOfTurn ? session.turnSpan : session.trace.span;
    SpanInfo& span = draft.span(own, parent, took, "sync tools", "");
    span.status = failure.empty() ? SpanStatus::Ok : SpanStatus::Error;
  } else {
    draft.trace(session.trace);
  }
  draft.write();
}

void recordProvider(const Turn& turn, const Provider& provider, std::string_view session,
                    const ProviderEvent& event) {
  RecordBuilder draft(turn, Collection::Provider, session, provider.name);
  json::Writer& body = draft.body();
  body.field("provider", cutName(provider.name)).field("event", event.event);
  if (!provider.instance.empty()) body.field("instance", cutName(provider.instance));
  if (!provider.providerId.empty()) body.field("providerId", provider.providerId);
  draft.field("code", event.code);
  draft.field("detail", event.detail);
  putInTrace(draft, turn, session);
  draft.write();
}

void recordRefusals(const Turn& turn, std::string_view provider, const RefusedCount& refused) {
  RecordBuilder draft(turn, Collection::Provider, refused.session, provider);
  draft.body().field("provider", cutName(provider)).field("event", "refused");
  draft.body().field("count", refused.count);
  draft.field("code", refused.code);
  draft.field("detail", refused.detail);
  putInTrace(draft, turn, refused.session);
  draft.write();
}

void recordSession(const Turn& turn, const Session& session, std::string_view event,
                   std::string_view reason) {
  RecordBuilder draft(turn, Collection::Session, session.id, "");
  json::Writer& body = draft.body();
  body.field("event", event).field("label", cutName(session.label));
  body.field("cwd", cutText(session.cwd)).field("cliPid", session.cliPid);
  draft.field("reason", reason);
  if (event == "ended" && turn.state.recorder.spans()) {
    const Millis took(turn.now.unixMillis - session.openedUnixMillis);
    draft.span(session.trace, 0, took, "session", "").status = SpanStatus::Ok;
  } else {
    draft.trace(session.trace);
  }
  draft.write();
}

void recordDiagnostic(const Turn& turn, protocol::LogLevel level, std::string_view text) {
  RecordBuilder draft(turn, Collection::Diagnostic, "", "");
  draft.body().field("level", level == protocol::LogLevel::Error ? "error" : "warning");
  draft.field("text", text);
  draft.write();
}

}  // namespace tap::gateway
