#include "addon/session_class.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "addon/arguments.h"
#include "addon/environment.h"
#include "addon/gateway_class.h"
#include "addon/strings.h"
#include "base/json.h"
#include "base/json_writer.h"

namespace tap::addon {

namespace {

// Results in a single call of JavaScript, as its arguments: filling an array is slower.
constexpr size_t kSettledAtOnce = 128;
// In bytes; a text of at most this size is built on the stack.
constexpr size_t kShortText = 512;
// Of a tool, in ms. A longer timeout makes no difference, and its deadline must not overflow.
constexpr double kMaxTimeoutMs = 2'000'000'000;

// A JSON string becomes its text; other values stay JSON text for the model (measured: passing the
// slice is faster than parsing it). Consumes `result`: a string is decoded in place if possible.
Napi::String modelText(Napi::Env env, Slice& result) {
  const std::string_view data = result.view();
  if (data.empty() || data.front() != '"') return utf8String(env, std::move(result));
  std::unique_ptr<char[]> room;
  char* out = result.exclusive().data();
  if (out == nullptr) {
    room = std::make_unique_for_overwrite<char[]>(data.size());
    out = room.get();
  }
  const json::AsciiText text = json::decodeAscii({json::Kind::String, data}, out);
  if (!text.rest.empty()) return utf16String(env, json::decodeString16(text));
  return asciiString(env, text.front, room ? Slice::borrow(text.front) : std::move(result));
}

using ShortTextBuffer = std::array<char, kShortText>;

// A short JavaScript string, in a single call. Empty if it is not a string or may be longer: the
// last character may not have fitted.
std::optional<std::string_view> shortText(Napi::Env env, napi_value value, ShortTextBuffer& room) {
  size_t size = 0;
  const napi_status status =
      napi_get_value_string_utf8(env, value, room.data(), room.size(), &size);
  if (status != napi_ok || size + 4 >= room.size()) return std::nullopt;
  return std::string_view(room.data(), size);
}

Napi::Value attachment(Napi::Env env, protocol::CallResult& result) {
  Napi::Object with = Napi::Object::New(env);
  // Both may be parts of the same message: the smaller must not keep the larger alive.
  const bool moreText = result.data.size() > result.binary.base64.size();
  const auto use = [](Slice& part, bool keeps) {
    return keeps ? std::move(part) : Slice::borrow(part.view());
  };
  Slice text = use(result.data, moreText);
  Slice base64 = use(result.binary.base64, !moreText);
  const std::string_view data = base64.view();
  with.Set("text", modelText(env, text));
  with.Set("mimeType", Napi::String::New(env, result.binary.mimeType));
  with.Set("data", asciiString(env, data, std::move(base64)));
  return with;
}

Napi::Value toJs(Napi::Env env, protocol::CallResult& result) {
  if (!result.failed && !result.binary.base64.empty()) return attachment(env, result);
  if (!result.failed) return modelText(env, result.data);
  Napi::Object failure = Napi::Object::New(env);
  const std::string_view code = protocol::wireName(result.code);
  failure.Set("code", Napi::String::New(env, code.data(), code.size()));
  failure.Set("text", Napi::String::New(env, result.text));
  return failure;
}

}  // namespace

Napi::Function SessionClass::define(Napi::Env env) {
  return DefineClass(env, "SessionPort",
                     {
                         InstanceMethod<&SessionClass::connect>("connect"),
                         InstanceMethod<&SessionClass::attach>("attach"),
                         InstanceMethod<&SessionClass::send>("send"),
                         InstanceMethod<&SessionClass::call>("call"),
                         InstanceMethod<&SessionClass::cancel>("cancel"),
                         InstanceMethod<&SessionClass::close>("close"),
                         InstanceMethod<&SessionClass::peerPid>("peerPid"),
                     });
}

SessionClass::SessionClass(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<SessionClass>(info), liveness_(info.Env()) {
  const Napi::Env env = info.Env();
  if (info.Length() < 1 || !info[0].IsObject()) {
    Napi::TypeError::New(env, "new SessionPort(handlers): expected an object")
        .ThrowAsJavaScriptException();
    return;
  }
  const auto handlers = info[0].As<Napi::Object>();
  const Options options(handlers, "new SessionPort(handlers)");
  options.functions({"onConnected", "onEvent", "onSettled", "onQuiet", "onClosed"});
  if (options.failed()) return;
  // The handlers usually refer to the port. If they were held outside of the port, both would leak.
  info.This().As<Napi::Object>().Set(Napi::Symbol::New(env, "handlers"), handlers);
  using Lives = Callback::Lives;
  connected_ = std::make_unique<Callback>(handlers, "onConnected", Lives::WithItsOwner);
  event_ = std::make_unique<Callback>(handlers, "onEvent", Lives::WithItsOwner);
  settled_ = std::make_unique<Callback>(handlers, "onSettled", Lives::WithItsOwner);
  quiet_ = std::make_unique<Callback>(handlers, "onQuiet", Lives::WithItsOwner);
  closed_ = std::make_unique<Callback>(handlers, "onClosed", Lives::WithItsOwner);
  if (options.failed()) return;
  std::vector<std::string> complaints;  // the session logs them: js/extension/runtime.mjs
  uv::SessionPortEvents events;
  events.connected = [this] {
    if (!liveness_.alive()) return;
    const Napi::HandleScope scope(connected_->env());
    (*connected_)({});
  };
  events.event = [this](const protocol::SessionEvent& event) { onEvent(event); };
  events.settled = [this](std::span<protocol::CallResult*> results) { onSettled(results); };
  events.quiet = [this](Millis silence, Millis most) { return onQuiet(silence, most); };
  events.closed = [this](const std::string& reason, bool silent) { onClosed(reason, silent); };
  events.over = [this] { finish(); };
  port_ = std::make_unique<uv::SessionPort>(eventLoop(env), limitsFromEnvironment(complaints),
                                            std::move(events));
}

SessionClass::~SessionClass() {
  if (port_ && !liveness_.alive()) port_->abandon();
}

bool SessionClass::begin(Napi::Env env) {
  if (begun_) {
    Napi::Error::New(env, "this SessionPort is or was in use; create a new SessionPort")
        .ThrowAsJavaScriptException();
    return false;
  }
  begun_ = true;
  held_ = true;
  Ref();
  return true;
}

void SessionClass::finish() {
  if (!liveness_.alive()) return;
  gateway_.Reset();
  if (std::exchange(held_, false)) Unref();
}

void SessionClass::connect(const Napi::CallbackInfo& info) {
  if (!info[0].IsString()) {
    Napi::TypeError::New(info.Env(), "connect(path): expected a string")
        .ThrowAsJavaScriptException();
    return;
  }
  if (begin(info.Env())) port_->connect(info[0].As<Napi::String>().Utf8Value());
}

void SessionClass::attach(const Napi::CallbackInfo& info) {
  GatewayClass* gateway = GatewayClass::from(info[0]);
  if (gateway == nullptr || gateway->server().closed()) {
    Napi::TypeError::New(info.Env(), "attach(gateway): expected a Gateway that is not closed")
        .ThrowAsJavaScriptException();
    return;
  }
  if (!begin(info.Env())) return;
  gateway_ = Napi::Persistent(info[0].As<Napi::Object>());
  port_->attach(gateway->server());
}

void SessionClass::send(const Napi::CallbackInfo& info) {
  std::optional<std::string> json = Arguments(info, "send(json)").text(0);
  if (!json) return;
  const Slice text(std::move(*json));
  const Result<protocol::LinkMessage, std::string> message = decoder_.message(text);
  if (!message) {
    Napi::TypeError::New(info.Env(), message.error()).ThrowAsJavaScriptException();
    return;
  }
  port_->send(message.value());
}

void SessionClass::call(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  ShortTextBuffer toolRoom;
  ShortTextBuffer argsRoom;
  const std::optional<int64_t> id = wholeNumber(info[0]);
  const std::optional<std::string_view> tool = shortText(env, info[1], toolRoom);
  const std::optional<std::string_view> args = shortText(env, info[2], argsRoom);
  if (!id || (!tool && !info[1].IsString()) || (!args && !info[2].IsString())) {
    Napi::TypeError::New(env, "call(id, tool, args): expected a whole number and two strings")
        .ThrowAsJavaScriptException();
    return;
  }
  protocol::Call call;
  call.callId = std::to_string(*id);
  call.tool = tool ? std::string(*tool) : info[1].As<Napi::String>().Utf8Value();
  call.args = args ? Slice::copy(*args) : Slice(info[2].As<Napi::String>().Utf8Value());
  std::optional<Millis> timeout;
  if (!info[3].IsUndefined()) {
    const double ms = info[3].IsNumber() ? info[3].As<Napi::Number>().DoubleValue() : -1;
    if (!(ms >= 0)) {  // NaN neither
      Napi::TypeError::New(env, "call(id, tool, args, timeoutMs): expected a number of at least 0")
          .ThrowAsJavaScriptException();
      return;
    }
    timeout = Millis(static_cast<int64_t>(std::min(ms, kMaxTimeoutMs)));
  }
  ShortTextBuffer idRoom;
  ShortTextBuffer traceRoom;
  if (const auto toolCallId = shortText(env, info[4], idRoom)) {
    std::string quoted;
    json::appendQuoted(quoted, *toolCallId);
    call.toolCallId = Slice(std::move(quoted));
  }
  if (const auto trace = shortText(env, info[5], traceRoom)) {
    const auto context = protocol::TraceContext::parse(*trace);
    call.trace = {context.value_or(protocol::TraceContext{}), !context};
  }
  if (port_->call(std::move(call), timeout)) return;
  Napi::TypeError::New(info.Env(), "call id used twice").ThrowAsJavaScriptException();
}

void SessionClass::cancel(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "cancel(id, reason)");
  const std::optional<int64_t> id = arguments.whole(0);
  const std::optional<std::string> reason = arguments.text(1);
  if (id && reason) port_->cancel(std::to_string(*id), *reason);
}

void SessionClass::close(const Napi::CallbackInfo& info) {
  std::optional<std::string> why = "it was closed";
  if (!info[0].IsUndefined()) why = Arguments(info, "close(why)").text(0);
  if (!why) return;
  begun_ = true;  // closed before it began: it must not begin later
  port_->close(*why);
}

Napi::Value SessionClass::peerPid(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(port_->peerPid()));
}

