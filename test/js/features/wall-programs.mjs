// Random programs of a node: changes of files, here, in git's folders and elsewhere.

/** @typedef {import("./wall-attempts.mjs").Target} Target */

const LENGTH = 12;

/** The same numbers for the same seed. @param {number} seed @returns {(below: number) => number} */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** @param {Target} target */
const listTargets = ({ repo, git, sibling, home, outside }) => [
  ...["a.txt", "b.txt", "new", "d/e", ".", ".git", "l1", "l2", "l1/x", "l2/a.txt", "$TMPDIR/x"],
  ...["..", "../..", "../../a.txt", "../../.git/config", "../x"],
  ...["", "/a.txt", "/keep.txt", "/new", "/.worktrees/x"].map((name) => repo + name),
  ...["config", "hooks/post-merge", "info/attributes", "HEAD", "index", "refs/heads/main"].map(
    (name) => `${git}/${name}`,
  ),
  ...["packed-refs", "logs/HEAD", "worktrees/sibling/HEAD", "tap/x", "objects/info/alternates"].map(
    (name) => `${git}/${name}`,
  ),
  ...["HEAD", "index", "config.worktree", "commondir", "logs/HEAD", "sharedindex.x", "modules"].map(
    (name) => `"$admin"/${name}`,
  ),
  ...[sibling, `${sibling}/a.txt`, home, `${home}/.ssh/id_test`, `${home}/.gitconfig`],
  ...[outside, `${outside}/note.txt`, `${outside}/remote.git/HEAD`],
];

/** @type {((one: string, other: string) => string)[]} */
const CHANGES = [
  (one) => `echo x > ${one}`,
  (one) => `echo x >> ${one}`,
  (one) => `rm -rf ${one}`,
  (one) => `chmod 777 ${one}`,
  (one) => `truncate -s 0 ${one}`,
  (one) => `touch ${one}`,
  (one) => `mkdir -p ${one}/sub`,
  (one) => `sed -i s/a/b/ ${one}`,
  (one, other) => `mv ${one} ${other}`,
  (one, other) => `cp -r ${one} ${other}`,
  (one, other) => `ln -sfn ${one} ${other}`,
  (one, other) => `ln -f ${one} ${other}`,
  (one) => `ln -sfn ${one} l1`,
  (one) => `ln -sfn ${one} l2`,
  (one) => `git -C ${one} commit -q --allow-empty -m x`,
  (one) => `git -C ${one} checkout -q -f -B evil`,
  (one) => `git init -q ${one}`,
  () => "git add --all && git commit -q -m x",
  () => "git reset -q --hard",
  () => "git gc -q",
  () => "git repack -adq",
  () => "git config core.fsmonitor ./a.txt",
  (one) => `(setsid sh -c 'sleep 0.1; echo x > ${one}' > /dev/null 2>&1 &)`,
  (one) => `python3 -c 'import os; os.replace("a.txt", "${one}")'`,
];

/** @param {(below: number) => number} random @param {Target} target @returns {string} lines for a shell */
export function formatProgram(random, target) {
  const targets = listTargets(target);
  const choose = (/** @type {any[]} */ all) => all[random(all.length)];
  const lines = Array.from({ length: LENGTH }, () => {
    const line = choose(CHANGES)(choose(targets), choose(targets));
    return `(${line}) > /dev/null 2>&1 || true`;
  });
  return ["admin=$(git rev-parse --absolute-git-dir)", ...lines].join("\n");
}
