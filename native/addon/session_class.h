// The JavaScript class `SessionPort`: a session's connection to a gateway, detached or in this
// process. See js/lib/addon.d.ts for its types.
#pragma once

#include <napi.h>

#include <memory>
#include <span>
#include <string>

#include "addon/callbacks.h"
#include "protocol/link/session_codec.h"
#include "uv/session_port.h"

namespace tap::addon {

class SessionClass final : public Napi::ObjectWrap<SessionClass> {
 public:
  static Napi::Function define(Napi::Env env);

  explicit SessionClass(const Napi::CallbackInfo& info);
  ~SessionClass() override;

 private:
  void connect(const Napi::CallbackInfo& info);
  void attach(const Napi::CallbackInfo& info);
  void send(const Napi::CallbackInfo& info);
  void call(const Napi::CallbackInfo& info);
  void cancel(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);
  Napi::Value peerPid(const Napi::CallbackInfo& info);

  // Begins connect or attach. Returns false if it cannot: a port serves once. A port in use must
  // not be collected.
  [[nodiscard]] bool begin(Napi::Env env);
  // The port is over, and may be collected.
  void finish();

  void onEvent(const protocol::SessionEvent& event);
  void onSettled(std::span<protocol::CallResult*> results);
  [[nodiscard]] bool onQuiet(Millis silence, Millis most);
  void onClosed(const std::string& reason, bool silent);

  Liveness liveness_;
  std::unique_ptr<Callback> connected_;
  std::unique_ptr<Callback> event_;
  std::unique_ptr<Callback> settled_;
  std::unique_ptr<Callback> quiet_;
  std::unique_ptr<Callback> closed_;
  Napi::ObjectReference gateway_;  // kept alive while attached
  bool begun_ = false;
  bool held_ = false;
  protocol::SessionDecoder decoder_;
  std::unique_ptr<uv::SessionPort> port_;
};

}  // namespace tap::addon
