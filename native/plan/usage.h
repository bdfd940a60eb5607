// The usage of agents, as sums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"

namespace tap::plan {

struct ModelTokens {
  std::string model;
  int64_t input = 0;
  int64_t output = 0;
  int64_t cached = 0;
};

struct Usage {
  static constexpr size_t kMaxModels = 32;  // further models are counted as "other"

  double aiCredits = 0;
  double premiumRequests = 0;
  int64_t apiMs = 0;
  int64_t sessionMs = 0;
  std::vector<ModelTokens> models;

  void add(const Usage& other);
  // Input and output; tokens from a cache are a part of the input.
  [[nodiscard]] int64_t tokens() const;
  [[nodiscard]] bool any() const;
};

// {"aiCredits","premiumRequests","apiMs","sessionMs","models":[{"model","input","output","cached"}]},
// each optional. Other members and wrong kinds count as 0.
[[nodiscard]] Usage readUsage(json::Value value);
void writeUsage(json::Writer& writer, const Usage& usage);

// The lines that a node's commits change.
struct Changes {
  int64_t files = 0;
  int64_t insertions = 0;
  int64_t deletions = 0;

  void add(const Changes& other);
};
[[nodiscard]] Changes readChanges(json::Value value);
void writeChanges(json::Writer& writer, const Changes& changes);

// REQUIRES: a finite number >= 0.
[[nodiscard]] std::string decimal(double number);

}  // namespace tap::plan
