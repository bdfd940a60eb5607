// Tokens for the programs that the host starts (a session's providers, features), and the disabled
// tools of features.
#include <optional>
#include <string>
#include <vector>

#include "addon/arguments.h"
#include "addon/gateway_class.h"

namespace tap::addon {

Napi::Value GatewayClass::issueSpawnToken(const Napi::CallbackInfo& info) {
  const std::optional<std::string> session = Arguments(info, "issueSpawnToken(sessionId)").text(0);
  if (!session) return info.Env().Undefined();
  return Napi::String::New(info.Env(), server_->issueSpawnToken(*session));
}

void GatewayClass::forgetSpawnToken(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "forgetSpawnToken(token, revoked)");
  const std::optional<std::string> token = arguments.text(0);
  const std::optional<bool> revoked = arguments.flag(1);
  if (token && revoked) server_->forgetSpawnToken(*token, *revoked);
}

void GatewayClass::disableTools(const Napi::CallbackInfo& info) {
  const Arguments arguments(info, "disableTools(feature, names)");
  const std::optional<std::string> feature = arguments.text(0);
  const std::optional<std::vector<std::string>> names = arguments.texts(1);
  if (feature && names) server_->disableTools(*feature, *names);
}

Napi::Value GatewayClass::issueFeatureToken(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), server_->issueFeatureToken());
}

void GatewayClass::revokeFeatureToken(const Napi::CallbackInfo& info) {
  const std::optional<std::string> token = Arguments(info, "revokeFeatureToken(token)").text(0);
  if (token) server_->revokeFeatureToken(*token);
}

}  // namespace tap::addon
