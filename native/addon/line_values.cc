#include "addon/line_values.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "addon/cycle_values.h"

namespace tap::addon {

using lines::FilterOutcome;

namespace {

constexpr std::array<std::string_view, 4> kOutcomes = {"drop", "keep", "surface", "inject"};
constexpr std::array<std::string_view, 3> kSources = {"stdout", "stderr", "own"};
constexpr std::array<std::string_view, 3> kDeliveries = {"off", "important", "all"};

template <size_t N>
[[nodiscard]] std::optional<uint8_t> findIndex(const std::array<std::string_view, N>& words,
                                               std::string_view word) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at == words.end()) return std::nullopt;
  return static_cast<uint8_t>(at - words.begin());
}

// Empty if a member has a wrong type: an exception is then pending.
[[nodiscard]] std::optional<lines::Rule> readRule(const Napi::Object& given) {
  const Options options(given, "rules");
  lines::Rule rule;
  rule.match = options.text("match");
  const std::string outcome = options.text("outcome");
  if (std::string notMatch = options.text("not"); !notMatch.empty()) {
    rule.notMatch = std::move(notMatch);
  }
  rule.cooldown = readMillis(options, "cooldown");
  if (const int64_t count = options.whole("count"); count != 0) {
    rule.count =
        count < 0 || count > lines::kMaxCount ? lines::kMaxCount + 1 : static_cast<uint32_t>(count);
  }
  rule.capture = options.flag("capture");
  const auto readLines = [&options](const char* key) {
    const int64_t count = options.whole(key);
    const bool isUsable = count >= 0 && count <= lines::kMaxContextLines;
    return isUsable ? static_cast<uint32_t>(count) : lines::kMaxContextLines + 1;
  };
  rule.before = readLines("before");
  rule.after = readLines("after");
  if (std::string until = options.text("until"); !until.empty()) rule.until = std::move(until);
  if (options.failed()) return std::nullopt;
  const std::optional<FilterOutcome> known = parseOutcome(given.Env(), outcome);
  if (!known) return std::nullopt;
  rule.outcome = *known;
  const Napi::Value window = given.Get("window");
  if (!window.IsObject()) return rule;
  const Options sizes(window.As<Napi::Object>(), "window");
  const int64_t most = sizes.whole("lines");
  rule.window = lines::Rule::Window{
      most < 1 || most > lines::kMaxWindowLines ? 0 : static_cast<uint32_t>(most),
      Millis(sizes.whole("time"))};
  return sizes.failed() ? std::nullopt : std::optional(std::move(rule));
}

template <class Line>
void writeOne(json::Writer& writer, const Line& line) {
  writer.beginObject().field("number", line.number).field("at", line.unixMillis);
  writer.field("run", line.run).field("line", line.line);
  if (line.rule >= 0) writer.field("rule", line.rule);
  writer.field("outcome", kOutcomes[static_cast<size_t>(line.outcome)]);
  writer.field("source", kSources[static_cast<size_t>(line.source)]);
  writer.field("text", std::string_view(line.text));
  if (!line.metadata.empty()) writer.rawField("metadata", line.metadata);
  writer.endObject();
}

}  // namespace

std::optional<FilterOutcome> parseOutcome(Napi::Env env, const std::string& word) {
  const std::optional<uint8_t> index = findIndex(kOutcomes, word);
  if (index) return static_cast<FilterOutcome>(*index);
  throwType(env, "outcome: expected drop, keep, surface or inject");
  return std::nullopt;
}

std::optional<lines::Delivery> parseDelivery(Napi::Env env, const std::string& word) {
  const std::optional<uint8_t> index = findIndex(kDeliveries, word);
  if (index) return static_cast<lines::Delivery>(*index);
  throwType(env, "delivery: expected off, important or all");
  return std::nullopt;
}

std::optional<Millis> readMillis(const Options& options, const char* key) {
  const int64_t given = options.whole(key);
  return given == 0 ? std::nullopt : std::optional(Millis(given));
}

std::optional<std::vector<lines::Rule>> readRules(const Napi::Value& given) {
  const Napi::Env env = given.Env();
  if (!given.IsArray()) {
    throwType(env, "rules: expected an array");
    return std::nullopt;
  }
  const auto array = given.As<Napi::Array>();
  std::vector<lines::Rule> rules;
  // Reads at most one rule beyond the limit: the core reports the excess.
  for (uint32_t i = 0; i < array.Length() && i <= lines::kMaxRules; ++i) {
    const Napi::Value item = array.Get(i);
    if (!item.IsObject()) {
      throwType(env, "rules: expected objects");
      return std::nullopt;
    }
    std::optional<lines::Rule> rule = readRule(item.As<Napi::Object>());
    if (!rule) return std::nullopt;
    rules.push_back(std::move(*rule));
  }
  return rules;
}

void throwRuleError(Napi::Env env, const lines::RuleError& error) {
  const Napi::Error thrown = Napi::RangeError::New(env, error.message);
  thrown.Set("rule", Napi::Number::New(env, static_cast<double>(error.rule)));
  thrown.ThrowAsJavaScriptException();
}

void writeLine(json::Writer& writer, const lines::Entry& line) {
  writeOne(writer, line);
}

void writeLine(json::Writer& writer, const lines::OwnedLine& line) {
  writeOne(writer, line);
}

std::string effectsJson(const lines::SourceEffects& effects) {
  std::string text;
  json::Writer writer(text);
  writer.beginObject().key("surfaced").beginArray();
  for (const lines::OwnedLine& line : effects.surfaced) writeLine(writer, line);
  writer.endArray().key("injects").beginArray();
  for (const lines::InjectBatch& batch : effects.injects) {
    writer.beginObject().field("leftOut", batch.leftOut).key("lines").beginArray();
    for (const lines::OwnedLine& line : batch.lines) writeLine(writer, line);
    writer.endArray().endObject();
  }
  writer.endArray().key("notices").beginArray();
  for (const lines::SourceNotice& notice : effects.notices) {
    const bool isSlow = notice.kind == lines::SourceNotice::Kind::SlowRule;
    writer.beginObject().field("kind", isSlow ? "slowRule" : "leftOut");
    writer.field("rule", notice.rule).field("surfaced", notice.surfaced);
    writer.field("injected", notice.injected).field("isTotal", notice.isTotal).endObject();
  }
  writer.endArray();
  writeCycles(writer, effects.cycles);
  writer.endObject();
  return text;
}

}  // namespace tap::addon
