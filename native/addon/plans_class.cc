#include "addon/plans_class.h"

#include <optional>
#include <utility>
#include <vector>

#include "addon/arguments.h"
#include "addon/environment.h"
#include "addon/strings.h"
#include "base/json_writer.h"
#include "plan/inputs.h"
#include "plan/view.h"

namespace tap::addon {

namespace {

using Deferred = Napi::Promise::Deferred;

constexpr const char* kClosed = "the plans are closed";

[[nodiscard]] Napi::Error closedError(Napi::Env env) {
  Napi::Error error = Napi::Error::New(env, kClosed);
  error.Set("code", Napi::String::New(env, "CLOSED"));
  return error;
}

// For a call after close().
[[nodiscard]] Napi::Promise rejectClosed(Napi::Env env) {
  const Deferred deferred(env);
  deferred.Reject(closedError(env).Value());
  return deferred.Promise();
}

[[nodiscard]] Napi::String toJsString(Napi::Env env, std::string_view text) {
  return utf8String(env, Slice::borrow(text));
}

// The time and the free memory, as arguments of a call; empty if either is wrong.
[[nodiscard]] std::optional<plan::Moment> readMoment(const Arguments& arguments, size_t first) {
  const std::optional<int64_t> now = arguments.whole(first);
  const std::optional<int64_t> memory = arguments.whole(first + 1);
  if (!now || !memory) return std::nullopt;
  return plan::Moment{*now, static_cast<uint64_t>(std::max<int64_t>(*memory, 0))};
}

}  // namespace

struct PlansClass::Pending {
  Deferred deferred;
  std::string whenClosed;  // its value after close(); empty: the promise is rejected
};

Napi::Function PlansClass::define(Napi::Env env) {
  return DefineClass(env, "Plans",
                     {
                         InstanceMethod<&PlansClass::open>("open"),
                         InstanceMethod<&PlansClass::input>("input"),
                         InstanceMethod<&PlansClass::view>("view"),
                         InstanceMethod<&PlansClass::load>("load"),
                         InstanceMethod<&PlansClass::unload>("unload"),
                         InstanceMethod<&PlansClass::entries>("entries"),
                         InstanceMethod<&PlansClass::describe>("describe"),
                         InstanceMethod<&PlansClass::remove>("remove"),
                         InstanceMethod<&PlansClass::state>("state"),
                         InstanceMethod<&PlansClass::close>("close"),
                     });
}

PlansClass::PlansClass(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<PlansClass>(info), liveness_(info.Env()) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject()) {
    throwType(env, "new Plans(options): expected an object");
    return;
  }
  const auto given = info[0].As<Napi::Object>();
  const Options options(given, "new Plans(options)");
  records::PlanJournal::Options journal;
  journal.file = options.text("file");
  plan::EngineLimits limits;
  if (const int64_t most = options.whole("maxWorkers"); most > 0) {
    limits.maxWorkers = static_cast<size_t>(most);
  }
  if (const int64_t most = options.whole("maxAgents"); most > 0) {
    limits.maxAgents = static_cast<size_t>(most);
  }
  if (const int64_t bytes = options.whole("workerMemory"); bytes > 0) {
    limits.workerMemory = static_cast<uint64_t>(bytes);
  }
  options.functions({"onEffect", "onTrouble"});
  if (options.failed()) return;
  onEffect_ = std::make_unique<Callback>(given, "onEffect");
  onTrouble_ = std::make_unique<Callback>(given, "onTrouble");
  wake_ = new uv_async_t;
  wake_->data = this;
  uv_async_init(eventLoop(env), wake_,
                [](uv_async_t* wake) { static_cast<PlansClass*>(wake->data)->deliver(); });
  uv_unref(reinterpret_cast<uv_handle_t*>(wake_));
  journal.wake = [wake = wake_] { uv_async_send(wake); };
  journal.onTrouble = [this](const std::string& why) {
    (*onTrouble_)({toJsString(onTrouble_->env(), why)});
  };
  engine_ = std::make_unique<plan::Engine>(limits);
  journal_ = std::make_unique<records::PlanJournal>(std::move(journal));
}

