// Groups: the status and the counts of the nodes in each, and in the groups within it.
#include <map>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "plan/view.h"
#include "plan/view_parts.h"

namespace tap::plan {
namespace {

// The counts are of the direct children: nodes and groups.
[[nodiscard]] NodeStatus groupStatus(const Counts& counts) {
  size_t all = 0;
  for (const size_t count : counts) all += count;
  const auto has = [&counts](NodeStatus status) { return counts[static_cast<size_t>(status)] > 0; };
  if (has(NodeStatus::Running) || has(NodeStatus::Scheduled)) return NodeStatus::Running;
  if (has(NodeStatus::Failed)) return NodeStatus::Failed;
  if (has(NodeStatus::Blocked)) return NodeStatus::Blocked;
  if (all > 0 && counts[static_cast<size_t>(NodeStatus::Succeeded)] == all) {
    return NodeStatus::Succeeded;
  }
  // All nodes in it may have been replaced.
  return all == 0 || has(NodeStatus::Canceled) ? NodeStatus::Canceled : NodeStatus::Pending;
}

[[nodiscard]] std::string_view parentGroup(std::string_view group) {
  const size_t slash = group.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : group.substr(0, slash);
}

}  // namespace

std::string groupsJson(const Plan& plan) {
  std::map<std::string, Counts, std::less<>> direct;
  for (NodeIndex i = 0; i < plan.size(); ++i) {
    const Node& node = plan.node(i);
    for (std::string_view group = node.spec.group; !group.empty(); group = parentGroup(group)) {
      (void)direct[std::string(group)];
    }
    if (!node.spec.group.empty() && !plan.isReplaced(i)) {
      ++direct[node.spec.group][static_cast<size_t>(node.status)];
    }
  }
  std::map<std::string, Counts, std::less<>> all = direct;
  // A group is sorted before the groups within it, so in reverse order each child is complete.
  std::map<std::string, NodeStatus, std::less<>> statuses;
  for (auto it = direct.rbegin(); it != direct.rend(); ++it) {
    const NodeStatus status = groupStatus(it->second);
    statuses.emplace(it->first, status);
    const auto parent = direct.find(parentGroup(it->first));
    if (parent == direct.end()) continue;
    ++parent->second[static_cast<size_t>(status)];
    Counts& sum = all.find(parent->first)->second;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += all.find(it->first)->second[i];
  }
  std::string out;
  json::Writer writer(out);
  writer.beginObject().key("groups").beginArray();
  for (const auto& [group, status] : statuses) {
    writer.beginObject().field("group", group).field("status", text(status)).key("counts");
    writeCounts(writer, all.find(group)->second);
    writer.endObject();
  }
  writer.endArray().endObject();
  return out;
}

}  // namespace tap::plan
