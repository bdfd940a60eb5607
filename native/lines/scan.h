// How much work the bytes of a block need before they are lines of text.
#pragma once

#include <cstdint>
#include <string_view>

namespace tap::lines {

// Plain: valid UTF-8 whose only control characters are \t and \n, so that each line in it is
// already the text to use. Other: anything else; LineText takes it.
enum class Bytes : uint8_t { Plain, Other };

[[nodiscard]] Bytes scan(std::string_view bytes);

}  // namespace tap::lines
