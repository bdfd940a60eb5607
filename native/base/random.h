// Identifiers: unique, not secret. Secrets (tokens) come from the operating system instead.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tap {

// RFC 9562. As a key it is two numbers; as text 36 characters, in lower case.
struct Uuid {
  uint64_t high = 0;
  uint64_t low = 0;

  // Empty for any other text; upper case is not accepted.
  [[nodiscard]] static std::optional<Uuid> parse(std::string_view text);
  static constexpr size_t kTextSize = 36;
  using Text = std::array<char, kTextSize>;
  [[nodiscard]] Text chars() const;
  [[nodiscard]] std::string text() const {
    const Text own = chars();
    return {own.data(), own.size()};
  }

  auto operator<=>(const Uuid&) const = default;
};

// Sufficient for random ids.
struct UuidHash {
  [[nodiscard]] size_t operator()(const Uuid& id) const { return id.low; }
};

// xoshiro256** (Blackman and Vigna), seeded by the caller: with a fixed seed a test is repeatable.
class RandomIds {
 public:
  explicit RandomIds(const std::array<uint64_t, 4>& seed);

  [[nodiscard]] Uuid uuid();            // version 4
  [[nodiscard]] uint64_t spanId();      // of a trace's span: never 0
  [[nodiscard]] std::string shortId();  // eight hexadecimal digits

 private:
  uint64_t next();

  std::array<uint64_t, 4> state_;
};

}  // namespace tap
