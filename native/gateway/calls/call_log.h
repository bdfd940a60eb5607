// The last calls, one after another, for people (copilot-tap calls). It is kept in memory only, and
// bounded twice: no name of a provider can push out what others did, and all together have their
// limit. Slots are used again with the memory that their texts have: recording a call allocates
// nothing, as a rule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.h"
#include "base/time.h"

namespace tap::gateway {

// The beginning of a call's arguments, without memory of its own. It is written where it stays: a
// copy would move all of its room.
class ArgsHead {
 public:
  ArgsHead() = default;
  explicit ArgsHead(std::string_view args) { assign(args); }
  ArgsHead(const ArgsHead&) = delete;
  ArgsHead& operator=(const ArgsHead&) = delete;

  // Cut between characters. REQUIRES: `args` is UTF-8.
  void assign(std::string_view args);

  [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }
  [[nodiscard]] bool cut() const { return cut_; }

  static constexpr size_t kBytes = 512;

 private:
  std::array<char, kBytes> text_;
  uint16_t size_ = 0;
  bool cut_ = false;
};

// One call that has its outcome; of long texts the beginning is kept. The views need to live no
// longer than the call that passes them.
struct FinishedCall {
  int64_t unixMillis = 0;  // when it had its outcome
  Millis took{};
  std::string_view sessionId;
  std::string_view provider;  // empty: nobody had the tool
  std::string_view tool;
  std::string_view args;
  bool argsCut = false;
  bool byCommand = false;      // a control client called it, not the model
  std::string_view code = {};  // on the wire; empty: it went well
  std::string_view text = {};  // why not
};

class CallLog {
 public:
  void add(const FinishedCall& call);
  // JSON text of an array, the oldest call first: those after that sequence number.
  [[nodiscard]] std::string json(int64_t after) const;

  static constexpr size_t kOfOneProvider = 200;
  static constexpr size_t kOfAll = 1000;

 private:
  struct Slot {
    int64_t sequence = 0;
    int64_t unixMillis = 0;
    int64_t tookMillis = 0;
    // Session, tool, arguments and reason, one behind the other: memory once, not four times.
    std::string texts;
    std::array<uint16_t, 4> sizes{};
    [[nodiscard]] std::array<std::string_view, 4> splitTexts() const;
    std::string_view code;
    bool argsCut = false;
    bool byCommand = false;
    uint16_t next = 0;  // the same name's next call; none behind its newest
  };
  // The calls of all providers of one name.
  struct Share {
    size_t count = 0;
    uint16_t oldest = 0;  // places in slots_
    uint16_t newest = 0;
  };
  [[nodiscard]] Share& obtainShare(std::string_view provider);
  // Where a call of that share goes: its place is in no share.
  [[nodiscard]] uint16_t freePlace(Share& its);
  [[nodiscard]] uint16_t takeOldest(Share& share);
  // Removes the oldest call of the largest share. All shares are compared only until they are even:
  // after that, a share makes room by removing its own oldest call.
  [[nodiscard]] uint16_t takeFromLargest();

  std::vector<Slot> slots_;
  TextMap<Share> shares_;
  TextMap<Share>::value_type* latest_ = nullptr;  // as a rule the same provider is called again
  int64_t sequence_ = 0;
};

}  // namespace tap::gateway
