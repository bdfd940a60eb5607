// Who waits for whom: a directed acyclic graph over nodes, which are counted in the plan's order.
#pragma once

#include <cstdint>
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
  // Each node after all that it depends on.
  [[nodiscard]] std::span<const NodeIndex> order() const { return order_; }

 private:
  void addIds(const std::vector<NodeSpec>& nodes, Problems& problems);
  void checkGroups(const std::vector<NodeSpec>& nodes, Problems& problems) const;
  void addDependencies(const std::vector<NodeSpec>& nodes, Problems& problems);
  void appendOrder(const std::vector<NodeSpec>& nodes, Problems& problems);
  void cutTo(size_t size, const std::vector<NodeSpec>& nodes);

  TextMap<NodeIndex> index_;
  TextMap<size_t> roots_;  // what groups begin with: how many nodes are within
  std::vector<std::vector<NodeIndex>> dependencies_;
  std::vector<std::vector<NodeIndex>> dependents_;
  std::vector<NodeIndex> order_;
};

}  // namespace tap::plan
