#include <array>
#include <optional>
#include <utility>

#include "protocol/link/session_codec.h"
#include "protocol/link/session_fields.h"

namespace tap::protocol {

using namespace session;

namespace {

ProviderGuards readGuards(json::Value value, Problem& problem) {
  Fields fields(value, "hooks.guards[]", problem);
  ProviderGuards guards;
  guards.provider = fields.string("provider");
  if (const auto rules = fields.required("rules", json::Kind::Array)) {
    json::Elements elements(*rules);
    for (json::Value rule; elements.next(rule);) guards.rules.emplace_back(rule.raw);
  }
  return guards;
}

SectionEdit readSectionEdit(json::Value value, Problem& problem) {
  Fields fields(value, "hooks.sections[]", problem);
  SectionEdit edit;
  edit.section = fields.string("section");
  edit.prepend = readOptionalString(fields, "prepend").value_or("");
  edit.append = readOptionalString(fields, "append").value_or("");
  edit.replace = readOptionalString(fields, "replace");
  edit.callback = fields.boolean("callback");
  return edit;
}

Hooks readHooksEvent(Fields& fields, Problem& problem) {
  Hooks event;
  event.revision = fields.integer("revision");
  event.wanted = fields.boolean("wanted");
  event.prompts = fields.boolean("prompts");
  event.gateMs = fields.integer("gateMs");
  event.guards = readObjects(fields, "guards", problem, readGuards);
  event.sections = readObjects(fields, "sections", problem, readSectionEdit);
  event.needs = readOptionalString(fields, "needs").value_or("");
  return event;
}

HookVerdict readHookVerdict(Fields& fields, const Slice&) {
  return {fields.requiredText("checkId", 256), readOptionalString(fields, "deny"),
          readOptionalString(fields, "context").value_or("")};
}

Welcome readWelcome(Fields& fields, const Slice&) {
  return {fields.integer("linkVersion"), fields.string("version"), fields.integer("pid"),
          fields.integer("port"), fields.boolean("known")};
}

Refused readRefused(Fields& fields, const Slice&) {
  return {fields.string("code"), fields.string("message")};
}

ProviderTools readProviderTools(json::Value value, Problem& problem) {
  Fields fields(value, "tools.set[]", problem);
  ProviderTools tools;
  tools.provider = fields.string("provider");
  tools.digest = fields.string("digest");
  if (const auto definitions = fields.required("definitions", json::Kind::Array)) {
    json::Elements elements(*definitions);
    for (json::Value element; elements.next(element);) tools.definitions.emplace_back(element.raw);
  }
  return tools;
}

PairedEntry readPairedEntry(json::Value value, Problem& problem) {
  Fields fields(value, "paired.providers[]", problem);
  return {fields.string("name"), fields.string("origin"), fields.string("sessionId"),
          fields.string("label")};
}

Tools readTools(Fields& fields, Problem& problem) {
  Tools event;
  event.revision = fields.integer("revision");
  event.reload = fields.boolean("reload");
  event.drop = readStrings(fields, "drop");
  event.set = readObjects(fields, "set", problem, readProviderTools);
  return event;
}

Inspection readInspection(Fields& fields, const Slice&) {
  const std::optional<json::Value> report = fields.required("report", json::Kind::Object);
  return {report ? std::string(report->raw) : std::string()};
}

CallsLogged readCallsLogged(Fields& fields, const Slice&) {
  const std::optional<json::Value> calls = fields.required("calls", json::Kind::Array);
  return {calls ? std::string(calls->raw) : std::string()};
}

Used readUsed(Fields& fields, const Slice&) {
  return {fields.string("outcome"), fields.string("message")};
}

HostResult readHostResult(Fields& fields, const Slice&) {
  HostResult event;
  event.requestId = fields.requiredText("requestId", 256);
  const std::optional<json::Value> error = fields.optional("error", json::Kind::Object);
  const std::optional<json::Value> value = error ? error : fields.find("result");
  event.failed = error.has_value();
  event.value = value ? std::string(value->raw) : "null";
  return event;
}

SessionRequest readSessionRequest(Fields& fields, const Slice&) {
  SessionRequest event;
  event.requestId = fields.requiredText("requestId", 256);
  event.request = fields.requiredText("request", kMaxMethodName);
  if (const auto params = fields.optional("params", json::Kind::Object)) {
    event.params = std::string(params->raw);
  }
  return event;
}

TraceFrame readTraceFrame(Fields& fields, const Slice&) {
  TraceFrame event;
  event.at = fields.integer("at");
  event.connection = fields.integer("connection");
  event.provider = fields.string("provider");
  event.kind = readEnum<TraceKind>(fields, "kind", kTraceKinds);
  event.text = Slice(fields.string("text"));
  return event;
}

// Base64 has no escapes: the text between the quotes is the value.
Binary readBinary(json::Value value, const Slice& text, Problem& problem) {
  Fields fields(value, "call.result.binary", problem);
  Binary binary;
  binary.mimeType = fields.string("mimeType");
  if (const auto data = fields.required("data", json::Kind::String)) {
    binary.base64 = text.part(data->raw.substr(1, data->raw.size() - 2));
  }
  return binary;
}

CallResult readCallResult(Fields& fields, const Slice& text, Problem& problem) {
  CallResult event;
  event.callId = fields.requiredText("callId", 256);
  if (const auto binary = fields.optional("binary", json::Kind::Object)) {
    event.binary = readBinary(*binary, text, problem);
  }
  if (const auto data = fields.find("data")) event.data = text.part(data->raw);
  if (const auto code = readOptionalString(fields, "code")) {
    event.failed = true;
    event.code = callErrorFromWire(*code);
    event.text = fields.string("text");
  }
  return event;
}

constexpr std::array<Reader<SessionEvent>, std::variant_size_v<SessionEvent>> kEventReaders{{
    {"welcome", reading<SessionEvent, readWelcome>},
    {"refused", reading<SessionEvent, readRefused>},
    {"tools",
     [](Fields& fields, const Slice&, Problem& problem) -> SessionEvent {
       return readTools(fields, problem);
     }},
    {"call.result",
     [](Fields& fields, const Slice& text, Problem& problem) -> SessionEvent {
       return readCallResult(fields, text, problem);
     }},
    {"subscribe",
     [](Fields& fields, const Slice&, Problem&) -> SessionEvent {
       return Subscribe{readStrings(fields, "events")};
     }},
    {"call.progress",
     [](Fields& fields, const Slice&, Problem&) -> SessionEvent {
       return CallProgress{fields.string("callId")};
     }},
    {"timeline",
     [](Fields& fields, const Slice&, Problem&) -> SessionEvent {
       const auto level = readEnum<LogLevel>(fields, "level", kLevels);
       return Timeline{level, fields.string("text")};
     }},
    {"inject",
     [](Fields& fields, const Slice&, Problem&) -> SessionEvent {
       return Inject{fields.string("provider"), fields.string("prompt"), fields.string("display"),
                     fields.boolean("immediate")};
     }},
    {"hooks",
     [](Fields& fields, const Slice&, Problem& problem) -> SessionEvent {
       return readHooksEvent(fields, problem);
     }},
    {"hook.verdict", reading<SessionEvent, readHookVerdict>},
    {"prompt.context",
     [](Fields& fields, const Slice&, Problem&) -> SessionEvent {
       return PromptContext{fields.requiredText("promptId", 256), fields.string("context")};
     }},
    {"section.text",
     [](Fields& fields, const Slice&, Problem&) -> SessionEvent {
       return SectionText{fields.requiredText("buildId", 256),
                          readOptionalString(fields, "content")};
     }},
    {"pong", [](Fields&, const Slice&, Problem&) -> SessionEvent { return Pong{}; }},
    {"draining",
     [](Fields& fields, const Slice&, Problem&) -> SessionEvent {
       return Draining{fields.string("reason")};
     }},
    {"paired",
     [](Fields& fields, const Slice&, Problem& problem) -> SessionEvent {
       return Paired{readObjects(fields, "providers", problem, readPairedEntry)};
     }},
    {"inspection", reading<SessionEvent, readInspection>},
    {"trace.frame", reading<SessionEvent, readTraceFrame>},
    {"calls", reading<SessionEvent, readCallsLogged>},
    {"command.result",
     [](Fields& fields, const Slice&, Problem&) -> SessionEvent {
       return CommandResult{fields.requiredText("commandId", 256), fields.string("text")};
     }},
    {"provider.used", reading<SessionEvent, readUsed>},
    {"host.result", reading<SessionEvent, readHostResult>},
    {"groups",
     [](Fields& fields, const Slice&, Problem&) -> SessionEvent {
       return Groups{readStrings(fields, "names")};
     }},
    {"session.request", reading<SessionEvent, readSessionRequest>},
}};

}  // namespace

Result<SessionEvent, std::string> SessionDecoder::event(const Slice& text) {
  return decode(scanner_, text, kEventReaders);
}

}  // namespace tap::protocol
