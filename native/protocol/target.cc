#include "protocol/target.h"

#include <optional>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text_map.h"

namespace tap::protocol {

namespace {

constexpr std::string_view kTarget = "target";
constexpr std::string_view kList = "list_";
constexpr size_t kMaxListName = 50;  // leaves room for "_instances"

// A text that is not an object counts as an object without members.
json::Value asObject(std::string_view text) {
  return {json::Kind::Object, text};
}

std::string addTarget(json::Value schema, std::string_view provider) {
  const auto declared = json::find(schema, "properties");
  std::string properties = declared && declared->kind == json::Kind::Object
                               ? json::openWithout(*declared, kTarget)
                               : "{";
  if (properties.size() > 1) properties += ',';
  properties += R"("target":{"type":"string","description":)";
  json::appendQuoted(properties, "Which instance to use: an id from " + metaToolName(provider) +
                                     ". Without it, the most recently active one.");
  properties += "}}";
  std::string out = json::openWithout(schema, "properties");
  if (out.size() > 1) out += ',';
  return out + "\"properties\":" + properties + "}";
}

}  // namespace

std::string withTarget(const ToolDefinition& tool, std::string_view provider) {
  const json::Value definition = asObject(tool.json);
  const auto parameters = json::find(definition, "parameters");
  std::string out = json::openWithout(definition, "parameters");
  out += ",\"parameters\":";
  out += parameters ? addTarget(*parameters, provider) : "{}";
  return out + "}";
}

bool declaresTarget(const ToolDefinition& tool) {
  const auto parameters = json::find(asObject(tool.json), "parameters");
  const auto properties =
      parameters ? json::find(*parameters, "properties") : std::optional<json::Value>();
  return properties && properties->kind == json::Kind::Object &&
         json::find(*properties, kTarget).has_value();
}

TargetedArgs takeTarget(std::string_view args) {
  TargetedArgs taken;
  const json::Value object = asObject(args.empty() ? "{}" : args);
  const auto target = json::find(object, kTarget);
  if (target && target->kind == json::Kind::String) taken.target = json::decodeString(*target);
  taken.args = json::openWithout(object, kTarget) + "}";
  return taken;
}

namespace {

std::string listName(std::string_view provider) {
  std::string name(kList);
  for (const char c : provider) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-';
    if (name.size() < kMaxListName) name += fine ? c : '_';
  }
  return name;
}

}  // namespace

std::string metaToolName(std::string_view provider) {
  return listName(provider) + "_instances";
}

bool isList(std::string_view tool) {
  return equalIgnoringCase(tool.substr(0, kList.size()), kList);
}

bool isReservedList(std::string_view provider, std::string_view tool) {
  const std::string name = listName(provider);
  if (!equalIgnoringCase(tool.substr(0, name.size()), name)) return false;
  return tool.size() == name.size() || tool[name.size()] == '_' || tool[name.size()] == '-';
}

std::string metaToolJson(std::string_view provider) {
  std::string out;
  json::Writer writer(out);
  writer.beginObject().field("name", metaToolName(provider));
  std::string quoted;
  json::appendQuoted(quoted, provider);
  writer.field("description", "Lists the connected instances of " + quoted +
                                  ": their ids for the parameter `target` of its tools, and what "
                                  "each one says of itself.");
  writer.rawField("parameters", R"({"type":"object","properties":{}})");
  writer.endObject();
  return out;
}

}  // namespace tap::protocol
