// The JavaScript class `Gateway`: a gateway on Node's loop. See js/lib/addon.d.ts for its types.
#pragma once

#include <napi.h>

#include <memory>
#include <unordered_map>

#include "addon/callbacks.h"
#include "addon/record_port.h"
#include "uv/server.h"

namespace tap::addon {

class GatewayClass final : public Napi::ObjectWrap<GatewayClass> {
 public:
  static Napi::Function define(Napi::Env env);

  explicit GatewayClass(const Napi::CallbackInfo& info);
  ~GatewayClass() override;

  // The gateway of a JavaScript value; null if the value has a different type.
  [[nodiscard]] static GatewayClass* from(const Napi::Value& value);

  [[nodiscard]] uv::Server& server() { return *server_; }

 private:
  void start(const Napi::CallbackInfo& info);
  Napi::Value listen(const Napi::CallbackInfo& info);
  void listenLink(const Napi::CallbackInfo& info);
  void setPlainAnswer(const Napi::CallbackInfo& info);
  Napi::Value openProvider(const Napi::CallbackInfo& info);
  void sendProvider(const Napi::CallbackInfo& info);
  Napi::Value inspect(const Napi::CallbackInfo& info);
  Napi::Value sessionEnvironment(const Napi::CallbackInfo& info);
  Napi::Value issueSpawnToken(const Napi::CallbackInfo& info);
  void forgetSpawnToken(const Napi::CallbackInfo& info);
  Napi::Value issueFeatureToken(const Napi::CallbackInfo& info);
  void revokeFeatureToken(const Napi::CallbackInfo& info);
  void answerRequest(const Napi::CallbackInfo& info);
  void setGroups(const Napi::CallbackInfo& info);
  Napi::Value openGroups(const Napi::CallbackInfo& info);
  void disableTools(const Napi::CallbackInfo& info);
  Napi::Value requestFromSession(const Napi::CallbackInfo& info);
  void writeTimeline(const Napi::CallbackInfo& info);
  void commandFinished(const Napi::CallbackInfo& info);
  void setRecords(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  void onHost(const gateway::NotifyHost& tell);
  void onCommand(const gateway::HostCommand& command);
  void onRequest(const gateway::RequestHost& request);
  void onDropped(const gateway::RequestDropped& dropped);
  void onOpened(const gateway::GroupsOpened& opened);
  void onAnswered(const gateway::SessionAnswered& answered);

  // A gateway in use must not be collected, even if JavaScript has no reference to it.
  void hold();

  Liveness liveness_;
  bool held_ = false;
  std::unique_ptr<Callback> onLog_;
  std::unique_ptr<Callback> onSessionOpened_;
  std::unique_ptr<Callback> onSessionEnded_;
  std::unique_ptr<Callback> onCommand_;
  std::unique_ptr<Callback> onRequest_;
  std::unique_ptr<Callback> onRequestDropped_;
  std::unique_ptr<Callback> onExit_;
  uint64_t lastOpening_ = 0;
  std::unordered_map<gateway::OpeningNumber, Napi::Promise::Deferred> openings_;
  uint64_t lastSessionRequest_ = 0;
  std::unordered_map<gateway::SessionRequestNumber, Napi::Promise::Deferred> sessionRequests_;
  std::unique_ptr<RecordPort> records_;  // outlives the server, which may use it until its end
  std::unique_ptr<uv::Server> server_;
};

}  // namespace tap::addon
