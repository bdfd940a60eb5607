// What the record of a synchronisation says, gathered while it is in flight.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/time.h"

namespace tap::gateway {

struct SyncNotes {
  using Names = std::map<std::string, std::set<std::string>>;  // of tools, by provider

  int64_t revision = 0;  // of the one in flight; 0: nothing is noted
  bool reload = false;
  Time sent{};
  size_t added = 0;
  size_t removed = 0;
  Names next;     // of the providers that it changes
  Names inForce;  // of those that were in force before
};

}  // namespace tap::gateway
