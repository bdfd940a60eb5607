// The patterns of one message of a provider: they come from the store, on its party's account.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/turn.h"

namespace tap::gateway {

class MessagePatterns final : public PatternSource {
 public:
  // `decoder`: with the message opened. All must stay.
  MessagePatterns(const Turn& turn, const Provider& provider,
                  const protocol::ProviderDecoder& decoder)
      : turn_(turn), provider_(provider), decoder_(decoder) {}

  [[nodiscard]] Result<std::shared_ptr<const Pattern>, std::string> obtain(
      std::string_view text) override;

  // The refusal with its own code, where it was the store that refused.
  [[nodiscard]] protocol::Refusal explain(protocol::Refusal refusal) const;
  // Why the message cannot be taken: with its patterns, and without those that it replaces, its
  // party would hold more than it may.
  [[nodiscard]] std::optional<protocol::Refusal> overdrawn(
      const protocol::ProviderMessage& message, protocol::ProviderMessageType type) const;
  // What compiling took of the allowances.
  [[nodiscard]] int64_t charged() const { return charged_; }

 private:
  const Turn& turn_;
  const Provider& provider_;
  const protocol::ProviderDecoder& decoder_;
  std::optional<std::string> party_;  // nothing: the message has no patterns
  std::optional<protocol::ErrorCode> code_;
  int64_t charged_ = 0;
};

}  // namespace tap::gateway
