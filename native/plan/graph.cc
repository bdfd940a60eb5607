#include "plan/graph.h"

#include <algorithm>
#include <utility>

namespace tap::plan {
namespace {

[[nodiscard]] std::string nodePath(size_t node, std::string_view field) {
  return "nodes[" + std::to_string(node) + "]." + std::string(field);
}

[[nodiscard]] std::string itemPath(const std::string& list, size_t item) {
  return list + "[" + std::to_string(item) + "]";
}

constexpr size_t kMaxShownNodes = 20;

}  // namespace

std::optional<NodeIndex> Graph::find(std::string_view id) const {
  const auto found = index_.find(id);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

std::string Graph::nearestId(std::string_view id) const {
  std::vector<std::string_view> ids;
  ids.reserve(index_.size());
  for (const auto& entry : index_) ids.emplace_back(entry.first);
  std::ranges::sort(ids);
  return std::string(nearest(id, ids));
}

bool Graph::add(const std::vector<NodeSpec>& nodes, Origin origin, Problems& problems) {
  const size_t first = size();
  if (first + nodes.size() > kMaxNodes) {
    problems.add("nodes", "a plan has at most " + std::to_string(kMaxNodes) +
                              " nodes, and this plan has " + std::to_string(first) + " already");
    return false;
  }
  addIds(nodes, problems);
  if (origin == Origin::Request) checkGroups(nodes, problems);
  addDependencies(nodes, problems);
  appendOrder(nodes, problems);  // reports a cycle together with the other problems
  if (problems.any()) {
    truncateTo(first, nodes);
    return false;
  }
  // An id has no slash, so only the first part of a group can equal an id.
  for (const NodeSpec& node : nodes) {
    if (!node.group.empty()) ++roots_[node.group.substr(0, node.group.find('/'))];
  }
  return true;
}

void Graph::addIds(const std::vector<NodeSpec>& nodes, Problems& problems) {
  const auto first = static_cast<NodeIndex>(size());
  index_.reserve(first + nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].id.empty()) continue;  // readId has reported it
    const auto at = static_cast<NodeIndex>(first + i);
    const auto [other, isNew] = index_.emplace(nodes[i].id, at);
    if (isNew) continue;
    problems.add(
        nodePath(i, "id"),
        "\"" + nodes[i].id + "\" is the id of " +
            (other->second >= first ? "nodes[" + std::to_string(other->second - first) + "], too"
                                    : "a node that the plan has already"));
  }
}

// REQUIRES: addIds() has added the ids.
void Graph::checkGroups(const std::vector<NodeSpec>& nodes, Problems& problems) const {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (roots_.contains(nodes[i].id)) {
      problems.add(nodePath(i, "id"),
                   "\"" + nodes[i].id + "\" is a group of the plan, too: choose another id");
    }
    std::string_view group = nodes[i].group;
    while (!group.empty()) {
      if (index_.contains(group)) {
        problems.add(nodePath(i, "group"), "\"" + std::string(group) +
                                               "\" is the id of a node, too: choose another group");
      }
      const size_t slash = group.rfind('/');
      group = slash == std::string_view::npos ? std::string_view() : group.substr(0, slash);
    }
  }
}

// `where`: returns the path for a problem.
template <class Where>
std::optional<NodeIndex> Graph::readDependency(NodeIndex self, const std::string& id,
                                               const Where& where, Problems& problems) const {
  const auto other = find(id);
  if (!other) {
    problems.add(where(), "there is no node \"" + id.substr(0, 64) + "\"." +
                              (problems.isFull() ? "" : didYouMean(nearestId(id))));
    return std::nullopt;
  }
  if (*other == self) {
    problems.add(where(), "a node cannot depend on itself");
    return std::nullopt;
  }
  if (const auto by = replacement(*other)) {
    problems.add(where(), "\"" + id + "\" was replaced: name \"" + std::string(idAt(*by)) + "\"");
    return std::nullopt;
  }
  return other;
}

