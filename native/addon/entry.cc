// The entry point of the module for Node.js.
#include <node_api.h>

#include "addon/addon.h"

NAPI_MODULE_INIT() {
  return tap::addon::registerAddon(env, exports);
}
