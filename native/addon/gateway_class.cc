#include "addon/gateway_class.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "addon/arguments.h"
#include "addon/environment.h"

namespace tap::addon {

namespace {

// An Error with libuv's code, as Node's own errors have.
void throwUv(Napi::Env env, int failure, const std::string& action) {
  Napi::Error error = Napi::Error::New(env, action + ": " + uv_strerror(failure));
  error.Set("code", Napi::String::New(env, uv_err_name(failure)));
  error.ThrowAsJavaScriptException();
}

// Distinguishes our objects from others that JavaScript passes.
constexpr napi_type_tag kTypeTag{0x8f1d6a2c4be94d07, 0xa35c90e7f2164b8d};

constexpr double kMaxPort = 65535;

const char* levelName(protocol::LogLevel level) {
  switch (level) {
    case protocol::LogLevel::Info:
      return "info";
    case protocol::LogLevel::Warning:
      return "warning";
    case protocol::LogLevel::Error:
      return "error";
  }
  return "error";
}

std::optional<protocol::LogLevel> parseLevel(std::string_view name) {
  using protocol::LogLevel;
  for (const LogLevel level : {LogLevel::Info, LogLevel::Warning, LogLevel::Error}) {
    if (name == levelName(level)) return level;
  }
  return std::nullopt;
}

std::string nodeVersion(Napi::Env env) {
  const napi_node_version* version = Napi::VersionManagement::GetNodeVersion(env);
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

}  // namespace

Napi::Function GatewayClass::define(Napi::Env env) {
  return DefineClass(env, "Gateway",
                     {
                         InstanceMethod<&GatewayClass::start>("start"),
                         InstanceMethod<&GatewayClass::listen>("listen"),
                         InstanceMethod<&GatewayClass::listenLink>("listenLink"),
                         InstanceMethod<&GatewayClass::setPlainAnswer>("setPlainAnswer"),
                         InstanceMethod<&GatewayClass::openProvider>("openProvider"),
                         InstanceMethod<&GatewayClass::sendProvider>("sendProvider"),
                         InstanceMethod<&GatewayClass::inspect>("inspect"),
                         InstanceMethod<&GatewayClass::sessionEnvironment>("environmentOf"),
                         InstanceMethod<&GatewayClass::issueSpawnToken>("issueSpawnToken"),
                         InstanceMethod<&GatewayClass::forgetSpawnToken>("forgetSpawnToken"),
                         InstanceMethod<&GatewayClass::issueFeatureToken>("issueFeatureToken"),
                         InstanceMethod<&GatewayClass::revokeFeatureToken>("revokeFeatureToken"),
                         InstanceMethod<&GatewayClass::answerRequest>("answerRequest"),
                         InstanceMethod<&GatewayClass::setGroups>("setGroups"),
                         InstanceMethod<&GatewayClass::openGroups>("openGroups"),
                         InstanceMethod<&GatewayClass::disableTools>("disableTools"),
                         InstanceMethod<&GatewayClass::requestFromSession>("askSession"),
                         InstanceMethod<&GatewayClass::writeTimeline>("tellTimeline"),
                         InstanceMethod<&GatewayClass::commandFinished>("commandFinished"),
                         InstanceMethod<&GatewayClass::setRecords>("setRecords"),
                         InstanceMethod<&GatewayClass::close>("close"),
                     });
}

GatewayClass::GatewayClass(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<GatewayClass>(info), liveness_(info.Env()) {
  const Napi::Env env = info.Env();
  if (info.Length() < 1 || !info[0].IsObject()) {
    Napi::TypeError::New(env, "new Gateway(options): expected an object")
        .ThrowAsJavaScriptException();
    return;
  }
  const auto handlers = info[0].As<Napi::Object>();
  const Options options(handlers, "new Gateway(options)");
  options.functions({"onLog", "onSessionOpened", "onSessionEnded", "onCommand", "onRequest",
                     "onRequestDropped", "onExit"});
  std::vector<std::string> complaints;
  gateway::Config config;
  config.limits = limitsFromEnvironment(complaints);
  config.version = options.text("version");
  config.node = nodeVersion(env);
  config.token = options.text("token");
  config.linkSecret = options.text("linkSecret");
  config.pid = options.whole("pid");
  config.seed = randomSeed();
  config.fillSecret = fillSecret;
  config.persistRoot = options.text("persistRoot");
  config.tokenFile = options.text("tokenFile");
  if (options.failed()) return;
  onLog_ = std::make_unique<Callback>(handlers, "onLog");
  onSessionOpened_ = std::make_unique<Callback>(handlers, "onSessionOpened");
  onSessionEnded_ = std::make_unique<Callback>(handlers, "onSessionEnded");
  onCommand_ = std::make_unique<Callback>(handlers, "onCommand");
  onRequest_ = std::make_unique<Callback>(handlers, "onRequest");
  onRequestDropped_ = std::make_unique<Callback>(handlers, "onRequestDropped");
  onExit_ = std::make_unique<Callback>(handlers, "onExit");
  if (options.failed()) return;
  uv::ServerEvents events;
  events.log = [this](protocol::LogLevel level, const std::string& text) {
    if (!liveness_.alive()) return;
    const Napi::HandleScope scope(onLog_->env());
    (*onLog_)({Napi::String::New(onLog_->env(), levelName(level)),
               Napi::String::New(onLog_->env(), text)});
  };
  events.host = [this](const gateway::NotifyHost& tell) { onHost(tell); };
  events.command = [this](const gateway::HostCommand& command) { onCommand(command); };
  events.opened = [this](const gateway::GroupsOpened& opened) { onOpened(opened); };
  events.answered = [this](const gateway::SessionAnswered& answered) { onAnswered(answered); };
  events.request = [this](const gateway::RequestHost& request) { onRequest(request); };
  events.dropped = [this](const gateway::RequestDropped& dropped) { onDropped(dropped); };
  server_ = std::make_unique<uv::Server>(eventLoop(env), std::move(config), std::move(events));
  info.This().As<Napi::Object>().TypeTag(&kTypeTag);
  for (const std::string& complaint : complaints) {
    (*onLog_)({Napi::String::New(env, "warning"), Napi::String::New(env, complaint)});
  }
}

void GatewayClass::onHost(const gateway::NotifyHost& tell) {
  if (!liveness_.alive()) return;
  const Napi::Env env = onExit_->env();
  const Napi::HandleScope scope(env);
  switch (tell.action) {
    case gateway::HostAction::SessionOpened:
      return (*onSessionOpened_)(
          {Napi::String::New(env, tell.sessionId), Napi::String::New(env, tell.cwd)});
    case gateway::HostAction::SessionEnded:
      return (*onSessionEnded_)({Napi::String::New(env, tell.sessionId)});
    case gateway::HostAction::Exit:
      return (*onExit_)({Napi::String::New(env, tell.reason)});
  }
}

void GatewayClass::onCommand(const gateway::HostCommand& command) {
  if (!liveness_.alive()) return;
  const Napi::Env env = onCommand_->env();
  const Napi::HandleScope scope(env);
  Napi::Object typed = Napi::Object::New(env);
  typed.Set("sessionId", Napi::String::New(env, command.sessionId));
  typed.Set("cwd", Napi::String::New(env, command.cwd));
  typed.Set("name", Napi::String::New(env, command.name));
  typed.Set("arguments", Napi::String::New(env, command.arguments));
  (*onCommand_)({Napi::Number::New(env, static_cast<double>(command.number)), typed});
}

void GatewayClass::onOpened(const gateway::GroupsOpened& opened) {
  auto opening = openings_.extract(opened.number);
  if (opening.empty() || !liveness_.alive()) return;
  const Napi::Env env = opening.mapped().Env();
  const Napi::HandleScope scope(env);
  const Napi::AsyncContext context(env, "openGroups");
  const Napi::CallbackScope callbacks(env, context);
  Napi::Array tools = Napi::Array::New(env, opened.tools.size());
  for (size_t i = 0; i < opened.tools.size(); ++i) {
    tools.Set(static_cast<uint32_t>(i), Napi::String::New(env, opened.tools[i]));
  }
  Napi::Object outcome = Napi::Object::New(env);
  outcome.Set("inForce", Napi::Boolean::New(env, opened.inForce));
  outcome.Set("tools", tools);
  outcome.Set("reason", Napi::String::New(env, opened.reason));
  opening.mapped().Resolve(outcome);
}

void GatewayClass::onAnswered(const gateway::SessionAnswered& answered) {
  auto request = sessionRequests_.extract(answered.number);
  if (request.empty() || !liveness_.alive()) return;
  const Napi::Env env = request.mapped().Env();
  const Napi::HandleScope scope(env);
  const Napi::AsyncContext context(env, "askSession");
  const Napi::CallbackScope callbacks(env, context);
  request.mapped().Resolve(Napi::String::New(env, answered.json));
}

void GatewayClass::onRequest(const gateway::RequestHost& request) {
  if (!liveness_.alive()) return;
  const Napi::Env env = onRequest_->env();
  const Napi::HandleScope scope(env);
  Napi::Object asked = Napi::Object::New(env);
  asked.Set("from", Napi::String::New(env, request.fromFeature ? "feature" : "control"));
  asked.Set("method", Napi::String::New(env, request.method));
  asked.Set("params", Napi::String::New(env, request.params));
  (*onRequest_)({Napi::Number::New(env, static_cast<double>(request.number)), asked});
}

void GatewayClass::onDropped(const gateway::RequestDropped& dropped) {
  if (!liveness_.alive()) return;
  const Napi::Env env = onRequestDropped_->env();
  const Napi::HandleScope scope(env);
  (*onRequestDropped_)({Napi::Number::New(env, static_cast<double>(dropped.number))});
}

GatewayClass::~GatewayClass() {
  if (server_ && !liveness_.alive()) server_->abandon();
}

GatewayClass* GatewayClass::from(const Napi::Value& value) {
  if (!value.IsObject()) return nullptr;
  const auto object = value.As<Napi::Object>();
  return object.CheckTypeTag(&kTypeTag) ? Unwrap(object) : nullptr;
}

void GatewayClass::hold() {
  if (!server_->closed() && !std::exchange(held_, true)) Ref();
}

void GatewayClass::start(const Napi::CallbackInfo&) {
  hold();
  server_->start();
}

Napi::Value GatewayClass::listen(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const double port = info[0].IsNumber() ? info[0].As<Napi::Number>().DoubleValue() : -1;
  if (!(port >= 0 && port <= kMaxPort) || std::trunc(port) != port) {  // NaN neither
    Napi::RangeError::New(env, "listen(port): expected a whole number from 0 to 65535")
        .ThrowAsJavaScriptException();
    return env.Undefined();
  }
  if (const int failure = server_->listenTcp(static_cast<int>(port))) {
    throwUv(env, failure, "cannot listen on port " + std::to_string(static_cast<int>(port)));
    return env.Undefined();
  }
  hold();
  return Napi::Number::New(env, server_->port());
}

void GatewayClass::listenLink(const Napi::CallbackInfo& info) {
  const std::optional<std::string> path = Arguments(info, "listenLink(path)").text(0);
  if (!path) return;
  if (const int failure = server_->listenPipe(*path)) {
    throwUv(info.Env(), failure, "cannot listen on " + *path);
    return;
  }
  hold();
}

void GatewayClass::setPlainAnswer(const Napi::CallbackInfo& info) {
  const std::optional<std::string> json = Arguments(info, "setPlainAnswer(json)").text(0);
  if (json) server_->setPlainAnswer(*json);
}

Napi::Value GatewayClass::openProvider(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject() || server_->closed()) {
    Napi::TypeError::New(env, "openProvider(handlers): expected an object, and an open gateway")
        .ThrowAsJavaScriptException();
    return env.Undefined();
  }
  const auto handlers = info[0].As<Napi::Object>();
  const Options options(handlers, "openProvider(handlers)");
  options.functions({"onMessage", "onClosed"});
  const bool feature = options.flag("feature");
  if (options.failed()) return env.Undefined();
  // Shared, since std::function is copyable and Callback is not.
  const auto onMessage = std::make_shared<Callback>(handlers, "onMessage");
  const auto onClosed = std::make_shared<Callback>(handlers, "onClosed");
  if (env.IsExceptionPending()) return env.Undefined();
  uv::InProcessProvider::Handlers provider;
  provider.receive = [this, onMessage](std::string_view text) {
    if (!liveness_.alive()) return;
    const Napi::HandleScope scope(onMessage->env());
    (*onMessage)({Napi::String::New(onMessage->env(), text.data(), text.size())});
  };
  provider.ended = [this, onClosed](const std::string& reason) {
    if (!liveness_.alive()) return;
    const Napi::HandleScope scope(onClosed->env());
    (*onClosed)({Napi::String::New(onClosed->env(), reason)});
  };
  const gateway::PeerId peer = server_->openProvider(std::move(provider), feature);
  return Napi::Number::New(env, static_cast<double>(peer));
}

void GatewayClass::sendProvider(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "sendProvider(id, json)");
  const std::optional<int64_t> id = arguments.whole(0);
  std::optional<std::string> json = arguments.text(1);
  if (!id || !json) return;
  const gateway::PeerId peer{static_cast<uint64_t>(*id)};
  server_->providerText(peer, Slice(std::move(*json)));
}

Napi::Value GatewayClass::inspect(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), server_->inspect());
}

