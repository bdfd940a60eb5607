#include "protocol/concurrency.h"

#include <string>

namespace tap::protocol {

namespace {
constexpr size_t kMaxScopeBytes = 128;
constexpr int64_t kMaxPlaces = 1'000'000;
}  // namespace

Concurrency readConcurrency(FieldReader& hello, Problem& problem) {
  Concurrency concurrency;
  const auto object = hello.optional("concurrency", json::Kind::Object);
  if (!object) return concurrency;
  FieldReader fields(*object, "hello.concurrency", problem);
  concurrency.max = static_cast<size_t>(fields.optionalInteger("max", 1, kMaxPlaces).value_or(0));
  const std::string scope = fields.optionalText("scope", kMaxScopeBytes).value_or("instance");
  if (scope == "provider") {
    concurrency.scope = Concurrency::Scope::Provider;
  } else if (scope == "tool") {
    concurrency.scope = Concurrency::Scope::Tool;
  } else if (scope != "instance") {
    problem.report("hello.concurrency.scope: expected \"instance\", \"provider\" or \"tool\"");
  }
  return concurrency;
}

}  // namespace tap::protocol
