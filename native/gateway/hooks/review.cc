#include "gateway/hooks/review.h"

#include "base/encoding.h"
#include "gateway/core/turn.h"

namespace tap::gateway {

using protocol::HookAction;
using protocol::HookRule;

namespace {

void logRule(const Turn& turn, const BoundProvider& bound, const HookRule& rule,
             std::string_view what) {
  turn.log(protocol::LogLevel::Warning, "a rule of provider " + inQuotes(bound.provider->name) +
                                            std::string(what) + ": " +
                                            visible(rule.json, false, 256));
}

// If a rule's pattern cannot decide, the rule must not let the use pass.
void considerUndecided(const Turn& turn, Review& review, const BoundProvider& bound,
                       const HookRule& rule, std::string_view why) {
  logRule(turn, bound, rule, why);
  if (!protocol::isGuard(rule) || review.deny) return;
  const std::string& name = bound.provider->name;
  review.deny = Denial{denial(name, "its rule" + std::string(why)), name};
}

void considerMatched(Review& review, const BoundProvider& bound, const HookRule& rule) {
  if (rule.action != HookAction::Deny) {
    review.matched.push_back({bound, &rule});
  } else if (!review.deny) {
    const Provider& provider = *bound.provider;
    review.deny = Denial{denial(provider.name, rule.text), provider.name,
                         provider.trusted && !rule.text.empty()};
  }
}

void consider(const Turn& turn, Review& review, const BoundProvider& bound, const HookRule& rule,
              const protocol::ToolUse& use, PatternBudget& time) {
  switch (protocol::matches(rule, use, time)) {
    case Match::No:
      return;
    case Match::Yes:
      return considerMatched(review, bound, rule);
    case Match::TimedOut:
      return considerUndecided(turn, review, bound, rule, " ran out of time");
    case Match::Unseen:
      return considerUndecided(turn, review, bound, rule,
                               " looks at 64 KB and 256 strings of the arguments, and there are "
                               "more: use smaller ones");
  }
}

// A rule of a provider whose connection was lost: the uses that it covers are denied, because the
// provider cannot be asked.
void considerDetached(Review& review, const std::string& provider, bool isFeature,
                      const HookRule& rule, const protocol::ToolUse& use, PatternBudget& time) {
  if (review.deny) return;
  const Match match = protocol::matches(rule, use, time);
  if (match == Match::No) return;
  const bool sure = rule.action == HookAction::Deny && match == Match::Yes;
  review.deny = Denial{denial(provider, sure ? std::string_view(rule.text)
                                             : "its connection was lost, and it cannot be asked at "
                                               "the moment; try again in a few seconds"),
                       provider, isFeature && sure && !rule.text.empty()};
}

}  // namespace

std::string denial(const std::string& provider, std::string_view reason) {
  return "tap provider " + inQuotes(provider) +
         (reason.empty() ? " does not allow this" : ": " + visible(reason, true, reason.npos));
}

Review reviewUse(const Turn& turn, const Session& session, const protocol::HookCheck& check) {
  State& state = turn.state;
  const std::string owner(state.providers.toolOwner(session.id, check.tool));
  const protocol::ToolUse use(check.tool, owner, check.args.view(), session.cwd);
  Review review;
  PatternBudget time{protocol::kRulesTime};
  for (const BoundProvider& bound : state.providers.inOrder(session.id)) {
    for (const HookRule& rule : bound.binding->rules) {
      consider(turn, review, bound, rule, use, time);
    }
  }
  for (const auto& [identity, held] : session.detachedRules) {
    for (const HookRule& rule : held.rules) {
      considerDetached(review, identity.first, held.trusted, rule, use, time);
    }
  }
  return review;
}

}  // namespace tap::gateway
