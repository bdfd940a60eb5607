// Providers made with the SDKs, as programs of their own, on the real CLI: the model is offered their
// tools, calls them, and reads their answers; an event of theirs is in the timeline.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { REPO_ROOT } from "../support/cli.mjs";
import { say } from "../support/model.mjs";
import { onceOffered, startTap, steps } from "../support/tap.mjs";
import { withTimeout } from "../support/wait.mjs";
import { pythonForSdk } from "../../tools/setup.mjs";

const NODE_SDK = pathToFileURL(path.join(REPO_ROOT, "sdk", "node", "provider.mjs"));

const programs = {
  node: {
    command: process.execPath,
    file: "weather.mjs",
    env: {},
    code: `
      import { provider } from ${JSON.stringify(NODE_SDK.href)};
      const tap = provider("weather");
      const city = { type: "string" };
      const parameters = { type: "object", properties: { city }, required: ["city"] };
      tap.tool("forecast", { description: "Tomorrow", parameters }, async (args, call) => {
        await tap.push("asked", args.city, { level: "surface" });
        return \`rain in \${args.city} for \${call.session}\`;
      });
      process.once("SIGTERM", () => tap.close());
      await tap.connect();`,
  },
  python: {
    command: await pythonForSdk(),
    file: "weather.py",
    env: { PYTHONPATH: path.join(REPO_ROOT, "sdk", "python"), PYTHONDONTWRITEBYTECODE: "1" },
    code: `
from copilot_tap import Call, Provider

tap = Provider("weather")

@tap.tool
async def forecast(city: str, *, call: Call) -> str:
    """Tomorrow"""
    await tap.push("asked", city, level="surface")
    return f"rain in {city} for {call.session}"

tap.main()`,
  },
};

describe("a provider made with the SDK", { concurrency: 1 }, () => {
  for (const [language, { command, file, env: own, code }] of Object.entries(programs)) {
    test(`for ${language} waits for the CLI, is called, and corrects the model`, async (t) => {
      const forecast = (args) => onceOffered("forecast", args);
      const script = steps([forecast({ town: "Bern" }), forecast({ city: "Bern" }), say("bye")]);
      const rig = await startTap(t, script);
      const program = path.join(rig.cli.workFolder, file);
      await writeFile(program, code);
      const where = { COPILOT_HOME: rig.cli.home, TAP_GATEWAY_PORT: String(rig.port) };
      const env = { ...process.env, TAP_PROVIDER_TOKEN: "", ...own, ...where };
      const child = spawn(command, [program], { env, stdio: ["ignore", "ignore", "inherit"] });
      t.after(() => child.kill("SIGKILL"));
      const ended = new Promise((resolve) => child.on("close", (status) => resolve(status)));

      await rig.run();
      const requests = rig.model.requests.map((request) => JSON.stringify(request));
      assert.ok(
        requests.some((text) => /INVALID_ARGUMENTS: .*city/.test(text)),
        "the model has read the fault of its arguments",
      );
      assert.match(rig.result("forecast"), /^rain in Bern for [\da-f-]{36}$/);
      assert.ok((await rig.timeline()).includes("tap: weather/asked: Bern"));
      child.kill();
      assert.equal(await withTimeout(ended, "its end"), 0);
    });
  }
});
