import assert from "node:assert/strict";
import { test } from "node:test";
import { parseConditions, newestRecords, parseTime } from "../../../js/cli/record-query.mjs";

const plain = (value) => JSON.parse(JSON.stringify(value));

test("conditions name a field, an operator and a value", () => {
  assert.deepEqual(
    plain(
      parseConditions([
        "tool=get_weather",
        "ms>100",
        "ms<9.5",
        "outcome!=ok",
        "path^=/tmp",
        "failed=true",
      ]),
    ),
    {
      tool: { eq: "get_weather" },
      ms: { gt: 100, lt: 9.5 },
      outcome: { ne: "ok" },
      path: { prefix: "/tmp" },
      failed: { eq: true },
    },
  );
});

test("quotes make text of a number, and a value may hold signs", () => {
  assert.deepEqual(plain(parseConditions(['id="7"', "text=a=b<c", "empty=", 'half="x'])), {
    id: { eq: "7" },
    text: { eq: "a=b<c" },
    empty: { eq: "" },
    half: { eq: '"x' },
  });
});

test("an operator as the tool writes it is refused, and the right form said", () => {
  for (const [given, wanted] of [
    ["ms.gt=1", "write 'ms>1'"],
    ["path.prefix=/tmp", "write 'path^=/tmp'"],
  ]) {
    assert.throws(() => parseConditions([given]), { advice: wanted });
  }
});

test("what others have given may have a field with the name of an operator", () => {
  for (const of of ["arguments", "result", "event", "metadata"]) {
    assert.deepEqual(plain(parseConditions([`${of}.gt=1`])), { [`${of}.gt`]: { eq: 1 } });
  }
  assert.deepEqual(plain(parseConditions(["metadata.lt>3", "metadata.prefix=x"])), {
    "metadata.lt": { gt: 3 },
    "metadata.prefix": { eq: "x" },
  });
});

test("unknown operators are refused, and so are < and > with something that is not a number", () => {
  for (const [given, wanted] of [
    ["ms>=1", "there is no >=: for whole numbers, write 'ms>0'"],
    ["ms=>1", "there is no >=: for whole numbers, write 'ms>0'"],
    ["ms<=1", "there is no <=: for whole numbers, write 'ms<2'"],
    ["ms=<-1", "there is no <=: for whole numbers, write 'ms<0'"],
    ["ms>=1.5", "there is no >=: write 'ms>value'"],
    ["ms==1", "write 'ms=1'"],
    ["ms>abc", "write 'ms>100' with a number, or 'ms>\"abc\"' to compare texts"],
    ["failed<true", "write 'failed<100' with a number, or 'failed<\"true\"' to compare texts"],
  ]) {
    assert.throws(() => parseConditions([given]), { code: "USAGE", advice: wanted }, given);
  }
  for (const given of ["ms<>1", "ms!==1", "text=<b", "ms>", "ms<<1"]) {
    assert.throws(() => parseConditions([given]), { code: "USAGE" }, given);
  }
  assert.deepEqual(plain(parseConditions(['text="=>1"', 'run>"2026-11"', "path^==x"])), {
    text: { eq: "=>1" },
    run: { gt: "2026-11" },
    path: { prefix: "=x" },
  });
});

test("a field may have the name of something that every object has", () => {
  assert.deepEqual(plain(parseConditions(["constructor=1", "__proto__=2"])), {
    constructor: { eq: 1 },
    ["__proto__"]: { eq: 2 },
  });
});

test("what is no condition is refused with the forms that there are", () => {
  for (const text of ["tool", "=x", "", "a b=1", `${"x".repeat(65)}=1`]) {
    assert.throws(
      () => parseConditions([text]),
      { code: "USAGE", advice: /field\^=beginning/ },
      text,
    );
  }
});

test("times are how long ago, or a date", () => {
  assert.equal(parseTime("2h", "--since", 10_000_000), 10_000_000 - 7_200_000);
  assert.equal(parseTime("2026-11-22T09:00:00Z", "--since"), Date.UTC(2026, 10, 22, 9));
  for (const text of ["", "h", "2y", "yesterday", "-1h", "99999999h", "2026"]) {
    assert.throws(() => parseTime(text, "--since"), { code: "USAGE", message: /--since/ }, text);
  }
});

test("records are asked for in pages, as many as are wanted, the newest last", async () => {
  const all = Array.from({ length: 5000 }, (_, at) => ({ id: 5000 - at }));
  let asked = 0;
  const control = /** @type {any} */ ({
    request: async (_, { limit, cursor = "0" }) => {
      asked += 1;
      const end = Number(cursor) + limit;
      return { records: all.slice(Number(cursor), end), cursor: String(end) };
    },
  });
  const found = await newestRecords(control, {}, 2500);
  assert.equal(asked, 3);
  assert.deepEqual([found.length, found[0].id, found.at(-1)?.id], [2500, 2501, 5000]);
});