Napi::Value GatewayClass::sessionEnvironment(const Napi::CallbackInfo& info) {
  const std::optional<std::string> session = Arguments(info, "environmentOf(sessionId)").text(0);
  if (!session) return info.Env().Undefined();
  return Napi::String::New(info.Env(), server_->sessionEnvironment(*session));
}

void GatewayClass::answerRequest(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "answerRequest(number, json)");
  const std::optional<int64_t> number = arguments.whole(0);
  const std::optional<std::string> json = arguments.text(1);
  if (!number || !json) return;
  server_->answerRequest(gateway::RequestNumber{static_cast<uint64_t>(*number)}, *json);
}

void GatewayClass::setGroups(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "setGroups(sessionId, names)");
  const std::optional<std::string> session = arguments.text(0);
  const std::optional<std::vector<std::string>> names = arguments.texts(1);
  if (session && names) server_->addGroups(*session, *names);
}

Napi::Value GatewayClass::openGroups(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "openGroups(sessionId, names)");
  const std::optional<std::string> session = arguments.text(0);
  const std::optional<std::vector<std::string>> names = arguments.texts(1);
  if (!session || !names) return info.Env().Undefined();
  const gateway::OpeningNumber number{++lastOpening_};
  const auto opening = Napi::Promise::Deferred::New(info.Env());
  openings_.emplace(number, opening);
  server_->openGroups(number, *session, *names);
  return opening.Promise();
}

