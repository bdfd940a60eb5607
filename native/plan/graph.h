// The dependencies of nodes: a directed acyclic graph. Nodes are numbered in the plan's order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.h"
#include "plan/problems.h"
#include "plan/spec.h"

namespace tap::plan {

using NodeIndex = uint32_t;

// The source of the nodes. A journal of an earlier version of tap may have group names that a
// request may not have.
enum class Origin : uint8_t { Request, Journal };

class Graph {
 public:
  // Appends nodes; they may depend on each other and on earlier nodes. Each mistake is a problem
  // with the node and the field; with a problem, no node is added.
  [[nodiscard]] bool add(const std::vector<NodeSpec>& nodes, Origin origin, Problems& problems);

  // Replaces the dependencies of a node. Problems as above.
  [[nodiscard]] bool setDependencies(NodeIndex node, const std::vector<std::string>& ids,
                                     Problems& problems);
  // The dependents of `node` depend on `by`, the last node, instead; `node` loses its dependencies.
  // `inherits`: `by` gets them. Problems as above.
  [[nodiscard]] bool replace(NodeIndex node, NodeIndex by, bool inherits, Problems& problems);

  [[nodiscard]] size_t size() const { return dependencies_.size(); }
  [[nodiscard]] std::optional<NodeIndex> find(std::string_view id) const;
  // The most similar id; empty if no id is similar.
  [[nodiscard]] std::string nearestId(std::string_view id) const;
  [[nodiscard]] std::span<const NodeIndex> dependencies(NodeIndex node) const {
    return dependencies_[node];
  }
  [[nodiscard]] std::span<const NodeIndex> dependents(NodeIndex node) const {
    return dependents_[node];
  }
  // The node that replaced it; a replaced node has no dependents.
  [[nodiscard]] std::optional<NodeIndex> replacement(NodeIndex node) const;
  // All replaced nodes, each with its replacement.
  [[nodiscard]] const std::map<NodeIndex, NodeIndex>& replacements() const { return replacements_; }
  // Each node after all its dependencies.
  [[nodiscard]] std::span<const NodeIndex> order() const { return order_; }

 private:
  void addIds(const std::vector<NodeSpec>& nodes, Problems& problems);
  void checkGroups(const std::vector<NodeSpec>& nodes, Problems& problems) const;
  void addDependencies(const std::vector<NodeSpec>& nodes, Problems& problems);
  void appendOrder(const std::vector<NodeSpec>& nodes, Problems& problems);
  template <class Where>
  [[nodiscard]] std::optional<NodeIndex> readDependency(NodeIndex self, const std::string& id,
                                                        const Where& where,
                                                        Problems& problems) const;
  // The path along dependencies, with both ends; empty if there is no path.
  using Edges = std::vector<std::vector<NodeIndex>>;
  [[nodiscard]] static std::vector<bool> reach(NodeIndex from, const Edges& edges);
  [[nodiscard]] std::vector<NodeIndex> findPath(NodeIndex from, NodeIndex to) const;
  [[nodiscard]] std::string describeCycle(const std::vector<NodeIndex>& path) const;
  [[nodiscard]] std::string_view idAt(NodeIndex node) const;
  void link(NodeIndex node, std::vector<NodeIndex> dependencies);
  void recomputeOrder();
  void truncateTo(size_t size, const std::vector<NodeSpec>& nodes);

  TextMap<NodeIndex> index_;
  TextMap<size_t> roots_;  // the first parts of groups, with the number of nodes in each
  std::vector<std::vector<NodeIndex>> dependencies_;
  std::vector<std::vector<NodeIndex>> dependents_;
  std::vector<NodeIndex> order_;
  std::map<NodeIndex, NodeIndex> replacements_;
};

}  // namespace tap::plan