void Graph::addDependencies(const std::vector<NodeSpec>& nodes, Problems& problems) {
  const size_t first = size();
  dependencies_.resize(first + nodes.size());
  dependents_.resize(first + nodes.size());
  std::vector<NodeIndex> seen(first + nodes.size());  // the last node with this dependency, from 1
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto self = static_cast<NodeIndex>(first + i);
    auto& own = dependencies_[self];
    own.reserve(nodes[i].dependencies.size());
    for (size_t k = 0; k < nodes[i].dependencies.size(); ++k) {
      const std::string& id = nodes[i].dependencies[k];
      const auto where = [&] { return itemPath(nodePath(i, "dependencies"), k); };
      const auto other = readDependency(self, id, where, problems);
      if (!other) continue;
      if (std::exchange(seen[*other], self + 1) == self + 1) {
        problems.add(where(), "\"" + id + "\" is a duplicate");
      } else {
        own.push_back(*other);
        dependents_[*other].push_back(self);
      }
    }
  }
}

void Graph::appendOrder(const std::vector<NodeSpec>& nodes, Problems& problems) {
  const size_t first = size() - nodes.size();
  std::vector<uint32_t> open(nodes.size());
  const size_t before = order_.size();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto& own = dependencies_[first + i];
    open[i] = static_cast<uint32_t>(
        std::ranges::count_if(own, [first](NodeIndex other) { return other >= first; }));
    if (open[i] == 0) order_.push_back(static_cast<NodeIndex>(first + i));
  }
  for (size_t done = before; done < order_.size(); ++done) {
    for (const NodeIndex next : dependents_[order_[done]]) {
      if (--open[next - first] == 0) order_.push_back(next);
    }
  }
  if (order_.size() - before == nodes.size()) return;
  // Each remaining node waits for a remaining node, so following the dependencies runs into a
  // cycle.
  const auto isLeft = [&](NodeIndex node) { return node >= first && open[node - first] > 0; };
  const auto left = std::ranges::find_if(open, [](uint32_t count) { return count > 0; });
  auto at = static_cast<NodeIndex>(first + static_cast<size_t>(left - open.begin()));
  std::vector<NodeIndex> walk;
  while (std::ranges::find(walk, at) == walk.end()) {
    walk.push_back(at);
    at = *std::ranges::find_if(dependencies_[at], isLeft);
  }
  const auto begin = std::ranges::find(walk, at);
  std::string circle;
  const auto length = static_cast<size_t>(walk.end() - begin);
  for (size_t i = 0; i < std::min(length, kMaxShownNodes); ++i) {
    circle += nodes[*(begin + static_cast<ptrdiff_t>(i)) - first].id + " → ";
  }
  if (length > kMaxShownNodes) circle += "… → ";
  circle += nodes[*begin - first].id;
  problems.add(nodePath(*begin - first, "dependencies"),
               "a cycle, each waiting for the next: " + circle);
  if (before == 0 && order_.empty()) {
    problems.add("nodes", "there is no root: every node has dependencies");
  }
}

bool Graph::setDependencies(NodeIndex node, const std::vector<std::string>& ids,
                            Problems& problems) {
  std::vector<NodeIndex> found;
  const std::vector<bool> behind = reach(node, dependents_);
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto where = [i] { return itemPath("dependencies", i); };
    const auto other = readDependency(node, ids[i], where, problems);
    if (!other) continue;
    if (std::ranges::find(found, *other) != found.end()) {
      problems.add(where(), "\"" + ids[i] + "\" is a duplicate");
      continue;
    }
    found.push_back(*other);
    if (behind[*other]) problems.add(where(), describeCycle(findPath(*other, node)));
  }
  if (problems.any()) return false;
  link(node, std::move(found));
  recomputeOrder();
  return true;
}

