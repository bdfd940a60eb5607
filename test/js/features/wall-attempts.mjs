// What programs of nodes try: everyday work, which has to work, and changes elsewhere, which have to fail.

/**
 * A place with all that an attempt may aim at.
 * @typedef {object} Target
 * @property {string} repo the user's checkout @property {string} git its .git
 * @property {string} sibling another worktree of the user's @property {string} home
 * @property {string} outside a folder beside @property {string} cli COPILOT_HOME
 * @property {number} pid of a process of the user @property {number} port of a server on this machine
 */
/**
 * `sandboxOnly`: without a sandbox it would change this machine.
 * @typedef {{name: string, wanted: boolean, command: (at: Target) => string, sandboxOnly?: boolean}} Attempt
 */

/** @type {Record<string, string>} */
const WANTED = {
  "new file": "echo x > new.txt",
  "sed -i": "sed -i s/a/b/ a.txt && grep -q b a.txt",
  "here-document": "cat > here.txt <<END\none\ntwo\nEND\ntest $(wc -l < here.txt) = 2",
  "find -exec": "find . -name '*.txt' -exec grep -c . {} +",
  "cd down and up": "mkdir -p d/e && cd d/e && echo x > f && cd ../.. && test -f d/e/f",
  subshells: '(cd /usr && pwd) && x=$(echo y | tr y z) && test "$x" = z',
  loop: "for i in 1 2 3; do echo $i; done > n.txt && test $(wc -l < n.txt) = 3",
  "background and wait": "(sleep 0.1; echo x > late.txt) & wait; test -f late.txt",
  "temporary files": 'f=$(mktemp) && echo x > "$f" && test "$(dirname $f)" = "$TMPDIR"',
  "a pipe of its own": "mkfifo p; (echo x > p &) ; test $(cat p) = x; rm p",
  "a script": "printf '#!/bin/sh\\necho ran\\n' > s.sh; chmod +x s.sh; test $(./s.sh) = ran",
  archive: "tar czf x.tgz a.txt && rm a.txt && tar xzf x.tgz && test -f a.txt",
  "links in the worktree": "ln -s a.txt l && test $(readlink l) = a.txt",
  "xargs and awk": "ls *.txt | xargs -n1 echo | awk 'END { exit NR < 3 }'",
  make: "printf 'all: out\\nout: a.txt\\n\\tcp a.txt out\\n' > Makefile; make -s -j2; test -f out",
  gcc: "echo 'int main(void) { return 0; }' > m.c && gcc m.c -o m && ./m",
  python: 'python3 -c \'open("py.txt", "w").write("x")\' && test -f py.txt',
  "node --test":
    'echo \'require("node:test").test("x", () => {})\' > x.test.cjs; node --test x.test.cjs',
  "a server and its client":
    'node -e \'const s = require("http").createServer((_, r) => r.end("hi")).listen(0, () => fetch("http://localhost:" + s.address().port).then((r) => r.text()).then((t) => process.exit(t === "hi" ? 0 : 1)))\'',
  "headless Chromium":
    "chromium --headless --no-sandbox --disable-gpu --dump-dom 'data:text/html,<p>hi' 2> /dev/null | grep -q hi",
  "commit and amend":
    "echo 1 > o && git add o && git commit -qm one && git commit -q --amend -m two && git log -1 --format=%s | grep -q two",
  rebase:
    "for i in 1 2; do echo $i > r$i; git add r$i; git commit -qm $i; done; git rebase -q --onto HEAD~2 HEAD~1 && test ! -e r1 -a -e r2",
  "git mv and status": "git mv a.txt moved.txt && git status --short | grep -q '^R'",
  "git reset and diff":
    "echo 2 > a.txt && ! git diff --quiet && git reset -q --hard && git diff --quiet",
  "cherry-pick":
    "echo 1 > k && git add k && git commit -qm k && c=$(git rev-parse HEAD) && git reset -q --hard HEAD~1 && git cherry-pick $c > /dev/null && test -f k",
  "history and blame": "git log --oneline -1 && git show HEAD:a.txt && git blame -s a.txt",
  "a repository in it": "git init -q inner && git -C inner status --short && rm -rf inner",
  "environment of a program": "env -i /bin/sh -c 'test -z \"$HOME\"' && id && uname",
};