PlansClass::~PlansClass() {
  end();
}

void PlansClass::end() {
  journal_.reset();
  if (wake_ == nullptr) return;
  auto* const wake = std::exchange(wake_, nullptr);
  wake->data = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(wake),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_async_t*>(handle); });
}

PlansClass::PendingList::iterator PlansClass::await(Napi::Env env, std::string whenClosed) {
  uv_ref(reinterpret_cast<uv_handle_t*>(wake_));
  if (!std::exchange(held_, true)) Ref();
  return pending_.insert(pending_.end(), {Deferred(env), std::move(whenClosed)});
}

void PlansClass::resolve(PendingList::iterator pending, Napi::Value value) {
  const Deferred deferred = pending->deferred;
  pending_.erase(pending);
  deferred.Resolve(value);
}

void PlansClass::deliver() {
  if (!journal_ || !liveness_.alive()) return;
  const Napi::Env env = onEffect_->env();
  const Napi::HandleScope scope(env);
  const Napi::AsyncContext context(env, "Plans");
  const Napi::CallbackScope callbacks(env, context);
  if (journal_->deliver()) return;
  uv_unref(reinterpret_cast<uv_handle_t*>(wake_));
  if (std::exchange(held_, false)) Unref();
}

Napi::Value PlansClass::open(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!journal_) {
    closedError(env).ThrowAsJavaScriptException();
    return env.Undefined();
  }
  const std::string problem = journal_->open();
  if (!problem.empty()) {
    Napi::Error::New(env, problem).ThrowAsJavaScriptException();
    return env.Undefined();
  }
  std::string out;
  json::Writer writer(out);
  writer.beginArray();
  for (const records::JournalPlan& one : journal_->plans()) {
    writer.beginObject()
        .field("planId", one.plan)
        .field("ended", one.isEnded)
        .field("changedAt", one.changedAt)
        .rawField("about", one.about)
        .endObject();
  }
  writer.endArray();
  return toJsString(env, out);
}

Napi::Value PlansClass::input(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Arguments arguments(info, "input(json, now, freeMemory)");
  const std::optional<std::string> text = arguments.text(0);
  const auto now = readMoment(arguments, 1);
  if (!text || !now) return env.Undefined();
  const std::string closed = std::string(R"({"code":"CLOSED","message":")") + kClosed + "\"}";
  plan::Batch batch;
  const std::string refusal = journal_ ? plan::applyInput(*engine_, *text, *now, batch) : closed;
  if (!refusal.empty()) {
    const Deferred deferred(env);
    deferred.Resolve(toJsString(env, refusal));
    return deferred.Promise();
  }
  const auto pending = await(env, closed);
  write(std::move(batch), pending);
  return pending->deferred.Promise();
}

void PlansClass::write(plan::Batch batch, PendingList::iterator pending) {
  std::vector<records::JournalLine> lines;
  lines.reserve(batch.entries.size());
  for (plan::Batch::Line& line : batch.entries) {
    lines.push_back({std::move(line.plan), std::move(line.text)});
  }
  journal_->append(std::move(lines), batch.sync,
                   [this, pending, effects = std::move(batch.effects)] {
                     const Napi::Env env = onEffect_->env();
                     for (const plan::Effect& effect : effects) {
                       if (!plan::isCurrent(*engine_, effect)) continue;
                       const Napi::HandleScope scope(env);
                       (*onEffect_)({toJsString(env, plan::effectJson(*engine_, effect))});
                     }
                     resolve(pending, Napi::String::New(env, ""));
                   });
}

Napi::Value PlansClass::view(const Napi::CallbackInfo& info) {
  const std::optional<std::string> text = Arguments(info, "view(json)").text(0);
  if (!text) return info.Env().Undefined();
  return utf8String(info.Env(), Slice(plan::answerView(*engine_, *text)));
}

