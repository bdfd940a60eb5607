// Writes compact JSON to a string. The caller ensures the order; the writer adds commas.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tap::json {

// Not defined: a name that needs escaping must not compile.
void nameNeedsEscaping();

// The name of a member, as a literal that needs no escaping.
class Name {
 public:
  template <size_t N>
  // NOLINTNEXTLINE(google-explicit-constructor): literals are to be used as they are
  consteval Name(const char (&text)[N]) : text_(text, N - 1) {
    for (const char c : text_) {
      if (c == '"' || c == '\\' || c < 0x20 || c > 0x7E) nameNeedsEscaping();
    }
  }
  [[nodiscard]] constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

// Appends to `out`, which must outlive the writer. Text must be valid UTF-8.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& beginObject();
  Writer& endObject();
  Writer& beginArray();
  Writer& endArray();
  Writer& key(std::string_view name);  // escaped like a string
  Writer& string(std::string_view text);
  Writer& integer(int64_t number);
  Writer& boolean(bool value);
  Writer& null();
  Writer& raw(std::string_view json);  // validated JSON text, copied as it is

  // The name and the value in a single call.
  Writer& field(Name name, std::string_view text) { return member(name).string(text); }
  Writer& field(Name name, const char* text) { return member(name).string(text); }
  // A template, so that a bool is not written as 1, and a literal 0 is not a null pointer.
  template <std::integral Number>
  Writer& field(Name name, Number value) {
    if constexpr (std::same_as<Number, bool>) {
      return member(name).boolean(value);
    } else {
      return member(name).integer(static_cast<int64_t>(value));
    }
  }
  Writer& rawField(Name name, std::string_view json) { return member(name).raw(json); }

 private:
  Writer& member(Name name);
  void separate();

  std::string& out_;
  bool comma_ = false;  // whether a comma must precede the next value on this level
};

// Appends `text` as a JSON string, quotes included.
void appendQuoted(std::string& out, std::string_view text);

// A text between the quotes of a JSON string. It borrows the text if it has no escapes.
class Escaped {
 public:
  explicit Escaped(std::string_view text);
  Escaped(const Escaped&) = delete;
  Escaped& operator=(const Escaped&) = delete;

  [[nodiscard]] std::string_view view() const { return view_; }

 private:
  std::string quoted_;
  std::string_view view_;
};

}  // namespace tap::json
