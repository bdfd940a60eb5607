// The texts that providers say in tests, and the JSON that they get.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/limits.h"

namespace tap::gateway::test {

inline constexpr std::string_view kToken = "ptk-0123456789abcdef";
inline constexpr std::string_view kAbsent = "<absent>";

// A JSON object that the gateway sent.
class Message {
 public:
  explicit Message(std::string text) : text_(std::move(text)), type_(get("type")) {}

  // The member at a path ("active.0.id"): the text of a string, or the JSON of another value.
  [[nodiscard]] std::string get(std::string_view path) const {
    json::Scanner scanner;
    auto root = scanner.scan(text_);
    if (!root) return "<not JSON>";
    json::Value value = root.value();
    while (!path.empty()) {
      const size_t dot = std::min(path.find('.'), path.size());
      const std::optional<json::Value> next = step(value, path.substr(0, dot));
      if (!next) return std::string(kAbsent);
      value = *next;
      path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return value.kind == json::Kind::String ? json::decodeString(value) : std::string(value.raw);
  }
  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  // How many elements the array at this path has.
  [[nodiscard]] size_t size(std::string_view path) const {
    size_t count = 0;
    while (get(std::string(path) + "." + std::to_string(count)) != kAbsent) ++count;
    return count;
  }

 private:
  static std::optional<json::Value> step(json::Value value, std::string_view name) {
    if (value.kind == json::Kind::Object) return json::find(value, name);
    if (value.kind != json::Kind::Array) return std::nullopt;
    json::Elements elements(value);
    json::Value element;
    for (int left = std::stoi(std::string(name)); elements.next(element); --left) {
      if (left == 0) return element;
    }
    return std::nullopt;
  }

  std::string text_;
  std::string type_;
};

// --- Texts that providers say

inline std::string quote(std::string_view text) {
  std::string out;
  json::appendQuoted(out, text);
  return out;
}
inline std::string tool(std::string_view name, std::string_view more = "") {
  return R"({"name":)" + quote(name) + R"(,"description":"does it")" + std::string(more) + "}";
}
inline std::string tools(const std::vector<std::string>& names) {
  std::string out = "[";
  for (const std::string& name : names) out += (out.size() > 1 ? "," : "") + tool(name);
  return out + "]";
}
inline std::string hello(std::string_view name, std::string_view session,
                         std::string_view toolArray = "[]") {
  return R"({"type":"hello","protocolVersion":2,"name":)" + quote(name) + R"(,"session":)" +
         quote(session) + R"(,"tools":)" + std::string(toolArray) + "}";
}
inline std::string helloWith(std::string_view name, std::string_view session,
                             std::string_view more) {
  return R"({"type":"hello","protocolVersion":2,"name":)" + quote(name) + R"(,"session":)" +
         quote(session) + "," + std::string(more) + "}";
}
inline std::string auth(std::string_view token = kToken) {
  return R"({"type":"auth","token":)" + quote(token) + "}";
}
inline std::string update(std::string_view toolArray) {
  return R"({"type":"tools.update","tools":)" + std::string(toolArray) + "}";
}
inline std::string result(std::string_view id, std::string_view data = R"("done")") {
  return R"({"type":"tool.result","id":)" + quote(id) + R"(,"data":)" + std::string(data) + "}";
}
inline std::string failure(std::string_view id, std::string_view code, std::string_view error) {
  return R"({"type":"tool.result","id":)" + quote(id) + R"(,"errorCode":)" + quote(code) +
         R"(,"error":)" + quote(error) + "}";
}
inline std::string push(std::string_view level, std::string_view event,
                        std::string_view more = "") {
  return R"({"type":"push","level":)" + quote(level) + R"(,"event":)" + quote(event) +
         std::string(more) + "}";
}
// For tests with many pushes that are not about limits.
inline Limits manyPushes() {
  Limits limits;
  limits.set(Limit::PushesPerSecond, 100'000);
  limits.set(Limit::LinesPerSecond, 100'000);
  return limits;
}
inline const std::string kGoodbye = R"({"type":"goodbye"})";

}  // namespace tap::gateway::test
