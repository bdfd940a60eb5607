// What Node.js looks for in a module that it loads.
#include <node_api.h>

#include "addon/addon.h"

NAPI_MODULE_INIT() {
  return tap::addon::registerAddon(env, exports);
}
