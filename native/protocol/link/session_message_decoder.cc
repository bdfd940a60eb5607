#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "protocol/link/session_codec.h"
#include "protocol/link/session_fields.h"
#include "protocol/provider/refused_requests.h"

namespace tap::protocol {

using namespace session;

namespace {

// Of the CLI's id of a call, in bytes of JSON: the call can be found without a longer id.
constexpr size_t kMaxToolCallId = 256;

// A text that an environment can hold: a path, or a list of them.
std::string readVariable(Fields& fields, std::string_view key, const json::Value& value,
                         size_t most) {
  std::string text = value.kind == json::Kind::String ? json::decodeString(value) : std::string();
  const bool hasControl = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  if (value.kind != json::Kind::String || hasControl || text.size() > most) {
    fields.reportExpected(
        key, "a text of at most " + std::to_string(most) + " bytes without control characters",
        value);
  }
  return text;
}

SessionRuntime readRuntime(Fields& fields) {
  SessionRuntime runtime;
  const std::optional<json::Value> object = fields.optional("runtime", json::Kind::Object);
  if (!object) return runtime;
  for (const auto& [name, member] : kRuntimeFields) {
    if (const auto value = json::find(*object, name)) {
      runtime.*member = readVariable(fields, "runtime", *value, kMaxRuntimeText);
    }
  }
  return runtime;
}

Register readRegister(Fields& fields, const Slice&) {
  Register message;
  message.linkVersion = fields.integer("linkVersion");
  message.secret = fields.string("secret");
  // A different version may have other fields from here on; it is refused for its version.
  if (message.linkVersion != kLinkVersion) return message;
  message.version = fields.string("version");
  message.sessionId = fields.requiredText("sessionId", 128);
  message.label = fields.string("label");
  message.cwd = fields.string("cwd");
  message.cliPid = fields.integer("cliPid");
  message.mode = readMode(fields).value_or(SyncMode::Live);
  message.joined = fields.boolean("joined");
  message.have = readDigests(fields, "have");
  message.groups = readStrings(fields, "groups");
  if (const auto path = fields.optional("path", json::Kind::String)) {
    message.path = readVariable(fields, "path", *path, kMaxPathVariable);
  }
  message.runtime = readRuntime(fields);
  return message;
}

Update readUpdate(Fields& fields, const Slice&) {
  Update message;
  message.label = readOptionalString(fields, "label");
  message.cwd = readOptionalString(fields, "cwd");
  message.mode = readMode(fields);
  message.builtins = readOptionalStrings(fields, "builtins");
  message.agentMode = readOptionalString(fields, "agentMode");
  if (message.agentMode) message.agentModeBy = fields.string("agentModeBy");
  return message;
}

ActivityChanged readActivity(Fields& fields, const Slice&) {
  return {readEnum<Activity>(fields, "activity", kActivities)};
}

Call readCall(Fields& fields, const Slice& text) {
  Call message;
  message.callId = fields.requiredText("callId", 256);
  message.tool = fields.requiredText("tool", 256);
  const std::optional<json::Value> args = fields.required("args", json::Kind::Object);
  if (args) message.args = text.part(args->raw);
  const std::optional<json::Value> id = fields.find("toolCallId");
  if (id && id->kind == json::Kind::String && id->raw.size() <= kMaxToolCallId) {
    message.toolCallId = text.part(id->raw);
  }
  message.trace = readTrace(fields);
  return message;
}

CancelCall readCancelCall(Fields& fields, const Slice&) {
  return {fields.string("callId"), fields.string("reason")};
}

Synced readSynced(Fields& fields, const Slice&) {
  return {fields.integer("revision")};
}

SyncFailed readSyncFailed(Fields& fields, const Slice&) {
  return {fields.integer("revision"), fields.string("message"), readStrings(fields, "refused")};
}

EndSession readEnd(Fields& fields, const Slice&) {
  return {fields.string("reason")};
}

Ping readPing(Fields&, const Slice&) {
  return {};
}

Drain readDrain(Fields& fields, const Slice&) {
  return {fields.string("secret"), fields.string("version")};
}

ListPaired readListPaired(Fields& fields, const Slice&) {
  return {fields.string("secret")};
}

RevokePaired readRevokePaired(Fields& fields, const Slice&) {
  return {fields.string("secret"), fields.string("name")};
}

ShowPairings readShowPairings(Fields&, const Slice&) {
  return {};
}

OpenProvider readOpenProvider(Fields& fields, const Slice&) {
  return {fields.string("token")};
}

OpenControl readOpenControl(Fields& fields, const Slice&) {
  return {fields.string("secret"), readOptionalString(fields, "sessionId").value_or("")};
}

Inspect readInspect(Fields&, const Slice&) {
  return {};
}

Trace readTrace(Fields&, const Slice&) {
  return {};
}

ListCalls readListCalls(Fields& fields, const Slice&) {
  return {fields.integer("after")};
}

HostRequest readHostRequest(Fields& fields, const Slice& text) {
  HostRequest message;
  message.requestId = fields.requiredText("requestId", 256);
  message.method = fields.requiredText("method", kMaxMethodName);
  if (const auto params = fields.optional("params", json::Kind::Object)) {
    message.params = text.part(params->raw);
  }
  return message;
}

PermissionCheck readPermissionCheck(Fields& fields, const Slice& text) {
  PermissionCheck message;
  message.requestId = fields.requiredText("requestId", 256);
  message.sessionId = fields.requiredText("sessionId", 128);
  message.tool = fields.requiredText("tool", 256);
  if (const auto args = fields.required("args", json::Kind::Object)) {
    message.args = text.part(args->raw);
  }
  return message;
}

UseProvider readUseProvider(Fields& fields, const Slice&) {
  return {fields.requiredText("provider", 128),
          readOptionalString(fields, "sessionId").value_or("")};
}

RunCommand readRunCommand(Fields& fields, const Slice&) {
  RunCommand message;
  message.commandId = fields.requiredText("commandId", 256);
  message.name = fields.requiredText("name", kMaxCommandName);
  message.arguments = fields.string("arguments");
  if (message.arguments.size() > kMaxCommandArguments) {
    fields.reportExpected("arguments", "at most 4096 bytes", fields.find("arguments"));
  }
  return message;
}

EventOccurred readEventOccurred(Fields& fields, const Slice& text) {
  EventOccurred message;
  message.event = fields.requiredText("event", 256);
  if (const auto data = fields.required("data", json::Kind::Object)) {
    message.data = text.part(data->raw);
  }
  return message;
}

// The JSON text of the value, of any kind.
Slice readRaw(Fields& fields, std::string_view key, const Slice& text) {
  const std::optional<json::Value> value = fields.find(key);
  if (!value) fields.reportExpected(key, "a value", value);
  return value ? text.part(value->raw) : Slice();
}

HookCheck readHookCheck(Fields& fields, const Slice& text) {
  HookCheck message;
  message.checkId = fields.requiredText("checkId", 256);
  message.tool = fields.string("tool");
  message.args = readRaw(fields, "args", text);
  return message;
}

PromptSubmitted readPromptSubmitted(Fields& fields, const Slice&) {
  return {fields.requiredText("promptId", 256)};
}

SectionBuild readSectionBuild(Fields& fields, const Slice&) {
  return {fields.requiredText("buildId", 256), fields.string("section"), fields.string("current")};
}

HooksState readHooksState(Fields& fields, const Slice&) {
  return {fields.integer("revision"), readEnum<HookOutcome>(fields, "hooks", kHookOutcomes),
          readEnum<HookOutcome>(fields, "sections", kHookOutcomes)};
}

SessionResult readSessionResult(Fields& fields, const Slice& text) {
  SessionResult message;
  message.requestId = fields.requiredText("requestId", 256);
  const std::optional<json::Value> error = fields.optional("error", json::Kind::Object);
  const std::optional<json::Value> value = error ? error : fields.find("result");
  message.failed = error.has_value();
  if (value) message.value = text.part(value->raw);
  return message;
}

// A message of either set, constructed in place.
template <class Set, auto read>
LinkMessage readAs(Fields& fields, const Slice& text, Problem&) {
  return LinkMessage(std::in_place_type<Set>, read(fields, text));
}
template <auto read>
constexpr auto kSession = readAs<SessionMessage, read>;
template <auto read>
constexpr auto kControl = readAs<ControlMessage, read>;

constexpr size_t kMessages =
    std::variant_size_v<SessionMessage> + std::variant_size_v<ControlMessage>;

constexpr std::array<Reader<LinkMessage>, kMessages> kMessageReaders{{
    {"register", kSession<readRegister>},
    {"update", kSession<readUpdate>},
    {"activity", kSession<readActivity>},
    {"call", kSession<readCall>},
    {"cancel", kSession<readCancelCall>},
    {"synced", kSession<readSynced>},
    {"sync.failed", kSession<readSyncFailed>},
    {"end", kSession<readEnd>},
    {"ping", kSession<readPing>},
    {"pairings.show", kSession<readShowPairings>},
    {"provider.use", kSession<readUseProvider>},
    {"command.run", kSession<readRunCommand>},
    {"event", kSession<readEventOccurred>},
    {"hook.check", kSession<readHookCheck>},
    {"prompt.submitted", kSession<readPromptSubmitted>},
    {"section.build", kSession<readSectionBuild>},
    {"hooks.state", kSession<readHooksState>},
    {"session.result", kSession<readSessionResult>},
    {"provider.open", kControl<readOpenProvider>},
    {"control.open", kControl<readOpenControl>},
    {"drain", kControl<readDrain>},
    {"paired.list", kControl<readListPaired>},
    {"paired.revoke", kControl<readRevokePaired>},
    {"inspect", kControl<readInspect>},
    {"trace", kControl<readTrace>},
    {"calls.list", kControl<readListCalls>},
    {"host.request", kControl<readHostRequest>},
    {"permission.check", kControl<readPermissionCheck>},
}};

}  // namespace

Result<LinkMessage, std::string> SessionDecoder::message(const Slice& text) {
  if (!utf8::isValid(text.view())) return std::string("link frame is not UTF-8");
  Result<LinkMessage, std::string> message = decode(scanner_, text, kMessageReaders);
  // A provider gets a part of the message inside its own message, which may be kMaxDepth levels
  // deep. Only an event may be deeper: it has the arguments of other providers' tools.
  if (!message || scanner_.depth() <= json::kMaxDepth) return message;
  const auto* session = std::get_if<SessionMessage>(&message.value());
  if (session != nullptr && std::holds_alternative<EventOccurred>(*session)) return message;
  return std::string("link frame is nested more than 128 levels deep");
}

Result<Slice, std::string> SessionDecoder::arguments(const Slice& text) {
  if (!utf8::isValid(text.view())) return std::string("are not UTF-8");
  const Result<json::Value, std::string> args = readArguments(scanner_, text.view());
  if (!args) return args.error();
  return text.part(args.value().raw);
}

}  // namespace tap::protocol
