// Who pretends to be the gateway: on its port, by its descriptor, or at the place of its link. No
// secret is sent to it, nothing that it says is believed, and the user is told.

import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { test } from "node:test";
import { GatewayLink } from "../../../js/extension/gateway-link.mjs";
import { makePrivateFolder, readDescriptor, writePrivate } from "../../../js/lib/host-files.mjs";
import { openControl } from "../../../js/link/control.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { findFreePort } from "../../support/cli.mjs";
import { waitFor } from "../../support/wait.mjs";
import { withEnvironment } from "../../support/harness.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";

/** Listens, and keeps all that is said to it. @param {import("node:test").TestContext} t @param {net.ListenOptions} where @param {string} answer */
async function impostor(t, where, answer = "") {
  const heard = { text: "", connections: 0 };
  const sockets = new Set();
  const server = net.createServer((socket) => {
    heard.connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => (heard.text += bytes.toString("latin1")));
    if (answer) socket.end(answer);
  });
  await new Promise((resolve) => server.listen(where, () => resolve(undefined)));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return heard;
}

/** A session's link, and what its user is told. @param {import("node:test").TestContext} t @param {Record<string, string>} env */
function linking(t, env) {
  const files = gatewayFiles(env);
  /** @type {{troubles: string[], events: any[], log: string[], welcomed: number}} */
  const told = { troubles: [], events: [], log: [], welcomed: 0 };
  const link = withEnvironment(
    env,
    () =>
      new GatewayLink({
        files,
        register: () => ({ sessionId: "s-1", label: "", cwd: "/", cliPid: 1, mode: "live" }),
        onEvent: (event) => told.events.push(event),
        onWelcome: () => (told.welcomed += 1),
        onLost: () => {},
        onTrouble: (text) => told.troubles.push(text),
        log: (_level, text) => told.log.push(text),
      }),
  );
  t.after(() => link.stop("the test is over"));
  link.start();
  return told;
}

/** A home with the remains of a gateway: a token, and perhaps a descriptor. @param {import("node:test").TestContext} t */
async function remains(t) {
  const env = { COPILOT_HOME: temporaryFolder(t), TAP_GATEWAY_PORT: String(await findFreePort()) };
  const files = gatewayFiles(env);
  writePrivate(files.token, `ptk-${"7".repeat(64)}`);
  return { env, files };
}

