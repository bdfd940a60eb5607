// The core with sessions and some providers, for measurements without sockets. Effects are
// searched for the values that the next input needs, and dropped.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "gateway/core/gateway.h"
#include "protocol/link/session_codec.h"

namespace tap::bench {

constexpr std::string_view kToken = "ptk-0123456789abcdef";

class CoreRig {
 public:
  explicit CoreRig(int sessions = 1, gateway::RecordMode records = gateway::RecordMode::Off,
                   bool spans = false)
      : gateway_(config()) {
    gateway_.setRecords(records, spans);
    gateway_.start(now_, effects_);
    for (int i = 0; i < sessions; ++i) {
      protocol::Register message;
      message.linkVersion = protocol::kLinkVersion;
      message.sessionId = "0d6f7c1e-6a3b-4f6e-9f0e-5d8a3c1b2a" + std::to_string(40 + i);
      message.joined = true;
      gateway_.sessionMessage(static_cast<gateway::PeerId>(++peers_), message, now_, effects_);
    }
    confirm();
  }

  // Connected, authenticated and bound.
  gateway::PeerId bind(const std::string& hello) {
    const auto peer = static_cast<gateway::PeerId>(++peers_);
    gateway_.providerAccepted(peer, now_, effects_);
    gateway_.providerUpgraded(peer, std::nullopt, now_, effects_);
    say(peer, R"({"type":"auth","token":")" + std::string(kToken) + R"("})");
    say(peer, hello);
    if (gateway_.state().providers.find(peer)->state != protocol::ProviderState::Bound) {
      std::fprintf(stderr, "the provider was not bound\n");
      std::exit(1);
    }
    return peer;
  }

  // Every tool is in the sessions. Returns the bytes that their links have carried for that.
  size_t synchronise() {
    now_.steady += Millis(2000);
    gateway_.timersDue(now_, effects_);
    return confirm();
  }
  void leave(gateway::PeerId peer) { gateway_.providerGone(peer, now_, effects_); }

  void say(gateway::PeerId peer, const std::string& text) {
    effects_.clear();
    gateway_.providerText(peer, Slice::borrow(text), now_, effects_);
  }
  void send(const protocol::LinkMessage& message) {
    effects_.clear();
    gateway_.sessionMessage(session, message, now_, effects_);
  }

  [[nodiscard]] const gateway::Effects& effects() const { return effects_; }
  // The last text that a provider was sent.
  [[nodiscard]] std::string_view lastText() const {
    for (auto at = effects_.rbegin(); at != effects_.rend(); ++at) {
      if (const auto* text = std::get_if<gateway::SendText>(&*at)) return text->text.view();
    }
    return {};
  }

  gateway::PeerId session = static_cast<gateway::PeerId>(1);

 private:
  static gateway::Config config() {
    gateway::Config config;
    config.limits.set(Limit::Connections, 10'000);
    config.limits.set(Limit::MessageBurst, 1'000'000'000);  // time stands still
    config.limits.set(Limit::PushesPerSecond, 1'000'000'000);
    config.token = kToken;
    config.seed = {1, 2, 3, 4};
    config.fillSecret = [](uint8_t* bytes, size_t size) {
      for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + 1);
    };
    return config;
  }

  size_t confirm() {
    size_t bytes = 0;
    for (const gateway::Effect& effect : std::exchange(effects_, {})) {
      if (const auto* welcome = std::get_if<gateway::WelcomeSession>(&effect)) {
        gateway_.welcomeSession(*welcome, now_, effects_);
        bytes += confirm();
        continue;
      }
      const auto* sent = std::get_if<gateway::SendEvent>(&effect);
      if (sent == nullptr) continue;
      if (const auto* tools = std::get_if<protocol::Tools>(&sent->event)) {
        const protocol::SplitText text = protocol::encode(sent->event);
        bytes += text.head.size() + text.middle.view().size() + text.tail.size();
        gateway_.sessionMessage(sent->peer, protocol::Synced{tools->revision}, now_, effects_);
      }
    }
    return bytes;
  }

  gateway::Gateway gateway_;
  gateway::Effects effects_;
  Now now_{};
  uint64_t peers_ = 0;
};

inline std::string toolText(const std::string& name, int index) {
  return R"({"name":")" + name + "_" + std::to_string(index) +
         R"(","description":"Answers with as many bytes as it is asked for, at once.",)"
         R"("parameters":{"type":"object","properties":{"bytes":{"type":"integer",)"
         R"("description":"how many"},"city":{"type":"string"}},"required":["bytes"]}})";
}

// A provider's hello with so many tools, each with a name of its own.
inline std::string helloText(int index, int tools, std::string_view more = "") {
  const std::string name = "bench" + std::to_string(index);
  std::string text = R"({"type":"hello","protocolVersion":2,"name":")" + name + "\"" +
                     std::string(more) + R"(,"tools":[)";
  for (int i = 0; i < tools; ++i) text += (i > 0 ? "," : "") + toolText(name, i);
  return text + "]}";
}

}  // namespace tap::bench
