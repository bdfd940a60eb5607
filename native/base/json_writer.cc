#include "base/json_writer.h"

#include <array>
#include <charconv>

#include "base/json_text.h"

namespace tap::json {
namespace {

void appendEscape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += c < 0x10 ? '0' : '1';
      out += "0123456789abcdef"[c & 0xF];
  }
}

constexpr size_t kShortText = 256;  // bytes

}  // namespace

void appendQuoted(std::string& out, std::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  const char* special = text::skipPlain(p, end);
  if (special == end && text.size() <= kShortText) {
    const size_t at = out.size();
    out.append(text.size() + 2, '"');  // both quotes, and room between them
    text.copy(out.data() + at + 1, text.size());
    return;
  }
  out += '"';
  for (;; special = text::skipPlain(p, end)) {
    out.append(text::between(p, special));
    if (special == end) break;
    appendEscape(out, *special);
    p = special + 1;
  }
  out += '"';
}

Escaped::Escaped(std::string_view text) : view_(text) {
  const char* const end = text.data() + text.size();
  if (text::skipPlain(text.data(), end) == end) return;
  appendQuoted(quoted_, text);
  view_ = std::string_view(quoted_).substr(1, quoted_.size() - 2);
}

void Writer::separate() {
  if (comma_) out_ += ',';
  comma_ = true;
}

Writer& Writer::beginObject() {
  separate();
  out_ += '{';
  comma_ = false;
  return *this;
}

Writer& Writer::endObject() {
  out_ += '}';
  comma_ = true;
  return *this;
}

Writer& Writer::beginArray() {
  separate();
  out_ += '[';
  comma_ = false;
  return *this;
}

Writer& Writer::endArray() {
  out_ += ']';
  comma_ = true;
  return *this;
}

Writer& Writer::key(std::string_view name) {
  separate();
  appendQuoted(out_, name);
  out_ += ':';
  comma_ = false;
  return *this;
}

Writer& Writer::member(Name name) {
  out_ += std::string_view(comma_ ? ",\"" : "\"");
  out_ += name.text();
  out_ += std::string_view("\":");
  comma_ = false;
  return *this;
}

Writer& Writer::string(std::string_view text) {
  separate();
  appendQuoted(out_, text);
  return *this;
}

Writer& Writer::integer(int64_t number) {
  separate();
  std::array<char, 20> digits;  // a minus sign and 19 digits at most
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out_.append(digits.data(), end);
  return *this;
}

Writer& Writer::boolean(bool value) {
  return raw(value ? "true" : "false");
}

Writer& Writer::null() {
  return raw("null");
}

Writer& Writer::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace tap::json
