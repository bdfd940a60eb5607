#include "addon/gateway_class.h"

#include <string>
#include <vector>

#include "addon/environment.h"

namespace tap::addon {

namespace {

std::string textOf(const Napi::Object& options, const char* key) {
  const Napi::Value value = options.Get(key);
  return value.IsString() ? value.As<Napi::String>().Utf8Value() : std::string();
}

int64_t numberOf(const Napi::Object& options, const char* key) {
  const Napi::Value value = options.Get(key);
  return value.IsNumber() ? value.As<Napi::Number>().Int64Value() : 0;
}

// An Error with libuv's code, as Node's own have.
void throwUv(Napi::Env env, int failure, const std::string& what) {
  Napi::Error error = Napi::Error::New(env, what + ": " + uv_strerror(failure));
  error.Set("code", Napi::String::New(env, uv_err_name(failure)));
  error.ThrowAsJavaScriptException();
}

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

}  // namespace

Napi::Function GatewayClass::define(Napi::Env env) {
  return DefineClass(env, "Gateway",
                     {
                         InstanceMethod<&GatewayClass::start>("start"),
                         InstanceMethod<&GatewayClass::listen>("listen"),
                         InstanceMethod<&GatewayClass::listenLink>("listenLink"),
                         InstanceMethod<&GatewayClass::setPlainAnswer>("setPlainAnswer"),
                         InstanceMethod<&GatewayClass::close>("close"),
                     });
}

GatewayClass::GatewayClass(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<GatewayClass>(info) {
  const Napi::Env env = info.Env();
  if (info.Length() < 1 || !info[0].IsObject()) {
    Napi::TypeError::New(env, "new Gateway(options): expected an object")
        .ThrowAsJavaScriptException();
    return;
  }
  const auto options = info[0].As<Napi::Object>();
  onLog_ = std::make_unique<Callback>(options, "onLog");
  onHost_ = std::make_unique<Callback>(options, "onHost");
  std::vector<std::string> complaints;
  gateway::Config config;
  config.limits = limitsFromEnvironment(complaints);
  config.version = textOf(options, "version");
  config.token = textOf(options, "token");
  config.linkSecret = textOf(options, "linkSecret");
  config.pid = numberOf(options, "pid");
  config.seed = randomSeed();
  uv::ServerEvents events;
  events.log = [this](protocol::LogLevel level, const std::string& text) {
    const Napi::HandleScope scope(onLog_->env());
    (*onLog_)({Napi::String::New(onLog_->env(), levelName(level)),
               Napi::String::New(onLog_->env(), text)});
  };
  events.host = [this](gateway::HostAction action, const std::string& reason) {
    const Napi::HandleScope scope(onHost_->env());
    const char* name = action == gateway::HostAction::Exit ? "exit" : "session-registered";
    (*onHost_)({Napi::String::New(onHost_->env(), name),
                Napi::String::New(onHost_->env(), reason)});
  };
  server_ = std::make_unique<uv::Server>(loopOf(env), std::move(config), std::move(events));
  for (const std::string& complaint : complaints) {
    (*onLog_)({Napi::String::New(env, "warning"), Napi::String::New(env, complaint)});
  }
}

GatewayClass::~GatewayClass() = default;

void GatewayClass::start(const Napi::CallbackInfo&) { server_->start(); }

Napi::Value GatewayClass::listen(const Napi::CallbackInfo& info) {
  const int port = info.Length() > 0 && info[0].IsNumber() ? info[0].As<Napi::Number>().Int32Value() : 0;
  if (const int failure = server_->listenTcp(port)) {
    throwUv(info.Env(), failure, "cannot listen on port " + std::to_string(port));
    return info.Env().Undefined();
  }
  return Napi::Number::New(info.Env(), server_->port());
}

void GatewayClass::listenLink(const Napi::CallbackInfo& info) {
  const std::string path = info[0].ToString().Utf8Value();
  if (const int failure = server_->listenPipe(path)) {
    throwUv(info.Env(), failure, "cannot listen on " + path);
  }
}

void GatewayClass::setPlainAnswer(const Napi::CallbackInfo& info) {
  server_->setPlainAnswer(info[0].ToString().Utf8Value());
}

void GatewayClass::close(const Napi::CallbackInfo& info) {
  server_->close(info.Length() > 0 && info[0].ToBoolean());
}

}  // namespace tap::addon
