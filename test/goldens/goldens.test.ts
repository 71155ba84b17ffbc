import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stateFilters } from "../../src/web/search-language.ts";
import type { CliRun } from "../support/cli.ts";
import { createGoldenWorld, type GoldenWorld } from "./world.ts";

/**
 * What API and `--json` of the commands say of one log with everything in it, byte for byte. After a wanted change:
 * `npx vitest run test/goldens -u`, and look at the difference of the recorded files before you commit it.
 */
const groups = [
  "api-log",
  "api-watch",
  "api-failures",
  "api-changes",
  "api-document",
  "commands-log",
  "commands-watch",
];
const later = ["commands-upstream", "commands-changes", "commands-without-relay"];
const recorded = new Map<string, Record<string, unknown>>();
let world: GoldenWorld;

beforeAll(async () => {
  world = await createGoldenWorld();
  await recordLog();
  await recordWatch();
  await recordFailures();
  await recordCommands();
  await recordChanges();
  await recordCommandChanges();
  await world.stopRelay();
  await recordWithoutRelay();
});
afterAll(() => world?.close());

it.each([...groups, ...later])("answers as recorded: %s", async (group) => {
  const text = world.settled(`${JSON.stringify(recorded.get(group), undefined, 2)}\n`);
  await expect(text).toMatchFileSnapshot(`recorded/${group}.json`);
});

function keep(group: string, name: string, answer: unknown): void {
  const answers = recorded.get(group) ?? {};
  recorded.set(group, answers);
  if (name in answers) throw new Error(`${name} is recorded twice`);
  answers[name] = answer;
}

/** JSON as it is, and anything else line by line, so that a difference can be read. */
function readable(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.split("\n");
  }
}

async function ask(group: string, call: string, body?: unknown, headers: Record<string, string> = {}): Promise<string> {
  const [method, path = ""] = call.split(" ");
  const json: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  const answer = await world.api(path, { method, body: sent, headers: { ...json, ...headers } });
  const text = await answer.text();
  const name = [call, sent, ...Object.entries(headers).flat()].filter((part) => part !== undefined).join(" ");
  keep(group, name, { status: answer.status, type: answer.headers.get("content-type"), body: readable(text) });
  return text;
}

const get = (group: string, path: string) => ask(group, `GET ${path}`);

async function run(group: string, argv: string[], env?: Record<string, string>): Promise<CliRun> {
  const done = await world.run(argv, env);
  const { status, stdout, stderr } = done;
  keep(group, ["tocsin", ...argv].join(" "), {
    status,
    stdout: readable(stdout),
    ...(stderr !== "" && { stderr: readable(stderr) }),
  });
  return done;
}

const alertsOf = ({ ids }: GoldenWorld) =>
  Object.entries(ids).filter(
    ([name]) => !/^(old|refused)/.test(name) && !["airdrop", "maintenance", "migration"].includes(name),
  );

async function recordLog(): Promise<void> {
  const { ids } = world;
  await get("api-log", "/api/alerts?limit=200");
  const { meta } = JSON.parse(await get("api-log", "/api/alerts?limit=2")) as { meta: { nextCursor: string } };
  await get("api-log", `/api/alerts?limit=2&cursor=${meta.nextCursor}`);
  for (const state of stateFilters) await get("api-log", `/api/alerts?limit=3&state=${state}`);
  for (const query of [
    ...[
      "q=USDC",
      "q=%22Pool+7+moved%22",
      "q=token:USDC+value%3E24500000",
      "q=raw:hello",
      "q=status:resolved+severity:critical",
    ],
    ...[
      "severity=unknown",
      "destination=treasury",
      "route=critical&state=failed",
      "key=twice",
      "source=payments",
      "q=nothing+like+it",
    ],
    "from=2026-11-21T11:00:00Z&to=2026-11-21T11:59:00Z",
  ])
    await get("api-log", `/api/alerts?limit=3&${query}`);
  for (const [, id] of alertsOf(world)) await get("api-log", `/api/alerts/${id}`);
  for (const name of ["failed", "unreadable", "edited", "fallback"])
    await get("api-log", `/api/alerts/${ids[name]}/evidence`);
  for (const name of ["failed", "held", "muted", "dropped", "repeat"])
    await get("api-log", `/api/alerts/${ids[name]}/routes`);
  await get("api-log", `/api/ids?part=${ids.failed?.slice(-8)}`);
  await get("api-log", "/api/export?state=failed");
  await get("api-log", "/api/export?format=csv&from=2026-11-21T00:00:00Z");
  await get("api-log", "/api/export?view=keys&q=USDC");
  for (const query of ["", "?state=expired", "?destination=treasury&severity=critical"])
    await get("api-log", `/api/resend${query}`);
}

