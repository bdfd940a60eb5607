// Holds the core's Pattern to JavaScript's RegExp: what both take as a pattern must match the same
// subjects. Pattern's side is the executable pattern_oracle (test/native/base).
//
// Pattern reads characters and not UTF-16 units, as RegExp does with the flag `u`; that is what it
// is compared with. What only the older syntax without `u` allows (a lone "]" or "{", an escape
// like "\-") is compared with RegExp without it. Where the two part is listed in `differences`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../../../tools/chaos/random.mjs";
import { ask, sized } from "../../support/oracle.mjs";
import { ROUNDS } from "../../support/rounds.mjs";

const seed = Number(process.env.TAP_TEST_SEED ?? 20_250_701) >>> 0;

/**
 * Everything in which Pattern is known to differ: for each an example with the answers of both, as
 * `answerOf` gives them. Patterns are for RegExp with `u`, unless `flags` says otherwise.
 * @type {{why: string, pattern: string, subject: string, js: string, tap: string, flags?: string}[]}
 */
const differences = [
  // The same syntax with another meaning.
  { why: "\\s is ASCII white space", pattern: "\\s", subject: "\u00a0", js: "Y", tap: "N" },
  { why: "\\S likewise", pattern: "\\S", subject: "\u2028", js: "N", tap: "Y" },
  { why: "the dot excludes the line feed only", pattern: ".", subject: "\r", js: "N", tap: "Y" },
  { why: "\\v is any vertical space", pattern: "\\v", subject: "\n", js: "N", tap: "Y" },
  {
    why: "a group keeps what it matched in an earlier round",
    pattern: "^(?:(a)|b)*\\1$",
    subject: "ab",
    js: "Y",
    tap: "N",
  },
  {
    why: "\\a is the bell, as further letters stand for something in PCRE2",
    pattern: "\\a",
    subject: "a",
    js: "Y",
    tap: "N",
    flags: "",
  },
  { why: "an empty class is not repeated", pattern: "[]*", subject: "a", js: "Y", tap: "N" },
  {
    why: "V8 negates what it finds inside of a surrogate pair, too",
    pattern: "(x|)(?!\\1)",
    subject: "😀",
    js: "Y",
    tap: "N",
  },
  { why: "V8 finds \\B there", pattern: "\\B", subject: "a😀_", js: "Y", tap: "N" },
  {
    why: "a group that is repeated zero times still counts where a match may start",
    pattern: "(?:a|^){0}b",
    subject: "cb",
    js: "Y",
    tap: "N",
  },
  {
    why: "a name in brackets and colons is a POSIX class",
    pattern: "^[[:alpha:]]$",
    subject: "z",
    js: "N",
    tap: "Y",
    flags: "",
  },

  // What RegExp takes and Pattern refuses.
  {
    why: "a lookbehind has a bounded length",
    pattern: "(?<=a*)b",
    subject: "b",
    js: "Y",
    tap: "E",
  },
  {
    why: "a lookbehind refers to no group",
    pattern: "(?<=\\1(a))b",
    subject: "aab",
    js: "Y",
    tap: "E",
  },
  { why: "a lookbehind has no empty class", pattern: "(?<=[])b", subject: "b", js: "N", tap: "E" },
  { why: "no surrogate pairs", pattern: "\\ud83d\\ude00", subject: "😀", js: "Y", tap: "E" },
  { why: "no properties by name=value", pattern: "\\p{gc=Lu}", subject: "A", js: "Y", tap: "E" },
  {
    why: "no octal escapes for groups",
    pattern: "\\1",
    subject: "\x01",
    js: "Y",
    tap: "E",
    flags: "",
  },
  {
    why: "a range ends at no class",
    pattern: "[a-\\d]",
    subject: "-",
    js: "Y",
    tap: "E",
    flags: "",
  },
  { why: "no $ in names", pattern: "(?<$a>b)", subject: "b", js: "Y", tap: "E" },
  { why: "at most 1 KB", pattern: "a".repeat(1025), subject: "b", js: "N", tap: "E" },

  // What Pattern takes beyond RegExp: PCRE2's own syntax.
  { why: "possessive quantifiers", pattern: "a++b", subject: "ab", js: "E", tap: "Y" },
  { why: "atomic groups", pattern: "(?>a)b", subject: "ab", js: "E", tap: "Y" },
  { why: "options", pattern: "(?i)a", subject: "A", js: "E", tap: "Y" },
  { why: "verbs", pattern: "(*UCP)\\w", subject: "é", js: "E", tap: "Y" },
  { why: "comments", pattern: "a(?#b)c", subject: "ac", js: "E", tap: "Y" },
  { why: "conditions", pattern: "(a)?(?(1)b|c)", subject: "c", js: "E", tap: "Y" },
  { why: "recursion", pattern: "^(a(?1)?b)$", subject: "aabb", js: "E", tap: "Y" },
  { why: "anchors of letters", pattern: "\\Aa\\z", subject: "a", js: "E", tap: "Y" },
  { why: "quoting", pattern: "\\Q.*\\E", subject: ".*", js: "E", tap: "Y" },
  { why: "quantified lookaheads", pattern: "(?=a)*b", subject: "b", js: "E", tap: "Y" },
];

