// Pages of tap_query_records: what does not fit into a result is on the next one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { install } from "../../../js/features/records/feature.mjs";

/** A store whose cursors nobody else can make. @param {{id: number}[]} records */
function toolOn(records) {
  /** @type {(args: object) => Promise<any>} */
  let tool = async () => {};
  const query = async (
    /** @type {{limit: number, cursor?: string}} */ { limit, cursor = "of:0" },
  ) => {
    const from = Number(/^of:(\d+)$/.exec(cursor)?.[1]);
    const end = from + limit;
    const more = end < records.length && { cursor: `of:${end}` };
    return { records: records.slice(from, end), ...more };
  };
  install(
    /** @type {any} */ ({
      tools: {
        register: (/** @type {string} */ _, /** @type {typeof tool} */ run) => (tool = run),
      },
      services: { records: { query } },
    }),
  );
  return tool;
}

test("a page that was too long goes on with the store's own cursor", async () => {
  const records = Array.from({ length: 40 }, (_, id) => ({ id, body: "x".repeat(3000) }));
  const tool = toolOn(records);
  const ids = [];
  for (let cursor; ;) {
    const page = await tool({ collection: "gate", limit: 30, ...(cursor && { cursor }) });
    assert.ok(Buffer.byteLength(JSON.stringify(page)) <= 32 * 1024);
    ids.push(...page.records.map((/** @type {{id: number}} */ { id }) => id));
    ({ cursor } = page);
    if (cursor === undefined) break;
  }
  assert.deepEqual(
    ids,
    records.map(({ id }) => id),
  );
});
