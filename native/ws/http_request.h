// The head of an HTTP/1.x request, read strictly: RFC 7230, section 3. Where the RFC lets a server
// choose between guessing and refusing, this refuses.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace tap::ws {

// Views into the head, which must outlive this.
struct HttpRequest {
  struct Field {
    std::string_view name;
    std::string_view value;  // without the blanks around it
  };

  std::string_view method;
  std::string_view target;
  int minorVersion = 1;  // of HTTP/1
  std::vector<Field> fields;

  // How many fields have that name, in any case.
  [[nodiscard]] size_t count(std::string_view name) const;
  // The first field of that name, or empty.
  [[nodiscard]] std::string_view first(std::string_view name) const;
  // Whether the comma-separated lists in all fields of that name contain the token, in any case.
  [[nodiscard]] bool hasToken(std::string_view name, std::string_view token) const;
};

// `head` ends with the empty line, and each of its lines with CR LF. Empty if it is malformed.
[[nodiscard]] std::optional<HttpRequest> parseHttpRequest(std::string_view head);

// Whether a Host header names this machine's loopback interface: localhost, a name under it,
// 127.0.0.0/8 or [::1], with or without a port. A web page whose own name resolves to 127.0.0.1
// (DNS rebinding) sends that name, and is refused by it.
[[nodiscard]] bool isLoopbackHost(std::string_view host);

}  // namespace tap::ws
