// The cost of a change of a tool in the core, by the number of other tools: providers with so many
// tools each, bound to so many sessions, of which one
//
//   adds     has one tool more, by tools.update
//   leaves   disconnects
//   comes    connects and says hello
//
// and all sessions have confirmed it. For callgrind --toggle-collect=measured; stdout: the bytes
// that the links have carried for it.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "core_rig.h"

constexpr std::string_view kAll = R"(,"session":"all")";

extern "C" [[gnu::noinline]] size_t measured(const std::function<size_t()>& change) {
  return change();
}

int main(int argc, char** argv) {
  using namespace tap::bench;  // NOLINT(google-build-using-namespace)
  if (argc != 5) return 2;
  const int providers = std::atoi(argv[1]);
  const int tools = std::atoi(argv[2]);
  const std::string_view change = argv[4];
  CoreRig rig(std::atoi(argv[3]));
  for (int i = 1; i < providers; ++i) rig.bind(helloText(i, tools, kAll));
  tap::gateway::PeerId last{};
  if (change != "comes") last = rig.bind(helloText(0, tools, kAll));
  rig.synchronise();
  const std::string hello = helloText(0, tools, kAll);
  const std::string update =
      R"({"type":"tools.update","remove":[],"tools":[)" + toolText("bench0", tools) + "]}";
  const size_t bytes = measured([&] {
    if (change == "adds") rig.say(last, update);
    if (change == "leaves") rig.leave(last);
    if (change == "comes") rig.bind(hello);
    return rig.synchronise();
  });
  std::printf("%zu\n", bytes);
  return bytes > 0 ? 0 : 1;
}
