#include "addon/addon.h"

#include <napi.h>

#include <optional>
#include <string>
#include <string_view>

#include "addon/arguments.h"
#include "addon/gateway_class.h"
#include "addon/globs_class.h"
#include "addon/guards_class.h"
#include "addon/line_source_class.h"
#include "addon/plans_class.h"
#include "addon/records_class.h"
#include "addon/session_class.h"
#include "base/limits.h"
#include "protocol/errors.h"
#include "protocol/link/session_messages.h"
#include "protocol/provider/provider_messages.h"
#include "protocol/provider/refused_requests.h"
#include "records/redact.h"
#include "uv/process.h"

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
    row.Set("most", Napi::Number::New(env, static_cast<double>(maxOverride(limit))));
    row.Set("unit", text(env, limit.unit));
    row.Set("env", text(env, limit.env));
    row.Set("why", text(env, limit.why));
    rows.Set(i, row);
  }
  return rows;
}

// All limits with the given variables; see readLimit.
Napi::Value readLimits(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject()) {
    throwType(env, "readLimits(variables): expected an object");
    return env.Undefined();
  }
  const Options variables(info[0].As<Napi::Object>(), "readLimits(variables)");
  Napi::Array readings = Napi::Array::New(env);
  for (uint32_t i = 0; i < kLimitTable.size(); ++i) {
    const LimitRow& row = kLimitTable[i];
    const std::string given = variables.text(std::string(row.env).c_str());
    if (variables.failed()) return env.Undefined();
    const LimitReading reading = readLimit(row, given);
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", text(env, row.name));
    entry.Set("value", Napi::Number::New(env, static_cast<double>(reading.value)));
    if (!reading.wrong.empty()) entry.Set("wrong", text(env, reading.wrong));
    readings.Set(i, entry);
  }
  return readings;
}

// The result of a call whose arguments never reach a gateway; a gateway would return the same.
Napi::Value refuseArguments(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Arguments arguments(info, "refuseArguments(tool, problem)");
  const std::optional<std::string> tool = arguments.text(0);
  const std::optional<std::string> problem = arguments.text(1);
  if (!tool || !problem) return env.Undefined();
  const protocol::CallResult refused = protocol::refuseArguments("", *tool, *problem);
  Napi::Object failure = Napi::Object::New(env);
  failure.Set("code", text(env, protocol::wireName(refused.code)));
  failure.Set("text", text(env, refused.text));
  return failure;
}

// JSON text without secrets; see records/redact.h.
Napi::Value redactJson(const Napi::CallbackInfo& info) {
  const std::optional<std::string> json = Arguments(info, "redactJson(json)").text(0);
  if (!json) return info.Env().Undefined();
  return Napi::String::New(info.Env(), records::redactJson(*json));
}

Napi::Array messageTypes(Napi::Env env) {
  Napi::Array types = Napi::Array::New(env);
  for (uint32_t i = 0; i < protocol::kProviderMessageTable.size(); ++i) {
    types.Set(i, text(env, protocol::kProviderMessageTable[i].type));
  }
  return types;
}

Napi::Value dropInherited(const Napi::CallbackInfo& info) {
  uv::dropInherited();
  return info.Env().Undefined();
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("Gateway", GatewayClass::define(env));
  exports.Set("SessionPort", SessionClass::define(env));
  exports.Set("Records", RecordsClass::define(env));
  exports.Set("LineSource", LineSourceClass::define(env));
  exports.Set("Plans", PlansClass::define(env));
  exports.Set("redactJson", Napi::Function::New<redactJson>(env, "redactJson"));
  exports.Set("dropInherited", Napi::Function::New<dropInherited>(env, "dropInherited"));
  exports.Set("HookGuards", GuardsClass::define(env));
  exports.Set("Globs", GlobsClass::define(env));
  exports.Set("linkVersion", Napi::Number::New(env, protocol::kLinkVersion));
  exports.Set("limits", limitTable(env));
  exports.Set("readLimits", Napi::Function::New<readLimits>(env, "readLimits"));
  exports.Set("refuseArguments", Napi::Function::New<refuseArguments>(env, "refuseArguments"));
  exports.Set("providerMessageTypes", messageTypes(env));
  return exports;
}

}  // namespace

napi_value registerAddon(napi_env env, napi_value exports) {
  return Napi::RegisterModule(env, exports, init);
}

}  // namespace tap::addon
