#include "gateway/control/inspection.h"

#include <array>
#include <cstdio>
#include <set>
#include <string_view>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "gateway/registry/provider_watch.h"

namespace tap::gateway {

namespace {

std::string_view wireWord(protocol::Trust trust) {
  switch (trust) {
    case protocol::Trust::None:
      return "none";
    case protocol::Trust::External:
      return "external";
    case protocol::Trust::Project:
      return "project";
    case protocol::Trust::Feature:
      return "builtin";
    case protocol::Trust::InProcess:
      return "internal";
  }
  return "";
}

std::string_view wireWord(protocol::Activity activity) {
  switch (activity) {
    case protocol::Activity::Idle:
      return "idle";
    case protocol::Activity::Busy:
    case protocol::Activity::UserPrompt:
      return "busy";
  }
  return "";
}

std::string_view wireWord(protocol::SyncMode mode) {
  switch (mode) {
    case protocol::SyncMode::Live:
      return "live";
    case protocol::SyncMode::Reload:
      return "reload";
  }
  return "";
}

std::string_view wireWord(protocol::HookOutcome outcome) {
  switch (outcome) {
    case protocol::HookOutcome::InForce:
      return "in-force";
    case protocol::HookOutcome::Denied:
      return "denied";
    case protocol::HookOutcome::Unavailable:
      return "unavailable";
  }
  return "";
}

std::string_view wireWord(protocol::HookAction action) {
  switch (action) {
    case protocol::HookAction::Deny:
      return "deny";
    case protocol::HookAction::Context:
      return "context";
    case protocol::HookAction::Gate:
      return "gate";
  }
  return "";
}

std::string_view wireWord(protocol::TransformAction action) {
  switch (action) {
    case protocol::TransformAction::Append:
      return "append";
    case protocol::TransformAction::Prepend:
      return "prepend";
    case protocol::TransformAction::Replace:
      return "replace";
    case protocol::TransformAction::Callback:
      return "callback";
  }
  return "";
}

constexpr size_t kRuleTextBytes = 256;

// Schemas and rules may be large, and a provider has them once in each session: beyond this all
// together are listed by name or action only, so that the report fits the link.
constexpr size_t kDefinitionBytes = 8 * size_t{kMegabyte};

struct Report {
  const Turn& turn;
  json::Writer& writer;
  size_t definitionsLeft = kDefinitionBytes;

  void all() {
    const State& state = turn.state;
    writer.beginObject().field("version", state.config.version).field("pid", state.config.pid);
    writer.field("node", state.config.node);
    writer.field("port", state.config.port).field("startedAt", state.startedUnixMillis);
    writer.field("now", turn.now.unixMillis).field("draining", state.draining);
    list("sessions", turn.state.sessions.all(), [&](const auto& one) { session(one.second); });
    list("providers", turn.state.providers.all(), [&](Provider* one) { provider(*one); });
    tools();
    list("failures", state.stats.failures(), [&](const FailedCall& one) { failure(one); });
    limits();
    writer.field("malformedTraces", state.recorder.malformedTraces);
    writer.field("complete", definitionsLeft > 0).endObject();
  }

 private:
  template <class Items, class Write>
  void list(std::string_view key, Items&& items, Write write) const {
    writer.key(key).beginArray();
    for (auto& item : items) write(item);
    writer.endArray();
  }

  void session(const Session& one) {
    writer.beginObject().field("id", one.id).field("label", one.label).field("cwd", one.cwd);
    writer.field("cliPid", one.cliPid).field("linked", one.peer.has_value());
    writer.field("ending", one.ending);
    writer.field("mode", wireWord(one.sync.mode()));
    writer.field("activity", wireWord(one.activity));
    if (!one.agentMode.empty()) {
      writer.field("agentMode", one.agentMode).field("agentModeBy", one.agentModeBy);
    }
    writer.field("inUse", one.lastActive);
    writer.field("tools", turn.state.providers.toolCount(one.id));
    writer.field("settled", one.sync.settled());
    if (!one.syncFailure.empty()) writer.field("syncFailure", one.syncFailure);
    writer.field("callsInFlight", turn.state.calls.countOfSession(one.id));
    writer.field("hooksWanted", one.hooks.lastSent.wanted);
    // The session answers once the user has: until then its last answer is of the time before.
    const bool pending = one.hooks.lastSent.wanted && one.hooks.inForce < one.hooks.wantedFrom;
    writer.field("hooks", pending ? "pending" : wireWord(one.hooks.state.hooks));
    groups(one);
    list("held", one.detachedRules,
         [&](const auto& entry) { held(one, entry.first, entry.second); });
    writer.endObject();
  }

  // The groups of its tools, on or not, and what their definitions cost in each request.
  void groups(const Session& session) const {
    Providers& providers = turn.state.providers;
    const auto& on = providers.groupsOn(session.id);
    std::set<std::string> names(on.begin(), on.end());
    for (Provider* provider : providers.inSession(session.id)) {
      for (const protocol::ToolDefinition& tool : provider->in(session.id)->tools) {
        if (!tool.group.empty()) names.insert(tool.group);
      }
    }
    list("groups", names, [&](const std::string& name) {
      size_t characters = 0;
      const auto tools = providers.toolsOfGroup(session.id, name);
      for (const auto& [tool, definition] : tools) characters += definition->json.size();
      writer.beginObject().field("name", name).field("on", on.contains(name));
      writer.field("tools", tools.size()).field("characters", characters).endObject();
    });
  }

