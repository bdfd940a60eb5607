// What a permission request of an agent gets, with a wall and without one.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { describeRequest, findRefusal, looksLikePush } from "../../../js/agents/permissions.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @param {import("node:test").TestContext} t */
function makePlace(t) {
  const root = fs.realpathSync(temporaryFolder(t));
  const checkout = path.join(root, "repo");
  const [shared, cwd] = [path.join(root, "shared"), path.join(checkout, ".worktrees", "one")];
  for (const one of [shared, path.join(cwd, "deep", "er")]) fs.mkdirSync(one, { recursive: true });
  fs.symlinkSync(root, path.join(cwd, "link"));
  fs.symlinkSync(path.join(cwd, "deep", "er"), path.join(cwd, "inner"));
  fs.symlinkSync(path.join(root, "not-yet"), path.join(cwd, "dangling"));
  fs.symlinkSync("round", path.join(cwd, "round"));
  const lists = { hosts: ["*.example.com", "https://api.x.io/v1"], tools: ["lent"] };
  const files = { cwd, folders: [], shared: [shared, path.dirname(cwd)] };
  const ask = (/** @type {any} */ request, /** @type {any} */ tool) =>
    findRefusal(request, { ...lists, files }, tool);
  const askOpen = (/** @type {any} */ request) => findRefusal(request, lists);
  return { cwd, root, shared, checkout, ask, askOpen };
}

describe("a tool for files, with a wall", () => {
  test("writes the worktree only, and never .git", (t) => {
    const { cwd, root, shared, checkout, ask } = makePlace(t);
    const write = (/** @type {string} */ fileName) => ask({ kind: "write", fileName }, "files");
    assert.equal(write(path.join(cwd, "new", "a")), "");
    assert.equal(write("a"), "");
    for (const file of [root, shared, checkout]) assert.notEqual(write(path.join(file, "a")), "");
    for (const file of ["link/a", ".git", ".GIT/hooks/a", "../b", "sub/.git/config", "dangling"])
      assert.notEqual(write(path.join(cwd, file)), "", file);
    const edits = [
      { before: { path: path.join(cwd, "a") }, after: { path: path.join(root, "a") } },
    ];
    assert.notEqual(ask({ kind: "write", fileName: "a", fileEdits: edits }, "files"), "");
  });

  test("a path with .. behind a link is inside however it is read", (t) => {
    const { cwd, ask } = makePlace(t);
    const write = (/** @type {string} */ name) =>
      ask({ kind: "write", fileName: `${cwd}/${name}` }, "files");
    assert.equal(write("inner/../a"), "");
    assert.notEqual(write("link/../a"), "", "the system goes above the link's target");
    assert.notEqual(write("inner/../../a"), "", "by its words it is outside");
    assert.notEqual(write("round"), "", "links that lead round");
  });

  test("does not read where others may write, and a search is behind the wall", (t) => {
    const { cwd, shared, checkout, ask } = makePlace(t);
    const read = (/** @type {string} */ file, tool = "files") =>
      ask({ kind: "read", path: file }, tool);
    assert.deepEqual([read(path.join(cwd, "a")), read(path.join(checkout, "a"))], ["", ""]);
    assert.notEqual(read(path.join(shared, "a")), "");
    assert.notEqual(read(path.join(path.dirname(cwd), "two", "a")), "");
    assert.equal(read(path.join(shared, "a"), "search"), "");
    assert.notEqual(ask({ kind: "read", path: cwd }, undefined), "", "a tool that is not known");
    assert.notEqual(ask({ kind: "write", fileName: path.join(cwd, "a") }, "search"), "");
  });
});

for (const way of /** @type {const} */ (["ask", "askOpen"])) {
  describe(`a permission request ${way === "ask" ? "with" : "without"} a wall`, () => {
    test("commands pass but for a push", (t) => {
      const { [way]: ask } = makePlace(t);
      const shell = (/** @type {string} */ fullCommandText) =>
        ask({ kind: "shell", fullCommandText });
      assert.equal(shell("cd ../..; rm -rf $x; curl http://a.b; git stash"), "");
      assert.notEqual(shell("git push"), "");
    });

    test("hosts and tools are those of the job", (t) => {
      const { [way]: ask } = makePlace(t);
      const url = (/** @type {string} */ one) => ask({ kind: "url", url: one });
      for (const one of ["https://a.example.com/x", "https://api.x.io:8443/y"])
        assert.equal(url(one), "", one);
      for (const one of [
        "https://example.com",
        "https://a.example.com.evil.org",
        "https://a.example.com@evil.org/",
        "https://evil.org?@a.example.com/",
        "https://evil.org#@a.example.com/",
        "https://evil.org\\@a.example.com/",
        "https://a.example.com@a.example.com@evil.org/",
        "nonsense",
      ])
        assert.notEqual(url(one), "", one);
      const tool = (/** @type {string} */ toolName) => ask({ kind: "custom-tool", toolName });
      assert.deepEqual([tool("lent"), tool("other") === ""], ["", false]);
    });

    test("what no job may do is refused, and what is not known", (t) => {
      const { [way]: ask } = makePlace(t);
      const plain = { kind: "shell", fullCommandText: "true" };
      for (const more of [{ requestSandboxBypass: true }, { managedApprovalRequired: true }])
        assert.notEqual(ask({ ...plain, ...more }), "");
      const kinds = ["mcp", "memory", "hook", "extension-management", "workflow", "new", ""]
        .concat(["extension-permission-access", "extension-env-access"])
        .concat(["toString", "__proto__", "constructor"]);
      for (const kind of [...kinds, undefined]) assert.notEqual(ask({ kind }), "", kind);
      for (const none of [undefined, null]) assert.notEqual(ask(none), "");
      const broken = {
        kind: "url",
        get url() {
          throw new Error("no");
        },
      };
      assert.notEqual(ask(broken), "");
    });
  });
}

test("without a wall reads and writes pass: there is no boundary", (t) => {
  const { root, askOpen } = makePlace(t);
  const file = path.join(root, "a");
  assert.equal(askOpen({ kind: "read", path: file }), "");
  assert.equal(askOpen({ kind: "write", fileName: file }), "");
});

test("a push is seen where git is called for it", () => {
  for (const text of [
    "git push",
    "a && git -C x -c a=b push",
    "A=1 git --no-pager push -f",
    "(git push)",
  ])
    assert.equal(looksLikePush(text), true, text);
  for (const text of ["git stash push", "git commit -m 'git push'", "echo push", "git log push"])
    assert.equal(looksLikePush(text), false, text);
});

test("a refused request is described by what it was about", () => {
  const cases = /** @type {[object, string, string][]} */ ([
    [{ kind: "read", path: "/a" }, "read", "/a"],
    [{ kind: "write", fileName: "b" }, "write", "b"],
    [{ kind: "shell", fullCommandText: "git push" }, "command", "git push"],
    [{ kind: "url", url: "https://u:p@a.test/b?c" }, "host", "a.test"],
    [{ kind: "custom-tool", toolName: "t" }, "tool", "t"],
    [{ kind: "memory", fact: "x" }, "tool", "memory"],
    [{ kind: "write", fileName: "b", requestSandboxBypass: true }, "bypass", "b"],
    [{}, "tool", "undefined"],
  ]);
  for (const [request, kind, target] of cases) {
    assert.deepEqual(describeRequest({ ...request, toolCallId: "1" }), { kind, target, call: "1" });
  }
});
