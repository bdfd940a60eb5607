#include "protocol/provider/provider_bodies.h"

#include <utility>

#include "base/encoding.h"
#include "base/names.h"
#include "protocol/concurrency.h"
#include "protocol/tool_definition.h"
#include "protocol/tool_result.h"

namespace tap::protocol {

namespace {

constexpr size_t kMaxTokenBytes = 512;

// The name becomes part of timeline lines, failures and logs, so all of it must be visible.
std::string readDisplayName(Body& body, std::string_view key, std::string_view path) {
  std::string name = body.fields.requiredText(key, body.limits.bytes(Limit::NameBytes));
  if (const std::string problem = nameProblem(name); !name.empty() && !problem.empty()) {
    body.problem.report(std::string(path) + ": expected " + problem);
  }
  return name;
}

ProviderMessage decodeAuth(Body& body) {
  Auth auth;
  const auto mode = body.fields.optionalText("mode", kMaxIdBytes);
  auth.pair = mode == "pair";
  if (!auth.pair) {
    auth.token = body.fields.requiredText("token", kMaxTokenBytes);
    return auth;
  }
  if (body.fields.find("name")) auth.name = readDisplayName(body, "name", "auth.name");
  auth.session = body.fields.optionalText("session", kMaxIdBytes);
  return auth;
}

ProviderMessage decodeAuthConfirm(Body& body) {
  return AuthConfirm{body.fields.requiredText("code", kMaxIdBytes)};
}

uint8_t eventFromWire(std::string_view name) {
  if (name == "user.message") return static_cast<uint8_t>(SubscribedEvent::UserMessage);
  if (name == "assistant.message") return static_cast<uint8_t>(SubscribedEvent::AssistantMessage);
  if (name == "tool.execution_complete") {
    return static_cast<uint8_t>(SubscribedEvent::ToolExecutionComplete);
  }
  if (name == "assistant.intent") return static_cast<uint8_t>(SubscribedEvent::AssistantIntent);
  return 0;
}

uint8_t readSubscribe(Body& body) {
  uint8_t events = 0;
  const auto array = body.fields.optional("subscribe", json::Kind::Array);
  if (!array) return events;
  json::Elements elements(*array);
  for (json::Value value; elements.next(value);) {
    const uint8_t event =
        value.kind == json::Kind::String ? eventFromWire(json::decodeString(value)) : 0;
    if (event == 0) {
      body.problem.report(
          "hello.subscribe: expected names out of user.message, assistant.message, "
          "tool.execution_complete and assistant.intent");
    }
    events |= event;
  }
  return events;
}

// Absent: empty. Text of any length up to `most`; it may be empty.
std::string readText(Body& body, std::string_view key, size_t most) {
  const auto value = body.fields.optional(key, json::Kind::String);
  std::string text = value ? json::decodeString(*value) : std::string();
  if (text.size() > most) {
    body.problem.report(std::string(key) + ": at most " + std::to_string(most) + " bytes");
  }
  return text;
}

ProviderMessage decodeHello(Body& body) {
  Hello hello;
  hello.name = readDisplayName(body, "name", "hello.name");
  const std::optional<json::Value> version =
      body.fields.required("protocolVersion", json::Kind::Number);
  // A fraction or a huge number is a different version, too.
  if (version) hello.protocolVersion = json::decodeInteger(*version).value_or(-1);
  // A different version may have different fields.
  if (version && hello.protocolVersion != kProtocolVersion) return hello;
  hello.session = body.fields.optionalText("session", kMaxIdBytes);
  if (body.fields.find("instance")) {
    hello.instance = readDisplayName(body, "instance", "hello.instance");
  }
  hello.reconnectToken = readText(body, "reconnectToken", kMaxTokenBytes);
  if (const auto metadata = body.fields.optional("metadata", json::Kind::Object)) {
    hello.metadata = std::string(metadata->raw);
    const size_t most = body.limits.bytes(Limit::MetadataBytes);
    if (hello.metadata.size() > most) {
      body.problem.report("hello.metadata: at most " + std::to_string(most) + " bytes");
    }
  }
  hello.subscribe = readSubscribe(body);
  if (const auto hooks = body.fields.optional("hooks", json::Kind::Object)) {
    hello.declaresHooks = true;
    hello.hooks = readHooks(*hooks, "hello.hooks", body.limits, body.problem, body.patterns);
  }
  if (body.fields.optional("context", json::Kind::String)) {
    hello.context = readText(body, "context", body.limits.bytes(Limit::HookTextBytes));
  }
  hello.startupContext = readText(body, "startup_context", body.limits.bytes(Limit::HookTextBytes));
  hello.concurrency = readConcurrency(body.fields, body.problem);
  if (const auto tools = body.fields.optional("tools", json::Kind::Array)) {
    hello.declaresTools = true;
    hello.tools = readTools(*tools, "hello.tools", body.limits, body.problem);
  }
  return hello;
}

ProviderMessage decodeToolResult(Body& body) {
  return readToolResult(body.fields, body.text, body.problem);
}

ProviderMessage decodeToolProgress(Body& body) {
  return ToolProgress{body.fields.requiredText("id", kMaxIdBytes),
                      body.fields.requiredText("message", body.limits.bytes(Limit::MessageBytes))};
}

std::optional<PushLevel> pushLevelFromWire(std::string_view level) {
  if (level == "keep") return PushLevel::Keep;
  if (level == "surface") return PushLevel::Surface;
  if (level == "inject") return PushLevel::Inject;
  return std::nullopt;
}

Cause causeFromWire(std::string_view cause) {
  if (cause == "user") return Cause::User;
  return cause == "model" ? Cause::Model : Cause::None;
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
  const size_t most = body.limits.bytes(Limit::MessageBytes);
  push.prompt = body.fields.optionalText("prompt", most).value_or(std::string());
  push.event =
      push.prompt.empty() ? body.fields.requiredText("event", most) : readText(body, "event", most);
  const auto broadcast = body.fields.optional("broadcast", json::Kind::Boolean);
  push.broadcast = broadcast && json::decodeBoolean(*broadcast);
  push.requestId = readText(body, "requestId", kMaxIdBytes);
  push.key = body.fields.optionalText("key", kMaxIdBytes).value_or(std::string());
  if (body.fields.optional("stream", json::Kind::String)) {
    push.stream = readDisplayName(body, "stream", "push.stream");
  }
  push.sessionId = body.fields.optionalText("sessionId", kMaxIdBytes);
  if (const auto metadata = body.fields.optional("metadata", json::Kind::Object)) {
    push.metadata = body.text.part(metadata->raw);
  }
  push.trace = readTrace(body.fields);
  push.display = readText(body, "display", most);
  const auto immediate = body.fields.optional("immediate", json::Kind::Boolean);
  push.immediate = immediate && json::decodeBoolean(*immediate);
  push.cause = causeFromWire(readText(body, "cause", kMaxIdBytes));
  return push;
}

ProviderMessage decodeWithdraw(Body& body) {
  return Withdraw{body.fields.requiredText("key", kMaxIdBytes),
                  body.fields.optionalText("sessionId", kMaxIdBytes),
                  readText(body, "requestId", kMaxIdBytes)};
}

std::vector<std::string> readNames(Body& body, json::Value array, std::string_view path) {
  std::vector<std::string> names;
  json::Elements elements(array);
  for (json::Value value; elements.next(value);) {
    if (value.kind != json::Kind::String) {
      body.problem.report(std::string(path) + ": expected strings, got " +
                          std::string(describe(value.kind)));
      break;
    }
    names.push_back(json::decodeString(value));
  }
  return names;
}

ProviderMessage decodeToolsUpdate(Body& body) {
  ToolsUpdate update;
  update.sessionId = body.fields.optionalText("sessionId", kMaxIdBytes);
  update.requestId = readText(body, "requestId", kMaxIdBytes);
  const auto inForce = body.fields.optional("inForce", json::Kind::Boolean);
  update.inForce = inForce && json::decodeBoolean(*inForce);
  const auto remove = body.fields.optional("remove", json::Kind::Array);
  update.delta = remove.has_value();
  if (remove) update.remove = readNames(body, *remove, "tools.update.remove");
  const auto tools = update.delta ? body.fields.optional("tools", json::Kind::Array)
                                  : body.fields.required("tools", json::Kind::Array);
  if (tools) update.tools = readTools(*tools, "tools.update.tools", body.limits, body.problem);
  return update;
}

ProviderMessage decodeHooksUpdate(Body& body) {
  HooksUpdate update;
  update.sessionId = body.fields.optionalText("sessionId", kMaxIdBytes);
  update.requestId = readText(body, "requestId", kMaxIdBytes);
  update.change = readHooks(body.object, "hooks.update", body.limits, body.problem, body.patterns);
  return update;
}

ProviderMessage decodeContextUpdate(Body& body) {
  ContextUpdate update;
  update.sessionId = body.fields.optionalText("sessionId", kMaxIdBytes);
  update.requestId = readText(body, "requestId", kMaxIdBytes);
  if (!body.fields.find("context")) body.fields.reportExpected("context", "a string", {});
  update.context = readText(body, "context", body.limits.bytes(Limit::HookTextBytes));
  return update;
}

ProviderMessage decodeGateResult(Body& body) {
  GateResult result;
  result.callId = body.fields.requiredText("callId", kMaxIdBytes);
  result.gateId = readText(body, "gateId", kMaxIdBytes);
  result.reason = readText(body, "reason", body.limits.bytes(Limit::HookTextBytes));
  const std::string decision = body.fields.requiredText("decision", kMaxIdBytes);
  if (decision == "allow") {
    result.decision = GateDecision::Allow;
  } else if (decision == "context") {
    result.decision = GateDecision::Context;
  } else if (decision != "deny") {
    body.problem.report(
        "gate.result.decision: expected \"allow\", \"deny\" or \"context\", got \"" +
        visible(decision, false, 64) + "\"");
  }
  return result;
}

ProviderMessage decodeTransformResult(Body& body) {
  TransformResult result;
  result.callId = body.fields.requiredText("callId", kMaxIdBytes);
  if (!body.fields.find("content")) body.fields.reportExpected("content", "a string", {});
  result.content = readText(body, "content", body.limits.bytes(Limit::HookTextBytes));
  return result;
}

FilterRule readFilterRule(json::Value value, const std::string& path, Body& body) {
  FilterRule rule;
  FieldReader fields(value, path, body.problem);
  const std::string pattern = fields.requiredText("match", Pattern::kMaxPatternBytes);
  const std::string outcome = fields.requiredText("outcome", kMaxIdBytes);
  if (outcome == "drop") {
    rule.outcome = FilterOutcome::Drop;
  } else if (outcome == "surface") {
    rule.outcome = FilterOutcome::Surface;
  } else if (outcome == "inject") {
    rule.outcome = FilterOutcome::Inject;
  } else if (outcome != "keep") {
    body.problem.report(path + ".outcome: expected \"drop\", \"keep\", \"surface\" or \"inject\"");
  }
  if (body.problem.any()) return rule;  // do not compile patterns for a refused message
  auto compiled = body.patterns.obtain(pattern);
  if (compiled) {
    rule.match = std::move(compiled.value());
  } else {
    body.problem.report(path + ".match: " + compiled.error());
  }
  return rule;
}

ProviderMessage decodeFilterSet(Body& body) {
  FilterSet filter;
  filter.stream = readDisplayName(body, "stream", "filter.set.stream");
  filter.sessionId = body.fields.optionalText("sessionId", kMaxIdBytes);
  filter.requestId = readText(body, "requestId", kMaxIdBytes);
  const auto rules = body.fields.required("rules", json::Kind::Array);
  if (!rules) return filter;
  json::Elements elements(*rules);
  for (json::Value value; !body.problem.any() && elements.next(value);) {
    const std::string path = "filter.set.rules[" + std::to_string(filter.rules.size()) + "]";
    if (value.kind != json::Kind::Object) {
      body.problem.report(path + ": expected an object, got " + std::string(describe(value.kind)));
      break;
    }
    filter.rules.push_back(readFilterRule(value, path, body));
  }
  return filter;
}

ProviderMessage decodeStreamQuery(Body& body) {
  StreamQuery query;
  query.queryId = body.fields.requiredText("queryId", kMaxIdBytes);
  query.sessionId = body.fields.optionalText("sessionId", kMaxIdBytes);
  query.last =
      body.fields.optionalInteger("last", 1, body.limits.get(Limit::QueryEntries)).value_or(0);
  if (const auto streams = body.fields.required("streams", json::Kind::Array)) {
    query.streams = readNames(body, *streams, "stream.query.streams");
  }
  return query;
}

ProviderMessage decodeSessionReady(Body& body) {
  return SessionReady{body.fields.requiredText("sessionId", kMaxIdBytes)};
}

ProviderMessage decodeShutdownReady(Body& body) {
  return ShutdownReady{body.fields.requiredText("sessionId", kMaxIdBytes)};
}

ProviderMessage decodeGoodbye(Body& body) {
  const std::optional<json::Value> reason = body.fields.optional("reason", json::Kind::String);
  return Goodbye{reason ? json::decodeString(*reason) : std::string()};
}

}  // namespace

ProviderMessage decodeBody(ProviderMessageType type, Body& body) {
  switch (type) {
    case ProviderMessageType::Auth:
      return decodeAuth(body);
    case ProviderMessageType::AuthConfirm:
      return decodeAuthConfirm(body);
    case ProviderMessageType::Hello:
      return decodeHello(body);
    case ProviderMessageType::ToolResult:
      return decodeToolResult(body);
    case ProviderMessageType::ToolProgress:
      return decodeToolProgress(body);
    case ProviderMessageType::Push:
      return decodePush(body);
    case ProviderMessageType::Withdraw:
      return decodeWithdraw(body);
    case ProviderMessageType::ToolsUpdate:
      return decodeToolsUpdate(body);
    case ProviderMessageType::HooksUpdate:
      return decodeHooksUpdate(body);
    case ProviderMessageType::ContextUpdate:
      return decodeContextUpdate(body);
    case ProviderMessageType::GateResult:
      return decodeGateResult(body);
    case ProviderMessageType::TransformResult:
      return decodeTransformResult(body);
    case ProviderMessageType::FilterSet:
      return decodeFilterSet(body);
    case ProviderMessageType::StreamQuery:
      return decodeStreamQuery(body);
    case ProviderMessageType::SessionReady:
      return decodeSessionReady(body);
    case ProviderMessageType::ShutdownReady:
      return decodeShutdownReady(body);
    case ProviderMessageType::Goodbye:
      return decodeGoodbye(body);
  }
  return Goodbye{};
}

}  // namespace tap::protocol
