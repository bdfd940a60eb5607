// What is asked of the engine, and told it, as JSON: a closed set.
//
//   {"input":"check","plan":{…}}: nothing happens; what create would refuse is refused
//   {"input":"check-nodes","planId","nodes":[…]}: nothing happens; what add would refuse is refused
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
// With "sync":true its entries are on the disk before anything follows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/engine.h"

namespace tap::plan {

// The JSON of a refusal: {"code","message","problems":[…]}; empty: it was taken.
[[nodiscard]] std::string applyInput(Engine& engine, std::string_view text, const Moment& now,
                                     Batch& out);

// What can be asked without a change: {"view":"plan|nodes|node|groups|graph","planId","nodeId",
// "status","phase","group","inOrder","from","most"}. An object; of a refusal
// {"refused":{"code","message"}}.
[[nodiscard]] std::string answerView(const Engine& engine, std::string_view text);

}  // namespace tap::plan
