// Lines that providers write into a session's timeline: each party (gateway/registry/party.h) may
// write so many a second, whichever message they come from. Further lines are left out; the
// timeline says how many.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "base/time.h"
#include "base/timer_queue.h"
#include "protocol/link/session_messages.h"

namespace tap::gateway {

struct Turn;
struct Session;
struct Provider;
struct CallInFlight;

class LineBudget {
 public:
  // Takes one line of the `most` lines per second; false if they are used up.
  [[nodiscard]] bool take(size_t most, Time now);
  [[nodiscard]] bool has(size_t most, Time now) const;
  // Whether it is as good as new.
  [[nodiscard]] bool isIdle(Time now) const;

  size_t leftOut = 0;
  size_t most = 0;    // what a second had when the last line was left out
  std::string whose;  // the name of the provider whose line that was
  TimerId notice = TimerId::None;

 private:
  std::deque<Time> recent_;  // lines of the last second
};

// A line of the provider's; false if there is no room for it. It is then left out, or the caller
// comes again with it.
enum class NoRoom : uint8_t { LeaveOut, Wait };
bool writeProviderLine(const Turn& turn, Session& session, const Provider& provider,
                       protocol::LogLevel level, std::string_view text, NoRoom otherwise);
// The same for a line that the session shows with a message, and so at once. Returns: the line;
// empty if there is no room.
[[nodiscard]] std::string takeProviderLine(const Turn& turn, Session& session,
                                           const Provider& provider, std::string_view text);
// Whether there is room for one.
[[nodiscard]] bool canWriteProviderLine(const Turn& turn, Session& session,
                                        const Provider& provider);
// Why a message is refused that would have needed one.
[[nodiscard]] std::string noLineLeft(const Turn& turn);
// Of a provider that comes or goes. Programs of the user's share the room for these: their names
// are theirs to choose. `party`: gateway/registry/party.h; `name`: the provider's.
void writeArrival(const Turn& turn, Session& session, std::string_view party, std::string_view name,
                  protocol::LogLevel level, std::string_view text);
// It is time to say how many lines were left out.
void reportLeftOut(const Turn& turn, Session& session, const std::string& party);

// The newest progress of a call: it is shown at once, or when the last one is old enough.
void showProgress(const Turn& turn, Session& session, CallInFlight& call);
// Nobody waits for the call any more: drops progress that has not been shown.
void dropProgress(const Turn& turn, CallInFlight& call);
// The call is over: shows progress that has not been shown yet.
void endProgress(const Turn& turn, CallInFlight& call);

}  // namespace tap::gateway
