#include "addon/line_source_class.h"

#include <algorithm>
#include <array>
#include <utility>

#include "addon/arguments.h"
#include "addon/environment.h"
#include "addon/strings.h"
#include "base/json_writer.h"

namespace tap::addon {

namespace {

using lines::FilterOutcome;

constexpr std::array<std::string_view, 4> kOutcomes = {"drop", "keep", "surface", "inject"};
constexpr std::array<std::string_view, 3> kSources = {"stdout", "stderr", "own"};
constexpr std::array<std::string_view, 3> kDeliveries = {"off", "important", "all"};

template <size_t N>
[[nodiscard]] std::optional<uint8_t> indexOf(const std::array<std::string_view, N>& words,
                                             std::string_view word) {
  for (uint8_t i = 0; i < N; ++i) {
    if (words[i] == word) return i;
  }
  return std::nullopt;
}

[[nodiscard]] std::optional<FilterOutcome> outcomeOf(Napi::Env env, const std::string& word) {
  const std::optional<uint8_t> index = indexOf(kOutcomes, word);
  if (index) return static_cast<FilterOutcome>(*index);
  throwType(env, "outcome: expected drop, keep, surface or inject");
  return std::nullopt;
}

[[nodiscard]] std::optional<lines::Delivery> deliveryOf(Napi::Env env, const std::string& word) {
  const std::optional<uint8_t> index = indexOf(kDeliveries, word);
  if (index) return static_cast<lines::Delivery>(*index);
  throwType(env, "delivery: expected off, important or all");
  return std::nullopt;
}

// Nothing where it is left out.
[[nodiscard]] std::optional<Millis> millisOf(const Options& options, const char* key) {
  const int64_t given = options.whole(key);
  return given == 0 ? std::nullopt : std::optional(Millis(given));
}

// Nothing where a member is of a wrong type: an exception is then pending.
[[nodiscard]] std::optional<lines::Rule> ruleOf(const Napi::Object& given) {
  const Options options(given, "rules");
  lines::Rule rule;
  rule.match = options.text("match");
  const std::string outcome = options.text("outcome");
  if (std::string notMatch = options.text("not"); !notMatch.empty()) {
    rule.notMatch = std::move(notMatch);
  }
  rule.cooldown = millisOf(options, "cooldown");
  if (const int64_t count = options.whole("count"); count != 0) {
    rule.count = count < 0 || count > lines::kMostCount ? lines::kMostCount + 1
                                                        : static_cast<uint32_t>(count);
  }
  rule.capture = options.flag("capture");
  if (options.failed()) return std::nullopt;
  const std::optional<FilterOutcome> known = outcomeOf(given.Env(), outcome);
  if (!known) return std::nullopt;
  rule.outcome = *known;
  const Napi::Value window = given.Get("window");
  if (!window.IsObject()) return rule;
  const Options sizes(window.As<Napi::Object>(), "window");
  const int64_t most = sizes.whole("lines");
  rule.window = lines::Rule::Window{
      most < 1 || most > lines::kMostWindowLines ? 0 : static_cast<uint32_t>(most),
      Millis(sizes.whole("time"))};
  return sizes.failed() ? std::nullopt : std::optional(std::move(rule));
}

[[nodiscard]] std::optional<std::vector<lines::Rule>> rulesOf(const Napi::Value& given) {
  const Napi::Env env = given.Env();
  if (!given.IsArray()) {
    throwType(env, "rules: expected an array");
    return std::nullopt;
  }
  const auto array = given.As<Napi::Array>();
  std::vector<lines::Rule> rules;
  // One more than there may be: the core says how many.
  for (uint32_t i = 0; i < array.Length() && i <= lines::kMostRules; ++i) {
    const Napi::Value one = array.Get(i);
    if (!one.IsObject()) {
      throwType(env, "rules: expected objects");
      return std::nullopt;
    }
    std::optional<lines::Rule> rule = ruleOf(one.As<Napi::Object>());
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

template <class Line>
void writeLine(json::Writer& writer, const Line& line) {
  writer.beginObject().field("number", line.number).field("at", line.unixMillis);
  writer.field("run", line.run).field("line", line.line);
  if (line.rule >= 0) writer.field("rule", line.rule);
  writer.field("outcome", kOutcomes[static_cast<size_t>(line.outcome)]);
  writer.field("source", kSources[static_cast<size_t>(line.source)]);
  writer.field("text", std::string_view(line.text));
  if (!line.metadata.empty()) writer.rawField("metadata", line.metadata);
  writer.endObject();
}

[[nodiscard]] std::string textOf(const lines::SourceEffects& effects) {
  std::string text;
  json::Writer writer(text);
  writer.beginObject().key("surfaced").beginArray();
  for (const lines::ToldLine& line : effects.surfaced) writeLine(writer, line);
  writer.endArray().key("injects").beginArray();
  for (const lines::InjectBatch& batch : effects.injects) {
    writer.beginObject().field("leftOut", batch.leftOut).key("lines").beginArray();
    for (const lines::ToldLine& line : batch.lines) writeLine(writer, line);
    writer.endArray().endObject();
  }
  writer.endArray().key("notices").beginArray();
  for (const lines::SourceNotice& notice : effects.notices) {
    const bool isSlow = notice.kind == lines::SourceNotice::Kind::SlowRule;
    writer.beginObject().field("kind", isSlow ? "slowRule" : "leftOut");
    writer.field("rule", notice.rule).field("surfaced", notice.surfaced);
    writer.field("injected", notice.injected).field("isTotal", notice.isTotal).endObject();
  }
  writer.endArray().endObject();
  return text;
}

// The buffer of all programs of this process's loop.
[[nodiscard]] std::shared_ptr<uv::OutputBuffer> sharedBuffer() {
  thread_local std::weak_ptr<uv::OutputBuffer> last;
  std::shared_ptr<uv::OutputBuffer> buffer = last.lock();
  if (!buffer) last = buffer = std::make_shared<uv::OutputBuffer>();
  return buffer;
}

[[nodiscard]] std::optional<std::vector<std::string>> textsOf(const Napi::Object& given,
                                                              const char* key) {
  const Napi::Value value = given.Get(key);
  std::vector<std::string> texts;
  if (!value.IsArray()) {
    throwType(given.Env(), std::string("start(program): expected an array of strings as ") + key);
    return std::nullopt;
  }
  const auto array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); ++i) texts.push_back(array.Get(i).ToString());
  if (given.Env().IsExceptionPending()) return std::nullopt;
  return texts;
}

}  // namespace

Napi::Function LineSourceClass::define(Napi::Env env) {
  return DefineClass(env, "LineSource",
                     {
                         InstanceMethod<&LineSourceClass::setRules>("setRules"),
                         InstanceMethod<&LineSourceClass::setDelivery>("setDelivery"),
                         InstanceMethod<&LineSourceClass::expectEvery>("expectEvery"),
                         InstanceMethod<&LineSourceClass::begin>("begin"),
                         InstanceMethod<&LineSourceClass::start>("start"),
                         InstanceMethod<&LineSourceClass::feed>("feed"),
                         InstanceMethod<&LineSourceClass::finish>("finish"),
                         InstanceMethod<&LineSourceClass::note>("note"),
                         InstanceMethod<&LineSourceClass::history>("history"),
                         InstanceMethod<&LineSourceClass::test>("test"),
                         InstanceMethod<&LineSourceClass::counters>("counters"),
                     });
}

LineSourceClass::LineSourceClass(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<LineSourceClass>(info),
      liveness_(info.Env()),
      loop_(loopOf(info.Env())),
      clock_(loop_),
      deadline_(loop_, [this] { due(); }) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject()) {
    throwType(env, "new LineSource(options): expected an object");
    return;
  }
  const auto given = info[0].As<Napi::Object>();
  const Options options(given, "new LineSource(options)");
  lines::SourceOptions made;
  const std::string delivery = options.text("delivery");
  if (const int64_t most = options.whole("entries"); most > 0) made.ring.entries = most;
  if (const int64_t most = options.whole("bytes"); most > 0) made.ring.bytes = most;
  made.expectEvery = millisOf(options, "expectEvery");
  options.functions({"onEffects", "onRows", "onExit", "onOutputEnd"});
  if (options.failed()) return;
  const std::optional<lines::Delivery> known = deliveryOf(env, delivery);
  if (!known) return;
  made.delivery = *known;
  onEffects_ = std::make_unique<Callback>(given, "onEffects");
  onRows_ = std::make_unique<Callback>(given, "onRows");
  onExit_ = std::make_unique<Callback>(given, "onExit");
  onOutputEnd_ = std::make_unique<Callback>(given, "onOutputEnd");
  source_ = std::make_unique<lines::LineSource>(made);
}

