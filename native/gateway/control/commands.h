// Slash commands that the user types in a session. The process around the gateway runs them; the
// gateway knows which link waits for which text.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/timer_queue.h"
#include "gateway/core/effects.h"

namespace tap::gateway {

struct Session;
struct Turn;

struct CommandInFlight {
  PeerId link;
  std::string commandId;
  TimerId deadline = TimerId::None;
};

// By the number that the host answers with.
using Commands = std::unordered_map<CommandNumber, CommandInFlight>;

// Answers the link with the command's text: once, and at the latest after `command-ms`.
void startCommand(const Turn& turn, PeerId link, const Session& session,
                  const protocol::RunCommand& command);
// The host has this text for it. Nothing, if nobody waits for it any more.
void finishCommand(const Turn& turn, CommandNumber number, std::string_view text);
void commandDue(const Turn& turn, CommandNumber number);
// The link has ended: nobody waits for its commands.
void dropCommands(const Turn& turn, PeerId link);

}  // namespace tap::gateway
