#include "gateway/control/commands.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/encoding.h"
#include "gateway/core/turn.h"

namespace tap::gateway {

namespace {

// The host looks up only plain names in its table of commands, whatever a session sends.
bool isCommandName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return std::all_of(name.begin(), name.end(), fits);
}

void answer(const Turn& turn, PeerId link, std::string commandId, std::string_view text) {
  const size_t most = turn.limits().bytes(Limit::CommandTextBytes);
  turn.effect(
      SendEvent{link, protocol::CommandResult{std::move(commandId), visible(text, true, most)}});
}

// Why it is not run; empty if it is.
std::string obstacle(const Turn& turn, PeerId link, const protocol::RunCommand& command) {
  if (!isCommandName(command.name)) {
    return "tap: there is no command " + inQuotes(visible(command.name, false, 80));
  }
  const auto ofLink = [&](const auto& entry) { return entry.second.link == link; };
  const Commands& commands = turn.state.commands;
  const auto running = std::count_if(commands.begin(), commands.end(), ofLink);
  if (static_cast<size_t>(running) < turn.limits().count(Limit::CommandsPerSession)) return {};
  return "tap: /" + command.name + " was not run: " + std::to_string(running) +
         " commands of this session run already; try again when one has finished";
}

}  // namespace

void startCommand(const Turn& turn, PeerId link, const Session& session,
                  const protocol::RunCommand& command) {
  if (const std::string why = obstacle(turn, link, command); !why.empty()) {
    return answer(turn, link, command.commandId, why);
  }
  const CommandNumber number{++turn.state.lastCommand};
  const TimerId deadline = turn.schedule(Limit::CommandMs, CommandDue{number});
  turn.state.commands.emplace(number, CommandInFlight{link, command.commandId, deadline});
  turn.effect(HostCommand{number, session.id, session.cwd, command.name, command.arguments});
}

void finishCommand(const Turn& turn, CommandNumber number, std::string_view text) {
  auto command = turn.state.commands.extract(number);
  if (command.empty()) return;
  turn.cancel(command.mapped().deadline);
  answer(turn, command.mapped().link, std::move(command.mapped().commandId), text);
}

void commandDue(const Turn& turn, CommandNumber number) {
  const auto seconds = turn.limits().time(Limit::CommandMs).count() / 1000;
  finishCommand(turn, number,
                "tap: the command did not finish within " + std::to_string(seconds) + " s");
}

void dropCommands(const Turn& turn, PeerId link) {
  Commands& commands = turn.state.commands;
  for (auto at = commands.begin(); at != commands.end();) {
    if (at->second.link == link) {
      turn.cancel(at->second.deadline);
      at = commands.erase(at);
    } else {
      ++at;
    }
  }
}

}  // namespace tap::gateway
