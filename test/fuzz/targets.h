// The fuzz targets: functions that accept any bytes and fail by GoogleTest's assertions. libFuzzer
// runs a single target (libfuzzer.cc); the checked-in inputs are replayed as tests
// (replay_test.cc).
//
// To add a target: a function, a row below, and a few inputs in corpus/<name>.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tap::fuzz {

void frames(std::string_view input);
void handshake(std::string_view input);
void jsonText(std::string_view input);
void jsonBytes(std::string_view input);
void arguments(std::string_view input);
void providerMessages(std::string_view input);
void sessionMessages(std::string_view input);
void linkFrames(std::string_view input);
void globs(std::string_view input);
void paths(std::string_view input);
void patterns(std::string_view input);
void shownText(std::string_view input);
void recordQueries(std::string_view input);
void lines(std::string_view input);
void cycles(std::string_view input);
void planInputs(std::string_view input);
void gateway(std::string_view input);

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
};

inline constexpr std::array<Target, 17> kTargets{{
    {"frames", frames},
    {"handshake", handshake},
    {"json", jsonText},
    {"bytes", jsonBytes},
    {"arguments", arguments},
    {"provider", providerMessages},
    {"session", sessionMessages},
    {"link", linkFrames},
    {"glob", globs},
    {"path", paths},
    {"pattern", patterns},
    {"shown", shownText},
    {"records", recordQueries},
    {"lines", lines},
    {"cycles", cycles},
    {"plan", planInputs},
    {"gateway", gateway},
}};

// Takes an input apart: choices come from its front. At its end every choice is 0.
class Bytes {
 public:
  explicit Bytes(std::string_view input) : rest_(input) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  // At most 256 different values, which is enough for all choices here.
  uint32_t below(uint32_t bound) { return byte() % bound; }
  std::string_view take(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  // Up to, not including, the next byte of that value, which is dropped.
  std::string_view until(char end) {
    const std::string_view taken = rest_.substr(0, rest_.find(end));
    rest_.remove_prefix(taken.size());
    (void)byte();
    return taken;
  }

 private:
  std::string_view rest_;
};

}  // namespace tap::fuzz
