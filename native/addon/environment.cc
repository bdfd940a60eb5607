#include "addon/environment.h"

#include <cstdlib>
#include <optional>
#include <string_view>

namespace tap::addon {

uv_loop_t* eventLoop(Napi::Env env) {
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  return loop;
}

Limits limitsFromEnvironment(std::vector<std::string>& complaints) {
  const auto lookup = [](std::string_view variable) -> std::optional<std::string> {
    std::array<char, 64> buffer{};
    size_t size = buffer.size();
    const std::string name(variable);
    const int status = uv_os_getenv(name.c_str(), buffer.data(), &size);
    if (status == 0) return std::string(buffer.data(), size);
    if (status != UV_ENOBUFS) return std::nullopt;
    // Longer than any number: reported as a complaint.
    std::string text(size, '\0');
    if (uv_os_getenv(name.c_str(), text.data(), &size) != 0) return std::nullopt;
    text.resize(size);
    return text;
  };
  return Limits::withOverrides(lookup, complaints);
}

std::array<uint64_t, 4> randomSeed() {
  std::array<uint64_t, 4> seed{};
  (void)uv_random(nullptr, nullptr, seed.data(), sizeof seed, 0, nullptr);
  return seed;
}

void fillSecret(uint8_t* bytes, size_t size) {
  // A token that can be guessed is worse than no gateway.
  if (uv_random(nullptr, nullptr, bytes, size, 0, nullptr) != 0) std::abort();
}

}  // namespace tap::addon
