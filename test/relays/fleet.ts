import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { openBalancer } from "../../workshop/demo/balancer.ts";
import { createFailingProxy, type FailingProxy } from "../support/failing-proxy.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import { type RelayProcess, startRelayProcess, webhookSecret } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { danceCauses, danceDestination, danceRoutes } from "./dance.ts";
import { botToken, chats, danceToken, type Receivers } from "./receivers.ts";
import { pause, type Scope } from "./scope.ts";

export interface FleetOptions {
  receivers: Receivers;
  /** Of each relay's machine, by how much it is ahead of this one's. Milliseconds. */
  clocksAheadMs: number[];
  /** Lines that follow the configuration file's, by the number of the configuration. */
  more?: string[];
  /** `DRAIN_TIME`. Default 1,000. */
  drainMs?: number;
}

/** One of the relays, through all of its processes. */
export interface Member {
  name: string;
  /** Part of its name on the database, once it has started. */
  id(): string;
  /** Undefined between two processes. */
  process: RelayProcess | undefined;
  isStopped: boolean;
  proxy: FailingProxy;
  /** All that its processes have written. */
  log(): string;
}

/** What a relay is started as. */
export interface Version {
  /** Which one to run with. Default: the first. */
  configuration?: number;
  /** The `bin/tocsin.js` that is run. Default: this checkout's. */
  bin?: string;
}

const movedClock = fileURLToPath(new URL("./moved-clock.cjs", import.meta.url));
const checkout = fileURLToPath(new URL("../../bin/tocsin.js", import.meta.url));

function writeConfiguration({ hookUrl, fragileUrl }: Receivers, more: string): string {
  return `
defaults: { digestOver: 1000 }
destinations:
  desk: { type: telegram, chatId: "${chats.desk}", detail: full, notices: false }
  ops: { type: telegram, chatId: "${chats.ops}", notices: true }
  mail: { type: email, to: [risk@desk.example], notices: false }
  hook: { type: webhook, url: "${hookUrl}", allowInternal: ["127.0.0.1"], digestOver: 2000, notices: false }
  fragile: { type: webhook, url: "${fragileUrl}", allowInternal: ["127.0.0.1"], notices: false }${danceDestination}
routes:
  - { name: desk, match: { payload.to: desk }, updates: new, to: [desk, hook] }
  - { name: ops, match: { payload.to: ops }, updates: new, to: [ops, hook] }
  - { name: mail, match: { payload.to: mail }, updates: new, to: [mail, hook] }
  - { name: fragile, match: { payload.to: fragile }, updates: new, to: [fragile] }
${danceRoutes}
  - { name: rest, updates: new, to: [hook] }
${danceCauses}
delivery:
  ambiguous: { wait: 1s, repeats: 10 }
  ambiguousEmail: { wait: 1s, repeats: 10 }
  schedule: [1s]
  thenEvery: 1s
  webhook: { schedule: [${Array.from({ length: 30 }, () => "1s").join(", ")}] }
  breaker: { failures: 1000 }
  telegramBotPace: { perSecond: 0.5 }
${more}`;
}

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** Relays on one PostgreSQL behind a balancer, each over a way to the database that can be made to fail. */
export async function startFleet(scope: Scope, options: FleetOptions) {
  const { receivers, clocksAheadMs, more = [""], drainMs = 1_000 } = options;
  const folder = makeTempFolder(scope.atEnd);
  const files = more.map((lines, index) => {
    const path = join(folder, `tocsin-${index}.yaml`);
    writeFileSync(path, writeConfiguration(receivers, lines));
    return path;
  });
  const postgres = await startPostgresServer();
  scope.atEnd(postgres.end);
  const balancer = await openBalancer(0);
  scope.atEnd(balancer.close);
  const balancerUrl = `http://127.0.0.1:${balancer.port}`;
  const members: Member[] = [];
  const logs = new Map<Member, (() => string)[]>();
  for (const index of clocksAheadMs.keys()) {
    const name = `relay-${index + 1}`;
    mkdirSync(join(folder, name));
    const proxy = await createFailingProxy(postgres.url, scope.atEnd);
    const log = () => (logs.get(member) ?? []).map((one) => one()).join("");
    const id = () => readFileSync(join(folder, name, "relay-id"), "utf8").trim();
    const member: Member = { name, id, process: undefined, isStopped: false, proxy, log };
    members.push(member);
  }

  /** Asks the database itself; again until it answers. */
  async function ask<Row extends object>(sql: string, values?: unknown[]) {
    for (let tries = 1; ; tries += 1) {
      const client = new pg.Client({ connectionString: postgres.url, query_timeout: 10_000 });
      client.on("error", () => {});
      try {
        await client.connect();
        return (await client.query<Row>(sql, values)).rows;
      } catch (error) {
        if (tries === 40) throw error;
        await pause(250);
      } finally {
        await client.end().catch(() => {});
      }
    }
  }

  return {
    ...{ members, postgres, ask, hookUrl: `${balancerUrl}/hooks/${webhookSecret}` },
    balancer: { url: balancerUrl, ready: balancer.ready },
    async start(member: Member, { configuration = 0, bin = checkout }: Version = {}) {
      const index = members.indexOf(member);
      const env = {
        ...{ DATABASE_URL: member.proxy.url, TOCSIN_CONFIG: files[configuration] as string, LOG_LEVEL: "warn" },
        ...{ TELEGRAM_BOT_TOKEN: botToken, DANCE_BOT_TOKEN: danceToken, TELEGRAM_API_ROOT: receivers.chatUrl },
        ...{ SMTP_URL: receivers.smtpUrl, EMAIL_FROM: "Tocsin <alerts@tocsin.example>" },
        ...{ PUBLIC_URL: "https://tocsin.example", DRAIN_TIME: `${drainMs}ms` },
        ...{ NODE_OPTIONS: `--require ${movedClock}`, CLOCK_AHEAD_MS: String(clocksAheadMs[index]) },
      };
      const command = [bin, "serve", "--json"];
      // The database may be away just then.
      for (let tries = 1; ; tries += 1) {
        try {
          member.process = await startRelayProcess(join(folder, member.name), env, command, undefined, scope.atEnd);
          break;
        } catch (error) {
          if (tries === 30) throw error;
          await pause(500);
        }
      }
      logs.set(member, [...(logs.get(member) ?? []), member.process.log]);
      const { url, process } = member.process;
      balancer.put({ name: member.name, port: Number(new URL(url).port), pid: process.pid ?? 0 });
    },
    async kill(member: Member) {
      await member.process?.kill();
      member.process = undefined;
      member.isStopped = false;
    },
    /** SIGTERM; its exit status. */
    async stop(member: Member) {
      const status = await member.process?.stop();
      member.process = undefined;
      return status ?? null;
    },
    /** SIGSTOP and SIGCONT. */
    freeze(member: Member) {
      member.isStopped = member.process?.process.kill("SIGSTOP") ?? false;
    },
    goOn(member: Member) {
      member.process?.process.kill("SIGCONT");
      member.isStopped = false;
    },
    /** Who holds the lane group now. */
    async ownerOf(group: string) {
      const [row] = await ask<{ relay: string }>(
        "SELECT relay FROM lanes WHERE lane_group = $1 AND lease_until > clock_timestamp()",
        [group],
      );
      return members.find(({ id }) => row?.relay.endsWith(id()));
    },
  };
}
