// Decodes providers' messages for a test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "protocol/provider/provider_codec.h"

namespace tap::protocol {

class Decoding {
 public:
  explicit Decoding(const Limits& limits = {}) : limits_(limits), decoder_(limits_) {}

  // The message, or fails the test.
  template <class Kind>
  Kind as(const std::string& text) {
    text_ = text;
    auto opened = decoder_.open(Slice::borrow(text_));
    EXPECT_TRUE(opened.ok()) << text;
    if (!opened) return {};
    auto body = decoder_.body();
    EXPECT_TRUE(body.ok()) << body.error().message;
    if (!body || !std::holds_alternative<Kind>(body.value())) return {};
    return std::get<Kind>(body.value());
  }
  // The refusal, or fails the test.
  Refusal refused(const std::string& text) {
    text_ = text;
    auto opened = decoder_.open(Slice::borrow(text_));
    if (!opened) return opened.error();
    auto body = decoder_.body();
    EXPECT_FALSE(body.ok()) << "accepted: " << text;
    return body ? Refusal{} : body.error();
  }
  std::string complaint(const std::string& text) { return refused(text).message; }
  ProviderDecoder& decoder() { return decoder_; }

 private:
  Limits limits_;
  ProviderDecoder decoder_;
  std::string text_;
};

inline std::string padded(const std::string& head, size_t size, const std::string& tail) {
  return head + std::string(size - head.size() - tail.size(), 'x') + tail;
}

}  // namespace tap::protocol