const SECRET = "5".repeat(64);
const claim = (home) => {
  const body = JSON.stringify({ program: "tap", version: "9.9.9", home });
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

test("a program on the port gets no token, and the user is told whose port it is", async (t) => {
  const { env, files } = await remains(t);
  const heard = await impostor(t, { port: files.port, host: "127.0.0.1" }, "SSH-2.0\r\n");
  const told = linking(t, env);
  await waitFor(() => told.troubles.length > 0, { what: "a line for the user" });
  assert.match(told.troubles[0], new RegExp(`port ${files.port} is taken by a different program`));
  assert.match(told.troubles[0], /TAP_GATEWAY_PORT/);
  assert.match(heard.text, /^GET \/ HTTP/);
  assert.doesNotMatch(heard.text, /ptk-|7777|secret|register/);
});

test("a program that answers as our gateway gets no token, and is not waited for in silence", async (t) => {
  const { env, files } = await remains(t);
  const where = { port: files.port, host: "127.0.0.1" };
  const heard = await impostor(t, where, claim(files.homeHash));
  const told = linking(t, env);
  await waitFor(() => told.troubles.length > 0, { what: "a line for the user" });
  assert.match(told.troubles[0], /answers as the tap gateway .* TAP_GATEWAY_PORT/);
  assert.equal(told.welcomed, 0);
  assert.doesNotMatch(heard.text, /ptk-|7777|secret|register/);
});

test("a descriptor that others can write, or that is a link, is ignored", async (t) => {
  const { env, files } = await remains(t);
  makePrivateFolder(path.dirname(files.link));
  const heard = await impostor(t, { path: files.link });
  const good = {
    pid: process.pid,
    port: files.port,
    link: files.link,
    secret: SECRET,
    version: "9.9.9",
  };
  const elsewhere = path.join(env.COPILOT_HOME, "elsewhere");
  fs.writeFileSync(elsewhere, JSON.stringify(good), { mode: 0o600 });
  fs.symlinkSync(elsewhere, files.descriptor);
  assert.equal(readDescriptor(files.descriptor), undefined, "a link");
  writePrivate(files.descriptor, JSON.stringify(good));
  assert.deepEqual(readDescriptor(files.descriptor), good);
  for (const mode of [0o620, 0o602, 0o666]) {
    fs.chmodSync(files.descriptor, mode);
    assert.equal(readDescriptor(files.descriptor), undefined, mode.toString(8));
  }
  await assert.rejects(openControl(files), /no gateway runs/);
  assert.equal(heard.connections, 0);
});

test("a link in a folder that others can enter is not used", async (t) => {
  const { files } = await remains(t);
  const folder = path.join(temporaryFolder(t), "shared");
  const link = path.join(folder, "link");
  fs.mkdirSync(folder);
  const heard = await impostor(t, { path: link });
  const descriptor = { pid: process.pid, port: files.port, link, secret: SECRET, version: "9.9.9" };
  writePrivate(files.descriptor, JSON.stringify(descriptor));
  for (const mode of [0o777, 0o755, 0o710, 0o701, 0o1777]) {
    fs.chmodSync(folder, mode);
    assert.equal(readDescriptor(files.descriptor), undefined, mode.toString(8));
  }
  fs.chmodSync(folder, 0o700);
  assert.deepEqual(readDescriptor(files.descriptor), descriptor);
  assert.equal(heard.connections, 0);
});

test("a folder of another user at the link's place is used by neither host nor session: the host makes another", async (t) => {
  const deep = path.join(temporaryFolder(t), "x".repeat(90));
  const runtime = temporaryFolder(t);
  const env = {
    COPILOT_HOME: deep,
    XDG_RUNTIME_DIR: runtime,
    TAP_GATEWAY_PORT: String(await findFreePort()),
  };
  const files = gatewayFiles(env);
  const folder = path.dirname(files.link);
  assert.equal(path.dirname(folder), runtime, "nothing between it and the temp folder");
  // Somebody was there first: with a folder of another's (root can make one), or with a link to it.
  if (process.getuid?.() === 0) {
    fs.mkdirSync(folder, { mode: 0o777 });
    fs.chownSync(folder, 65_534, 65_534);
  } else {
    fs.symlinkSync("/tmp", folder);
  }
  const heard = await impostor(t, { path: path.join(fs.realpathSync(folder), "link") });
  const descriptor = {
    pid: 1,
    port: files.port,
    link: files.link,
    secret: SECRET,
    version: "9.9.9",
  };
  writePrivate(files.descriptor, JSON.stringify(descriptor));
  assert.equal(readDescriptor(files.descriptor), undefined);
  const host = await Host.elected(t, env);
  const { link } = /** @type {any} */ (host.descriptor);
  const own = path.dirname(link);
  assert.notEqual(link, files.link);
  assert.equal(fs.statSync(own).mode & 0o777, 0o700);
  await waitFor(() => /is not a folder of this user/.test(host.log), {
    what: () => `the reason in the log:\n${host.log}`,
  });
  await host.session(t); // by way of the descriptor
  assert.equal(heard.connections, 0);

  // One that is killed leaves its folder to the next, which removes it.
  host.process.kill("SIGKILL");
  await host.gone;
  assert.ok(fs.existsSync(own));
  const next = await Host.elected(t, host.env);
  assert.ok(!fs.existsSync(own));
  const another = path.dirname(/** @type {any} */ (next.descriptor).link);
  next.process.kill("SIGTERM");
  await next.exit();
  assert.ok(!fs.existsSync(another), "one that ends takes its folder along");
});

test("a descriptor that is replaced leads nobody astray: the host writes its own again", async (t) => {
  const host = await Host.elected(t);
  const session = await host.withToken(t);
  const folder = temporaryFolder(t);
  const heard = await impostor(t, { path: path.join(folder, "link") });
  const right = fs.readFileSync(host.files.descriptor, "utf8");
  const wrong = { ...JSON.parse(right), link: path.join(folder, "link") };
  for (const content of [JSON.stringify(wrong), "", "{"]) {
    writePrivate(host.files.descriptor, content);
    await waitFor(() => fs.readFileSync(host.files.descriptor, "utf8") === right, {
      what: "the host's own descriptor",
    });
  }
  fs.rmSync(host.files.descriptor);
  fs.symlinkSync(path.join(folder, "nowhere"), host.files.descriptor);
  await waitFor(() => fs.lstatSync(host.files.descriptor).isFile(), { what: "a file again" });
  assert.equal(heard.connections, 0);
  assert.match(await session.call("tap_status"), /No provider/);
});
