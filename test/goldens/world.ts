import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { hostname } from "node:os";
import { join } from "node:path";
import { loadOrCreateSecrets } from "../../src/config/generated-secrets.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { silentLog } from "../../src/core/log.ts";
import { readVersion } from "../../src/ground/version.ts";
import { startRelay } from "../../src/start/relay.ts";
import { keptFiles } from "../../src/store/kept-files.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { databaseFileName } from "../../src/store/sqlite/threaded-store.ts";
import { createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { createMailboxStandIn } from "../../workshop/mailbox/mailbox-stand-in.ts";
import { createServiceSandbox } from "../../workshop/service/service.ts";
import { listen } from "../../workshop/stand-in.ts";
import { runTocsin } from "../support/cli.ts";
import { findLastingPort } from "../support/lasting-port.ts";
import { readingThreadEntry } from "../support/reader.ts";
import { scratch } from "../support/scratch.ts";
import { createTestClock } from "../support/test-clock.ts";
import { writeHistory } from "./history.ts";

const now = Date.UTC(2026, 10, 21, 12);
const storeThreadEntry = new URL("../../dist/store/sqlite/thread.js", import.meta.url);
const botTokenOf = (id: number) => `${id}:goldens-bot-token-0123456789abcdefgh`;
const botTokens = [7700, 7701, 7702].map(botTokenOf);
const [opsBot = "", treasuryBot = "", nightBot = ""] = botTokens;
const signingSecret = "signing-Lx83nVq0TzRw71";
const hookSecret = "hook-kS93jdLwm2PzQe81";
const secretOf = (source: string) => `${source}-Qm4xT8vLw2ZsKd93`;
export const adminToken = "admin-Vb72kdPwq0XnRt64";

const yamlOf = (pager: string, alerting: string) => `
defaults: { timeZone: Europe/Zurich, prove: off, chart: false }
destinations:
  ops: { type: telegram, chatId: "-1001" }
  treasury: { type: telegram, chatId: "-1002", botToken: "\${TREASURY_BOT}" }
  night: { type: telegram, chatId: "-1003", botToken: "\${NIGHT_BOT}", quietHours: { from: "10:00", to: "07:30" } }
  risk-mail: { type: email, to: [risk@desk.example, cfo@desk.example], onAmbiguous: hold }
  pager: { type: webhook, url: "${pager}/pager", allowInternal: [127.0.0.1], notices: true }
routes:
  - { name: staging, match: { source: staging }, drop: true }
  - name: critical
    match: { severity: critical }
    to: [ops, treasury, risk-mail]
    fallback: { to: pager, after: 10m }
    continue: true
  - { name: night, match: { severity: warning, title: { matches: "^Volume" } }, to: [night], continue: true }
  - { name: rest, default: true, to: [ops] }
mutes:
  - match: { token: "0x0000000000000000000000000000000000000001" }
    reason: migration of the pools
    from: 2026-11-20T18:00:00+01:00
    until: 2026-12-02T06:00:00+01:00
silence:
  hook: auto
  sources: { forge: 2h, "bridge watch": 2h }
sources:
  forge: { secret: "\${FORGE_HOOK}", check: { type: github, secret: "\${FORGE_SIGNING}" }, mapping: { title: payload.headline } }
  payments: { secret: "\${PAYMENTS_HOOK}" }
  desk: { secret: "\${DESK_HOOK}", account: { url: "${alerting}", apiKey: "\${DESK_KEY}" } }
heartbeat: { url: "\${HEARTBEAT_URL}", allowInternal: [127.0.0.1] }
market: off
watch: { gaps: 6h }
`;

export type GoldenWorld = Awaited<ReturnType<typeof createGoldenWorld>>;

/** A relay whose log has everything in it, at noon of 21 November 2026; its clock stands still but for `step`. */
export async function createGoldenWorld() {
  const undo: (() => unknown)[] = [];
  const dataDir = mkdtempSync(join(scratch, "tocsin-goldens-"));
  undo.push(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  let writtenAt = now;
  const past = openLocalStore({ path: join(dataDir, databaseFileName), ballastBytes: 0, now: () => writtenAt });
  const ids = await writeHistory(past, now, (ms) => {
    writtenAt = ms;
  });
  await past.close();

  const clock = createTestClock(now);
  const chats = ["Operations", "Treasury", "Night"].map((title, index) => ({ id: `-100${index + 1}`, title }));
  const chat = await createChatStandIn({ now: clock.now, tokens: botTokens, chats });
  undo.push(chat.close);
  chat.setMembership("-1002", "kicked");
  const mailbox = await createMailboxStandIn({ now: clock.now });
  undo.push(mailbox.close);
  let drawn = 0;
  const service = await createServiceSandbox({
    now: clock.now,
    random: () => {
      drawn += 1;
      return (drawn * 0.6180339887) % 1;
    },
    tickMs: 0,
    key: "key-of-ada",
    metricCount: 200,
  });
  undo.push(() => service.close());
  service.accounts.createAccount({ accountName: "Desk", key: "key-of-desk", expiresAt: now + 3 * 86_400_000 });
  const pager = createServer((_request, response) => void response.end());
  const { port: pagerPort } = await listen(pager);
  undo.push(() => pager.close());

  // Commands have to know it before the relay listens.
  const port = await findLastingPort();
  const url = `http://127.0.0.1:${port}`;
  const configPath = join(dataDir, "tocsin.yaml");
  writeFileSync(configPath, yamlOf(`http://127.0.0.1:${pagerPort}`, service.alertingUrl));
  const env: Record<string, string> = {
    ...{ PORT: String(port), PUBLIC_URL: url, DATA_DIR: dataDir, TOCSIN_CONFIG: configPath },
    ...{ ADMIN_TOKEN: adminToken, WEBHOOK_SECRET: hookSecret, FORGE_SIGNING: signingSecret, DESK_KEY: "key-of-desk" },
    ...{ FORGE_HOOK: secretOf("forge"), PAYMENTS_HOOK: secretOf("payments"), DESK_HOOK: secretOf("desk") },
    ...{ TELEGRAM_BOT_TOKEN: opsBot, TREASURY_BOT: treasuryBot, NIGHT_BOT: nightBot, TELEGRAM_API_ROOT: chat.url },
    ...{ SMTP_URL: mailbox.smtpUrl, EMAIL_FROM: "Tocsin <alerts@tocsin.example>", PRICING_URL: service.pricingUrl },
    ...{ ALERTING_URL: service.alertingUrl, ALERTING_API_KEY: service.apiKey, PRICING_API_KEY: service.apiKey },
    HEARTBEAT_URL: `http://127.0.0.1:${pagerPort}/beat`,
  };
  await fetch(`${service.alertingUrl}/account`, {
    method: "PUT",
    headers: { authorization: service.apiKey, "content-type": "application/json" },
    body: JSON.stringify({ webhookUrl: `${url}/hooks/${hookSecret}` }),
  });
  const config = loadConfig({ env, cwd: dataDir });
  const secrets = await loadOrCreateSecrets(keptFiles(dataDir), config);
  const relay = await startRelay({ config, secrets, log: silentLog, clock, storeThreadEntry, readingThreadEntry });
  let runs = true;
  let commandsAsleep = 0;
  const stopRelay = async () => {
    if (!runs) return;
    await passTimeUntil(relay.stop());
    runs = false;
    await step(30_000);
  };
  undo.push(stopRelay);

  /** Looks that find the same, behind which only the clock helps. Each goes through the database's thread, behind all that waits there. */
  const looksInVain = 60;
  /** What a channel loads for its first call may take as long on a busy machine. Only two waits of the goldens are for the clock alone. */
  const inVainMs = 5_000;
  /**
   * Reading and calls take their real time while the clock stands still, so that each is on record at the same time in every run. No
   * chat has two messages in one step: one of them would wait for the clock.
   */
  async function untilNothingIsUnderWay(): Promise<void> {
    let since = Date.now();
    for (let quiet = 0, vain = 0; runs && quiet < 8; quiet += 1, vain += 1) {
      await clock.settle();
      const { queue, destinations } = await relay.operations.status();
      const works = destinations.filter(({ health, paused }) => health !== "dead" && paused === undefined);
      const isUnderWay = queue.unrouted + queue.sending > 0;
      if (isUnderWay) [vain, since] = [0, Date.now()];
      if (isUnderWay || works.some(({ counts }) => (counts.queued ?? 0) > 0)) quiet = -1;
      if (vain < looksInVain || Date.now() < since + inVainMs) continue;
      [vain, since] = [0, Date.now()];
      await clock.advance(1_000);
    }
  }
  const step = async (ms = 2_000) => {
    for (let half = 0; half < 2; half += 1) {
      await untilNothingIsUnderWay();
      await clock.advance(ms - (clock.now() % ms));
    }
    await untilNothingIsUnderWay();
  };
  /** For what takes its time by the clock: it goes on by a second whenever nothing else can happen. */
  async function passTimeUntil<T>(answer: Promise<T>): Promise<T> {
    let isThere = false;
    const note = () => {
      isThere = true;
    };
    answer.then(note, note);
    // What is loaded for it may take long on a busy machine; a command that sleeps waits for the clock alone.
    for (let patienceMs = 4_000; ; patienceMs = 100) {
      const since = Date.now();
      const isPatient = (looks: number) => looks < 100 || Date.now() < since + (commandsAsleep > 0 ? 100 : patienceMs);
      for (let looks = 0; !isThere && isPatient(looks); looks += 1) {
        await clock.settle();
        if (looks > 100) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      if (isThere) return answer;
      await clock.advance(1_000);
    }
  }
  const post = async (name: string, path: string, body: string, headers: Record<string, string>) => {
    const answer = await fetch(`${url}/hooks/${path}`, { method: "POST", body, headers });
    const { data } = (await answer.json()) as { data?: { id?: string; ids?: string[] } };
    for (const [index, id] of (data?.ids ?? [data?.id]).entries())
      if (id) ids[index === 0 ? name : `${name} ${index + 1}`] = id;
    await step();
  };
  const json = { "content-type": "application/json" };
  const signed = (body: string, secret: string) => ({
    ...json,
    "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
  });

  // People hear of the account once its second look, six seconds behind the first, finds the same.
  const until = async (isSo: () => boolean | Promise<boolean>) => {
    while (!(await isSo())) await clock.settle();
  };
  const { total } = await relay.store.countAlerts();
  const ofAccount = () => relay.operations.watches().filter(({ name }) => name.startsWith("account"));
  await until(() => ofAccount().every(({ lookedAt }) => lookedAt !== undefined));
  await clock.advance(6_000);
  await until(async () => (await relay.store.countAlerts()).total > total);
  await step();
  const built = '{"headline":"Build 32 failed","severity":"warning","run":{"id":32,"branch":"main","steps":[1,2]}}';
  await post("signed", secretOf("forge"), built, signed(built, signingSecret));
  await post("forged", secretOf("forge"), built.replace("32", "33"), signed(built, "another"));
  const batch =
    '[{"title":"Paid","severity":"info","amount":12.50},{"title":"Gas again","metric":"eth_gas","value":3}]';
  await post("batch", secretOf("payments"), batch, json);
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const peg = (is: string, status: string) =>
    `{"title":"Peg is ${is}","severity":"critical","token":"USDT","status":"${status}","id":"peg"}`;
  const others: [name: string, body: string, headers?: Record<string, string>][] = [
    ["broken", '{"title":"Broken from here'],
    ["form", "title=By+a+form&severity=info", form],
    ["gas", '{"title":"Gas again","metric":"eth_gas","value":99,"severity":"info"}'],
    ["peg lost", peg("lost", "firing")],
    ["peg back", peg("back", "resolved")],
  ];
  for (const [name, body, headers = json] of others) await post(name, hookSecret, body, headers);

  let cookie: string | undefined;
  async function logIn(): Promise<string> {
    const body = new URLSearchParams({ token: adminToken });
    const answer = await fetch(`${url}/login`, { method: "POST", headers: { origin: url }, body, redirect: "manual" });
    return answer.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  }

  /** Those that the world has not named are numbered in each text anew, so that one more in one leaves the others as they are. */
  function nameIds(): (id: string) => string {
    const names = new Map(Object.entries(ids).map(([name, id]) => [id, `<${name}>`]));
    let numbered = 0;
    return (id) => {
      const known = names.get(id);
      if (known !== undefined) return known;
      numbered += 1;
      names.set(id, `<id ${numbered}>`);
      return `<id ${numbered}>`;
    };
  }
  const places: Record<string, string[]> = {
    "<chat>": [chat.url],
    "<alerting>": [service.alertingUrl],
    "<pricing>": [service.pricingUrl],
    "<service>": [service.url],
    "<relay>": [url, `127.0.0.1:${port}`],
    "<smtp>": [mailbox.smtpUrl, `127.0.0.1:${mailbox.smtpPort}`],
    "<pager>": [`127.0.0.1:${pagerPort}`],
    "<data>": [dataDir],
  };
  return {
    ...{ relay, ids, dataDir, now: clock.now, passTimeUntil, step, stopRelay },
    api: (path: string, init: RequestInit = {}) =>
      fetch(`${url}${path}`, { ...init, headers: { authorization: `Bearer ${adminToken}`, ...init.headers } }),
    /** As who is logged in on a browser. */
    async page(path: string) {
      cookie ??= await logIn();
      return fetch(`${url}${path}`, { headers: { cookie }, redirect: "manual" });
    },
    run: (argv: string[], more: Record<string, string> = {}) =>
      runTocsin(argv, {
        columns: 120,
        env: { ...env, ...more },
        cwd: dataDir,
        now: clock.now,
        storeThreadEntry,
        async sleep(ms, signal) {
          commandsAsleep += 1;
          await clock.sleep(ms, signal);
          commandsAsleep -= 1;
        },
      }),
    /** Names of alerts are replaced by their ids, as `settled` does the other way round. */
    withIds: (text: string) =>
      text.replace(/<([^<>]+)>/g, (name, key: string) => (key === "data" ? dataDir : (ids[key] ?? name))),
    /** What differs from run to run is replaced by its name. */
    settled: (text: string) => {
      const named = Object.entries(places).flatMap(([name, all]) =>
        all.map((place): [string, string] => [place, name]),
      );
      return [...named, ...ofThisRun]
        .reduce((said, [what, name]) => said.replaceAll(what, name), text)
        .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g, nameIds());
    },
    async close() {
      for (const end of undo.reverse()) await end();
    },
  };
}

/** What differs from run to run, and what stands for it. */
const ofThisRun: [what: RegExp | string, name: string][] = [
  [/"id: \d+"/g, '"id: <place>"'],
  [/queued as \w+/g, "queued as <mail>"],
  [/[\d.]+ [KMGT]iB/g, "<size>"],
  [/("(?:freeBytes|databaseBytes|version|pid|seenAt|lookedAt)": )(?:[\d.]+|"[^"\n]*")/g, '$1"<of this machine>"'],
  [
    /("<dt>Looked<\/dt>",\s+"<dd>",\s+)"<time [^\n]+(\s+)"<span class=\\"relative\\">[^<]+/g,
    '$1"<time>",$2"<span class=\\"relative\\"><of this machine>',
  ],
  [/Looked \d+ s ago/g, "Looked <of this machine>"],
  [/("answer": \{\s+"at": )"[^"]+"/g, '$1"<when>"'],
  // A check for gaps goes to the moment in which it runs, and calls of the service before it take some of the clock's time.
  [/("since": )"[^"]+"(,\s+"until": )"[^"]+"(,\s+"checkedAt": )"[^"]+"/g, '$1"<since>"$2"<until>"$3"<when>"'],
  [/("(?:crossings|notDue)": )\d+/g, '$1"<count>"'],
  [/(\.db",\s+"bytes": )\d+/g, '$1"<size>"'],
  [/("configurationSha256": )"[^"]+"/g, '$1"<hash>"'],
  [/\d+ s (behind|ahead of) the service/g, "<seconds> $1 the service"],
  [`"${process.versions.node}"`, '"<node>"'],
  [`"${hostname()}"`, '"<host>"'],
  [`"${readVersion()}"`, '"<version>"'],
];