/** @type {Record<string, (at: Target) => string>} */
const UNWANTED = {
  "write a file of the checkout": ({ repo }) => `echo x > ${repo}/a.txt`,
  "delete one": ({ repo }) => `rm ${repo}/b.txt`,
  "rename one": ({ repo }) => `mv ${repo}/c.txt ${repo}/d.txt`,
  "link in the checkout": ({ repo }) => `ln -s /etc/passwd ${repo}/link`,
  "mode of the checkout": ({ repo }) => `chmod 700 ${repo}`,
  "mode of a file": ({ repo }) => `chmod 600 ${repo}/keep.txt`,
  "time of a file": ({ repo }) => `touch -d yesterday ${repo}/keep.txt`,
  "truncate one": ({ repo }) => `truncate -s 0 ${repo}/keep.txt`,
  "sed -i in the checkout": ({ repo }) => `sed -i s/k/x/ ${repo}/keep.txt`,
  "find -exec in the checkout": ({ repo }) =>
    `test "$(find ${repo} -maxdepth 1 -name '*.txt' -exec touch {} ';' -print | wc -l)" -gt 0 && touch ${repo}/found`,
  "python in the checkout": ({ repo }) => `python3 -c "open('${repo}/py.txt','w')"`,
  "node in the checkout": ({ repo }) =>
    `node -e "require('fs').writeFileSync('${repo}/js.txt','')"`,
  "tar into the checkout": ({ repo }) => `tar cf - a.txt | tar xf - -C ${repo} --transform s/a/t/`,
  "dd into the checkout": ({ repo }) => `dd if=/dev/zero of=${repo}/dd bs=1 count=1`,
  "tee into the checkout": ({ repo }) => `echo x | tee ${repo}/tee.txt`,
  "cd to the checkout": ({ repo }) => `cd ${repo} && touch by-cd`,
  "cd to the folder above": () => "cd .. && touch by-cd",
  "by a link of its own": ({ repo }) => `ln -s ${repo} up; echo x > up/by-link`,
  "by a relative path": () => "echo x > ../../relative.txt",
  "by /proc": ({ repo }) => `touch /proc/self/root${repo}/by-proc`,
  "a repository in the checkout": ({ repo }) => `git init -q ${repo}/nested`,
  "a clone in the checkout": ({ repo }) => `git clone -q ${repo} ${repo}/clone`,
  "its own .git": ({ git }) => `cp .git ${git}/copy && rm ${git}/copy`,
  "config by hand": ({ git }) => `printf '[x]\\n\\ty = z\\n' >> ${git}/config`,
  "config by git": () => "git config alias.x '!true'",
  "config of the user": () => "git config --global alias.x '!true'",
  "a hook": ({ git }) => `printf '#!/bin/sh\\n' > ${git}/hooks/post-applypatch`,
  attributes: ({ git }) => `echo '*.none filter=x' >> ${git}/info/attributes`,
  exclude: ({ git }) => `echo none >> ${git}/info/exclude`,
  "HEAD of the checkout": ({ git }) => `exec 3>> ${git}/HEAD`,
  "index of the checkout": ({ git }) => `exec 3>> ${git}/index`,
  "a ref by hand": ({ git }) => `git rev-parse HEAD > ${git}/refs/heads/by-hand`,
  "a shared object": ({ git }) => `mkdir -p ${git}/objects/../objects-too`,
  "the log of a ref": ({ git }) => `echo x >> ${git}/logs/x`,
  branch: () => "git branch stolen",
  "new branch": () => "git checkout -q -b mine && git rev-parse --verify refs/heads/mine",
  "update-ref": () => "git update-ref refs/heads/moved HEAD",
  "update-ref of main": ({ git }) => `GIT_DIR=${git} git update-ref refs/heads/main-2 HEAD`,
  "commit in the checkout": ({ repo }) =>
    `unset GIT_DIR; git -C ${repo} commit -q --allow-empty -m evil`,
  tag: () => "git tag stolen",
  stash: () => "echo 2 > a.txt; git stash -q",
  notes: () => "git notes add -m x",
  replace: () => "git replace --graft HEAD",
  remote: () => "git remote add evil http://localhost:1",
  "pack-refs": () => "git pack-refs --all",
  "worktree add": ({ outside }) => `git worktree add -q --detach ${outside}/worktree`,
  push: ({ outside }) => `git push -q ${outside}/remote.git HEAD:refs/heads/pushed`,
  fetch: ({ sibling }) => `git fetch -q ${sibling} HEAD:refs/heads/fetched`,
  "another worktree": ({ sibling }) => `echo x > ${sibling}/x.txt`,
  "git in another worktree": ({ sibling }) => `git -C ${sibling} commit -q --allow-empty -m x`,
  "read a key": ({ home }) => `cat ${home}/.ssh/id_test`,
  "list keys": ({ home }) => `ls ${home}/.ssh/id_test`,
  "add a key": ({ home }) => `echo x >> ${home}/.ssh/authorized_keys`,
  "a shell's start": ({ home }) => `echo x >> ${home}/.bashrc`,
  "read a token": ({ home }) => `cat ${home}/.npmrc`,
  "~ by its name": () => "cat ~/.npmrc",
  "read a password of git": ({ home }) => `cat ${home}/.config/git/credentials`,
  "read tap's config": ({ cli }) => `cat ${cli}/tap/config.json`,
  "write beside tap's config": ({ cli }) => `touch ${cli}/tap/evil`,
  "a file elsewhere": ({ outside }) => `touch ${outside}/x`,
  "copy elsewhere": ({ outside }) => `cp a.txt ${outside}/copy`,
  "read elsewhere": ({ outside }) => `cat ${outside}/note.txt`,
  "a process that outlives its command": ({ outside }) =>
    `(setsid sh -c 'sleep 0.2; touch ${outside}/late' &); sleep 0.5; test -e ${outside}/late`,
  "look at a process": ({ pid }) => `kill -0 ${pid}`,
  "environment of a process": ({ pid }) => `cat /proc/${pid}/environ > /dev/null`,
  "stop a process": ({ pid }) => `kill -STOP ${pid}`,
  "a server of this machine": ({ port }) =>
    `node -e "require('net').connect(${port},'127.0.0.1').on('connect',()=>process.exit(0)).on('error',()=>process.exit(1))"`,
};

