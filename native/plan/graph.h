// Who waits for whom: a directed acyclic graph over nodes, which are counted in the plan's order.
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

// Who names the nodes. A journal may be of an earlier tap: what can be gone on with is no mistake
// in it.
enum class Origin : uint8_t { Request, Journal };

class Graph {
 public:
  // Adds nodes behind those that are there; they may depend on these. Each mistake is a problem
  // that names the node and the field, and then nothing is added.
  [[nodiscard]] bool add(const std::vector<NodeSpec>& nodes, Origin origin, Problems& problems);

  // Gives a node other dependencies. As above.
  [[nodiscard]] bool setDependencies(NodeIndex node, const std::vector<std::string>& ids,
                                     Problems& problems);
  // What depends on `node` depends on `by`, the last one, instead, and `node` on nothing. As above.
  // `inherits`: `by` gets its dependencies.
  [[nodiscard]] bool replace(NodeIndex node, NodeIndex by, bool inherits, Problems& problems);

  [[nodiscard]] size_t size() const { return dependencies_.size(); }
  [[nodiscard]] std::optional<NodeIndex> find(std::string_view id) const;
  // The id that was probably meant; empty where none is near.
  [[nodiscard]] std::string nearestId(std::string_view id) const;
  [[nodiscard]] std::span<const NodeIndex> dependencies(NodeIndex node) const {
    return dependencies_[node];
  }
  [[nodiscard]] std::span<const NodeIndex> dependents(NodeIndex node) const {
    return dependents_[node];
  }
  // What has taken the node's place: nothing depends on it any more.
  [[nodiscard]] std::optional<NodeIndex> replacement(NodeIndex node) const;
  // All that were replaced, each with what has taken its place.
  [[nodiscard]] const std::map<NodeIndex, NodeIndex>& replacements() const { return replacements_; }
  // Each node after all that it depends on.
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
  // From a node over those that it waits for to another one, itself included; empty: there is none.
  using Edges = std::vector<std::vector<NodeIndex>>;
  [[nodiscard]] static std::vector<bool> reach(NodeIndex from, const Edges& edges);
  [[nodiscard]] std::vector<NodeIndex> findWay(NodeIndex from, NodeIndex to) const;
  [[nodiscard]] std::string describeCycle(const std::vector<NodeIndex>& way) const;
  [[nodiscard]] std::string_view idAt(NodeIndex node) const;
  void link(NodeIndex node, std::vector<NodeIndex> dependencies);
  void sortAgain();
  void cutTo(size_t size, const std::vector<NodeSpec>& nodes);

  TextMap<NodeIndex> index_;
  TextMap<size_t> roots_;  // what groups begin with: how many nodes are within
  std::vector<std::vector<NodeIndex>> dependencies_;
  std::vector<std::vector<NodeIndex>> dependents_;
  std::vector<NodeIndex> order_;
  std::map<NodeIndex, NodeIndex> replacements_;
};

}  // namespace tap::plan
