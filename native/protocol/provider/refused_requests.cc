#include "protocol/provider/refused_requests.h"

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "protocol/field_reader.h"

namespace tap::protocol {

namespace {

constexpr size_t kMaxShown = 80;  // bytes of a tool's name
constexpr size_t kMaxKept = 256;  // bytes of an id or a name, as in session_message_decoder.cc

std::string tooDeep() {
  return "are nested more than " + std::to_string(kMaxArgumentsDepth) + " levels deep";
}

std::string visibleTool(std::string_view tool) {
  return inQuotes(visible(tool, false, kMaxShown));
}

std::string readTextMember(std::string_view object, std::string_view key) {
  const auto value = json::find({json::Kind::Object, object}, key);
  if (!value || value->kind != json::Kind::String || value->raw.size() > kMaxKept) return {};
  std::string text = json::decodeString(*value);
  return utf8::isValid(text) ? text : std::string();
}

// If the arguments are wrong, their error is more precise than the reason.
std::string describeProblem(std::string_view text, std::string_view reason) {
  json::Scanner scanner;
  if (const auto args = json::find({json::Kind::Object, text}, "args")) {
    const auto read = readArguments(scanner, args->raw);
    if (!read) return read.error();
  }
  return "cannot be read: " + visible(reason, false, 512);
}

}  // namespace

Result<json::Value, std::string> readArguments(json::Scanner& scanner, std::string_view text) {
  const auto root = scanner.scan(text, kMaxArgumentsDepth);
  if (!root) {
    const json::SyntaxError& error = root.error();
    if (error.tooDeep) return tooDeep();
    return "are not JSON: " + std::string(error.reason) + ", at byte " +
           std::to_string(error.offset);
  }
  if (root.value().kind == json::Kind::Object) return root.value();
  return "must be a JSON object, and they are " + std::string(describe(root.value().kind));
}

bool beginsAsObject(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

CallResult refuseArguments(std::string_view callId, std::string_view tool,
                           std::string_view problem) {
  std::string text = "Tool " + visibleTool(tool) + " failed with INVALID_JSON: its arguments ";
  text += problem;
  text += ". Call it again with a JSON object that is at most " +
          std::to_string(kMaxArgumentsDepth) + " levels deep.";
  return {std::string(callId), true, {}, ErrorCode::InvalidJson, std::move(text)};
}

std::optional<SessionEvent> answerUnreadable(std::string_view text, std::string_view reason) {
  const std::string type = readTextMember(text, "type");
  if (type == "call") {
    std::string id = readTextMember(text, "callId");
    if (id.empty()) return std::nullopt;
    return refuseArguments(id, toolOfUnreadable(text), describeProblem(text, reason));
  }
  if (type == "hook.check") {
    std::string id = readTextMember(text, "checkId");
    if (id.empty()) return std::nullopt;
    return HookVerdict{std::move(id),
                       "tap cannot check this use of " + visibleTool(toolOfUnreadable(text)) +
                           ": its arguments " + describeProblem(text, reason),
                       ""};
  }
  if (type == "prompt.submitted") {
    std::string id = readTextMember(text, "promptId");
    if (!id.empty()) return PromptContext{std::move(id), ""};
  }
  if (type == "command.run") {
    std::string id = readTextMember(text, "commandId");
    if (!id.empty()) {
      return CommandResult{std::move(id),
                           "tap: the command cannot be read: " + visible(reason, false, 512)};
    }
  }
  if (type == "host.request" || type == "permission.check") {
    std::string id = readTextMember(text, "requestId");
    if (!id.empty()) {
      std::string error = R"({"code":"INVALID_JSON","message":)";
      json::appendQuoted(error, "the request cannot be read: " + visible(reason, false, 512));
      return HostResult{std::move(id), true, error + "}"};
    }
  }
  if (type == "section.build") {
    std::string id = readTextMember(text, "buildId");
    if (!id.empty()) return SectionText{std::move(id), std::nullopt};
  }
  return std::nullopt;
}

std::string toolOfUnreadable(std::string_view text) {
  return readTextMember(text, "tool");
}

std::string_view argumentsOfUnreadable(std::string_view text) {
  const auto args = json::find({json::Kind::Object, text}, "args");
  return args && utf8::isValid(args->raw) ? args->raw : std::string_view();
}

}  // namespace tap::protocol