// ---- settings
// ------------------------------------------------------------------------------------

void LineSourceClass::setRules(const Napi::CallbackInfo& info) {
  const std::optional<std::vector<lines::Rule>> rules = rulesOf(info[0]);
  if (!rules) return;
  const std::optional<lines::RuleError> error = source_->setRules(*rules, clock_.now(), effects_);
  if (error) return throwRuleError(info.Env(), *error);
  deliver();
}

void LineSourceClass::setDelivery(const Napi::CallbackInfo& info) {
  const std::optional<std::string> word = Arguments(info, "setDelivery(delivery)").text(0);
  if (!word) return;
  if (const auto known = deliveryOf(info.Env(), *word)) source_->setDelivery(*known);
}

void LineSourceClass::expectEvery(const Napi::CallbackInfo& info) {
  const std::optional<int64_t> time = Arguments(info, "expectEvery(ms)").whole(0);
  if (!time) return;
  source_->expectEvery(*time > 0 ? std::optional(Millis(*time)) : std::nullopt, clock_.now());
  deliver();
}

// ---- runs
// ----------------------------------------------------------------------------------------

void LineSourceClass::beginRun() {
  isRunning_ = true;
  Ref();
  source_->beginRun(clock_.now(), effects_);
}

void LineSourceClass::begin(const Napi::CallbackInfo& info) {
  if (isRunning_) return throwType(info.Env(), "begin(): a run has not ended");
  beginRun();
  deliver();
}