void SessionClass::onEvent(const protocol::SessionEvent& event) {
  if (!liveness_.alive()) return;
  const Napi::HandleScope scope(event_->env());
  const protocol::SplitText text = protocol::encode(event);
  (*event_)({Napi::String::New(event_->env(), text.head)});
}

void SessionClass::onSettled(std::span<protocol::CallResult*> results) {
  const Napi::Env env = settled_->env();
  std::array<napi_value, 2 * kSettledAtOnce> pairs{};
  while (!results.empty() && liveness_.alive()) {
    const auto some = results.first(std::min(results.size(), kSettledAtOnce));
    results = results.subspan(some.size());
    const Napi::HandleScope scope(env);
    auto at = pairs.begin();
    for (protocol::CallResult* result : some) {
      int64_t id = 0;
      std::from_chars(result->callId.data(), result->callId.data() + result->callId.size(), id);
      *at++ = Napi::Number::New(env, static_cast<double>(id));
      *at++ = toJs(env, *result);
    }
    // Promise reactions run when this returns, unless JavaScript is on the stack below it.
    (*settled_)(std::span<const napi_value>(pairs.begin(), at));
  }
}

bool SessionClass::onQuiet(Millis silence, Millis most) {
  if (!liveness_.alive()) return false;
  const Napi::Env env = quiet_->env();
  const Napi::HandleScope scope(env);
  const auto number = [&](Millis ms) {
    return Napi::Number::New(env, static_cast<double>(ms.count()));
  };
  return quiet_->callPredicate({number(silence), number(most)});
}

void SessionClass::onClosed(const std::string& reason, bool silent) {
  if (!liveness_.alive()) return;
  const Napi::Env env = closed_->env();
  const Napi::HandleScope scope(env);
  (*closed_)({Napi::String::New(env, reason), Napi::Boolean::New(env, silent)});
}

}  // namespace tap::addon
