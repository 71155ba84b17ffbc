import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { CliContext } from "../../src/cli/shell/context.ts";
import { loadOrCreateSecrets } from "../../src/config/generated-secrets.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import type { Clock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import type { AlertDetail } from "../../src/core/ports/alert-log.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { startRelay } from "../../src/start/relay.ts";
import { keptFiles } from "../../src/store/kept-files.ts";
import { runTocsin } from "../support/cli.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { deskChat, mailAddress, openStandIns, opsChat } from "../support/journey-world.ts";
import { findLastingPort } from "../support/lasting-port.ts";
import { dropKeptConnections } from "../support/loopback.ts";
import { readingThreadEntry } from "../support/reader.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

export { botToken, deskChat, mailAddress, opsChat } from "../support/journey-world.ts";

export const storeThreadEntry = compiledThread();

export const yaml = `
destinations:
  desk: { type: telegram, chatId: "${deskChat}" }
  ops: { type: telegram, chatId: "${opsChat}" }
  mail: { type: email, to: [${mailAddress}] }
routes:
  - { name: urgent, match: { severity: critical }, to: [desk, mail], continue: true }
  - { name: all, match: { severity: { not: info } }, to: [ops] }
`;

export type RelayWorld = Awaited<ReturnType<typeof createRelayWorld>>;

/** A real relay with a strict chat and a mail server, and commands run against it as a person on that machine would. */
export async function createRelayWorld(options: { yaml?: string; env?: Record<string, string>; clock?: Clock } = {}) {
  const dataDir = makeTempFolder();
  const configPath = join(dataDir, "tocsin.yaml");
  writeFileSync(configPath, options.yaml ?? yaml);
  const standIns = await openStandIns();
  const own = { PORT: String(await findLastingPort()), DATA_DIR: dataDir, TOCSIN_CONFIG: configPath };
  const env: Record<string, string> = { ...own, ...standIns.env, ...options.env };
  const config = loadConfig({ env, cwd: dataDir });
  const secrets = await loadOrCreateSecrets(keptFiles(dataDir), config);
  const { clock } = options;
  const relay = await startRelay({ config, secrets, log: silentLog, clock, storeThreadEntry, readingThreadEntry });
  onTestFinished(() => relay.stop());

  const world = {
    ...{ dataDir, ...standIns, env, relay },
    /** Stops it; commands find the database only. */
    stopRelay() {
      dropKeptConnections();
      return relay.stop();
    },
    /** To the hook. The ids. */
    async post(body: unknown, headers: Record<string, string> = { "content-type": "application/json" }) {
      const isRaw = typeof body === "string" || body instanceof Uint8Array;
      const response = await fetch(`${relay.localUrl}/hooks/${secrets.webhookSecret.reveal()}`, {
        method: "POST",
        headers,
        body: isRaw ? body : JSON.stringify(body),
      });
      const { data } = (await response.json()) as { data: { id?: string; ids?: string[] } };
      return data.ids ?? [data.id ?? ""];
    },
    /** Waits until all deliveries of the alert have ended. */
    ended: (id: string) => untilEnded(relay.store, id),
    /** Posts one alert, and waits until its deliveries have ended. */
    send: async (body: unknown, headers?: Record<string, string>): Promise<AlertDetail> =>
      world.ended((await world.post(body, headers))[0] ?? ""),
    /** What it says with `--json`. */
    // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails by itself when that is not there
    data: async (command: string, overrides?: Partial<CliContext>): Promise<any> =>
      (await world.run(`${command} --json`, overrides)).json().data,
    /** A command, as it is typed where none of its words holds a space. */
    run: (command: string | string[], overrides: Partial<CliContext> = {}) =>
      runTocsin(
        [command].flatMap((part) => (typeof part === "string" ? part.split(" ") : part)),
        { env, cwd: dataDir, now: Date.now, sleep: (ms, signal) => delay(ms, undefined, { signal }), ...overrides },
      ),
  };
  return world;
}

/** For a command that waits: its time passes, all at once, when that has come about which it shall find at its end. */
export function passTimeWhen(hasComeAbout: () => Promise<boolean>): Pick<CliContext, "now" | "sleep"> {
  const startedAt = Date.now();
  let isOver = false;
  return {
    now: () => startedAt + (isOver ? 3_600_000 : 0),
    sleep: async (_ms, signal) => {
      await delay(20, undefined, { signal });
      isOver ||= await hasComeAbout();
    },
  };
}

/** Looks after every commit; nothing is asked while nothing happens. */
async function untilEnded(store: Store, id: string): Promise<AlertDetail> {
  for (;;) {
    const changed = new Promise<void>((resolve) => {
      const forget = store.subscribe("changed", () => {
        forget();
        resolve();
      });
    });
    const alert = await store.getAlert(id);
    const isOpen = alert?.deliveries.some(({ finishedAt }) => finishedAt === undefined) ?? true;
    if (alert?.routedAt !== undefined && !isOpen) return alert;
    await changed;
  }
}