Napi::Value LineSourceClass::start(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (isRunning_ || !info[0].IsObject()) {
    throwType(env, isRunning_ ? "start(program): a run has not ended"
                              : "start(program): expected an object");
    return env.Undefined();
  }
  const auto given = info[0].As<Napi::Object>();
  const Options options(given, "start(program)");
  uv::ProcessOptions program;
  program.file = options.text("file");
  program.cwd = options.text("cwd");
  program.withStderr = options.flag("stderr");
  if (options.failed()) return env.Undefined();
  std::optional<std::vector<std::string>> args = textsOf(given, "args");
  if (!args) return env.Undefined();
  std::optional<std::vector<std::string>> variables = textsOf(given, "env");
  if (!variables) return env.Undefined();
  program.args = std::move(*args);
  program.env = std::move(*variables);
  auto started = uv::Process::start(loop_, program, sharedBuffer(), *this);
  if (!started) {
    Napi::Error::New(env, started.error()).ThrowAsJavaScriptException();
    return env.Undefined();
  }
  process_ = std::move(started.value());
  beginRun();
  deliver();
  return Napi::Number::New(env, process_->pid());
}

void LineSourceClass::feed(const Napi::CallbackInfo& info) {
  const std::optional<std::string> text = Arguments(info, "feed(text)").text(0);
  if (!text) return;
  if (!isRunning_) return throwType(info.Env(), "feed(text): no run has begun");
  onOutput(*text, false);
}

void LineSourceClass::finish(const Napi::CallbackInfo& info) {
  if (!isRunning_) return;
  if (!info[0].IsObject()) return throwType(info.Env(), "finish(end): expected an object");
  const auto given = info[0].As<Napi::Object>();
  const Options options(given, "finish(end)");
  lines::RunEnd end;
  if (given.Get("exitCode").IsNumber()) end.exitCode = static_cast<int>(options.whole("exitCode"));
  end.signal = options.text("signal");
  end.isExpected = options.flag("isExpected");
  end.mustInject = options.flag("mustInject");
  if (options.failed()) return;
  process_.reset();
  source_->endRun(end, clock_.now(), effects_);
  isRunning_ = false;
  deliver();
  giveRows();
  Unref();
}

void LineSourceClass::note(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "note(text, outcome)");
  const std::optional<std::string> text = arguments.text(0);
  const std::optional<std::string> word = arguments.text(1);
  if (!text || !word) return;
  const std::optional<FilterOutcome> outcome = outcomeOf(info.Env(), *word);
  if (!outcome) return;
  source_->note(*text, *outcome, clock_.now(), effects_);
  deliver();
}

void LineSourceClass::onOutput(std::string_view bytes, bool isStderr) {
  const lines::Source from = isStderr ? lines::Source::Stderr : lines::Source::Stdout;
  source_->feed(bytes, from, clock_.now(), effects_);
  deliver();
}

void LineSourceClass::onOutputEnd() {
  call(*onOutputEnd_, {});
}

void LineSourceClass::onExit(int64_t code, int signal) {
  if (!liveness_.alive()) return;
  const Napi::Env env = onExit_->env();
  const Napi::HandleScope scope(env);
  (*onExit_)({Napi::Number::New(env, static_cast<double>(code)), Napi::Number::New(env, signal)});
}

// ---- what comes of it
// ----------------------------------------------------------------------------

void LineSourceClass::due() {
  const Now now = clock_.now();
  source_->due(now, effects_);
  if (rowsDue_ && *rowsDue_ <= now.steady) giveRows();
  deliver();
}

void LineSourceClass::call(Callback& callback, std::initializer_list<std::string_view> texts) {
  if (!liveness_.alive()) return;
  const Napi::Env env = callback.env();
  const Napi::HandleScope scope(env);
  std::vector<napi_value> arguments;
  for (const std::string_view text : texts) {
    arguments.push_back(utf8String(env, Slice::borrow(text)));
  }
  callback(std::span<const napi_value>(arguments));
}