  // Rules of one that has gone, and for how long they still hold.
  void held(const Session& session, const Identity& identity, const DetachedRules& of) {
    writer.beginObject().field("name", identity.first).field("instance", identity.second);
    const auto known = session.known.find(identity);
    const Time end = (known == session.known.end() ? turn.now.steady : known->second.departedAt) +
                     turn.limits().time(Limit::ReconnectMs);
    writer.field("leftMs", (end - turn.now.steady).count());
    list("rules", of.rules, [&](const protocol::HookRule& hook) { rule(hook); });
    writer.endObject();
  }

  void provider(Provider& one) {
    writer.beginObject().field("connection", static_cast<uint64_t>(one.peer));
    writer.field("id", one.providerId).field("name", one.name).field("instance", one.instance);
    writer.field("trust", wireWord(one.credentials.trust));
    if (one.origin) writer.field("origin", *one.origin);
    writer.field("onlySession", one.credentials.onlySession);
    writer.field("all", one.all);
    writer.field("callsInFlight", turn.state.calls.countOfProvider(one.peer));
    delay(one);
    list("bindings", one.bindings, [&](const auto& bound) { binding(one, bound.second); });
    writer.endObject();
  }

  void delay(const Provider& one) const {
    const Delay found = measureDelay(turn, one);
    writer.field("waitedMs", found.waited(turn.now.steady).count());
    if (found.unanswered) writer.field("noPongMs", found.unanswered->count());
  }

  void binding(const Provider& provider, const Binding& one) {
    writer.beginObject().field("session", one.sessionId);
    list("tools", one.tools, [&](const protocol::ToolDefinition& tool) { definition(tool); });
    writer.key("refused").beginArray();
    for (const protocol::ToolDefinition& tool : one.tools) {
      if (turn.state.providers.isRefused(one.sessionId, provider.name, tool.name)) {
        writer.string(tool.name);
      }
    }
    writer.endArray();
    list("rules", one.rules, [&](const protocol::HookRule& hook) { rule(hook); });
    writer.field("context", one.context.size());
    writer.field("startupContext", one.startupContext.size());
    writer.key("sections").beginArray();
    for (const auto& [section, transform] : one.transforms) {
      writer.beginObject().field("section", section);
      writer.field("action", wireWord(transform.action)).endObject();
    }
    writer.endArray().endObject();
  }

  // A rule may have 64 KB of text, so its text is cut.
  void rule(const protocol::HookRule& one) {
    const auto match = json::find({json::Kind::Object, one.json}, "match");
    const std::string_view text = utf8::truncate(one.text, kRuleTextBytes);
    const size_t size = text.size() + (match ? match->raw.size() : 0);
    writer.beginObject().field("action", wireWord(one.action));
    writer.field("failOpen", one.failOpen);
    if (!one.gateId.empty()) writer.field("gateId", one.gateId);
    if (size > definitionsLeft) {
      definitionsLeft = 0;
    } else {
      definitionsLeft -= size;
      if (match) writer.rawField("match", match->raw);
      if (one.action == protocol::HookAction::Deny) writer.field("reason", text);
      if (one.action == protocol::HookAction::Context) writer.field("content", text);
    }
    writer.endObject();
  }

  void definition(const protocol::ToolDefinition& tool) {
    if (tool.json.size() > definitionsLeft) {
      definitionsLeft = 0;
      writer.beginObject().field("name", tool.name).endObject();
    } else {
      definitionsLeft -= tool.json.size();
      writer.raw(tool.json);
    }
  }

  void tools() const {
    writer.key("tools").beginArray();
    for (const auto& [provider, ofProvider] : turn.state.stats.tools()) {
      for (const auto& [tool, record] : ofProvider) toolRecord(provider, tool, record);
    }
    writer.endArray();
  }

  void toolRecord(std::string_view provider, std::string_view tool,
                  const ToolRecord& record) const {
    std::array<char, 32> rate{};
    const int size =
        std::snprintf(rate.data(), rate.size(), "%.2f", record.rate.perSecond(turn.now.steady));
    writer.beginObject().field("provider", provider).field("tool", tool);
    writer.field("calls", record.calls).field("failed", record.failed);
    writer.field("cancelled", record.cancelled);
    writer.rawField("perSecond", std::string_view(rate.data(), static_cast<size_t>(size)));
    writer.field("p50Ms", record.durations.percentile(0.5).count());
    writer.field("p95Ms", record.durations.percentile(0.95).count());
    writer.field("p99Ms", record.durations.percentile(0.99).count());
    writer.field("lastAt", record.lastUnixMillis).endObject();
  }

  void failure(const FailedCall& one) const {
    writer.beginObject().field("at", one.unixMillis).field("provider", one.provider);
    writer.field("tool", one.tool).field("code", one.code).field("message", one.text).endObject();
  }

  void limits() const {
    writer.key("limits").beginArray();
    for (size_t i = 0; i < kLimitTable.size(); ++i) {
      const LimitRow& row = kLimitTable[i];
      writer.beginObject().field("name", row.name);
      writer.field("value", turn.limits().get(static_cast<Limit>(i))).field("default", row.value);
      writer.field("unit", row.unit).field("env", row.env).field("why", row.why).endObject();
    }
    writer.endArray();
  }
};

}  // namespace

std::string describeEverything(const Turn& turn) {
  std::string report;
  json::Writer writer(report);
  Report{turn, writer}.all();
  return report;
}

}  // namespace tap::gateway
