#include "protocol/provider_codec.h"

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "protocol/field_reader.h"
#include "protocol/tool_definition.h"

namespace tap::protocol {

namespace {

constexpr size_t kMaxTokenBytes = 512;
constexpr size_t kMaxIdBytes = 128;

// What every decoder gets: the fields, where to put a complaint, and the text for slices.
struct Body {
  FieldReader& fields;
  Problem& problem;
  const Limits& limits;
  const Slice& text;
};

bool declaresTools(ProviderMessageType type) {
  return type == ProviderMessageType::Hello || type == ProviderMessageType::ToolsUpdate;
}

bool overToolCount(json::Value tools, const Limits& limits) {
  if (tools.kind != json::Kind::Array) return false;
  json::Elements elements(tools);
  json::Value element;
  size_t count = 0;
  while (elements.next(element)) ++count;
  return count > limits.count(Limit::ToolsPerProvider);
}

// The name becomes part of timeline lines, failures and logs: it must be showable as it is.
std::string readDisplayName(Body& body, std::string_view key, std::string_view path) {
  std::string name = body.fields.requiredText(key, body.limits.bytes(Limit::NameBytes));
  if (visible(name, false) != name) {
    body.problem.report(std::string(path) + ": expected text without control characters");
  }
  return name;
}

ProviderMessage decodeAuth(Body& body) {
  const std::optional<json::Value> mode = body.fields.find("mode");
  if (mode && mode->kind == json::Kind::String && json::decodeString(*mode) == "pair") {
    body.problem.report("auth.mode: pairing is not available; send auth with the token");
  }
  return Auth{body.fields.requiredText("token", kMaxTokenBytes)};
}

ProviderMessage decodeHello(Body& body) {
  Hello hello;
  hello.name = readDisplayName(body, "name", "hello.name");
  const std::optional<json::Value> version =
      body.fields.required("protocolVersion", json::Kind::Number);
  // A fraction or a giant is a version, too: not ours.
  if (version) hello.protocolVersion = json::decodeInteger(*version).value_or(-1);
  // Another version may have given the other fields another shape.
  if (version && hello.protocolVersion != kProtocolVersion) return hello;
  hello.session = body.fields.optionalText("session", kMaxIdBytes);
  if (const auto tools = body.fields.optional("tools", json::Kind::Array)) {
    hello.tools = readTools(*tools, "hello.tools", body.limits, body.problem);
  }
  return hello;
}

ProviderMessage decodeToolResult(Body& body) {
  ToolResult result;
  result.id = body.fields.requiredText("id", kMaxIdBytes);
  const std::optional<json::Value> code = body.fields.optional("errorCode", json::Kind::String);
  const std::optional<json::Value> error = body.fields.optional("error", json::Kind::String);
  result.failed = code || error;
  if (code) result.errorCode = callErrorFromWire(json::decodeString(*code));
  if (error) result.error = json::decodeString(*error);
  if (const auto data = body.fields.find("data")) result.data = body.text.part(data->raw);
  return result;
}

std::optional<PushLevel> pushLevelFromWire(std::string_view level) {
  if (level == "keep") return PushLevel::Keep;
  if (level == "surface") return PushLevel::Surface;
  if (level == "inject") return PushLevel::Inject;
  return std::nullopt;
}

ProviderMessage decodePush(Body& body) {
  Push push;
  const std::string level = body.fields.requiredText("level", kMaxIdBytes);
  if (const auto known = pushLevelFromWire(level)) {
    push.level = *known;
  } else {
    body.problem.report("push.level: expected \"keep\", \"surface\" or \"inject\", got \"" +
                        visible(level, false, 64) + "\"");
  }
  push.event = body.fields.requiredText("event", body.limits.bytes(Limit::MessageBytes));
  if (body.fields.optional("stream", json::Kind::String)) {
    push.stream = readDisplayName(body, "stream", "push.stream");
  }
  push.sessionId = body.fields.optionalText("sessionId", kMaxIdBytes);
  if (const auto metadata = body.fields.optional("metadata", json::Kind::Object)) {
    push.metadata = body.text.part(metadata->raw);
  }
  return push;
}

ProviderMessage decodeToolsUpdate(Body& body) {
  ToolsUpdate update;
  update.sessionId = body.fields.optionalText("sessionId", kMaxIdBytes);
  if (const auto tools = body.fields.required("tools", json::Kind::Array)) {
    update.tools = readTools(*tools, "tools.update.tools", body.limits, body.problem);
  }
  return update;
}

ProviderMessage decodeGoodbye(Body& body) {
  const std::optional<json::Value> reason = body.fields.optional("reason", json::Kind::String);
  return Goodbye{reason ? json::decodeString(*reason) : std::string()};
}

ProviderMessage decode(ProviderMessageType type, Body& body) {
  switch (type) {
    case ProviderMessageType::Auth:
      return decodeAuth(body);
    case ProviderMessageType::Hello:
      return decodeHello(body);
    case ProviderMessageType::ToolResult:
      return decodeToolResult(body);
    case ProviderMessageType::Push:
      return decodePush(body);
    case ProviderMessageType::ToolsUpdate:
      return decodeToolsUpdate(body);
    case ProviderMessageType::Goodbye:
      return decodeGoodbye(body);
  }
  return Goodbye{};
}

std::optional<ProviderMessageType> typeFromWire(std::string_view name) {
  for (size_t i = 0; i < kProviderMessageTable.size(); ++i) {
    if (kProviderMessageTable[i].type == name) return static_cast<ProviderMessageType>(i);
  }
  return std::nullopt;
}

Refusal invalid(std::string message, std::string replyTo) {
  return {ErrorCode::InvalidJson, std::move(message), std::move(replyTo)};
}

}  // namespace

Result<ProviderMessageType, Refusal> ProviderDecoder::open(const Slice& text) {
  text_ = text;
  root_ = {};
  Result<json::Value, json::SyntaxError> scanned = scanner_.scan(text.view());
  if (!scanned) {
    return invalid("not valid JSON at byte " + std::to_string(scanned.error().offset) + ": " +
                       scanned.error().reason,
                   "");
  }
  root_ = scanned.value();
  if (root_.kind != json::Kind::Object) {
    return invalid("expected a JSON object, got " + std::string(describe(root_.kind)), "");
  }
  const std::optional<json::Value> type = scanner_.find("type");
  if (!type || type->kind != json::Kind::String) {
    return invalid("type: expected a string that names the message type", "");
  }
  const std::string name = json::decodeString(*type);
  const std::optional<ProviderMessageType> known = typeFromWire(name);
  if (!known) {
    const std::string shown = visible(name, false, 64);
    return Refusal{ErrorCode::UnknownType,
                   "\"" + shown + "\" is not a message type of protocol version 2", shown};
  }
  type_ = *known;
  const size_t most = limits_.bytes(row(type_).maxBytes);
  if (text.size() > most) {
    return Refusal{ErrorCode::PayloadTooLarge,
                   name + " may be " + std::to_string(most) + " bytes long, this one has " +
                       std::to_string(text.size()),
                   name};
  }
  return type_;
}

std::string ProviderDecoder::callId() const {
  if (root_.kind != json::Kind::Object) return {};
  const std::optional<json::Value> id = scanner_.find("id");
  if (!id || id->kind != json::Kind::String || id->raw.size() > kMaxIdBytes) return {};
  return json::decodeString(*id);
}

Result<ProviderMessage, Refusal> ProviderDecoder::body() {
  const std::string type(row(type_).type);
  Problem problem;
  FieldReader fields(root_, type, problem);
  const std::optional<json::Value> tools = fields.find("tools");
  if (declaresTools(type_) && tools && overToolCount(*tools, limits_)) {
    return Refusal{ErrorCode::PayloadTooLarge,
                   type + ".tools: at most " +
                       std::to_string(limits_.count(Limit::ToolsPerProvider)) + " tools",
                   type};
  }
  Body body{fields, problem, limits_, text_};
  ProviderMessage message = decode(type_, body);
  if (problem.any()) return invalid(problem.text(), type);
  return message;
}

Slice encodeSessions(std::string_view type, const std::vector<SessionSummary>& active) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", type).key("active").beginArray();
  for (const SessionSummary& session : active) {
    writer.beginObject().field("id", session.id).field("label", session.label);
    writer.field("cwd", session.cwd).endObject();
  }
  writer.endArray().endObject();
  return Slice(std::move(out));
}

Slice encodeHelloAck(std::string_view providerId, std::string_view sessionId) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("type", "hello.ack").field("protocolVersion", kProtocolVersion);
  writer.field("providerId", providerId).field("sessionId", sessionId).endObject();
  return Slice(std::move(out));
}

Slice encodeToolCall(std::string_view id, std::string_view sessionId, std::string_view tool,
                     std::string_view args) {
  std::string out;
  out.reserve(96 + id.size() + sessionId.size() + tool.size() + args.size());
  json::Writer writer(out);
  writer.beginObject().field("type", "tool.call").field("id", id).field("sessionId", sessionId);
  writer.field("tool", tool).rawField("args", args.empty() ? "{}" : args).endObject();
  return Slice(std::move(out));
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
