#include "protocol/errors.h"

namespace tap::protocol {

ErrorCode callErrorFromWire(std::string_view name) {
  for (size_t i = 0; i < kErrorTable.size(); ++i) {
    if (kErrorTable[i].name == name) return static_cast<ErrorCode>(i);
  }
  return ErrorCode::Internal;
}

}  // namespace tap::protocol