void LineSourceClass::deliver() {
  const auto addRow = [this](const lines::ToldLine& line) {
    if (!rows_.empty()) rows_ += ',';
    json::Writer row(rows_);
    writeLine(row, line);
  };
  for (const lines::ToldLine& line : effects_.rows) addRow(line);
  for (const lines::ToldLine& line : effects_.surfaced) addRow(line);
  for (const lines::InjectBatch& batch : effects_.injects) {
    for (const lines::ToldLine& line : batch.lines) addRow(line);
  }
  if (!rows_.empty() && !rowsDue_) rowsDue_ = clock_.steady() + kRowsTime;
  const bool isTold =
      !effects_.surfaced.empty() || !effects_.injects.empty() || !effects_.notices.empty();
  if (isTold) {
    // What JavaScript calls from there may have effects, too.
    const lines::SourceEffects told = std::exchange(effects_, {});
    call(*onEffects_, {textOf(told)});
  } else {
    effects_.rows.clear();
  }
  std::optional<Time> next = source_->nextDeadline();
  if (rowsDue_ && (!next || *rowsDue_ < *next)) next = rowsDue_;
  deadline_.set(next);
}

void LineSourceClass::giveRows() {
  rowsDue_.reset();
  if (rows_.empty()) return;
  const std::string rows = '[' + std::exchange(rows_, {}) + ']';
  call(*onRows_, {rows});
}

// ---- looking
// -------------------------------------------------------------------------------------

Napi::Value LineSourceClass::history(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  lines::LineRing::Query query;
  if (info[0].IsObject()) {
    const Options options(info[0].As<Napi::Object>(), "history(query)");
    if (const int64_t last = options.whole("last"); last > 0) query.last = last;
    if (const int64_t since = options.whole("since"); since > 0) query.since = since;
    const std::string least = options.text("least");
    if (options.failed()) return env.Undefined();
    if (!least.empty()) {
      const std::optional<FilterOutcome> outcome = outcomeOf(env, least);
      if (!outcome) return env.Undefined();
      query.least = *outcome;
    }
  }
  std::string text;
  json::Writer writer(text);
  writer.beginArray();
  for (const lines::Entry& entry : source_->ring().query(query)) writeLine(writer, entry);
  writer.endArray();
  return utf8String(env, Slice::borrow(text));
}

Napi::Value LineSourceClass::test(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::optional<std::vector<lines::Rule>> rules = rulesOf(info[0]);
  if (!rules) return env.Undefined();
  const std::optional<int64_t> last = Arguments(info, "test(rules, last)").whole(1);
  if (!last) return env.Undefined();
  lines::LineRing::Query query;
  query.last = static_cast<size_t>(std::max<int64_t>(*last, 0));
  std::vector<lines::Entry> entries;
  std::vector<std::string_view> texts;
  for (const lines::Entry& entry : source_->ring().query(query)) {
    if (entry.line == 0) continue;
    entries.push_back(entry);
    texts.push_back(entry.text);
  }
  std::string text;
  json::Writer writer(text);
  writer.beginObject().key("slow").beginArray();
  for (const lines::Rule& rule : *rules) writer.string(lines::slownessOf(rule));
  const auto decided = lines::tryRules(std::move(*rules), texts);
  if (!decided) {
    throwRuleError(env, decided.error());
    return env.Undefined();
  }
  writer.endArray().key("lines").beginArray();
  for (size_t i = 0; i < entries.size(); ++i) {
    const lines::Decision& decision = decided.value()[i];
    entries[i].outcome = decision.outcome;
    entries[i].rule = decision.rule;
    writeLine(writer, entries[i]);
  }
  writer.endArray().endObject();
  return utf8String(env, Slice::borrow(text));
}

Napi::Value LineSourceClass::counters(const Napi::CallbackInfo& info) {
  const lines::SourceCounters& counters = source_->counters();
  Napi::Object result = Napi::Object::New(info.Env());
  const auto set = [&](const char* name, uint64_t value) {
    result.Set(name, Napi::Number::New(info.Env(), static_cast<double>(value)));
  };
  set("bytes", counters.bytes);
  set("lines", counters.lines);
  set("dropped", counters.dropped);
  set("kept", counters.kept);
  set("surfaced", counters.surfaced);
  set("injected", counters.injected);
  set("suppressed", counters.suppressed);
  set("cut", counters.cut);
  set("leftOut", counters.leftOut);
  set("rowsLeftOut", counters.rowsLeftOut);
  set("run", source_->run());
  set("newest", source_->ring().newest());
  set("held", source_->ring().size());
  set("memory", source_->bytes());
  return result;
}

}  // namespace tap::addon
