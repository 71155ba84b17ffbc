import { type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import type { Stream } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import { openSocket } from "../../src/http/hold-socket.ts";
import { readTitles } from "../support/journey-world.ts";
import { postOnce, sendAtRate } from "../support/posting.ts";
import { openRaw } from "../support/raw-http.ts";
import { type RelayProcess, startRelayProcess, webhookSecret } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

/**
 * A listening socket that outlives the relay: held by systemd, whose part the test plays, or by `serve --supervised`.
 * Restarts under 50 alerts a second from senders that never repeat one, half of them over new connections and half over
 * kept ones. Each alert that was sent has to be there once, whatever its sender was told.
 *
 *     npm run build && TOCSIN_RESTARTS=100 npx vitest run test/journey/held-socket.test.ts
 *
 * does 100 of them each way. Without the variable there are three.
 */
const restarts = Number(process.env.TOCSIN_RESTARTS ?? 3);
const alertsPerSecond = 50;
const bin = new URL("../../bin/tocsin.js", import.meta.url).pathname;
const supervised = [bin, "serve", "--supervised", "--json"];
const quiet = { TELEGRAM_CHAT_IDS: "", EMAIL_TO: "", LOG_LEVEL: "error" };

const ways = [
  { by: "systemd", start: startUnderSystemd },
  { by: "the supervisor", start: startUnderSupervisor },
];

it.each(ways)(
  "held by $by, loses no alert of a sender that never repeats and doubles none over restarts",
  async (way) => {
    const relay = await way.start();
    const senders = startSenders(relay.hookUrl);
    for (let round = 0; round < restarts; round += 1) {
      const enough = senders.answered() + alertsPerSecond / 2;
      await expect.poll(senders.answered).toBeGreaterThanOrEqual(enough);
      await relay.restart();
    }
    const seen = await senders.stop();
    expect((await readTitles(relay.current())).sort()).toEqual(seen.sent);
    // A new connection waits for the relay that takes it; a kept one may end just when its next alert leaves.
    expect(seen.failedOnNew).toEqual([]);
  },
  3_600_000,
);

it("keeps what comes while no relay lives, also from a sender that has given up, for the one after a crash", async () => {
  const { socket, hookUrl } = await holdSocket();
  const dataDir = makeTempFolder();
  const relay = await startRelayProcess(dataDir, quiet, undefined, socket);
  await relay.kill();
  const patient = postOnce(hookUrl, "patient");
  const hasty = await openRaw(hookUrl);
  const head = `POST ${new URL(hookUrl).pathname} HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n`;
  await hasty.write(`${head}{"title":"hasty"}`);
  hasty.socket.destroy();
  const next = await startRelayProcess(dataDir, quiet, undefined, socket);
  expect(await patient).toBe(202);
  await expect.poll(async () => (await readTitles(next)).sort()).toEqual(["hasty", "patient"]);
});

const refusal = async (dataDir: string, socket: Stream | number, env = {}) => {
  const started = startRelayProcess(dataDir, { ...quiet, ...env }, undefined, socket);
  const { message } = await started.then(
    () => new Error("it started"),
    (error: Error) => error,
  );
  return message;
};

it("a socket that cannot be listened on is refused in one line: a file, a socket of the file system, one that lets in more than HOST says", async () => {
  const dataDir = makeTempFolder();
  const file = openSync(join(dataDir, "file"), "w");
  const local = createServer().listen(join(dataDir, "local"));
  await once(local, "listening");
  const open = await openSocket("0.0.0.0", 0);
  onTestFinished(() => {
    closeSync(file);
    local.close();
    (open as HeldSocket).close();
  });
  const noSocket = "File descriptor 3 is no TCP socket that can be listened on.";
  const tooOpen = /ended with 2: error: The socket that was handed over listens on 0\.0\.0\.0:\d+, and HOST \(127/;
  expect(await refusal(dataDir, file)).toContain(`ended with 2: error: ${noSocket}\nhint: `);
  expect(await refusal(dataDir, (local as unknown as { _handle: Stream })._handle)).toContain(
    `ended with 2: error: ${noSocket}\nhint: `,
  );
  expect(await refusal(dataDir, open)).toMatch(tooOpen);
  expect(await refusal(dataDir, open, { HOST: "0.0.0.0" })).toBe("it started");
});

it.each([
  ["a relay", 3, []],
  ["a relay whose socket is its standard input, as of supervisord's fcgi-program,", 0, []],
  ["the supervisor", 3, ["--supervised"]],
])(
  "%s starts, takes alerts and ends though what it writes reaches nobody, as on a full disk or behind a terminal that is gone",
  async (_what, fd, options) => {
    const { socket, hookUrl } = await holdSocket();
    const full = openSync("/dev/full", "w");
    onTestFinished(() => closeSync(full));
    const descriptors = fd === 0 ? [socket, full, full] : ["ignore" as const, full, full, socket];
    const { child, ended } = spawnServe([String(fd), ...options], descriptors);
    await expect.poll(() => postOnce(hookUrl, "first").catch(() => 0)).toBe(202);
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  },
);

it("the supervisor starts a relay that was killed again, which answers what waited, and ends with it at SIGTERM", async () => {
  const relay = await startRelayProcess(makeTempFolder(), quiet, supervised);
  const [first = 0] = relayPids(relay);
  process.kill(first, "SIGKILL");
  await expect.poll(relay.log).toContain('"signal":"SIGKILL"');
  expect((await relay.post(`{"title":"waited"}`)).status).toBe(202);
  const [, second = 0] = relayPids(relay);
  expect(await relay.stop()).toBe(0);
  expect([first, second].filter(isAlive)).toEqual([]);
  await expect(relay.post("{}")).rejects.toThrow("fetch failed");
});

it("the supervisor goes on with the relay that runs when what .env says by then is refused, and alerts wait for a mended one", async () => {
  const dataDir = makeTempFolder();
  const env = join(dataDir, ".env");
  writeFileSync(env, "TRUSTED_PROXIES=127.0.0.1\n");
  const relay = await startRelayProcess(dataDir, quiet, supervised);
  writeFileSync(env, "TRUSTED_PROXIES=nonsense!\n");
  relay.process.kill("SIGHUP");
  await expect.poll(relay.log).toContain("supervisor.restart_refused");
  expect(relay.log()).toMatch(/"why":"TRUSTED_PROXIES: .*nonsense!/);
  expect((await relay.post(`{"title":"meanwhile"}`)).status).toBe(202);
  const [first = 0, ...others] = relayPids(relay);
  expect(others).toEqual([]);
  process.kill(first, "SIGKILL");
  await expect.poll(relay.log).toContain('"status":2');
  const waiting = relay.post(`{"title":"waited"}`);
  writeFileSync(env, "TRUSTED_PROXIES=10.0.0.0/8\n");
  relay.process.kill("SIGHUP");
  expect((await waiting).status).toBe(202);
});

it("the supervisor ends with status 2 when the first relay refuses its configuration, and says whose port it cannot have", async () => {
  const broken = startRelayProcess(makeTempFolder(), { ...quiet, LOG_LEVEL: "loud" }, supervised);
  await expect(broken).rejects.toThrow(/ended with 2: .*LOG_LEVEL/s);
  const { hookUrl } = await startRelayProcess(makeTempFolder(), quiet);
  const { port } = new URL(hookUrl);
  const second = startRelayProcess(makeTempFolder(), { ...quiet, PORT: port }, supervised);
  await expect(second).rejects.toThrow(`Cannot listen on 127.0.0.1:${port}: another process listens there.`);
  const third = startRelayProcess(makeTempFolder(), quiet, [...supervised, "--listen-fd", "99"]);
  await expect(third).rejects.toThrow(/ended with 2: .*File descriptor 99 is no TCP socket/s);
});

it("the supervisor leaves no relay behind when it ends while that is still being loaded", async () => {
  const { socket } = await holdSocket();
  const { child, ended } = spawnServe(["3"], ["ignore", "ignore", "ignore", socket, "ipc"]);
  child.disconnect();
  expect(await ended).toEqual([0, null]);
});

it("the supervisor is told of in the status, leaves SIGHUP to itself, and leaves no relay behind when it is killed", async () => {
  const relay = await startRelayProcess(makeTempFolder(), quiet, supervised);
  const { data } = await relay.getJson<{ data: { relay: { socketIsHeld: boolean } } }>("/api/status");
  expect(data.relay.socketIsHeld).toBe(true);
  // The relay gets it as well from a terminal that is closed.
  process.kill(relayPids(relay)[0] ?? 0, "SIGHUP");
  expect((await relay.post(`{"title":"still there"}`)).status).toBe(202);
  expect(relay.log()).not.toContain("supervisor.relay_ended");
  await relay.kill();
  await expect.poll(() => relayPids(relay).filter(isAlive)).toEqual([]);
});

/** A process that listens on one of these descriptors. */
function spawnServe(listenOn: string[], stdio: StdioOptions) {
  const dataDir = makeTempFolder();
  const env = { PATH: process.env.PATH, HOME: dataDir, DATA_DIR: dataDir, WEBHOOK_SECRET: webhookSecret };
  const child = spawn(process.execPath, [bin, "serve", "--listen-fd", ...listenOn], { cwd: dataDir, env, stdio });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, ended: once(child, "exit") };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Sends at its rate and each alert once, without a key; half over new connections, half over kept ones. */
function startSenders(hookUrl: string) {
  const kept = new Agent({ keepAlive: true, maxSockets: 8 });
  const fresh = new Agent({ keepAlive: false });
  const sent: string[] = [];
  const failedOnNew: string[] = [];
  let answered = 0;
  async function send(title: string, isKept: boolean): Promise<void> {
    const status = await postOnce(hookUrl, title, isKept ? kept : fresh).catch((error) => String(error));
    if (status === 202) answered += 1;
    else if (!isKept) failedOnNew.push(`${title}: ${status}`);
  }
  const senders = sendAtRate(alertsPerSecond, (serial) => {
    const title = `alert ${String(serial).padStart(6, "0")}`;
    sent.push(title);
    return send(title, serial % 2 === 0);
  });
  return {
    answered: () => answered,
    async stop() {
      await senders.stop();
      kept.destroy();
      return { sent, failedOnNew };
    },
  };
}

type HeldSocket = Stream & { getsockname(into: object): number; close(): void };

/** What systemd holds for `deploy/tocsin.socket`. */
async function holdSocket(): Promise<{ socket: Stream; hookUrl: string }> {
  const socket = await openSocket("127.0.0.1", 0);
  const held = socket as HeldSocket;
  onTestFinished(() => held.close());
  const address = {} as AddressInfo;
  held.getsockname(address);
  return { socket, hookUrl: `http://127.0.0.1:${address.port}/hooks/${webhookSecret}` };
}

async function startUnderSystemd() {
  const dataDir = makeTempFolder();
  const { socket, hookUrl } = await holdSocket();
  let relay = await startRelayProcess(dataDir, quiet, undefined, socket);
  return {
    hookUrl,
    current: () => relay,
    /** Resolves when the next process answers. */
    async restart() {
      expect(await relay.stop()).toBe(0);
      relay = await startRelayProcess(dataDir, quiet, undefined, socket);
    },
  };
}

async function startUnderSupervisor() {
  const relay = await startRelayProcess(makeTempFolder(), quiet, supervised);
  return {
    hookUrl: relay.hookUrl,
    current: () => relay,
    async restart() {
      const { length } = relayPids(relay);
      relay.process.kill("SIGHUP");
      await expect.poll(() => relayPids(relay).length).toBeGreaterThan(length);
      await expect.poll(async () => (await relay.api("/readyz")).ok).toBe(true);
    },
  };
}

/** Of each relay that the supervisor has started. */
const relayPids = (relay: RelayProcess): number[] =>
  [...relay.log().matchAll(/"pid":(\d+),"event":"supervisor.relay_started"/g)].map(([, pid]) => Number(pid));
