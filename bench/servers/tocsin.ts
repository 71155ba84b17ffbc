import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import type { Bench } from "../harness/bench.ts";
import type { StandInKind } from "../harness/stand-ins.ts";
import { type BenchedServer, launch, type Server } from "./server.ts";

const secret = "bench-hook-kS93jdLwm2PzQe81";
export const botToken = "7:bench-token-bench-token";
export const adminToken = "bench-admin-Vb72kdPwq0XnRt64";

type Config = Record<string, unknown>;

interface TocsinOptions {
  /** The address of a PostgreSQL. Default: a log in the folder. */
  databaseUrl?: string;
  /** Whether the statements of better-sqlite3 are counted. Default: where it is used. */
  isCounted?: boolean;
}

type ConfigOf = (port: number) => Config;

/** Digests to a Telegram group, at the default pace. */
const digestConfig: ConfigOf = () => ({ destinations: { desk: { type: "telegram", chatId: "-1001" } } });

/**
 * With everything on, as users have it: every alert is fsynced before its answer.
 * @param checkout the measured, built one
 * @param configOf the configuration for a stand-in at this port. Default: digests
 */
export function tocsinIn(checkout: string, configOf = digestConfig, options: TocsinOptions = {}): Server["launch"] {
  const { databaseUrl, isCounted = databaseUrl === undefined } = options;
  return (place, { folder, port }) => {
    mkdirSync(folder, { recursive: true });
    const configPath = join(folder, "tocsin.yaml");
    // JSON is YAML.
    writeFileSync(configPath, JSON.stringify(configOf(port)));
    return launch({
      place,
      command: () => [process.execPath, join(checkout, "bin/tocsin.js"), "serve", "--json"],
      hook: `/hooks/${secret}`,
      countsIn: isCounted ? folder : undefined,
      env: {
        HOST: "127.0.0.1",
        DATA_DIR: folder,
        ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
        WEBHOOK_SECRET: secret,
        ADMIN_TOKEN: adminToken,
        LOG_LEVEL: "error",
        TOCSIN_CONFIG: configPath,
        TELEGRAM_BOT_TOKEN: botToken,
        TELEGRAM_API_ROOT: rootUrl(port),
        SMTP_URL: `smtp://127.0.0.1:${port}`,
        EMAIL_FROM: "tocsin@bench.example",
      },
    });
  };
}

export const tocsins = ({ checkouts }: Pick<Bench, "checkouts">, configOf?: ConfigOf, options?: TocsinOptions) =>
  checkouts.map(({ name, folder }): Server => ({ name, launch: tocsinIn(folder, configOf, options) }));

export const rootUrl = (port: number) => `http://127.0.0.1:${port}`;
export const sinkUrl = (port: number) => `${rootUrl(port)}/sink`;

/** A destination that gets one message for each alert, as quickly as possible. */
export function quickDesk(kind: StandInKind, port: number): Config {
  const desk = {
    webhook: { type: "webhook", url: sinkUrl(port), allowInternal: ["127.0.0.1"] },
    telegram: { type: "telegram", chatId: "-1001" },
    mail: { type: "email", to: ["desk@bench.example"] },
  }[kind];
  return { ...desk, digestOver: 10_000, pace: {} };
}

export function relayConfig(kind: StandInKind, port: number): Config {
  return { destinations: { desk: quickDesk(kind, port) }, delivery: { telegramBotPace: {} } };
}

/** The last two digits of an alert's number decide which of these desks gets it. */
export function sharedConfig(port: number, desks: number): Config {
  const digits = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, "0"));
  const routes = Array.from({ length: desks }, (_, desk) => {
    const own = digits.filter((_, number) => number % desks === desk);
    return { name: `desk-${desk}`, match: { title: { matches: `(${own.join("|")})$` } }, to: [`desk-${desk}`] };
  });
  return { routes, destinations: Object.fromEntries(routes.map(({ name }) => [name, quickDesk("webhook", port)])) };
}

/** The number of accepted alerts that are not routed. */
export async function countUnrouted({ origin }: BenchedServer): Promise<number> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const answer = await fetch(`${origin}/api/status`, { headers, signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) throw new Error(`${origin}/api/status answered ${answer.status}`);
  return ((await answer.json()) as { data: { queue: { unrouted: number } } }).data.queue.unrouted;
}

export async function allRouted(server: BenchedServer): Promise<void> {
  while ((await countUnrouted(server)) > 0) await sleep(250);
}

/** Compares with the bodies in the log: each is of another alert, and the relay's notices have none. */
export function lookUp(folder: string, accepted: number): { missing: number; doubled: number } {
  const db = new Sqlite(join(folder, "tocsin.db"), { readonly: true });
  const sql = "SELECT count(*) AS stored, count(DISTINCT body) AS different FROM requests";
  const { stored = 0, different = 0 } = db.prepare<[], Record<string, number>>(sql).get() ?? {};
  db.close();
  return { missing: accepted - different, doubled: stored - different };
}
