#include <array>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "protocol/link/session_codec.h"
#include "protocol/link/session_fields.h"
#include "protocol/provider/refused_requests.h"

namespace tap::protocol {

using namespace session;

namespace {

Register readRegister(Fields& fields, const Slice&) {
  Register message;
  message.linkVersion = fields.integer("linkVersion");
  message.secret = fields.string("secret");
  // Another version may look different from here on; it is refused for its version.
  if (message.linkVersion != kLinkVersion) return message;
  message.version = fields.string("version");
  message.sessionId = fields.requiredText("sessionId", 128);
  message.label = fields.string("label");
  message.cwd = fields.string("cwd");
  message.cliPid = fields.integer("cliPid");
  message.mode = readMode(fields).value_or(SyncMode::Live);
  message.joined = fields.boolean("joined");
  message.have = readDigests(fields, "have");
  return message;
}

Update readUpdate(Fields& fields, const Slice&) {
  Update message;
  message.label = readOptionalString(fields, "label");
  message.cwd = readOptionalString(fields, "cwd");
  message.mode = readMode(fields);
  message.builtins = readOptionalStrings(fields, "builtins");
  return message;
}

ActivityChanged readActivity(Fields& fields, const Slice&) {
  return {oneOf<Activity>(fields, "activity", kActivities)};
}

Call readCall(Fields& fields, const Slice& text) {
  Call message;
  message.callId = fields.requiredText("callId", 256);
  message.tool = fields.requiredText("tool", 256);
  const std::optional<json::Value> args = fields.required("args", json::Kind::Object);
  if (args) message.args = text.part(args->raw);
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

Operate readOperate(Fields& fields, const Slice&) {
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

UseProvider readUseProvider(Fields& fields, const Slice&) {
  return {fields.requiredText("provider", 128),
          readOptionalString(fields, "sessionId").value_or("")};
}

EventOccurred readEventOccurred(Fields& fields, const Slice& text) {
  EventOccurred message;
  message.event = fields.requiredText("event", 256);
  if (const auto data = fields.required("data", json::Kind::Object)) {
    message.data = text.part(data->raw);
  }
  return message;
}

// The value as it is written; any JSON will do.
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
  return {fields.integer("revision"), oneOf<HookOutcome>(fields, "hooks", kHookOutcomes),
          oneOf<HookOutcome>(fields, "sections", kHookOutcomes)};
}

constexpr std::array<Reader<SessionMessage>, std::variant_size_v<SessionMessage>> kMessageReaders{{
    {"register", reading<SessionMessage, readRegister>},
    {"update", reading<SessionMessage, readUpdate>},
    {"activity", reading<SessionMessage, readActivity>},
    {"call", reading<SessionMessage, readCall>},
    {"cancel", reading<SessionMessage, readCancelCall>},
    {"synced", reading<SessionMessage, readSynced>},
    {"sync.failed", reading<SessionMessage, readSyncFailed>},
    {"end", reading<SessionMessage, readEnd>},
    {"ping", reading<SessionMessage, readPing>},
    {"drain", reading<SessionMessage, readDrain>},
    {"paired.list", reading<SessionMessage, readListPaired>},
    {"paired.revoke", reading<SessionMessage, readRevokePaired>},
    {"pairings.show", reading<SessionMessage, readShowPairings>},
    {"operate", reading<SessionMessage, readOperate>},
    {"inspect", reading<SessionMessage, readInspect>},
    {"trace", reading<SessionMessage, readTrace>},
    {"calls.list", reading<SessionMessage, readListCalls>},
    {"provider.use", reading<SessionMessage, readUseProvider>},
    {"event", reading<SessionMessage, readEventOccurred>},
    {"hook.check", reading<SessionMessage, readHookCheck>},
    {"prompt.submitted", reading<SessionMessage, readPromptSubmitted>},
    {"section.build", reading<SessionMessage, readSectionBuild>},
    {"hooks.state", reading<SessionMessage, readHooksState>},
}};

}  // namespace

Result<SessionMessage, std::string> SessionDecoder::message(const Slice& text) {
  if (!utf8::isValid(text.view())) return std::string("link frame is not UTF-8");
  Result<SessionMessage, std::string> message = decode(scanner_, text, kMessageReaders);
  // What a provider gets of it is then as deep as any message may be. The arguments of tools that
  // others have called are a part of an event.
  const bool tooDeep = scanner_.depth() > json::kMaxDepth;
  if (message && tooDeep && !std::holds_alternative<EventOccurred>(message.value())) {
    return std::string("link frame is nested more than 128 levels deep");
  }
  return message;
}

Result<Slice, std::string> SessionDecoder::arguments(const Slice& text) {
  if (!utf8::isValid(text.view())) return std::string("are not UTF-8");
  const Result<json::Value, std::string> args = readArguments(scanner_, text.view());
  if (!args) return args.error();
  return text.part(args.value().raw);
}

}  // namespace tap::protocol
