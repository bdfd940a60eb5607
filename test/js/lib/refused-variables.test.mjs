// Names of variables that no command is given.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isReservedForGit, refusalReason } from "../../../js/lib/refused-variables.mjs";

test("what makes a program run more than its command says is refused, in any case", () => {
  for (const name of [
    ...["PATH", "Path", "NODE_OPTIONS", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"],
    ...["BASH_ENV", "ENV", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0"],
    ...["GIT_TRACE2_EVENT", "RSYNC_RSH", "TAR_OPTIONS", "PYTEST_ADDOPTS", "OPENSSL_CONF", "PSQLRC"],
    ...["npm_config_script_shell", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER"],
    "COPILOT_HOME", // a sandbox hides the user's
  ]) {
    assert.notEqual(refusalReason(name), "", name);
  }
});

test("other variables are given", () => {
  for (const name of [
    ...[
      "PORT",
      "NODE_ENV",
      "PYTHONUNBUFFERED",
      "GIT_TERMINAL_PROMPT",
      "CI",
      "MY_PATH",
      "ENVIRONMENT",
    ],
    ...["LDFLAGS", "XPATH", "PATHS", "CARGO_TERM_COLOR", "TZ", "LC_ALL", ""],
  ]) {
    assert.equal(refusalReason(name), "", name);
  }
});

test("of Git's variables a plan may set author and committer, in any case", () => {
  for (const name of ["GIT_INDEX_FILE", "git_dir", "GIT_WORK_TREE", "GIT_AUTHOR_X", "GIT_"]) {
    assert.ok(isReservedForGit(name), name);
  }
  for (const name of ["GIT_AUTHOR_NAME", "GIT_COMMITTER_DATE", "MY_GIT_DIR", "GITHUB_TOKEN"]) {
    assert.ok(!isReservedForGit(name), name);
  }
});
