#include "protocol/session_codec.h"

#include <array>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/utf8.h"
#include "protocol/field_reader.h"

namespace tap::protocol {

namespace {

// Both ends are ours and the secret has been checked: bounds here only stop nonsense.
constexpr int64_t kMaxInteger = (int64_t{1} << 53) - 1;

struct Fields : FieldReader {
  using FieldReader::FieldReader;
  std::string string(std::string_view key) {
    const std::optional<json::Value> value = required(key, json::Kind::String);
    return value ? json::decodeString(*value) : std::string();
  }
  int64_t integer(std::string_view key) { return requiredInteger(key, 0, kMaxInteger); }
  bool boolean(std::string_view key) {
    const std::optional<json::Value> value = optional(key, json::Kind::Boolean);
    return value && json::decodeBoolean(*value);
  }
};

std::optional<std::vector<std::string>> readOptionalStrings(Fields& fields, std::string_view key) {
  const std::optional<json::Value> array = fields.optional(key, json::Kind::Array);
  if (!array) return std::nullopt;
  std::vector<std::string> strings;
  json::Elements elements(*array);
  for (json::Value value; elements.next(value);) {
    if (value.kind == json::Kind::String) {
      strings.push_back(json::decodeString(value));
    } else {
      fields.reportExpected(key, "strings only", value);
    }
  }
  return strings;
}

std::vector<std::string> readStrings(Fields& fields, std::string_view key) {
  return readOptionalStrings(fields, key).value_or(std::vector<std::string>());
}

std::vector<ProviderDigest> readDigests(Fields& fields, std::string_view key) {
  std::vector<ProviderDigest> digests;
  const std::optional<json::Value> object = fields.optional(key, json::Kind::Object);
  if (!object) return digests;
  json::Members members(*object);
  for (json::Member member; members.next(member);) {
    if (member.value.kind != json::Kind::String) {
      fields.reportExpected(key, "strings only", member.value);
      continue;
    }
    const std::string quoted = "\"" + std::string(member.key) + "\"";
    digests.push_back(
        {json::decodeString({json::Kind::String, quoted}), json::decodeString(member.value)});
  }
  return digests;
}

std::optional<std::string> readOptionalString(Fields& fields, std::string_view key) {
  const std::optional<json::Value> value = fields.optional(key, json::Kind::String);
  if (!value) return std::nullopt;
  return json::decodeString(*value);
}

// In the order of the enumerators.
constexpr std::array<std::string_view, 2> kModes{"live", "reload"};
constexpr std::array<std::string_view, 3> kActivities{"idle", "busy", "user-prompt"};
constexpr std::array<std::string_view, 3> kLevels{"info", "warning", "error"};
constexpr std::array<std::string_view, 3> kHookOutcomes{"in-force", "denied", "unavailable"};

template <class Enum, size_t N>
Enum oneOf(Fields& fields, std::string_view key, const std::array<std::string_view, N>& names) {
  const std::optional<json::Value> value = fields.required(key, json::Kind::String);
  if (!value) return Enum{};
  const std::string name = json::decodeString(*value);
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  fields.reportExpected(key, "a known name", value);
  return Enum{};
}

std::optional<SyncMode> readMode(Fields& fields) {
  if (!fields.optional("mode", json::Kind::String)) return std::nullopt;
  return oneOf<SyncMode>(fields, "mode", kModes);
}

// --- Session → gateway ---

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

// --- Gateway → session ---

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

template <class Item>
std::vector<Item> readItems(Fields& fields, std::string_view key, Problem& problem,
                            Item (*read)(json::Value, Problem&)) {
  std::vector<Item> items;
  const std::optional<json::Value> array = fields.required(key, json::Kind::Array);
  if (!array) return items;
  json::Elements elements(*array);
  for (json::Value element; elements.next(element);) {
    if (element.kind == json::Kind::Object) {
      items.push_back(read(element, problem));
    } else {
      fields.reportExpected(key, "objects only", element);
    }
  }
  return items;
}

Hooks readHooksEvent(Fields& fields, Problem& problem) {
  Hooks event;
  event.revision = fields.integer("revision");
  event.wanted = fields.boolean("wanted");
  event.prompts = fields.boolean("prompts");
  event.gateMs = fields.integer("gateMs");
  event.guards = readItems<ProviderGuards>(fields, "guards", problem, readGuards);
  event.sections = readItems<SectionEdit>(fields, "sections", problem, readSectionEdit);
  return event;
}

HookVerdict readHookVerdict(Fields& fields, const Slice&) {
  return {fields.requiredText("checkId", 256), readOptionalString(fields, "deny"),
          readOptionalString(fields, "context").value_or("")};
}

Welcome readWelcome(Fields& fields, const Slice&) {
  return {fields.integer("linkVersion"), fields.string("version"), fields.integer("pid"),
          fields.integer("port")};
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

Tools readTools(Fields& fields, Problem& problem) {
  Tools event;
  event.revision = fields.integer("revision");
  event.reload = fields.boolean("reload");
  event.drop = readStrings(fields, "drop");
  event.set = readItems<ProviderTools>(fields, "set", problem, readProviderTools);
  return event;
}

// Base64 has nothing to unescape: what stands between the quotes is it.
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

// --- Writing ---

void writeMode(json::Writer& writer, SyncMode mode) {
  writer.field("mode", kModes[static_cast<size_t>(mode)]);
}

void writeStrings(json::Writer& writer, std::string_view key,
                  const std::vector<std::string>& strings) {
  writer.key(key).beginArray();
  for (const std::string& text : strings) writer.string(text);
  writer.endArray();
}

// One overload writes the fields of each message into an object that is already open.
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
    for (const ProviderDigest& one : m.have) writer.field(one.provider, one.digest);
    writer.endObject();
  }
  void operator()(const Update& m) const {
    writer.field("type", "update");
    if (m.label) writer.field("label", *m.label);
    if (m.cwd) writer.field("cwd", *m.cwd);
    if (m.mode) writeMode(writer, *m.mode);
    if (m.builtins) writeStrings(writer, "builtins", *m.builtins);
  }
  void operator()(const ActivityChanged& m) const {
    writer.field("type", "activity");
    writer.field("activity", kActivities[static_cast<size_t>(m.activity)]);
  }
  void operator()(const Call& m) const {
    writer.field("type", "call").field("callId", m.callId).field("tool", m.tool);
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
  void operator()(const Drain& m) const {
    writer.field("type", "drain").field("secret", m.secret).field("version", m.version);
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
  }
  void operator()(const Pong&) const { writer.field("type", "pong"); }
  void operator()(const Draining& e) const {
    writer.field("type", "draining").field("reason", e.reason);
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

template <class Variant>
std::string encodeWhole(const Variant& variant) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject();
  std::visit(FieldWriter{writer}, variant);
  writer.endObject();
  return out;
}

// The largest part of a result stands between head and tail as it is.
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

template <class Variant>
struct Reader {
  std::string_view type;
  Variant (*read)(Fields& fields, const Slice& text, Problem& problem);
};

template <class Variant, auto read>
Variant reading(Fields& fields, const Slice& text, Problem&) {
  return read(fields, text);
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
    {"event", reading<SessionMessage, readEventOccurred>},
    {"hook.check", reading<SessionMessage, readHookCheck>},
    {"prompt.submitted", reading<SessionMessage, readPromptSubmitted>},
    {"section.build", reading<SessionMessage, readSectionBuild>},
    {"hooks.state", reading<SessionMessage, readHooksState>},
}};

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
       const auto level = oneOf<LogLevel>(fields, "level", kLevels);
       return Timeline{level, fields.string("text")};
     }},
    {"inject",
     [](Fields& fields, const Slice&, Problem&) -> SessionEvent {
       return Inject{fields.string("provider"), fields.string("prompt")};
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
}};

