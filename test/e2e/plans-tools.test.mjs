// Plans and the programs of the user on the real CLI: tools that are lent to an agent, and the user's yes.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { callTool, say, toolNames, toolResults, userTexts } from "../support/model.mjs";
import { prepareForPlans } from "../support/plan-place.mjs";
import { startTap } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";
import { checkoutOf } from "../js/features/plans-rig.mjs";

const lastIsTool = (/** @type {any} */ { body }) => body.messages.at(-1).role === "tool";

describe("plans and the user's programs", { concurrency: 1 }, () => {
  test("an agent of a plan calls the tool that it was lent, and no other of that provider", async (t) => {
    const plan = {
      name: "weather",
      targetBranch: "report",
      nodes: [
        {
          id: "ask",
          work: { type: "agent", instructions: "write the weather", tools: ["forecast"] },
        },
      ],
    };
    /** @type {string[]} */
    let offered = [];
    const rig = await startTap(t, (request) => {
      const text = userTexts(request).join("\n");
      if (text.includes("write the weather") && !text.includes("make the plan")) {
        offered = toolNames(request);
        const results = toolResults(request);
        if (results.length === 0) return callTool("forecast", { city: "Oslo" });
        if (results.length === 1) {
          const command = `echo '${results[0].text}' > report.txt`;
          return callTool("bash", { command, description: "work" });
        }
        return say("done");
      }
      if (toolResults(request).some(({ name }) => name === "create_copilot_plan"))
        return say("it runs");
      const there = ["create_copilot_plan", "forecast"].every((name) =>
        toolNames(request).includes(name),
      );
      if (!there) return callTool("tap_status");
      return callTool("create_copilot_plan", plan);
    });
    const { repo, git } = prepareForPlans(rig, ["plans", "emitters"]);
    const before = checkoutOf(repo);
    rig.keepProviding({
      forecast: { handler: ({ city }) => `${city}: rain` },
      secret: { handler: () => "not lent" },
    });
    const terminal = await rig.interactive();
    await terminal.prompt("make the plan", /it runs/);
    await waitFor(() => git("branch", "--list", "report") !== "", {
      what: () => rig.report(),
    });
    assert.equal(git("show", "report:report.txt"), "Oslo: rain");
    assert.ok(offered.includes("forecast"));
    assert.ok(!offered.includes("secret"), offered.join());
    assert.deepEqual(checkoutOf(repo), before);
    await terminal.exit();
  });

  test("a plan that has used its budget pauses, says so, and continues with a larger budget", async (t) => {
    const plan = {
      name: "dear",
      budget: { tokens: 4 }, // the use of an agent: two requests of two
      nodes: [
        { id: "one", work: "@agent write number one" },
        { id: "two", work: "@agent write number two", dependencies: ["one"] },
      ],
    };
    let planId = "";
    const rig = await startTap(t, (request) => {
      const texts = userTexts(request);
      const isWorker = !texts.some((text) => text.includes("make the plan"));
      const number = isWorker ? /write number (one|two)/.exec(texts.join())?.[1] : undefined;
      if (number !== undefined) {
        if (lastIsTool(request)) return say("done");
        return callTool("bash", { command: `echo x > ${number}.txt`, description: "work" });
      }
      if (!toolNames(request).includes("create_copilot_plan")) return callTool("tap_status");
      const made = toolResults(request).find(({ name }) => name === "create_copilot_plan");
      planId ||= made ? JSON.parse(made.text).planId : "";
      if (made && lastIsTool(request)) return say("it runs");
      if (texts.at(-1)?.includes("go on")) {
        return callTool("resume_copilot_plan", { planId, budget: { tokens: 1000000 } });
      }
      if (texts.length > 1) return say("noted");
      return callTool("create_copilot_plan", plan);
    });
    prepareForPlans(rig, ["plans", "emitters"]);
    const told = (/** @type {RegExp} */ pattern) => () =>
      rig.model.requests.some((request) => userTexts(request).some((text) => pattern.test(text)));
    const terminal = await rig.interactive();
    await terminal.submit("make the plan");
    await terminal.waitForScreen(/has used its budget, and is paused/);
    await waitFor(told(/has used its budget and is paused\. Ask the user/));
    await terminal.submit("go on");
    await waitFor(told(/\(dear\) ended: succeeded \(2 succeeded\)/), {
      what: () => rig.report(),
    });
    await terminal.exit();
  });

  test("without allow-all the user is asked for his yes to a plan and to a command, once for each", async (t) => {
    const plan = { name: "one file", nodes: [{ id: "a", work: "echo one > one.txt" }] };
    const emitter = { name: "ticks", command: "echo tick; sleep 1000" };
    const rig = await startTap(t, (request) => {
      const names = toolNames(request);
      const there = ["create_copilot_plan", "tap_start_emitter"].every((one) =>
        names.includes(one),
      );
      if (!there) return callTool("tap_status");
      const last = toolResults(request).at(-1);
      if (lastIsTool(request) && last && last.name !== "tap_status") {
        return say(/the user has refused/.test(last.text) ? "refused it" : `took it: ${last.name}`);
      }
      const wanted = userTexts(request).at(-1) ?? "";
      if (wanted.includes("the emitter")) return callTool("tap_start_emitter", emitter);
      return callTool("create_copilot_plan", plan);
    });
    prepareForPlans(rig, ["plans", "emitters"]);
    const terminal = await rig.interactive({ allow: ["--allow-all-tools"], rows: 50, cols: 110 });
    await terminal.submit("make the plan");
    await terminal.waitForScreen(/run the plan "one file": 1 node in a git worktree/);
    await terminal.waitForScreen(/echo one > one\.txt/);
    await terminal.choose(["enter"]); // the default is no
    await terminal.waitForScreen(/refused it/);
    await terminal.submit("start the emitter");
    await terminal.waitForScreen(/run in the background, as ticks/);
    await terminal.choose(["down", "enter"]);
    await terminal.waitForScreen(/took it: tap_start_emitter/);
    await terminal.exit();
  });
});
