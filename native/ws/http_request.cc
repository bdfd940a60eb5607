#include "ws/http_request.h"

#include <algorithm>
#include <cstdint>

namespace tap::ws {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// RFC 7230, 3.2.6.
bool isTokenChar(char c) {
  return isDigit(c) || isLetter(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool isToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), isTokenChar);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool equalIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Removes the text up to the separator, and the separator, from the front; without a separator, all
// of it.
std::string_view takeUntil(std::string_view& rest, std::string_view separator) {
  const size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + separator.size());
  return part;
}

bool isTarget(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; });
}

// "GET / HTTP/1.1": single spaces, RFC 7230, 3.1.1.
bool parseRequestLine(std::string_view line, HttpRequest& request) {
  request.method = takeUntil(line, " ");
  request.target = takeUntil(line, " ");
  constexpr std::string_view kVersion = "HTTP/1.";
  if (line.size() != kVersion.size() + 1 || !line.starts_with(kVersion)) return false;
  if (!isDigit(line.back())) return false;
  request.minorVersion = line.back() - '0';
  return isToken(request.method) && isTarget(request.target);
}

// A blank before the colon is refused (3.2.4), and so is a line that begins with a blank to
// continue the line before it (obs-fold): tokens have no blanks.
bool parseField(std::string_view line, HttpRequest& request) {
  if (line.find(':') == std::string_view::npos) return false;
  const std::string_view name = takeUntil(line, ":");
  if (!isToken(name)) return false;
  request.fields.push_back({name, trim(line)});
  return true;
}

bool isPort(std::string_view text) {
  if (text.empty() || text.size() > 5 || !std::all_of(text.begin(), text.end(), isDigit)) {
    return false;
  }
  int port = 0;
  for (const char c : text) port = port * 10 + (c - '0');
  return port >= 1 && port <= UINT16_MAX;
}

bool isOctet(std::string_view text) {
  if (text.empty() || text.size() > 3 || !std::all_of(text.begin(), text.end(), isDigit)) {
    return false;
  }
  // No leading zeros: some parsers read them as octal.
  if (text.size() > 1 && text.front() == '0') return false;
  return text.size() < 3 || text <= "255";
}

bool isLoopbackAddress(std::string_view text) {
  if (std::count(text.begin(), text.end(), '.') != 3) return false;
  if (!text.starts_with("127.") || text.ends_with('.')) return false;
  while (!text.empty()) {
    if (!isOctet(takeUntil(text, "."))) return false;
  }
  return true;
}

bool isLabel(std::string_view text) {
  return !text.empty() && text.size() <= 63 && std::all_of(text.begin(), text.end(), [](char c) {
    return isDigit(c) || isLetter(c) || c == '-' || c == '_';
  });
}

// RFC 6761, 6.3: resolvers that follow it treat names that end in .localhost as loopback.
bool isLocalhostName(std::string_view text) {
  if (text.ends_with('.')) return false;
  std::string_view label;
  while (!text.empty()) {
    label = takeUntil(text, ".");
    if (!isLabel(label)) return false;
  }
  return equalIgnoringCase(label, "localhost");
}

}  // namespace

size_t HttpRequest::count(std::string_view name) const {
  return static_cast<size_t>(
      std::count_if(fields.begin(), fields.end(),
                    [name](const Field& field) { return equalIgnoringCase(field.name, name); }));
}

std::string_view HttpRequest::first(std::string_view name) const {
  for (const Field& field : fields) {
    if (equalIgnoringCase(field.name, name)) return field.value;
  }
  return {};
}

bool HttpRequest::hasToken(std::string_view name, std::string_view token) const {
  for (const Field& field : fields) {
    if (!equalIgnoringCase(field.name, name)) continue;
    for (std::string_view list = field.value; !list.empty();) {
      if (equalIgnoringCase(trim(takeUntil(list, ",")), token)) return true;
    }
  }
  return false;
}

std::optional<HttpRequest> parseHttpRequest(std::string_view head) {
  HttpRequest request;
  // RFC 7230, 3.5: an empty line before the request line is skipped.
  if (head.starts_with(kLineEnd)) head.remove_prefix(kLineEnd.size());
  if (!parseRequestLine(takeUntil(head, kLineEnd), request)) return std::nullopt;
  while (!head.empty() && head != kLineEnd) {
    if (!parseField(takeUntil(head, kLineEnd), request)) return std::nullopt;
  }
  return request;
}

bool isLoopbackHost(std::string_view host) {
  // The brackets of an IPv6 address separate its colons from the port's.
  const size_t nameEnd = host.starts_with('[') ? host.find(']') : 0;
  if (nameEnd == std::string_view::npos) return false;
  const size_t colon = host.find(':', nameEnd);
  if (colon != std::string_view::npos && !isPort(host.substr(colon + 1))) return false;
  const std::string_view name = host.substr(0, colon);
  return name == "[::1]" || isLoopbackAddress(name) || isLocalhostName(name);
}

}  // namespace tap::ws