/** @type {Record<string, (at: Target) => string>} */
const UNWANTED_IN_SANDBOX = {
  "the system": () => "touch /usr/evil || touch /etc/evil || touch /evil || touch /opt/evil",
  "an empty home": ({ home }) => `mkdir -p ${home}/evil || touch ${home}/evil`,
  "settings of the kernel": () => "cat /proc/sys/kernel/panic > /proc/sys/kernel/panic",
  "remount the checkout": ({ repo }) => `mount -o remount,bind,rw ${repo} && touch ${repo}/re`,
  "remount in a namespace of its own": ({ repo }) =>
    `unshare -Urm sh -c 'mount -o remount,bind,rw ${repo} && touch ${repo}/re'`,
  "unmount in a namespace of its own": ({ repo }) =>
    `unshare -Urm sh -c 'umount ${repo}/.worktrees && ls ${repo}/.worktrees/*/..'`,
  "bind in the worktree": () => "mkdir -p m; mount --bind /etc m",
  "a device": () => "mknod device b 8 0 && head -c1 device",
  chroot: () => "chroot / true",
  "its own link to git": () => "rm -f .git || mv .git other; test ! -e .git",
};

/** @param {Record<string, ((at: Target) => string) | string>} table @param {{wanted: boolean, sandboxOnly?: boolean}} kind @returns {Attempt[]} */
const list = (table, kind) =>
  Object.entries(table).map(([name, command]) => ({
    ...kind,
    name,
    command: typeof command === "string" ? () => command : command,
  }));

/** @type {Attempt[]} */
export const ATTEMPTS = [
  ...list(WANTED, { wanted: true }),
  ...list(UNWANTED, { wanted: false }),
  ...list(UNWANTED_IN_SANDBOX, { wanted: false, sandboxOnly: true }),
];
