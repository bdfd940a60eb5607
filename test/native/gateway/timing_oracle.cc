// Checks a wrong token with an Authenticator, for test/js/security/security.tokens.test.mjs to
// count its instructions. `timing_oracle <kind> <byte>`: it differs from the token of an instance,
// a spawned provider or a paired provider in that byte only. stdout: whether it was accepted.
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "gateway/registry/authenticator.h"

namespace {

std::string wrongToken(tap::gateway::Authenticator& authenticator, const std::string& instance,
                       const std::string& kind, size_t byte) {
  std::string token = instance;
  if (kind == "spawned") token = authenticator.issueSpawnToken("s");
  if (kind == "paired") token = authenticator.issuePairedToken({"p", "s", std::nullopt});
  if (byte < token.size()) token[byte] = '!';
  return token;
}

}  // namespace

// The part that callgrind counts.
extern "C" [[gnu::noinline]] bool measured(const tap::gateway::Authenticator& authenticator,
                                           const std::string& token) {
  return authenticator.check(token, std::nullopt).has_value();
}

int main(int count, char** arguments) {
  if (count != 3) return EXIT_FAILURE;
  uint8_t next = 0;
  const std::string instance = "ptk-" + std::string(64, 'a');
  tap::gateway::Authenticator authenticator(instance, [&next](uint8_t* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) bytes[i] = next++;
  });
  const std::string token =
      wrongToken(authenticator, instance, arguments[1], std::strtoul(arguments[2], nullptr, 10));
  std::cout << measured(authenticator, token) << '\n';
  return EXIT_SUCCESS;
}
