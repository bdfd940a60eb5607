#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "protocol/link/session_codec.h"
#include "protocol/link/session_fields.h"

namespace tap::protocol {

using namespace session;

void writeEnvironment(json::Writer& writer, std::string_view path, const SessionRuntime& runtime) {
  const auto isGiven = [&](const auto& field) { return !(runtime.*field.second).empty(); };
  if (!path.empty()) writer.field("path", path);
  if (!std::any_of(kRuntimeFields.begin(), kRuntimeFields.end(), isGiven)) return;
  writer.key("runtime").beginObject();
  for (const auto& field : kRuntimeFields) {
    if (isGiven(field)) writer.key(field.first).string(runtime.*field.second);
  }
  writer.endObject();
}

namespace {

void writeMode(json::Writer& writer, SyncMode mode) {
  writer.field("mode", kModes[static_cast<size_t>(mode)]);
}

void writeStrings(json::Writer& writer, std::string_view key,
                  const std::vector<std::string>& strings) {
  writer.key(key).beginArray();
  for (const std::string& text : strings) writer.string(text);
  writer.endArray();
}

// An overload for each message writes its fields into an open object.
struct FieldWriter {
  json::Writer& writer;

  void operator()(const Register& m) const {
    writer.field("type", "register").field("linkVersion", m.linkVersion);
    writer.field("secret", m.secret).field("version", m.version);
    writer.field("sessionId", m.sessionId).field("label", m.label).field("cwd", m.cwd);
    writer.field("cliPid", m.cliPid);
    writeMode(writer, m.mode);
    writer.key("joined").boolean(m.joined);
    writer.key("have").beginObject();
    for (const ProviderDigest& one : m.have) writer.key(one.provider).string(one.digest);
    writer.endObject();
    if (!m.groups.empty()) writeStrings(writer, "groups", m.groups);
    writeEnvironment(writer, m.path, m.runtime);
  }
  void operator()(const Update& m) const {
    writer.field("type", "update");
    if (m.label) writer.field("label", *m.label);
    if (m.cwd) writer.field("cwd", *m.cwd);
    if (m.mode) writeMode(writer, *m.mode);
    if (m.builtins) writeStrings(writer, "builtins", *m.builtins);
    if (m.agentMode) {
      writer.field("agentMode", *m.agentMode).field("agentModeBy", m.agentModeBy);
    }
  }
  void operator()(const ActivityChanged& m) const {
    writer.field("type", "activity");
    writer.field("activity", kActivities[static_cast<size_t>(m.activity)]);
  }
  void operator()(const Call& m) const {
    writer.field("type", "call").field("callId", m.callId).field("tool", m.tool);
    if (!m.toolCallId.empty()) writer.rawField("toolCallId", m.toolCallId.view());
    writeTrace(writer, m.trace);
    writer.rawField("args", m.args.empty() ? "{}" : m.args.view());
  }
  void operator()(const CancelCall& m) const {
    writer.field("type", "cancel").field("callId", m.callId).field("reason", m.reason);
  }
  void operator()(const Synced& m) const {
    writer.field("type", "synced").field("revision", m.revision);
  }
  void operator()(const SyncFailed& m) const {
    writer.field("type", "sync.failed").field("revision", m.revision).field("message", m.message);
    writeStrings(writer, "refused", m.refused);
  }
  void operator()(const EndSession& m) const {
    writer.field("type", "end").field("reason", m.reason);
  }
  void operator()(const Ping&) const { writer.field("type", "ping"); }
  void operator()(const ShowPairings&) const { writer.field("type", "pairings.show"); }
  void operator()(const UseProvider& m) const {
    writer.field("type", "provider.use").field("provider", m.provider);
    if (!m.sessionId.empty()) writer.field("sessionId", m.sessionId);
  }
  void operator()(const RunCommand& m) const {
    writer.field("type", "command.run").field("commandId", m.commandId);
    writer.field("name", m.name).field("arguments", m.arguments);
  }
  void operator()(const EventOccurred& m) const {
    writer.field("type", "event").field("event", m.event);
    writer.rawField("data", m.data.empty() ? "{}" : m.data.view());
  }
  void operator()(const HookCheck& m) const {
    writer.field("type", "hook.check").field("checkId", m.checkId).field("tool", m.tool);
    writer.rawField("args", m.args.empty() ? "{}" : m.args.view());
  }
  void operator()(const PromptSubmitted& m) const {
    writer.field("type", "prompt.submitted").field("promptId", m.promptId);
  }
  void operator()(const SectionBuild& m) const {
    writer.field("type", "section.build").field("buildId", m.buildId);
    writer.field("section", m.section).field("current", m.current);
  }
  void operator()(const HooksState& m) const {
    writer.field("type", "hooks.state").field("revision", m.revision);
    writer.field("hooks", kHookOutcomes[static_cast<size_t>(m.hooks)]);
    writer.field("sections", kHookOutcomes[static_cast<size_t>(m.sections)]);
  }
  void operator()(const SessionResult& m) const {
    writer.field("type", "session.result").field("requestId", m.requestId);
    const std::string_view value = m.value.empty() ? "null" : m.value.view();
    if (m.failed) {
      writer.rawField("error", value);
    } else {
      writer.rawField("result", value);
    }
  }