async function recordWatch(): Promise<void> {
  for (const path of [
    "status",
    "relays",
    "destinations",
    "mutes",
    "mutes?ended=true",
    "shapes",
    "gaps",
    "gaps?source=desk",
  ])
    await get("api-watch", `/api/${path}`);
  for (const path of [
    "",
    "?source=forge&limit=2",
    "?source=none",
    `?before=${world.ids["refused 2"]}`,
    `/${world.ids["refused 1"]}`,
  ])
    await get("api-watch", `/api/refused${path}`);
  await get("api-document", "/api/openapi.json");
}

async function recordFailures(): Promise<void> {
  const unknown = "019aa5a0-7c3e-7d2a-9b1c-0242ac12ffff";
  const fail = (call: string, body?: unknown, headers?: Record<string, string>) =>
    ask("api-failures", call, body, headers);
  for (const authorization of ["", "Bearer wrong"]) await fail("GET /api/alerts", undefined, { authorization });
  await fail("POST /api/resend", {}, { authorization: "" });
  for (const query of [
    "limit=0",
    "limit=many",
    "state=nowhere",
    "severity=loud",
    "from=today",
    "nothing=1",
    "cursor=x",
    "q=value%3Ex",
  ])
    await fail(`GET /api/alerts?${query}`);
  for (const path of [
    "nowhere",
    "ids?part=x",
    "export?format=xml",
    "resend?state=sent",
    "gaps?source=none",
    "stream?after=x",
    "mutes?ended=x",
  ])
    await fail(`GET /api/${path}`);
  for (const path of ["", "/evidence", "/routes"]) await fail(`GET /api/alerts/${unknown}${path}`);
  await fail(`GET /api/refused/${unknown}`);
  await fail(`POST /api/refused/${unknown}/release`);
  await fail(`POST /api/alerts/${unknown}/resend`);
  await fail(`POST /api/alerts/${world.ids.failed}/resend`, { destination: "nowhere" });
  await fail(`POST /api/alerts/${world.ids.failed}/resend`, { to: "ops" });
  await fail(`POST /api/alerts/${world.ids.failed}/resend`, "destination=ops", { "content-type": "text/plain" });
  await fail(`POST /api/alerts/${world.ids.unmatched}/resend`);
  await fail("POST /api/resend", "{broken");
  for (const action of ["try", "test", "pause", "resume"]) await fail(`POST /api/destinations/nowhere/${action}`);
  await fail("POST /api/destinations/ops/test", { severity: "loud" });
  await fail("POST /api/release", { destination: "nowhere" });
  await fail("POST /api/release", { alerts: [] });
  await fail("POST /api/account/put-back", { source: "none" });
  await fail("POST /api/account/put-back", { source: "desk" });
  await fail("POST /api/account/put-back");
  await fail("POST /api/gaps", { since: "2026-11-21T11:00:00Z", until: "2026-11-21T10:00:00Z" });
  await fail("POST /api/gaps", { source: "none" });
  const mute = { match: "severity=info", for: "2h", reason: "why" };
  for (const change of [
    { match: "colour=red" },
    { match: [] },
    { for: "long" },
    { until: "2026-11-22T00:00:00Z" },
    { reason: " " },
  ])
    await fail("POST /api/mutes", { ...mute, ...change });
  await fail("POST /api/mutes/preview", {});
  await fail(`DELETE /api/mutes/${unknown}`);
  const { data } = (await (await world.api("/api/mutes")).json()) as { data: { id: string; createdBy: string }[] };
  await fail(`DELETE /api/mutes/${data.find(({ createdBy }) => createdBy === "configuration")?.id}`);
}

async function recordCommands(): Promise<void> {
  const { ids, dataDir } = world;
  const log = (...argv: string[]) => run("commands-log", argv);
  const watch = (...argv: string[]) => run("commands-watch", argv);
  const ask = (...argv: string[]) => run("commands-upstream", argv);
  await log("alerts", "list", "--limit", "4");
  await log("alerts", "list", "--state", "failed", "--severity", "critical");
  await log("alerts", "list", "--from", "-2h", "-q", "WETH");
  for (const name of ["failed", "fallback", "unreadable", "held"]) await log("alerts", "show", ids[name] as string);
  await log("alerts", "show", "--headers", (ids.repeat as string).slice(-8));
  await log("alerts", "show", "ffffffff");
  await log("alerts", "export", "--state", "expired", "--full");
  await log("alerts", "export", "--format", "csv", "--output", join(dataDir, "week.csv"));
  await log("alerts", "resend", "--failed", "--dry-run");
  await log("explain", ids.failed as string);
  writeFileSync(
    join(dataDir, "body.json"),
    '[{"title":"TVL fell","severity":"critical","value":5},{"headline":"Built"}]',
  );
  await log("explain", "body.json", "--messages");
  await log("explain", "body.json", "--source", "forge", "--at", "2026-11-21T23:00:00Z", "--expect", "ops");
  writeFileSync(
    join(dataDir, "next.yaml"),
    "destinations: { ops: { type: telegram, chatId: -1001 } }\nroutes: [{ name: all, to: [ops], match: { severity: critical } }]\n",
  );
  await log("backtest", "--config", join(dataDir, "next.yaml"), "--last", "9h");

  await watch("status");
  await watch("mutes", "list", "--all");
  await watch("mutes", "add", "--match", "title=~Pool", "--dry-run");
  await watch("refused", "list");
  await watch("refused", "show", ids["refused 1"] as string);
  await watch("shapes", "--all");
  await watch("sources");
  await watch("check");
  writeFileSync(
    join(dataDir, "broken.yaml"),
    "destinations: { ops: { type: telegraph } }\nroutes: [{ name: all, to: [nobody] }]\n",
  );
  await watch("check", "--config", join(dataDir, "broken.yaml"));
  await watch("chats", "--for", "0s");
  await watch("setup", "--dry-run");
  await watch("setup", "--dry-run", "--source", "desk");
  await watch("doctor");
  await watch("nowhere");
  await run("commands-watch", ["status", "--url", "http://127.0.0.1:9"]);
  await run("commands-watch", ["mutes", "list"], { ADMIN_TOKEN: "wrong-admin-token-0123456789" });

  for (const words of [
    "account",
    "outputs",
    "users",
    "subscriptions",
    "equities symbols",
    "equities price AAPL",
    "ticker ETH/USD",
  ])
    await ask("upstream", ...words.split(" "));
  const { data } = (await ask("upstream", "metrics", "--chain", "eth")).json();
  await ask("upstream", "tokens", "--chain", "eth");
  await ask("upstream", "history", data[0].key, "--from", "-1h");
  await ask("upstream", "history", "no_such_metric");
}