Napi::Value PlansClass::load(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Arguments arguments(info, "load(planId, now, freeMemory)");
  const std::optional<std::string> id = arguments.text(0);
  const auto now = readMoment(arguments, 1);
  if (!id || !now) return env.Undefined();
  if (!journal_) return rejectClosed(env);
  const auto pending = await(env);
  journal_->load(
      *id, [this, env, pending, id = *id, now = *now](const std::vector<std::string>& entries) {
        const std::vector<std::string_view> views(entries.begin(), entries.end());
        resolve(pending, toJsString(env, engine_->replay(id, views, now).value_or("")));
      });
  return pending->deferred.Promise();
}

Napi::Value PlansClass::unload(const Napi::CallbackInfo& info) {
  const std::optional<std::string> id = Arguments(info, "unload(planId)").text(0);
  if (!id) return info.Env().Undefined();
  return Napi::Boolean::New(info.Env(), !engine_->forget(*id).has_value());
}

Napi::Value PlansClass::entries(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::optional<std::string> id = Arguments(info, "entries(planId)").text(0);
  if (!id) return env.Undefined();
  if (!journal_) return rejectClosed(env);
  const auto pending = await(env);
  journal_->load(*id, [this, env, pending](const std::vector<std::string>& entries) {
    std::string out;
    json::Writer writer(out);
    writer.beginArray();
    for (const std::string& entry : entries) writer.raw(entry);
    writer.endArray();
    resolve(pending, toJsString(env, out));
  });
  return pending->deferred.Promise();
}

Napi::Value PlansClass::describe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Arguments arguments(info, "describe(planId, ended, changedAt, about)");
  const std::optional<std::string> id = arguments.text(0);
  const std::optional<bool> ended = arguments.flag(1);
  const std::optional<int64_t> changedAt = arguments.whole(2);
  const std::optional<std::string> about = arguments.text(3);
  if (!id || !ended || !changedAt || !about) return env.Undefined();
  if (!journal_) return rejectClosed(env);
  const auto pending = await(env);
  journal_->describe({*id, *ended, *changedAt, *about},
                     [this, env, pending] { resolve(pending, env.Undefined()); });
  return pending->deferred.Promise();
}

Napi::Value PlansClass::remove(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::optional<std::string> id = Arguments(info, "remove(planId)").text(0);
  if (!id) return env.Undefined();
  if (!journal_) return rejectClosed(env);
  (void)engine_->forget(*id);  // the plan may not be loaded
  const auto pending = await(env);
  journal_->remove(*id, [this, env, pending] { resolve(pending, env.Undefined()); });
  return pending->deferred.Promise();
}

Napi::Value PlansClass::state(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Object state = Napi::Object::New(env);
  const auto set = [&](const char* name, size_t value) {
    state.Set(name, Napi::Number::New(env, static_cast<double>(value)));
  };
  set("workers", engine_->workers());
  set("agents", engine_->agents());
  set("live", engine_->live());
  const std::optional<int64_t> wakeAt = engine_->wakeAt();
  if (wakeAt) state.Set("wakeAt", Napi::Number::New(env, static_cast<double>(*wakeAt)));
  Napi::Array plans = Napi::Array::New(env);
  for (const std::string& id : engine_->plans()) plans.Set(plans.Length(), toJsString(env, id));
  state.Set("plans", plans);
  if (journal_ && !journal_->asideFile().empty()) {
    state.Set("aside", toJsString(env, journal_->asideFile()));
  }
  return state;
}

Napi::Value PlansClass::close(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  end();
  for (const auto& [deferred, whenClosed] : std::exchange(pending_, {})) {
    if (whenClosed.empty()) {
      deferred.Reject(closedError(env).Value());
    } else {
      deferred.Resolve(toJsString(env, whenClosed));
    }
  }
  if (std::exchange(held_, false)) Unref();
  return env.Undefined();
}

}  // namespace tap::addon
