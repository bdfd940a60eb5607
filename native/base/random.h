// Identifiers: unique, not secret. Secrets (tokens) come from the operating system instead.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace tap {

// xoshiro256** (Blackman and Vigna), seeded by the caller: a fixed seed makes a test repeatable.
class RandomIds {
 public:
  explicit RandomIds(const std::array<uint64_t, 4>& seed);

  [[nodiscard]] std::string uuid();     // RFC 9562, version 4
  [[nodiscard]] std::string shortId();  // eight hexadecimal digits

 private:
  uint64_t next();

  std::array<uint64_t, 4> state_;
};

}  // namespace tap