template <class Variant, size_t N>
Result<Variant, std::string> decode(json::Scanner& scanner, const Slice& text,
                                    const std::array<Reader<Variant>, N>& readers) {
  Result<json::Value, json::SyntaxError> root = scanner.scan(text.view());
  if (!root) return std::string("link frame is not JSON: ") + root.error().reason;
  if (root.value().kind != json::Kind::Object) return std::string("link frame is no object");
  const std::optional<json::Value> type = scanner.find("type");
  const std::string name =
      type && type->kind == json::Kind::String ? json::decodeString(*type) : std::string();
  for (const Reader<Variant>& reader : readers) {
    if (reader.type != name) continue;
    Problem problem;
    Fields fields(scanner, name, problem);
    Variant message = reader.read(fields, text, problem);
    if (problem.any()) return problem.text();
    return message;
  }
  return "link frame of unknown type \"" + std::string(utf8::truncate(name, 64)) + "\"";
}

}  // namespace

Result<SessionMessage, std::string> SessionDecoder::message(const Slice& text) {
  return decode(scanner_, text, kMessageReaders);
}

Result<SessionEvent, std::string> SessionDecoder::event(const Slice& text) {
  return decode(scanner_, text, kEventReaders);
}

SplitText encode(const SessionMessage& message) {
  return {encodeWhole(message), {}, {}};
}

SplitText encode(const SessionEvent& event) {
  SplitText text{encodeWhole(event), {}, {}};
  const auto* result = std::get_if<CallResult>(&event);
  if (result != nullptr && !result->failed) splitResult(text, *result);
  return text;
}

}  // namespace tap::protocol
