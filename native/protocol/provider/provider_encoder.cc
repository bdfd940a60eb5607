#include <array>
#include <chrono>
#include <cstdio>

#include "base/json_writer.h"
#include "protocol/provider/provider_codec.h"

namespace tap::protocol {

Slice encodeAuthPairing(std::string_view prompt) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "auth.pairing").field("prompt", prompt).endObject();
  return Slice(std::move(out));
}

Slice encodeSessions(std::string_view type, const std::vector<SessionSummary>& active,
                     std::string_view token) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", type);
  if (!token.empty()) writer.field("token", token);
  writer.key("active").beginArray();
  for (const SessionSummary& session : active) {
    writer.beginObject().field("id", session.id).field("label", session.label);
    if (session.cwd) writer.field("cwd", *session.cwd);
    writer.key("foreground").boolean(session.foreground).endObject();
  }
  writer.endArray().endObject();
  return Slice(std::move(out));
}

Slice encodeHelloAck(const HelloAck& ack) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "hello.ack").field("protocolVersion", kProtocolVersion);
  writer.field("providerId", ack.providerId).field("sessionId", ack.sessionId);
  writer.field("reconnectToken", ack.reconnectToken);
  if (!ack.persistDir.empty()) writer.field("persistDir", ack.persistDir);
  writer.endObject();
  return Slice(std::move(out));
}

Slice encodeAck(const Ack& ack) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "ack").field("requestId", ack.requestId);
  writer.field("sessionId", ack.sessionId).field("revision", ack.revision);
  if (!ack.outcome.empty()) writer.field("outcome", ack.outcome);
  if (ack.rule >= 0) writer.field("rule", ack.rule);
  if (ack.inForce) writer.field("inForce", *ack.inForce);
  if (!ack.reason.empty()) writer.field("reason", ack.reason);
  if (ack.replaced) writer.key("replaced").boolean(true);
  if (ack.withdrawn) writer.field("withdrawn", *ack.withdrawn);
  writer.endObject();
  return Slice(std::move(out));
}

Slice encodeGateCheck(const GateCheck& check) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "gate.check").field("gateId", check.gateId);
  writer.field("callId", check.callId).field("sessionId", check.sessionId);
  writer.field("tool", check.tool).rawField("args", check.args).endObject();
  return Slice(std::move(out));
}

Slice encodeTransformRequest(std::string_view callId, std::string_view sessionId,
                             std::string_view section, std::string_view current) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "transform.request").field("callId", callId);
  writer.field("sessionId", sessionId).field("section", section).field("current", current);
  writer.endObject();
  return Slice(std::move(out));
}

namespace {

// RFC 3339, in UTC, to the millisecond.
std::string timestamp(int64_t unixMillis) {
  const std::chrono::sys_time<Millis> time{Millis(unixMillis)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::array<char, 40> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                                 int(date.year()), unsigned(date.month()), unsigned(date.day()),
                                 int(clock.hours().count()), int(clock.minutes().count()),
                                 int(clock.seconds().count()), int(clock.subseconds().count()));
  return {text.data(), static_cast<size_t>(size)};
}

}  // namespace

Slice encodeStreamHistory(std::string_view queryId, const std::vector<StreamHistory>& streams) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "stream.history").field("queryId", queryId);
  writer.key("streams").beginObject();
  for (const StreamHistory& stream : streams) {
    writer.key(stream.key).beginArray();
    for (const HistoryEntry& entry : stream.entries) {
      writer.beginObject().field("ts", timestamp(entry.unixMillis)).field("event", entry.event);
      if (!entry.metadata.empty()) writer.rawField("metadata", entry.metadata);
      writer.endObject();
    }
    writer.endArray();
  }
  writer.endObject().endObject();
  return Slice(std::move(out));
}

Slice encodeSessionEvent(std::string_view sessionId, std::string_view event,
                         std::string_view data) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "session.event").field("sessionId", sessionId);
  writer.field("event", event).rawField("data", data).endObject();
  return Slice(std::move(out));
}

Slice encodeToolCall(std::string_view id, std::string_view sessionId, std::string_view tool,
                     const TraceContext& trace, std::string_view args) {
  // In a single allocation, since it runs for each call.
  const json::Escaped session(sessionId);
  const json::Escaped name(tool);
  const TraceContext::Text parent = trace.chars();
  return Slice::joined({R"({"type":"tool.call","id":")", id, R"(","sessionId":")", session.view(),
                        R"(","tool":")", name.view(), R"(","traceparent":")",
                        std::string_view(parent.data(), parent.size()), R"(","args":)",
                        args.empty() ? "{}" : args, "}"});
}

Slice encodeToolCancel(std::string_view id, std::string_view sessionId, std::string_view reason) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "tool.cancel").field("id", id);
  writer.field("sessionId", sessionId).field("reason", reason).endObject();
  return Slice(std::move(out));
}

Slice encodeLifecycle(std::string_view sessionId, std::string_view state) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "session.lifecycle").field("sessionId", sessionId);
  writer.field("state", state).endObject();
  return Slice(std::move(out));
}

Slice encodeSessionOffer(std::string_view sessionId) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "session.offer").field("sessionId", sessionId).endObject();
  return Slice(std::move(out));
}

Slice encodeShutdownPending(std::string_view sessionId, Millis deadline) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "session.lifecycle").field("sessionId", sessionId);
  writer.field("state", "shutdown.pending");
  writer.field("deadline", static_cast<int64_t>(deadline.count())).endObject();
  return Slice(std::move(out));
}

Slice encodeError(const Refusal& refusal, std::string_view providerId, std::string_view sessionId) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "error").field("code", wireName(refusal.code));
  writer.field("message", refusal.message);
  if (!refusal.replyTo.empty()) writer.field("replyTo", refusal.replyTo);
  if (!refusal.requestId.empty()) writer.field("requestId", refusal.requestId);
  if (!providerId.empty()) writer.field("providerId", providerId);
  if (!sessionId.empty()) writer.field("sessionId", sessionId);
  writer.endObject();
  return Slice(std::move(out));
}

}  // namespace tap::protocol
