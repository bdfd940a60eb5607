#include "protocol/tool_definition.h"

#include <algorithm>
#include <unordered_set>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/utf8.h"

namespace tap::protocol {

namespace {

constexpr size_t kMaxToolName = 64;
constexpr std::string_view kNoParameters = R"({"type":"object","properties":{}})";

bool isToolNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

bool isEmptyObject(json::Value object) {
  json::Member member;
  return !json::Members(object).next(member);
}

// If the root is not an object schema, a model API refuses every prompt of the session.
std::string_view readParameters(FieldReader& tool, std::string_view path, Problem& problem) {
  const std::optional<json::Value> value = tool.optional("parameters", json::Kind::Object);
  if (!value || isEmptyObject(*value)) return kNoParameters;
  const std::string schemaPath = std::string(path) + ".parameters";
  FieldReader schema(*value, schemaPath, problem);
  const std::optional<json::Value> type = schema.required("type", json::Kind::String);
  if (type && json::decodeString(*type) != "object") {
    problem.report(schemaPath + ".type: expected \"object\", got " + visible(type->raw, false, 64));
  }
  (void)schema.optional("properties", json::Kind::Object);
  (void)schema.optional("required", json::Kind::Array);
  return value->raw;
}

std::string readName(FieldReader& tool, std::string_view path, Problem& problem) {
  const std::optional<json::Value> value = tool.required("name", json::Kind::String);
  std::string name = value ? json::decodeString(*value) : std::string();
  if (value && !isToolName(name)) {
    problem.report(std::string(path) +
                   ".name: expected 1 to 64 characters from [a-zA-Z0-9_-], got " +
                   visible(value->raw, false, 80));
  }
  return name;
}

// From most providers it is an unknown field, which may have any value.
std::string readGroup(FieldReader& tool) {
  const std::optional<json::Value> value = tool.find("group");
  if (!value || value->kind != json::Kind::String) return {};
  std::string group = json::decodeString(*value);
  return group.size() > kMaxToolName ? std::string() : group;
}

ToolDefinition readTool(json::Value value, std::string_view path, const Limits& limits,
                        Problem& problem) {
  FieldReader fields(value, path, problem);
  ToolDefinition tool;
  tool.name = readName(fields, path, problem);
  const std::optional<json::Value> described = fields.optional("description", json::Kind::String);
  std::string description = described ? json::decodeString(*described) : std::string();
  description.resize(utf8::truncate(description, limits.bytes(Limit::DescriptionBytes)).size());
  const std::string_view parameters = readParameters(fields, path, problem);
  if (const auto timeout =
          fields.optionalInteger("timeout", 1, limits.get(Limit::CallTimeoutMaxMs))) {
    tool.timeout = Millis(*timeout);
  }
  tool.group = readGroup(fields);
  json::Writer writer(tool.json);
  writer.beginObject().field("name", tool.name).field("description", description);
  writer.rawField("parameters", parameters);
  if (tool.timeout) writer.field("timeout", static_cast<int64_t>(tool.timeout->count()));
  writer.endObject();
  return tool;
}

}  // namespace

bool isToolName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxToolName && std::ranges::all_of(name, isToolNameChar);
}

std::vector<ToolDefinition> readTools(json::Value array, std::string_view path,
                                      const Limits& limits, Problem& problem) {
  std::vector<ToolDefinition> tools;
  std::unordered_set<std::string> names;
  json::Elements elements(array);
  for (json::Value element; !problem.any() && elements.next(element);) {
    const std::string at = std::string(path) + "[" + std::to_string(tools.size()) + "]";
    if (element.kind != json::Kind::Object) {
      problem.report(at + ": expected an object, got " + std::string(describe(element.kind)));
      break;
    }
    tools.push_back(readTool(element, at, limits, problem));
    if (!problem.any() && !names.insert(tools.back().name).second) {
      problem.report(at + ".name: \"" + tools.back().name + "\" stands twice in this list");
    }
  }
  return tools;
}

std::string withAuthor(const ToolDefinition& tool, std::string_view provider) {
  const json::Value definition{json::Kind::Object, tool.json};
  std::string description = "Tool of the paired program ";
  json::appendQuoted(description, provider);
  description += ", described by it";
  const auto own = json::find(definition, "description");
  const std::string described = own ? json::decodeString(*own) : std::string();
  description += described.empty() ? "." : ": " + described;
  std::string out = json::openWithout(definition, "description");
  out += R"(,"description":)";
  json::appendQuoted(out, description);
  return out + "}";
}

}  // namespace tap::protocol
