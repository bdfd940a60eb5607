// The module: its classes, and the tables that documentation is checked against.
#pragma once

#include <node_api.h>

namespace tap::addon {

// Returns: `exports`, with all members of the module.
napi_value registerAddon(napi_env env, napi_value exports);

}  // namespace tap::addon
