#include "addon/cycle_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "addon/arguments.h"
#include "addon/strings.h"
#include "base/json.h"
#include "lines/source.h"

namespace tap::addon {
namespace {

constexpr std::array<std::string_view, 5> kVerdicts = {"unknown", "green", "red", "none", "crash"};
constexpr std::array<std::string_view, 4> kEnds = {"line", "begin", "quiet", "exit"};
// Time after the last event: longer than any silence with a meaning.
constexpr Millis kAfter{15'000};

void writeTexts(json::Writer& writer, const char* name, const std::vector<std::string>& texts) {
  writer.key(name).beginArray();
  for (const std::string& text : texts) writer.string(text);
  writer.endArray();
}

void writeFailure(json::Writer& writer, const lines::Failure& failure) {
  writer.beginObject();
  const auto field = [&](json::Name name, const std::string& text) {
    if (!text.empty()) writer.field(name, std::string_view(text));
  };
  field("file", failure.file);
  field("line", failure.line);
  field("col", failure.column);
  field("code", failure.code);
  field("name", failure.name);
  field("what", failure.what);
  writeTexts(writer, "lines", failure.lines);
  writer.field("lineNumber", failure.number).endObject();
}

void writeCycle(json::Writer& writer, const lines::Cycle& cycle) {
  writer.beginObject().field("verdict", kVerdicts[static_cast<size_t>(cycle.verdict)]);
  writer.field("closedBy", kEnds[static_cast<size_t>(cycle.closedBy)]);
  writer.field("isGuess", cycle.isGuess).field("from", cycle.from).field("to", cycle.to);
  writer.field("run", cycle.run).field("firstLine", cycle.firstLine);
  writer.field("lastLine", cycle.lastLine).field("leftOut", cycle.leftOut);
  if (!cycle.part.empty()) writer.field("part", std::string_view(cycle.part));
  if (!cycle.tool.empty()) writer.field("tool", std::string_view(cycle.tool));
  writer.field("warnings", cycle.warnings).field("isRecognized", cycle.isRecognized);
  if (!cycle.count.empty()) writer.field("count", std::string_view(cycle.count));
  if (cycle.exitCode) writer.field("exitCode", *cycle.exitCode);
  writer.key("failures").beginArray();
  for (const lines::Failure& failure : cycle.failures) writeFailure(writer, failure);
  writer.endArray();
  writeTexts(writer, "ran", cycle.ran);
  writer.field("ranLeftOut", cycle.ranLeftOut);
  writer.endObject();
}

[[nodiscard]] int64_t readNumber(json::Value object, std::string_view key, int64_t usually) {
  const auto value = json::find(object, key);
  if (!value || value->kind != json::Kind::Number) return usually;
  double number = 0;
  const std::string_view raw = value->raw;
  const auto read = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  const bool isUsable = read.ec == std::errc() && number >= 0 && number < 1e12;
  return isUsable ? static_cast<int64_t>(number) : usually;
}

// Replays the time of a recording.
class Replay {
 public:
  explicit Replay(lines::Matcher matcher) {
    source_.setMatcher(std::move(matcher));
    writer_.beginArray();
  }

  void event(json::Value event) {
    pass(std::max(at_, readNumber(event, "t", at_)));
    if (const auto exit = json::find(event, "exit")) {
      lines::RunEnd end;
      if (exit->kind == json::Kind::Number) {
        end.exitCode = static_cast<int>(readNumber(event, "exit", 0));
      }
      end.isExpected = true;
      if (std::exchange(isRunning_, false)) source_.endRun(end, now(), effects_);
    } else if (const auto data = json::find(event, "d"); data && data->kind == json::Kind::String) {
      if (!std::exchange(isRunning_, true)) {
        source_.setRun(++run_);
        source_.beginRun(now(), effects_);
      }
      const auto from = json::find(event, "s");
      const bool isStderr = from && from->raw == "\"e\"";
      source_.feed(json::decodeString(*data),
                   isStderr ? lines::Source::Stderr : lines::Source::Stdout, now(), effects_);
    }
    write();
  }

  std::string finish() {
    pass(at_ + kAfter.count());
    writer_.endArray();
    return std::move(text_);
  }

 private:
  [[nodiscard]] Now now() const { return {Time(Millis(at_)), at_}; }

  void pass(int64_t until) {
    for (auto next = source_.nextDeadline(); next && next->time_since_epoch().count() <= until;
         next = source_.nextDeadline()) {
      at_ = std::max<int64_t>(at_, next->time_since_epoch().count());
      source_.due(now(), effects_);
      write();
    }
    at_ = until;
  }

  void write() {
    const lines::CycleEffects cycles = std::move(effects_.cycles);
    effects_ = {};
    if (!cycles.opened && cycles.closed.empty()) return;
    writer_.beginObject().field("t", at_);
    writeCycles(writer_, cycles);
    writer_.endObject();
  }

  lines::LineSource source_;
  lines::SourceEffects effects_;
  std::string text_;
  json::Writer writer_{text_};
  int64_t at_ = 0;
  uint32_t run_ = 0;
  bool isRunning_ = false;
};

}  // namespace

std::optional<lines::Matcher> readMatcher(Napi::Env env, const std::string& json,
                                          const Napi::Value& tools) {
  const auto refuse = [&env](const lines::MatcherError& why) {
    const Napi::Error error = Napi::RangeError::New(env, why.message);
    error.Set("field", Napi::String::New(env, why.field));
    error.ThrowAsJavaScriptException();
    return std::nullopt;
  };
  auto matcher = lines::readMatcher(json);
  if (!matcher) return refuse(matcher.error());
  if (!tools.IsString()) return std::move(matcher.value());
  // All programs of a thread share them.
  thread_local std::string last;
  thread_local std::weak_ptr<std::vector<lines::InnerTool>> lastTools;
  std::string text = tools.As<Napi::String>();
  matcher.value().inner = text == last ? lastTools.lock() : nullptr;
  if (matcher.value().inner) return std::move(matcher.value());
  auto read = lines::readInnerTools(text);
  if (!read) return refuse(read.error());
  matcher.value().inner = std::make_shared<std::vector<lines::InnerTool>>(std::move(read.value()));
  lastTools = matcher.value().inner;
  last = std::move(text);
  return std::move(matcher.value());
}

void writeCycles(json::Writer& writer, const lines::CycleEffects& cycles) {
  if (cycles.opened) writer.field("opened", *cycles.opened);
  if (!cycles.closed.empty()) {
    writer.key("closed").beginArray();
    for (const lines::Cycle& cycle : cycles.closed) writeCycle(writer, cycle);
    writer.endArray();
  }
  if (!cycles.slow.empty()) writeTexts(writer, "slow", cycles.slow);
}

Napi::Value replayCycles(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Arguments arguments(info, "replay(matcher, events, tools)");
  const std::optional<std::string> given = arguments.text(0);
  const std::optional<std::string> events = arguments.text(1);
  if (!given || !events) return env.Undefined();
  std::optional<lines::Matcher> matcher = readMatcher(env, *given, info[2]);
  if (!matcher) return env.Undefined();
  json::Scanner scanner;
  auto root = scanner.scan(*events);
  if (!root || root.value().kind != json::Kind::Array) {
    throwType(env, "replay(matcher, events): expected the events as a JSON array");
    return env.Undefined();
  }
  Replay replay(std::move(*matcher));
  json::Elements all(root.value());
  json::Value event;
  while (all.next(event)) {
    if (event.kind == json::Kind::Object) replay.event(event);
  }
  return utf8String(env, Slice::borrow(replay.finish()));
}

}  // namespace tap::addon
