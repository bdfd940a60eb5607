// Lines, rules and outcomes as JavaScript gives and gets them.
#pragma once

#include <napi.h>

#include <optional>
#include <string>
#include <vector>

#include "addon/arguments.h"
#include "base/json_writer.h"
#include "lines/ring.h"
#include "lines/rules.h"
#include "lines/source.h"

namespace tap::addon {

// Each of these returns empty if the value is wrong; an exception is then pending.
[[nodiscard]] std::optional<lines::FilterOutcome> parseOutcome(Napi::Env env,
                                                               const std::string& word);
[[nodiscard]] std::optional<lines::Delivery> parseDelivery(Napi::Env env, const std::string& word);
[[nodiscard]] std::optional<std::vector<lines::Rule>> readRules(const Napi::Value& given);

// Empty if it is absent.
[[nodiscard]] std::optional<Millis> readMillis(const Options& options, const char* key);

void throwRuleError(Napi::Env env, const lines::RuleError& error);

void writeLine(json::Writer& writer, const lines::Entry& line);
void writeLine(json::Writer& writer, const lines::OwnedLine& line);
// As JSON: shown lines, injected lines and notices.
[[nodiscard]] std::string effectsJson(const lines::SourceEffects& effects);

}  // namespace tap::addon
