#include "addon/line_source_class.h"

#include <algorithm>
#include <utility>

#include "addon/arguments.h"
#include "addon/cycle_values.h"
#include "addon/environment.h"
#include "addon/line_values.h"
#include "addon/strings.h"

namespace tap::addon {

namespace {

// The buffer that all programs of this process's loop share.
[[nodiscard]] std::shared_ptr<uv::OutputBuffer> sharedBuffer() {
  thread_local std::weak_ptr<uv::OutputBuffer> last;
  std::shared_ptr<uv::OutputBuffer> buffer = last.lock();
  if (!buffer) last = buffer = std::make_shared<uv::OutputBuffer>();
  return buffer;
}

[[nodiscard]] std::optional<std::vector<std::string>> readTexts(const Napi::Object& given,
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
                         InstanceMethod<&LineSourceClass::setMatcher>("setMatcher"),
                         StaticMethod<&replayCycles>("replay"),
                         InstanceMethod<&LineSourceClass::setDelivery>("setDelivery"),
                         InstanceMethod<&LineSourceClass::expectEvery>("expectEvery"),
                         InstanceMethod<&LineSourceClass::noteActivity>("heard"),
                         InstanceMethod<&LineSourceClass::setRun>("setRun"),
                         InstanceMethod<&LineSourceClass::start>("start"),
                         InstanceMethod<&LineSourceClass::post>("post"),
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
      loop_(eventLoop(info.Env())),
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
  made.expectEvery = readMillis(options, "expectEvery");
  options.functions({"onEffects", "onRows", "onExit", "onOutputEnd"});
  if (options.failed()) return;
  const std::optional<lines::Delivery> known = parseDelivery(env, delivery);
  if (!known) return;
  made.delivery = *known;
  onEffects_ = std::make_unique<Callback>(given, "onEffects");
  onRows_ = std::make_unique<Callback>(given, "onRows");
  onExit_ = std::make_unique<Callback>(given, "onExit");
  onOutputEnd_ = std::make_unique<Callback>(given, "onOutputEnd");
  source_ = std::make_unique<lines::LineSource>(made);
  source_->expectEvery(made.expectEvery, clock_.fresh());
}

// ---- settings
// ------------------------------------------------------------------------------------

void LineSourceClass::setRules(const Napi::CallbackInfo& info) {
  const std::optional<std::vector<lines::Rule>> rules = readRules(info[0]);
  if (!rules) return;
  const std::optional<lines::RuleError> error = source_->setRules(*rules, clock_.fresh(), effects_);
  if (error) return throwRuleError(info.Env(), *error);
  deliver();
}

void LineSourceClass::setMatcher(const Napi::CallbackInfo& info) {
  const std::optional<std::string> json = Arguments(info, "setMatcher(matcher, tools)").text(0);
  if (!json) return;
  if (auto matcher = readMatcher(info.Env(), *json, info[1])) {
    source_->setMatcher(std::move(*matcher));
  }
}

void LineSourceClass::setDelivery(const Napi::CallbackInfo& info) {
  const std::optional<std::string> word = Arguments(info, "setDelivery(delivery)").text(0);
  if (!word) return;
  if (const auto known = parseDelivery(info.Env(), *word)) source_->setDelivery(*known);
}

void LineSourceClass::expectEvery(const Napi::CallbackInfo& info) {
  const std::optional<int64_t> time = Arguments(info, "expectEvery(ms)").whole(0);
  if (!time) return;
  source_->expectEvery(*time > 0 ? std::optional(Millis(*time)) : std::nullopt, clock_.fresh());
  deliver();
}

void LineSourceClass::noteActivity(const Napi::CallbackInfo&) {
  source_->noteActivity(clock_.fresh(), effects_);
  deliver();
}

// ---- runs
// ----------------------------------------------------------------------------------------

void LineSourceClass::setRun(const Napi::CallbackInfo& info) {
  const std::optional<int64_t> run = Arguments(info, "setRun(run)").whole(0);
  if (!run) return;
  if (*run < 0 || *run > UINT32_MAX) return throwType(info.Env(), "setRun(run): out of range");
  source_->setRun(static_cast<uint32_t>(*run));
}

void LineSourceClass::beginRun() {
  isRunning_ = true;
  Ref();
  source_->beginRun(clock_.fresh(), effects_);
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
  std::optional<std::vector<std::string>> args = readTexts(given, "args");
  if (!args) return env.Undefined();
  std::optional<std::vector<std::string>> variables = readTexts(given, "env");
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

void LineSourceClass::post(const Napi::CallbackInfo& info) {
  const std::optional<std::string> text = Arguments(info, "post(text)").text(0);
  if (!text) return;
  if (isRunning_) return throwType(info.Env(), "post(text): a run has not ended");
  source_->post(*text, clock_.fresh(), effects_);
  deliver();
  giveRows();
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
  source_->endRun(end, clock_.fresh(), effects_);
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
  const std::optional<lines::FilterOutcome> outcome = parseOutcome(info.Env(), *word);
  if (!outcome) return;
  source_->note(*text, *outcome, clock_.fresh(), effects_);
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

// ---- effects
// -------------------------------------------------------------------------------------

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
  const auto addRow = [this](const lines::OwnedLine& line) {
    if (!rows_.empty()) rows_ += ',';
    json::Writer row(rows_);
    writeLine(row, line);
  };
  for (const lines::OwnedLine& line : effects_.rows) addRow(line);
  for (const lines::OwnedLine& line : effects_.surfaced) addRow(line);
  for (const lines::InjectBatch& batch : effects_.injects) {
    for (const lines::OwnedLine& line : batch.lines) addRow(line);
  }
  if (!rows_.empty() && !rowsDue_) rowsDue_ = clock_.steady() + kRowsTime;
  const bool hasEffects = !effects_.surfaced.empty() || !effects_.injects.empty() ||
                          !effects_.notices.empty() || effects_.cycles.opened ||
                          !effects_.cycles.closed.empty() || !effects_.cycles.slow.empty();
  if (hasEffects) {
    // Callbacks in JavaScript may cause further effects.
    const lines::SourceEffects effects = std::exchange(effects_, {});
    call(*onEffects_, {effectsJson(effects)});
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

// ---- state
// ---------------------------------------------------------------------------------------

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
      const std::optional<lines::FilterOutcome> outcome = parseOutcome(env, least);
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
  std::optional<std::vector<lines::Rule>> rules = readRules(info[0]);
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
  for (const lines::Rule& rule : *rules) writer.string(lines::explainSlowness(rule));
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