/** @typedef {{pattern: string, subject: string}} Case */

/**
 * @param {Case[]} cases
 * @returns {string[]} the oracle's answer to each: "Y", "N", "T", or "E" with offset and message
 */
function askOracle(cases) {
  const parts = cases.flatMap(({ pattern, subject }) => [sized(pattern), sized(subject)]);
  return ask("pattern_oracle", Buffer.concat(parts), cases.length, `seed ${seed}:`);
}

/** @param {Case} one @param {string} flags @returns {string} "Y", "N" or "E" */
function answerOf({ pattern, subject }, flags = "u") {
  try {
    return new RegExp(pattern, flags).test(subject) ? "Y" : "N";
  } catch {
    return "E";
  }
}

/** @param {Case} one @param {string} js @param {string} tap */
const report = ({ pattern, subject }, js, tap) =>
  `seed ${seed}: /${pattern}/ on ${JSON.stringify(subject)}: RegExp ${js}, Pattern ${tap}`;

// --- Patterns ---

const characters = ["a", "b", "c", "1", "_", "-", " ", "\n", "\t", "é", "漢", "😀"];
const letters = [
  ...["a", "b", "a", "b", "c", "1", "_", "-", " ", "é", "漢", "😀", "\n"],
  ...["\\n", "\\t", "\\x61", "\\u00e9", "\\u{1F600}", "\\cJ", "\\.", "\\/", "\\x00"],
];
const sets = [
  ...[".", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\p{L}", "\\P{L}", "\\p{Lu}", "[]", "[^]"],
  ...[
    "[ab]",
    "[^ab]",
    "[a-c1]",
    "[^\\d]",
    "[\\w-]",
    "[\\s\\S]",
    "[é-漢]",
    "[^😀]",
    "[\\b]",
    "[.*]",
  ],
  ...["[a\\-c]", "[\\]a]", "[\\p{L}1]", "[\\x61-\\u0063]"],
];
const fullSets = sets.filter((set) => set !== "[]");
const quantifiers = ["*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}"]; // not "{0}": see `differences`

/** @param {Random} random */
function patternWriter(random) {
  let groups = 0;

  const quantifier = () => random.pick(quantifiers) + (random.below(3) === 0 ? "?" : "");

  const simple = () => (random.below(3) > 0 ? random.pick(letters) : random.pick(sets));

  const lookbehind = () =>
    `(?<${random.pick(["=", "!"])}${random.pick(letters)}${random.pick(fullSets)})`;

  /** @param {number} room @param {boolean} once whether nothing around it is repeated */
  function group(room, once) {
    if (!once) return `(?:${alternatives(room - 1, false)})`;
    const open = random.pick(["(", `(?<n${groups}>`]);
    groups++;
    return `${open}${alternatives(room - 1, true)})`;
  }

  /**
   * Groups are referred to only where they match once and in the order of the text: see `differences`.
   * @param {number} room levels that may still be opened
   * @param {boolean} once
   * @returns {string}
   */
  function item(room, once) {
    switch (random.below(room > 0 ? 13 : 7)) {
      case 0:
        return random.pick(["^", "$", "\\b", "\\B"]);
      case 1:
      case 2:
        return random.pick(random.below(3) > 0 ? letters : fullSets) + quantifier();
      case 3:
        return groups > 0 ? `(?:\\${1 + random.below(groups)})` : simple();
      case 7:
      case 8:
        return group(room, once);
      case 9:
      case 10:
        return group(room, false) + quantifier();
      case 11:
        return `(?${random.pick(["=", "!"])}${alternatives(room - 1, false)})`;
      case 12:
        return lookbehind();
      default:
        return simple();
    }
  }

  /** @param {number} room @param {boolean} once @returns {string} */
  function alternatives(room, once) {
    const count = random.pick([1, 1, 1, 2, 3]);
    const sequence = () => Array.from({ length: random.below(4) }, () => item(room, once)).join("");
    return Array.from({ length: count }, sequence).join("|");
  }

  return () => {
    groups = 0;
    return alternatives(3, true);
  };
}

/** @param {Random} random */
function writeSubject(random) {
  const some = random.below(2) === 0 ? characters : characters.slice(0, 3);
  return Array.from({ length: random.below(9) }, () => random.pick(some)).join("");
}

// shows: P-STREAM-16
test("Pattern and RegExp agree on patterns of the syntax that they share", () => {
  const random = new Random(seed);
  const write = patternWriter(random);
  const cases = [];
  for (let count = 0; count < 600 * ROUNDS; count++) {
    const pattern = write();
    // See `differences`: "inside of a surrogate pair".
    const looksInside = /\\[1-9B]|\(\?<?!/.test(pattern);
    for (let each = 0; each < 5; each++) {
      const text = writeSubject(random);
      cases.push({ pattern, subject: looksInside ? text.replaceAll("😀", "漢") : text });
    }
  }
  let yes = 0;
  let catastrophes = 0;
  askOracle(cases).forEach((tap, index) => {
    if (tap === "T") return catastrophes++;
    const js = answerOf(cases[index]);
    assert.equal(tap, js, report(cases[index], js, tap));
    if (js === "Y") yes++;
  });
  assert.ok(catastrophes < cases.length / 1000, `${catastrophes} catastrophes`);
  // Both answers must be frequent, or the comparison says little.
  assert.ok(yes > cases.length / 5 && yes < (cases.length * 4) / 5, `${yes} of ${cases.length}`);
});

// Without what changes its meaning (see `differences`): \s and the dot on the subjects below do not.
const tokens = [
  ...[
    "a",
    "b",
    "-",
    "é",
    "(",
    ")",
    "(?:",
    "(?=",
    "(?!",
    "[",
    "[^",
    "]",
    "{",
    "}",
    "{2}",
    "{,2",
    ",",
  ],
  ...[
    "*",
    "+",
    "?",
    "|",
    "^",
    "$",
    ".",
    "\\",
    "\\d",
    "\\w",
    "\\b",
    "\\n",
    "\\-",
    "\\x61",
    "\\u0061",
  ],
];

/** What means something else to PCRE2: "\a", "[]*", a "+" behind a quantifier. @param {string} pattern */
const isPcre2 = (pattern) => /\\a|\[\][*?{]|[*+?}]\+|\{,/.test(pattern);

test("Pattern and RegExp agree on what they make of any few tokens, where both take them", () => {
  const random = new Random(seed ^ 0x9e3779b9);
  const cases = Array.from({ length: 4000 * ROUNDS }, () => ({
    pattern: Array.from({ length: 1 + random.below(6) }, () => random.pick(tokens)).join(""),
    subject: random.pick(["", "a", "ab", "-", "é", "a-b", "aab\n", "]", "{2}", "b{,2", "xba,b"]),
  })).filter(({ pattern }) => !isPcre2(pattern));
  const taken = { both: 0, js: 0, tap: 0 };
  askOracle(cases).forEach((tap, index) => {
    const withU = answerOf(cases[index]);
    const js = withU === "E" ? answerOf(cases[index], "") : withU;
    if (tap.startsWith("E")) {
      assert.ok(Number.parseInt(tap.slice(1), 10) <= Buffer.byteLength(cases[index].pattern));
      if (js !== "E") taken.js++;
    } else if (js === "E") {
      taken.tap++;
    } else {
      taken.both++;
      assert.equal(tap, js, report(cases[index], js, tap));
    }
  });
  assert.ok(taken.both > cases.length / 10, JSON.stringify(taken));
  // Hardly ever does one take what the other refuses.
  assert.ok(taken.js + taken.tap < taken.both / 20, JSON.stringify(taken));
});

test("the patterns of the documentation and of everyday use match alike", () => {
  const patterns = [
    ...[
      "behind=0",
      "conflicts=[1-9]",
      ".*",
      "rm\\s+-rf?\\s",
      "^git push( --force)?$",
      "\\.env(\\.|$)",
    ],
    ...['"command":"[^"]*sudo\\b', "(?<!no-)verify", "error|warn(ing)?", "^\\[\\d{2}:\\d{2}\\]"],
    ...["https?://[^\\s/]+/", "(\\w+) \\1", "^(?!.*secret).*token", "[^\\x00-\\x7f]"],
  ];
  const subjects = [
    ...["behind=0 ahead=2", "conflicts=3", '{"command":"sudo rm -rf / "}', "git push --force", ""],
    ...["git commit --no-verify", "config/.env.local", "[12:30] warning: the the", "secret token"],
    ...["see https://example.com/x", "a token", "naïve", "line\nbehind=0", "rm -r x", "--verify"],
  ];
  const cases = patterns.flatMap((pattern) => subjects.map((each) => ({ pattern, subject: each })));
  askOracle(cases).forEach((tap, index) => {
    const js = answerOf(cases[index]);
    assert.equal(tap, js, report(cases[index], js, tap));
  });
});

test("the known differences are what they are said to be", () => {
  askOracle(differences).forEach((tap, index) => {
    const { why, flags, ...expected } = differences[index];
    const js = answerOf(expected, flags);
    assert.deepEqual({ js, tap: tap[0] }, { js: expected.js, tap: expected.tap }, `${why}: ${tap}`);
  });
});

test("what is compared is cut where Pattern says", () => {
  const kilobytes64 = "a".repeat(65_536);
  const cases = [
    { pattern: "b", subject: `${kilobytes64.slice(1)}b` },
    { pattern: "b", subject: `${kilobytes64}b` },
  ];
  assert.deepEqual(askOracle(cases), ["Y", "U"]);
  assert.deepEqual(
    cases.map((each) => answerOf(each)),
    ["Y", "Y"],
  );
});
