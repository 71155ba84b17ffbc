import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../workshop/stand-in.ts";
import { firstLine, type Place, start } from "../harness/processes.ts";
import type { StandInKind } from "../harness/stand-ins.ts";
import { type BenchedServer, countingStatements, serverOf } from "./server.ts";

const secret = "bench-hook-kS93jdLwm2PzQe81";
const hook = `/hooks/${secret}`;
export const adminToken = "bench-admin-Vb72kdPwq0XnRt64";

type Config = Record<string, unknown>;

export interface TocsinOptions {
  place: Place;
  /** The measured, built checkout. */
  checkout: string;
  folder: string;
  config: Config;
  /** The address of a PostgreSQL. Default: a log in `folder`. */
  databaseUrl?: string;
  /** The port of a stand-in for Telegram or mail. */
  standInPort?: number;
}

/** With everything on, as users have it: every alert is fsynced before its answer. */
export async function startTocsin(options: TocsinOptions): Promise<BenchedServer> {
  // Only better-sqlite3 is counted. A relay without the counter would end at its signal.
  const counting = options.databaseUrl === undefined ? countingStatements(options.folder) : undefined;
  const child = launch(options, 0, counting?.env);
  const { data } = JSON.parse(await firstLine(child)) as { data: { url: string } };
  return serverOf(child, data.url, hook, { statements: counting?.statements });
}

/** Does not wait until the server answers. */
export async function launchTocsin(options: TocsinOptions): Promise<BenchedServer> {
  const port = await freePort();
  const child = launch(options, port);
  child.stdout?.resume();
  return serverOf(child, `http://127.0.0.1:${port}`, hook);
}

function launch(options: TocsinOptions, port: number, env: Record<string, string> = {}): ChildProcess {
  const { place, checkout, folder, databaseUrl, standInPort = 9 } = options;
  const configPath = join(folder, "tocsin.yaml");
  // JSON is YAML.
  writeFileSync(configPath, JSON.stringify(options.config));
  return start([process.execPath, join(checkout, "bin/tocsin.js"), "serve", "--json"], {
    place,
    env: {
      ...env,
      PORT: String(port),
      HOST: "127.0.0.1",
      DATA_DIR: folder,
      ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
      WEBHOOK_SECRET: secret,
      ADMIN_TOKEN: adminToken,
      LOG_LEVEL: "error",
      TOCSIN_CONFIG: configPath,
      TELEGRAM_BOT_TOKEN: "7:bench-token-bench-token",
      TELEGRAM_API_ROOT: `http://127.0.0.1:${standInPort}`,
      SMTP_URL: `smtp://127.0.0.1:${standInPort}`,
      EMAIL_FROM: "tocsin@bench.example",
    },
  });
}

export const sinkUrl = (port: number) => `http://127.0.0.1:${port}/sink`;

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

/** Digests to a Telegram group, at the default pace. */
export const digestConfig: Config = { destinations: { desk: { type: "telegram", chatId: "-1001" } } };

interface Status {
  alerts: { total: number };
  queue: { unrouted: number };
}

export async function readStatus({ origin }: BenchedServer): Promise<Status> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const answer = await fetch(`${origin}/api/status`, { headers, signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) throw new Error(`${origin}/api/status answered ${answer.status}`);
  return ((await answer.json()) as { data: Status }).data;
}

export async function allRouted(server: BenchedServer): Promise<void> {
  while ((await readStatus(server)).queue.unrouted > 0) await sleep(250);
}