bool Graph::replace(NodeIndex node, NodeIndex by, bool inherits, Problems& problems) {
  const auto before = dependents_[node];
  const std::vector<bool> needed = reach(by, dependencies_);
  if (std::ranges::find(dependencies_[by], node) != dependencies_[by].end()) {
    problems.add(nodePath(0, "dependencies"),
                 "\"" + std::string(idAt(node)) + "\" is the node that this node replaces");
    return false;  // it would be a cycle, too
  }
  for (const NodeIndex next : before) {
    if (needed[next]) problems.add(nodePath(0, "dependencies"), describeCycle(findPath(by, next)));
  }
  if (problems.any()) return false;
  for (const NodeIndex next : before) {
    std::ranges::replace(dependencies_[next], node, by);
    dependents_[by].push_back(next);
  }
  dependents_[node].clear();
  if (inherits) link(by, dependencies_[node]);
  link(node, {});
  replacements_.emplace(node, by);
  recomputeOrder();
  return true;
}

std::optional<NodeIndex> Graph::replacement(NodeIndex node) const {
  const auto found = replacements_.find(node);
  if (found == replacements_.end()) return std::nullopt;
  return found->second;
}

// `from`, and all nodes that the edges lead to from there.
std::vector<bool> Graph::reach(NodeIndex from, const Edges& edges) {
  std::vector<bool> found(edges.size());
  found[from] = true;
  std::vector<NodeIndex> queue{from};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const NodeIndex next : edges[queue[i]]) {
      if (found[next]) continue;
      found[next] = true;
      queue.push_back(next);
    }
  }
  return found;
}

std::vector<NodeIndex> Graph::findPath(NodeIndex from, NodeIndex to) const {
  std::map<NodeIndex, NodeIndex> cameFrom{{from, from}};
  std::vector<NodeIndex> queue{from};
  for (size_t i = 0; i < queue.size() && !cameFrom.contains(to); ++i) {
    for (const NodeIndex next : dependencies_[queue[i]]) {
      if (cameFrom.emplace(next, queue[i]).second) queue.push_back(next);
    }
  }
  std::vector<NodeIndex> path;
  if (!cameFrom.contains(to)) return path;
  for (NodeIndex at = to; at != from; at = cameFrom.at(at)) path.push_back(at);
  path.push_back(from);
  std::ranges::reverse(path);
  return path;
}

// `path`: its last node would depend on its first.
std::string Graph::describeCycle(const std::vector<NodeIndex>& path) const {
  std::string text = "a cycle, each waiting for the next: " + std::string(idAt(path.back()));
  for (size_t i = 0; i < std::min(path.size(), kMaxShownNodes); ++i) {
    text += " → " + std::string(idAt(path[i]));
  }
  return path.size() > kMaxShownNodes ? text + " → …" : text;
}

std::string_view Graph::idAt(NodeIndex node) const {
  const auto found =
      std::ranges::find_if(index_, [node](const auto& entry) { return entry.second == node; });
  return found == index_.end() ? std::string_view() : std::string_view(found->first);
}

void Graph::link(NodeIndex node, std::vector<NodeIndex> dependencies) {
  for (const NodeIndex other : dependencies_[node]) std::erase(dependents_[other], node);
  for (const NodeIndex other : dependencies) dependents_[other].push_back(node);
  dependencies_[node] = std::move(dependencies);
}

// REQUIRES: no cycle.
void Graph::recomputeOrder() {
  std::vector<size_t> open(size());
  order_.clear();
  for (NodeIndex i = 0; i < size(); ++i) {
    open[i] = dependencies_[i].size();
    if (open[i] == 0) order_.push_back(i);
  }
  for (size_t done = 0; done < order_.size(); ++done) {
    for (const NodeIndex next : dependents_[order_[done]]) {
      if (--open[next] == 0) order_.push_back(next);
    }
  }
}

void Graph::truncateTo(size_t size, const std::vector<NodeSpec>& nodes) {
  for (const NodeSpec& node : nodes) {
    const auto found = index_.find(node.id);
    if (found != index_.end() && found->second >= size) index_.erase(found);
  }
  if (dependencies_.size() > size) {
    for (size_t i = size; i < dependencies_.size(); ++i) {
      for (const NodeIndex other : dependencies_[i]) {
        if (other < size) {
          std::erase_if(dependents_[other], [size](NodeIndex node) { return node >= size; });
        }
      }
    }
    dependencies_.resize(size);
    dependents_.resize(size);
  }
  std::erase_if(order_, [size](NodeIndex node) { return node >= size; });
}

}  // namespace tap::plan