Napi::Value GatewayClass::requestFromSession(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "askSession(sessionId, request, params)");
  const std::optional<std::string> session = arguments.text(0);
  const std::optional<std::string> request = arguments.text(1);
  const std::optional<std::string> params = arguments.text(2);
  if (!session || !request || !params) return info.Env().Undefined();
  const gateway::SessionRequestNumber number{++lastSessionRequest_};
  const auto asked = Napi::Promise::Deferred::New(info.Env());
  sessionRequests_.emplace(number, asked);
  server_->requestFromSession(number, *session, *request, *params);
  return asked.Promise();
}

void GatewayClass::writeTimeline(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "tellTimeline(sessionId, level, text)");
  const std::optional<std::string> session = arguments.text(0);
  const std::optional<std::string> name = arguments.text(1);
  const std::optional<std::string> text = arguments.text(2);
  if (!session || !name || !text) return;
  const std::optional<protocol::LogLevel> level = parseLevel(*name);
  if (!level) return arguments.refuse(1, R"("info", "warning" or "error")");
  server_->writeTimeline(*session, *level, *text);
}

void GatewayClass::commandFinished(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "commandFinished(number, text)");
  const std::optional<int64_t> number = arguments.whole(0);
  const std::optional<std::string> text = arguments.text(1);
  if (!number || !text) return;
  server_->commandFinished(gateway::CommandNumber{static_cast<uint64_t>(*number)}, *text);
}

void GatewayClass::setRecords(const Napi::CallbackInfo& info) {
  RecordsClass* const records = RecordsClass::from(info[0]);
  if (info[0].IsNull()) {
    server_->setRecords(nullptr, gateway::RecordMode::Off, false);
    records_.reset();
    return;
  }
  const Arguments arguments(info, "setRecords(records, mode, spans)");
  if (records == nullptr) return arguments.refuse(0, "a Records, or null");
  const std::optional<std::string> mode = arguments.text(1);
  const std::optional<bool> spans = arguments.flag(2);
  if (!mode || !spans) return;
  if (*mode != "all" && *mode != "notify") return arguments.refuse(1, R"("all" or "notify")");
  if (server_->closed()) return;
  auto port = std::make_unique<RecordPort>(info[0].As<Napi::Object>(), *records);
  server_->setRecords(port.get(),
                      *mode == "all" ? gateway::RecordMode::All : gateway::RecordMode::NotifyOnly,
                      *spans);
  records_ = std::move(port);
}

void GatewayClass::close(const Napi::CallbackInfo& info) {
  server_->close(info[0].ToBoolean());
  if (std::exchange(held_, false)) Unref();
}

}  // namespace tap::addon
