#include <array>
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "protocol/field_reader.h"
#include "protocol/provider/provider_bodies.h"
#include "protocol/provider/provider_codec.h"

namespace tap::protocol {

namespace {

size_t countElements(std::optional<json::Value> array) {
  if (!array || array->kind != json::Kind::Array) return 0;
  json::Elements elements(*array);
  json::Value element;
  size_t count = 0;
  while (elements.next(element)) ++count;
  return count;
}

// A list in a message that is limited in number, and its limit: checked before the message is read.
struct CountedList {
  ProviderMessageType type;
  std::string_view within;  // the member that has the list; empty: the message itself
  std::string_view key;
  Limit limit;
};
constexpr std::array<CountedList, 6> kCountedLists{{
    {ProviderMessageType::Hello, "", "tools", Limit::ToolsPerProvider},
    {ProviderMessageType::Hello, "hooks", "onPreToolUse", Limit::RulesPerProvider},
    {ProviderMessageType::ToolsUpdate, "", "tools", Limit::ToolsPerProvider},
    {ProviderMessageType::HooksUpdate, "", "onPreToolUse", Limit::RulesPerProvider},
    {ProviderMessageType::FilterSet, "", "rules", Limit::FilterRules},
    {ProviderMessageType::StreamQuery, "", "streams", Limit::StreamsPerProvider},
}};

std::optional<json::Value> findList(json::Value message, const CountedList& list) {
  if (list.within.empty()) return json::find(message, list.key);
  const std::optional<json::Value> holder = json::find(message, list.within);
  if (!holder || holder->kind != json::Kind::Object) return std::nullopt;
  return json::find(*holder, list.key);
}

// The list that is too long, in words.
std::optional<std::string> overCount(ProviderMessageType type, json::Value message,
                                     const Limits& limits) {
  for (const CountedList& list : kCountedLists) {
    if (list.type != type) continue;
    const size_t most = limits.count(list.limit);
    if (countElements(findList(message, list)) <= most) continue;
    const std::string holder = list.within.empty() ? "" : std::string(list.within) + ".";
    return std::string(row(type).type) + "." + holder + std::string(list.key) + ": at most " +
           std::to_string(most);
  }
  return std::nullopt;
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

Result<ProviderMessageType, Refusal> ProviderDecoder::open(const Slice& received) {
  root_ = {};
  callId_.clear();
  Slice text = received;
  Result<json::Value, json::SyntaxError> scanned = scanner_.scan(text.view());
  if (scanned && scanner_.hasLoneSurrogate()) {
    repaired_ = Slice(json::replaceLoneSurrogates(text.view()));
    text = repaired_;
    scanned = scanner_.scan(text.view());
  }
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
  const std::optional<std::string_view> plain = json::plainText(*type);
  const std::optional<ProviderMessageType> known =
      typeFromWire(plain ? *plain : std::string_view(json::decodeString(*type)));
  if (!known) {
    const std::string shown = visible(json::decodeString(*type), false, 64);
    return Refusal{ErrorCode::UnknownType,
                   "\"" + shown + "\" is not a message type of protocol version 2", shown};
  }
  type_ = *known;
  const bool isHook =
      type_ == ProviderMessageType::GateResult || type_ == ProviderMessageType::TransformResult;
  readShortText(isHook ? "callId" : "id", callId_);
  const size_t most = limits_.bytes(row(type_).maxBytes);
  if (text.size() > most) {
    return Refusal{ErrorCode::PayloadTooLarge,
                   std::string(row(type_).type) + " may be " + std::to_string(most) +
                       " bytes long, this message has " + std::to_string(text.size()),
                   std::string(row(type_).type)};
  }
  text_ = text;
  return type_;
}

void ProviderDecoder::readShortText(std::string_view key, std::string& text) const {
  text.clear();
  if (root_.kind != json::Kind::Object) return;
  const std::optional<json::Value> value = scanner_.find(key);
  if (!value || value->kind != json::Kind::String || value->raw.size() > kMaxIdBytes) return;
  if (const auto plain = json::plainText(*value)) {
    text = *plain;
  } else {
    text = json::decodeString(*value);
  }
}

std::string ProviderDecoder::shortText(std::string_view key) const {
  std::string text;
  readShortText(key, text);
  return text;
}

Result<ProviderMessage, Refusal> ProviderDecoder::body(PatternSource& patterns) {
  const std::string type(row(type_).type);
  Problem problem;
  FieldReader fields(scanner_, type, problem);
  if (auto complaint = overCount(type_, root_, limits_)) {
    return Refusal{ErrorCode::PayloadTooLarge, std::move(*complaint), type, shortText("requestId")};
  }
  const Slice text = std::exchange(text_, {});  // it may be large
  Body body{root_, fields, problem, limits_, text, patterns};
  ProviderMessage message = decodeBody(type_, body);
  if (!problem.any()) return message;
  return Refusal{ErrorCode::InvalidJson, problem.text(), type, shortText("requestId")};
}

}  // namespace tap::protocol
