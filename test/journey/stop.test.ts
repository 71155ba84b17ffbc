import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type ApiAlert, createJourneyWorld, waitForState } from "../support/journey-world.ts";
import { openRaw } from "../support/raw-http.ts";
import { adminToken, type RelayProcess, startRelayProcess } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createHttpVendor } from "../support/vendors/http-vendor.ts";

const bin = new URL("../../bin/tocsin.js", import.meta.url).pathname;
const bearer = `Authorization: Bearer ${adminToken}`;

/** A relay that sends to a receiver which answers when the test says so. */
async function startWithHangingVendor() {
  const vendor = await createHttpVendor(() => ({ status: 204 }));
  vendor.behave({ kind: "hold" });
  const world = await createJourneyWorld({
    yaml: `
destinations:
  hook: { type: webhook, url: "${vendor.origin}", allowInternal: ["127.0.0.1"] }
`,
  });
  const start = () => world.start({ TELEGRAM_CHAT_IDS: "", EMAIL_TO: "" });
  return { count: () => vendor.held.length, vendor, relay: await start(), start };
}

async function untilStopping(relay: RelayProcess): Promise<void> {
  await expect.poll(relay.log).toContain("relay.stopping");
}

it("ends while a reader of the stream stays that asks for another one over its connection, and says so to it", async () => {
  const relay = await startRelayProcess(makeTempFolder(), {});
  const reader = await openRaw(relay.url);
  let text = "";
  reader.socket.on("data", (chunk) => {
    text += chunk;
  });
  const ask = () => reader.write(`GET /api/stream HTTP/1.1\r\nHost: x\r\n${bearer}\r\n\r\n`);
  await ask();
  await expect.poll(() => text).toContain("event: ready");
  const ended = relay.stop();
  await expect.poll(() => text).toContain("event: stopping\nretry: 2000\n");
  void ask();
  expect(await ended).toBe(0);
});

it("accepts alerts until the last send has ended, refuses changes, and delivers them after the next start", async () => {
  const { vendor, count, relay, start } = await startWithHangingVendor();
  const first = await relay.post(`{"title":"under way"}`);
  await expect.poll(count).toBe(1);
  const half = await openRaw(relay.url);
  await half.write(`POST ${new URL(relay.hookUrl).pathname} HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\n\r\n`);

  const ended = relay.stop();
  await untilStopping(relay);
  expect((await relay.api("/readyz")).status).toBe(503);
  expect((await relay.post(`{"title":"meanwhile"}`)).status).toBe(202);
  await half.write(`{"title":"half"}`);
  const [answer] = await half.readToEnd();
  expect([answer?.status, /^connection: close$/im.test(answer?.head ?? "")]).toEqual([202, true]);
  const refused = await relay.api(`/api/alerts/${first.ids[0]}/resend`, { method: "POST" });
  expect([refused.status, refused.headers.get("connection")]).toEqual([503, "close"]);
  expect(await refused.json()).toMatchObject({ error: { code: "relay_stopping" } });
  expect(relay.process.exitCode).toBeNull();
  for (const answer of vendor.held.splice(0)) answer();
  expect(await ended).toBe(0);

  const again = await start();
  expect((await waitForState(again, first.ids[0] ?? "", "sent")).deliveries).toHaveLength(1);
  await expect.poll(count).toBeGreaterThan(0);
  const { data } = await again.getJson<{ data: ApiAlert[] }>("/api/alerts");
  expect(data.map(({ title }) => title).sort()).toEqual(["half", "meanwhile", "under way"]);
});

it("ends in order when the terminal that it was started at is closed", async () => {
  const dataDir = makeTempFolder();
  const log = join(dataDir, "log");
  const command = `PORT=0 DATA_DIR=${dataDir} exec ${process.execPath} ${bin} serve 2>${log}`;
  const terminal = spawn("script", ["--quiet", "--flush", "--command", command, "/dev/null"], {
    cwd: dataDir,
    stdio: ["pipe", "ignore", "ignore"],
  });
  onTestFinished(() => void terminal.kill("SIGKILL"));
  const says = () => (existsSync(log) ? readFileSync(log, "utf8") : "");
  await expect.poll(says).toContain("relay.started");
  terminal.kill("SIGKILL");
  await expect.poll(says).toContain("relay.stopped");
});

it("a later second signal ends it at once, and nothing that was answered is lost", async () => {
  const { count, relay, start } = await startWithHangingVendor();
  const accepted = [...(await relay.post(`{"title":"under way"}`)).ids];
  await expect.poll(count).toBe(1);
  const exited = once(relay.process, "exit");
  relay.process.kill("SIGTERM");
  await untilStopping(relay);
  accepted.push(...(await relay.post(`{"title":"meanwhile"}`)).ids);
  await expect
    .poll(() => {
      relay.process.kill("SIGINT");
      return relay.process.exitCode;
    })
    .not.toBe(null);
  expect((await exited)[0]).toBe(1);

  const again = await start();
  const { data } = await again.getJson<{ data: ApiAlert[] }>("/api/alerts");
  expect(data.map(({ id }) => id).sort()).toEqual(accepted.sort());
});
