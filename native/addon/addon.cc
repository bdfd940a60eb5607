// The module: two classes, and the tables that documentation is checked against.
#include <napi.h>

#include <string_view>

#include "addon/gateway_class.h"
#include "addon/guards_class.h"
#include "addon/session_class.h"
#include "base/limits.h"
#include "protocol/errors.h"
#include "protocol/provider_messages.h"
#include "protocol/session_messages.h"

namespace tap::addon {

namespace {

Napi::String text(Napi::Env env, std::string_view view) {
  return Napi::String::New(env, view.data(), view.size());
}

Napi::Array limitTable(Napi::Env env) {
  Napi::Array rows = Napi::Array::New(env);
  for (uint32_t i = 0; i < kLimitTable.size(); ++i) {
    const LimitRow& limit = kLimitTable[i];
    Napi::Object row = Napi::Object::New(env);
    row.Set("name", text(env, limit.name));
    row.Set("value", Napi::Number::New(env, static_cast<double>(limit.value)));
    row.Set("least", Napi::Number::New(env, static_cast<double>(limit.least)));
    row.Set("most", Napi::Number::New(env, static_cast<double>(mostOf(limit))));
    row.Set("unit", text(env, limit.unit));
    row.Set("env", text(env, limit.env));
    row.Set("why", text(env, limit.why));
    rows.Set(i, row);
  }
  return rows;
}

Napi::Array errorTable(Napi::Env env) {
  Napi::Array rows = Napi::Array::New(env);
  for (uint32_t i = 0; i < protocol::kErrorTable.size(); ++i) {
    const protocol::ErrorRow& error = protocol::kErrorTable[i];
    Napi::Object row = Napi::Object::New(env);
    row.Set("name", text(env, error.name));
    row.Set("fatal", Napi::Boolean::New(env, error.fatal));
    row.Set("advice", text(env, error.advice));
    rows.Set(i, row);
  }
  return rows;
}

Napi::Array messageTypes(Napi::Env env) {
  Napi::Array types = Napi::Array::New(env);
  for (uint32_t i = 0; i < protocol::kProviderMessageTable.size(); ++i) {
    types.Set(i, text(env, protocol::kProviderMessageTable[i].type));
  }
  return types;
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("Gateway", GatewayClass::define(env));
  exports.Set("SessionPort", SessionClass::define(env));
  exports.Set("HookGuards", GuardsClass::define(env));
  exports.Set("linkVersion", Napi::Number::New(env, protocol::kLinkVersion));
  exports.Set("limits", limitTable(env));
  exports.Set("errors", errorTable(env));
  exports.Set("providerMessageTypes", messageTypes(env));
  return exports;
}

}  // namespace

}  // namespace tap::addon

static Napi::Object initAddon(Napi::Env env, Napi::Object exports) {
  return tap::addon::init(env, exports);
}
NODE_API_MODULE(tap, initAddon)