  void operator()(const OpenProvider& m) const {
    writer.field("type", "provider.open").field("token", m.token);
  }
  void operator()(const OpenControl& m) const {
    writer.field("type", "control.open").field("secret", m.secret);
    writer.field("sessionId", m.sessionId);
  }
  void operator()(const Drain& m) const {
    writer.field("type", "drain").field("secret", m.secret).field("version", m.version);
  }
  void operator()(const ListPaired& m) const {
    writer.field("type", "paired.list").field("secret", m.secret);
  }
  void operator()(const RevokePaired& m) const {
    writer.field("type", "paired.revoke").field("secret", m.secret).field("name", m.name);
  }
  void operator()(const Inspect&) const { writer.field("type", "inspect"); }
  void operator()(const Trace&) const { writer.field("type", "trace"); }
  void operator()(const ListCalls& m) const {
    writer.field("type", "calls.list").field("after", m.after);
  }
  void operator()(const HostRequest& m) const {
    writer.field("type", "host.request").field("requestId", m.requestId);
    writer.field("method", m.method);
    writer.rawField("params", m.params.empty() ? "{}" : m.params.view());
  }
  void operator()(const PermissionCheck& m) const {
    writer.field("type", "permission.check").field("requestId", m.requestId);
    writer.field("sessionId", m.sessionId).field("tool", m.tool);
    writer.rawField("args", m.args.empty() ? "{}" : m.args.view());
  }

  void operator()(const Hooks& e) const {
    writer.field("type", "hooks").field("revision", e.revision);
    writer.field("wanted", e.wanted).field("prompts", e.prompts).field("gateMs", e.gateMs);
    writer.key("guards").beginArray();
    for (const ProviderGuards& guards : e.guards) {
      writer.beginObject().field("provider", guards.provider).key("rules").beginArray();
      for (const std::string& rule : guards.rules) writer.raw(rule);
      writer.endArray().endObject();
    }
    writer.endArray().key("sections").beginArray();
    for (const SectionEdit& edit : e.sections) write(edit);
    writer.endArray();
    if (!e.needs.empty()) writer.field("needs", e.needs);
  }
  void operator()(const HookVerdict& e) const {
    writer.field("type", "hook.verdict").field("checkId", e.checkId);
    if (e.deny) writer.field("deny", *e.deny);
    if (!e.context.empty()) writer.field("context", e.context);
  }
  void operator()(const PromptContext& e) const {
    writer.field("type", "prompt.context").field("promptId", e.promptId);
    writer.field("context", e.context);
  }
  void operator()(const SectionText& e) const {
    writer.field("type", "section.text").field("buildId", e.buildId);
    if (e.content) writer.field("content", *e.content);
  }
  void operator()(const Subscribe& e) const {
    writer.field("type", "subscribe");
    writeStrings(writer, "events", e.events);
  }
  void operator()(const Welcome& e) const {
    writer.field("type", "welcome").field("linkVersion", e.linkVersion);
    writer.field("version", e.version).field("pid", e.pid).field("port", e.port);
    writer.field("known", e.known);
  }
  void operator()(const Refused& e) const {
    writer.field("type", "refused").field("code", e.code).field("message", e.message);
  }
  void operator()(const Tools& e) const {
    writer.field("type", "tools").field("revision", e.revision);
    writer.key("reload").boolean(e.reload);
    writer.key("set").beginArray();
    for (const ProviderTools& tools : e.set) {
      writer.beginObject().field("provider", tools.provider).field("digest", tools.digest);
      writer.key("definitions").beginArray();
      for (const std::string& definition : tools.definitions) writer.raw(definition);
      writer.endArray().endObject();
    }
    writer.endArray();
    writeStrings(writer, "drop", e.drop);
  }
  void operator()(const CallResult& e) const {
    writer.field("type", "call.result").field("callId", e.callId);
    if (e.failed) writer.field("code", wireName(e.code)).field("text", e.text);
  }
  void operator()(const CallProgress& e) const {
    writer.field("type", "call.progress").field("callId", e.callId);
  }
  void operator()(const Timeline& e) const {
    writer.field("type", "timeline").field("level", kLevels[static_cast<size_t>(e.level)]);
    writer.field("text", e.text);
  }
  void operator()(const Inject& e) const {
    writer.field("type", "inject").field("provider", e.provider).field("prompt", e.prompt);
    if (!e.display.empty()) writer.field("display", e.display);
    if (e.immediate) writer.field("immediate", true);
  }
  void operator()(const Groups& e) const {
    writer.field("type", "groups");
    writeStrings(writer, "names", e.names);
  }
  void operator()(const Pong&) const { writer.field("type", "pong"); }
  void operator()(const Draining& e) const {
    writer.field("type", "draining").field("reason", e.reason);
  }
  void operator()(const Paired& e) const {
    writer.field("type", "paired").key("providers").beginArray();
    for (const PairedEntry& one : e.providers) {
      writer.beginObject().field("name", one.name).field("origin", one.origin);
      writer.field("sessionId", one.sessionId).field("label", one.label).endObject();
    }
    writer.endArray();
  }
  void operator()(const Inspection& e) const {
    writer.field("type", "inspection").rawField("report", e.report);
  }
  void operator()(const CallsLogged& e) const {
    writer.field("type", "calls").rawField("calls", e.calls);
  }
  void operator()(const CommandResult& e) const {
    writer.field("type", "command.result").field("commandId", e.commandId).field("text", e.text);
  }
  void operator()(const Used& e) const {
    writer.field("type", "provider.used").field("outcome", e.outcome).field("message", e.message);
  }
  void operator()(const HostResult& e) const {
    writer.field("type", "host.result").field("requestId", e.requestId);
    if (e.failed) {
      writer.rawField("error", e.value);
    } else {
      writer.rawField("result", e.value);
    }
  }
  void operator()(const SessionRequest& e) const {
    writer.field("type", "session.request").field("requestId", e.requestId);
    writer.field("request", e.request);
    writer.rawField("params", e.params.empty() ? "{}" : e.params);
  }
  void operator()(const TraceFrame& e) const {
    writer.field("type", "trace.frame").field("at", e.at).field("connection", e.connection);
    writer.field("provider", e.provider);
    writer.field("kind", kTraceKinds[static_cast<size_t>(e.kind)]).field("text", e.text.view());
  }

