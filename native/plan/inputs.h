// The inputs of the engine as JSON: a closed set.
//
//   {"input":"check","plan":{…}}: the checks of create, without a change
//   {"input":"check-nodes","planId","nodes":[…]}: the checks of add, without a change
//   {"input":"create","planId","plan":{…},"facts":{…}}     {"input":"add","planId","nodes":[…],
//    "reopens","replaces": the id of a node}
//   {"input":"edit","planId","nodeId","changes":{…}}
//   {"input":"import","planId","plan":{…},"facts":{…},"entries":[…],"until": when it was made}
//   {"input":"pause","planId","reason"} {"input":"resume","planId","budget":{…}}
//   {"input":"cancel","planId","nodeId"} {"input":"landed","planId","detail":{…}}
//   {"input":"retry","planId","nodeId","from":"start|commit","detail":{…}}
//   {"input":"began","planId","nodeId","attempt"}
//   {"input":"step","planId","nodeId","attempt","detail":{…}}
//   {"input":"phase-ended","planId","nodeId","attempt","phase","outcome","detail":{…},"until"}
//   {"input":"stopped","planId","nodeId"} {"input":"overlap","planId","nodeId","detail":{…}}
//   {"input":"due"}                                         {"input":"recover"}
//
// With "sync":true its entries are on the disk before its effects start.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/engine.h"

namespace tap::plan {

// Returns: the JSON of a refusal, {"code","message","problems":[…]}, or empty if the input was
// accepted.
[[nodiscard]] std::string applyInput(Engine& engine, std::string_view text, const Moment& now,
                                     Batch& out);

// Answers a view:
// {"view":"plan|nodes|node|groups|graph","planId","nodeId","status","phase","group","inOrder","from","most"}.
// Returns: an object; for a refusal {"refused":{"code","message"}}.
[[nodiscard]] std::string answerView(const Engine& engine, std::string_view text);

}  // namespace tap::plan