async function recordChanges(): Promise<void> {
  const { ids } = world;
  const change = async (call: string, body?: unknown) => {
    const text = await world.passTimeUntil(ask("api-changes", call, body));
    await world.step(30_000);
    return text;
  };
  await change("POST /api/mutes/preview", { match: { severity: "warning", value: { gt: 1 } } });
  await change("POST /api/mutes", { match: "severity=info chain=eth,base", for: "2h", reason: "the pools move" });
  await change(`DELETE /api/mutes/${ids.airdrop}`);
  await change("POST /api/gaps", {});
  await change("POST /api/gaps", { since: "2026-11-20T12:00:00Z", source: "desk" });
  await get("api-changes", "/api/gaps");
  await change(`POST /api/alerts/${ids.expired}/resend`);
  await change(`POST /api/alerts/${ids.resent}/resend`, { destination: "ops" });
  await change("POST /api/release", { destination: "night" });
  await change("POST /api/release", { alerts: [ids.ambiguous] });
  await change("POST /api/resend", { q: "Pool 7 moved", state: "failed" });
  for (const name of ["ops", "treasury", "risk-mail"]) await change(`POST /api/destinations/${name}/try`);
  await change("POST /api/destinations/ops/test", { severity: "warning" });
  await change("POST /api/destinations/pager/resume");
  await change(`POST /api/refused/${ids["refused 2"]}/release`);
  await get("api-changes", `/api/refused/${ids["refused 2"]}`);
  await change("POST /api/destinations/ops/pause");
  await get("api-changes", "/api/destinations");
}

async function recordCommandChanges(): Promise<void> {
  const { ids, dataDir } = world;
  const change = async (...argv: string[]) => {
    const done = await world.passTimeUntil(run("commands-changes", argv));
    await world.step(30_000);
    return done;
  };
  await change("destinations", "resume", "ops");
  await change("destinations", "pause", "night");
  await change("destinations", "try", "treasury");
  await change("mutes", "add", "--match", "value<5", "--until", "2026-11-22T08:00Z", "--reason", "known dust");
  await change("mutes", "remove", ids.maintenance as string);
  await change("mutes", "remove", ids.migration as string);
  await change("alerts", "resend", ids.digested as string, "--wait");
  await change("alerts", "resend", "--failed", "--yes", "-q", "Pool 14 moved");
  await change("alerts", "release", "--yes");
  await change("refused", "relay", ids["refused 3"] as string, "--yes");
  await change("test", "--to", "ops");
  await change("gaps", "--since", "-1d");
  await change("sources", "--reveal");
  await change("backup", join(dataDir, "copy.db"));
  await change("backup", join(dataDir, "body.json"));
}

async function recordWithoutRelay(): Promise<void> {
  const { ids, dataDir } = world;
  const alone = (...argv: string[]) => world.passTimeUntil(run("commands-without-relay", argv));
  await alone("status");
  await alone("alerts", "list", "--limit", "2");
  await alone("alerts", "show", ids.failed as string);
  await alone("alerts", "export", "--state", "muted");
  await alone("alerts", "resend", ids.failed as string);
  await alone("mutes", "list");
  await alone("refused", "list");
  await alone("shapes");
  await alone("gaps", "--since", "-1h");
  await alone("explain", ids.held as string);
  await alone("backtest", "--config", join(dataDir, "next.yaml"));
  await alone("doctor");
  await alone("backup", join(dataDir, "alone.db"));
  await alone("repair");
  await alone("restore", join(dataDir, "alone.db"));
}