 private:
  void write(const SectionEdit& edit) const {
    writer.beginObject().field("section", edit.section);
    if (!edit.prepend.empty()) writer.field("prepend", edit.prepend);
    if (!edit.append.empty()) writer.field("append", edit.append);
    if (edit.replace) writer.field("replace", *edit.replace);
    if (edit.callback) writer.field("callback", true);
    writer.endObject();
  }
};

// Enough for most messages, in a single allocation.
constexpr size_t kUsualBytes = 256;

template <class Variant>
std::string encodeWhole(const Variant& variant, size_t raw) {
  std::string out;
  out.reserve(kUsualBytes + raw);
  json::Writer writer(out);
  writer.beginObject();
  std::visit(FieldWriter{writer}, variant);
  writer.endObject();
  return out;
}

// The largest part of a result is shared between head and tail.
void splitResult(SplitText& text, const CallResult& result) {
  const bool isBinary = !result.binary.base64.empty();
  if (!isBinary && result.data.empty()) return;
  text.head.pop_back();
  if (!result.data.empty()) text.head += ",\"data\":";
  if (!isBinary) {
    text.middle = result.data;
    text.tail = "}";
    return;
  }
  text.head += result.data.view();
  text.head += ",\"binary\":{\"mimeType\":";
  json::appendQuoted(text.head, result.binary.mimeType);
  text.head += ",\"data\":\"";
  text.middle = result.binary.base64;
  text.tail = "\"}}";
}

}  // namespace

SplitText encode(const LinkMessage& message) {
  if (const auto* control = std::get_if<ControlMessage>(&message)) {
    return {encodeWhole(*control, 0), {}, {}};
  }
  const auto* session = std::get_if<SessionMessage>(&message);
  const auto* call = std::get_if<Call>(session);
  return {encodeWhole(*session, call != nullptr ? call->args.size() : 0), {}, {}};
}

SplitText encode(const SessionEvent& event) {
  SplitText text{encodeWhole(event, 0), {}, {}};
  const auto* result = std::get_if<CallResult>(&event);
  if (result != nullptr && !result->failed) splitResult(text, *result);
  return text;
}

}  // namespace tap::protocol
