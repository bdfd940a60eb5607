#include "plan/usage.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace tap::plan {
namespace {

constexpr size_t kMaxModelBytes = 100;
constexpr double kMaxCredits = 1e12;
constexpr int64_t kMaxSum = int64_t{1} << 50;

[[nodiscard]] double amount(json::Value object, std::string_view key) {
  const auto value = json::find(object, key);
  if (!value || value->kind != json::Kind::Number) return 0;
  const double number = json::decodeNumber(*value);
  return number > 0 ? std::min(number, kMaxCredits) : 0;
}

[[nodiscard]] int64_t count(json::Value object, std::string_view key) {
  return static_cast<int64_t>(amount(object, key));
}

void addTo(int64_t& sum, int64_t number) {
  sum = std::min(sum + number, kMaxSum);
}

ModelTokens& obtainModel(std::vector<ModelTokens>& models, std::string_view name) {
  auto found = std::ranges::find(models, name, &ModelTokens::model);
  if (found == models.end() && models.size() + 1 >= Usage::kMaxModels) {
    name = "other";
    found = std::ranges::find(models, name, &ModelTokens::model);
  }
  if (found != models.end()) return *found;
  models.push_back({std::string(name)});
  return models.back();
}

}  // namespace

void Usage::add(const Usage& other) {
  aiCredits = std::min(aiCredits + other.aiCredits, kMaxCredits);
  premiumRequests = std::min(premiumRequests + other.premiumRequests, kMaxCredits);
  addTo(apiMs, other.apiMs);
  addTo(sessionMs, other.sessionMs);
  for (const ModelTokens& model : other.models) {
    ModelTokens& own = obtainModel(models, model.model);
    addTo(own.input, model.input);
    addTo(own.output, model.output);
    addTo(own.cached, model.cached);
  }
}

int64_t Usage::tokens() const {
  int64_t sum = 0;
  for (const ModelTokens& model : models) addTo(sum, model.input + model.output);
  return sum;
}

bool Usage::any() const {
  return aiCredits > 0 || premiumRequests > 0 || apiMs > 0 || sessionMs > 0 || !models.empty();
}

Usage readUsage(json::Value value) {
  Usage usage;
  usage.aiCredits = amount(value, "aiCredits");
  usage.premiumRequests = amount(value, "premiumRequests");
  usage.apiMs = count(value, "apiMs");
  usage.sessionMs = count(value, "sessionMs");
  const auto models = json::find(value, "models");
  if (!models) return usage;
  json::Elements elements(*models);
  json::Value model;
  while (elements.next(model)) {
    const auto name = json::find(model, "model");
    if (!name || name->kind != json::Kind::String) continue;
    ModelTokens& own =
        obtainModel(usage.models, json::decodeString(*name).substr(0, kMaxModelBytes));
    addTo(own.input, count(model, "input"));
    addTo(own.output, count(model, "output"));
    addTo(own.cached, count(model, "cached"));
  }
  return usage;
}

void writeUsage(json::Writer& writer, const Usage& usage) {
  writer.beginObject()
      .rawField("aiCredits", decimal(usage.aiCredits))
      .rawField("premiumRequests", decimal(usage.premiumRequests))
      .field("apiMs", usage.apiMs)
      .field("sessionMs", usage.sessionMs)
      .key("models")
      .beginArray();
  for (const ModelTokens& model : usage.models) {
    writer.beginObject()
        .field("model", model.model)
        .field("input", model.input)
        .field("output", model.output)
        .field("cached", model.cached)
        .endObject();
  }
  writer.endArray().endObject();
}

void Changes::add(const Changes& other) {
  addTo(files, other.files);
  addTo(insertions, other.insertions);
  addTo(deletions, other.deletions);
}

Changes readChanges(json::Value value) {
  return {count(value, "files"), count(value, "insertions"), count(value, "deletions")};
}

void writeChanges(json::Writer& writer, const Changes& changes) {
  writer.beginObject()
      .field("files", changes.files)
      .field("insertions", changes.insertions)
      .field("deletions", changes.deletions)
      .endObject();
}

std::string decimal(double number) {
  std::array<char, 32> text{};
  const double rounded = std::round(number * 1000) / 1000;
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), rounded, std::chars_format::fixed);
  return error == std::errc() ? std::string(text.data(), end) : "0";
}

}  // namespace tap::plan
