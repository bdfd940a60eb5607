"""Which modules of the package may import each other."""

import ast
import graphlib
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "copilot_tap"


def imports_of(file):
    """Its own modules that it imports, those for types included."""
    tree = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    found = [node for node in tree if isinstance(node, ast.ImportFrom) and node.level == 1]
    return {node.module for node in found if node.module}


def test_no_module_imports_itself_through_others():
    graph = {file.stem: imports_of(file) for file in PACKAGE.glob("*.py")}
    assert "connection" in graph["requests"]
    graphlib.TopologicalSorter(graph).prepare()  # CycleError names a circle
