// Which records the gateway makes, and the memory that their rows are built in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/link/session_messages.h"
#include "protocol/records.h"

namespace tap::gateway {

struct Turn;

enum class RecordMode : uint8_t {
  Off,         // there is no store
  NotifyOnly,  // only what is put before the model on tap's own account
  All,
};

// A row together with the texts that it consists of.
struct RowBox : protocol::Row {
  std::string text;  // the body; behind it, once it is complete, the other texts
};
// The holder may empty the row's payloads once it has handed the row over: they share the memory of
// a message.
using RowPtr = std::shared_ptr<protocol::Row>;

class Recorder {
 public:
  void set(RecordMode mode, bool spans) {
    mode_ = mode;
    spans_ = spans && mode == RecordMode::All;
  }
  [[nodiscard]] bool all() const { return mode_ == RecordMode::All; }
  [[nodiscard]] bool spans() const { return spans_; }

  // A box that nobody has. Its memory serves again once nobody has it any more.
  [[nodiscard]] std::shared_ptr<RowBox> take();

  // Messages whose traceparent was malformed, and therefore ignored.
  uint64_t malformedTraces = 0;

 private:
  static constexpr size_t kKept = 128;  // boxes: as many rows as one read from a socket may cause

  RecordMode mode_ = RecordMode::Off;
  bool spans_ = false;
  std::vector<std::shared_ptr<RowBox>> boxes_;
  size_t next_ = 0;
};

// A line of the log that is a warning or an error (rows.cc). REQUIRES: records are on.
void recordDiagnostic(const Turn& turn, protocol::LogLevel level, std::string_view text);

}  // namespace tap::gateway
