/**
 * The incident drill: a relay under 60 alerts a minute, and six things that go wrong one after the other. For each it
 * measures how long it takes until the top of the page (`troubles` of `/api/status`) and a notice say so, who got the notice, and
 * how long after the repair all is well. It holds when each accepted alert arrived, each notice reached a destination
 * that makes a sound, and page, `status` and `doctor` said each trouble in the same words.
 */
import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAppsStandIn } from "../../workshop/apps/apps-stand-in.ts";
import { createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { createMailboxStandIn } from "../../workshop/mailbox/mailbox-stand-in.ts";
import { createServiceSandbox } from "../../workshop/service/service.ts";
import { inScope, pause, type Scope, until } from "../relays/scope.ts";
import { runTocsin } from "../support/cli.ts";
import { sendAtRate } from "../support/posting.ts";
import { type RelayProcess, startRelayProcess, webhookSecret } from "../support/relay-process.ts";
import { findOtherWords, logIn } from "../support/same-words.ts";

const botToken = "7700:incident-bot-token";
const [deskChat, opsChat] = ["-1001700000001", "-1001700000002"] as const;
const mailAddress = "risk@desk.example";
const forgeHook = "drill-forge-hook-kS93jdLwm2PzQe81";
const forgeKey = "drill-forge-key-4Wm2PzQe81";
const smallDisk = "size=120m";
interface Status {
  troubles: { kind: string; what: string }[];
  destinations: { name: string; counts: Record<string, number> }[];
}

interface Incident {
  name: string;
  /** Of the trouble, and of the notice that it is so. */
  strip: RegExp;
  notice: RegExp;
  begin(): Promise<unknown> | unknown;
  repair(): Promise<unknown> | unknown;
  how: string;
  /** It takes longer to be noticed. Default 90 s. */
  withinMs?: number;
}

async function measure(isSo: () => Promise<boolean> | boolean, withinMs: number): Promise<number | undefined> {
  const start = performance.now();
  return (await until(isSo, withinMs)) ? performance.now() - start : undefined;
}

const inSeconds = (ms: number | undefined) => (ms === undefined ? "never" : `${(ms / 1000).toFixed(1)} s`);

/** Everybody whom the relay sends to, and what each has read. */
async function openWorld() {
  const { now, random } = { now: Date.now, random: Math.random };
  const chats = [deskChat, opsChat].map((id) => ({ id, title: `Chat ${id}` }));
  const chat = await createChatStandIn({ now, tokens: [botToken], chats });
  const apps = await createAppsStandIn({ now, limited: false });
  const service = await createServiceSandbox({ now, random, key: "key-of-the-drill", metricCount: 100, tickMs: 0 });
  const first = await createMailboxStandIn({ now });
  const mailboxes = [first];
  const read: Record<string, () => string[]> = {
    desk: () => chat.messages(deskChat).map(({ text }) => text),
    ops: () => chat.messages(opsChat).map(({ text }) => text),
    "risk-mail": () => mailboxes.flatMap((its) => its.mails(mailAddress)).map(({ subject = "" }) => subject),
    team: () => apps.messages("slack").map(({ content }) => JSON.stringify(content)),
    phone: () => apps.messages("ntfy").map(({ content }) => `${content.title} ${content.message}`),
  };
  return {
    ...{ chat, apps, service, smtpUrl: first.smtpUrl },
    closeMail: () => mailboxes.at(-1)?.close(),
    openMail: async () => void mailboxes.push(await createMailboxStandIn({ now: Date.now, smtpPort: first.smtpPort })),
    /** The ways to people that have a notice with these words. */
    whoRead: (words: RegExp) =>
      Object.keys(read).filter((who) => read[who]?.().some((text) => /Tocsin/.test(text) && words.test(text))),
    close: () => Promise.all([chat.close(), apps.close(), service.close(), mailboxes.at(-1)?.close()]),
  };
}

const yamlOf = ({ ntfyServer, ntfyTopic }: { ntfyServer: string; ntfyTopic: string }) => `
destinations:
  desk: { type: telegram, chatId: "${deskChat}" }
  ops: { type: telegram, chatId: "${opsChat}", notices: true }
  risk-mail: { type: email, to: [${mailAddress}], notices: true }
  team: { type: slack, url: "\${SLACK_WEBHOOK_URL}", allowInternal: [127.0.0.1] }
  phone: { type: ntfy, server: "${ntfyServer}", topic: ${ntfyTopic}, notices: true, allowInternal: [127.0.0.1] }
routes:
  - { name: all, to: [desk, risk-mail, team] }
sources:
  forge: { secret: "\${FORGE_HOOK}", check: { type: github, secret: "\${FORGE_KEY}" } }
`;

/** An alert a second; one that is refused is sent again, as a sender does. */
function startSending(relay: RelayProcess, atEnd: Scope["atEnd"]) {
  const sent = { accepted: 0, refused: 0 };
  let isOver = false;
  async function send(number: number): Promise<void> {
    const value = 20_000_000 + number;
    const body = JSON.stringify({ title: `Pool ${number % 20} TVL below 25 M`, severity: "critical", value, number });
    const headers = { "content-type": "application/json", "idempotency-key": `drill-${number}` };
    while (!isOver) {
      const answer = await relay.post(body, headers).catch(() => undefined);
      const isTaken = answer?.status === 202 || answer?.status === 200;
      sent[isTaken ? "accepted" : "refused"] += 1;
      if (isTaken) return;
      await pause(2_000);
    }
  }
  const sending = sendAtRate(1, send, atEnd);
  return {
    sent,
    end() {
      isOver = true;
      return sending.stop();
    },
  };
}

export const run = (): Promise<boolean> => inScope(drill);

async function drill({ atEnd }: Scope): Promise<boolean> {
  const world = await openWorld();
  atEnd(world.close);
  const dataDir = mkdtempSync(join(tmpdir(), "tocsin-drill-"));
  atEnd(() => rmSync(dataDir, { recursive: true, force: true }));
  const hasSmallDisk = spawnSync("mount", ["-t", "tmpfs", "-o", smallDisk, "tmpfs", dataDir]).status === 0;
  if (hasSmallDisk) atEnd(() => void spawnSync("umount", ["-l", dataDir]));
  const config = join(dataDir, "tocsin.yaml");
  writeFileSync(config, yamlOf(world.apps));
  const env = {
    ...{ TOCSIN_CONFIG: config, PUBLIC_URL: "http://alerts.example:9" },
    ...{ ALERTING_URL: world.service.alertingUrl, ALERTING_API_KEY: world.service.apiKey },
    ...{ TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_API_ROOT: world.chat.url },
    ...{ SMTP_URL: world.smtpUrl, EMAIL_FROM: "Tocsin <alerts@tocsin.example>" },
    ...{ SLACK_WEBHOOK_URL: world.apps.slackUrl, FORGE_HOOK: forgeHook, FORGE_KEY: forgeKey },
  };
  const relay = await startRelayProcess(dataDir, env, undefined, undefined, atEnd);
  const setup = await runTocsin(["setup", "--skip-proof", "--yes"], {
    env: { ...env, DATA_DIR: dataDir, WEBHOOK_SECRET: webhookSecret },
    cwd: dataDir,
  });
  if (setup.status !== 0) throw new Error(`setup failed: ${setup.stdout}${setup.stderr}`);
  const status = async () => (await relay.getJson<{ data: Status }>("/api/status")).data;
  const troubles = async () => (await status()).troubles.map(({ what }) => what);
  const load = startSending(relay, atEnd);
  const filler = join(dataDir, "filler");
  const account = (init?: RequestInit) =>
    fetch(`${world.service.alertingUrl}/account`, { ...init, headers: { authorization: world.service.apiKey } });

  const knock = (key: string) => () => {
    const body = JSON.stringify({ title: "Release failed", severity: "info" });
    const signature = `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;
    const headers = { "x-hub-signature-256": signature, "x-github-delivery": key };
    return fetch(`${relay.url}/hooks/${forgeHook}`, { method: "POST", body, headers });
  };

  const incidents: Incident[] = [
    {
      ...{ name: "chat kicked", strip: /desk is dead/, notice: /desk gets no alerts/ },
      begin: () => world.chat.setMembership(deskChat as string, "kicked"),
      repair: () => world.chat.setMembership(deskChat as string, "administrator"),
      how: "bot added again, nothing pressed",
    },
    {
      ...{ name: "mail server closed", strip: /risk-mail is down/, notice: /risk-mail does not answer/ },
      ...{ begin: world.closeMail, repair: world.openMail, how: "server started again" },
    },
    {
      ...{ name: "account changed", strip: /other\.example|elsewhere/, notice: /sends its alerts to/ },
      begin: () => account({ method: "PUT", body: JSON.stringify({ webhookUrl: "https://other.example/in/x" }) }),
      repair: () => relay.api("/api/account/put-back", { method: "POST" }),
      ...{ how: "Put back", withinMs: 150_000 },
    },
    {
      ...{ name: "key refused", strip: /API key/, notice: /refuses the API key/ },
      begin: () => world.service.faults.next({ kind: "expired-key", route: "*", times: "always" }),
      repair: () => world.service.faults.clear(),
      ...{ how: "key valid again", withinMs: 240_000 },
    },
    {
      ...{ name: "disk full", strip: /disk/i, notice: /disk/i },
      begin: () => {
        const { bavail, bsize } = statfsSync(dataDir);
        writeFileSync(filler, Buffer.alloc(bavail * bsize - 64 * 1024));
      },
      repair: () => rmSync(filler, { force: true }),
      how: "room made",
    },
    {
      ...{ name: "source locked out", strip: /forge/, notice: /forge/ },
      ...{ begin: knock("of-before"), repair: knock(forgeKey), how: "the right key", withinMs: 240_000 },
    },
  ];

  const isAllWell = async () => {
    const { troubles: left, destinations } = await status();
    const waiting = destinations.flatMap(({ counts }) => [counts.queued ?? 0, counts.waiting ?? 0]);
    return left.length === 0 && waiting.every((count) => count < 20);
  };
  if (!(await until(isAllWell, 120_000))) throw new Error(`not well: ${await troubles()}`);

  console.log(
    "| event | strip | notice | who got it | how it was repaired | all well after |\n|---|---|---|---|---|---|",
  );
  let isHeard = true;
  for (const { name, strip, notice, begin, repair, how, withinMs = 90_000 } of incidents) {
    if (name === "disk full" && !hasSmallDisk) {
      console.log(`| ${name} | not tried: a small disk cannot be mounted here | | | | |`);
      continue;
    }
    await begin();
    const [stripMs, noticeMs] = await Promise.all([
      measure(async () => (await troubles().catch(() => [])).some((what) => strip.test(what)), withinMs),
      measure(() => world.whoRead(notice).some((who) => who !== "risk-mail"), withinMs),
    ]);
    await pause(20_000);
    const otherWords = await findOtherWords(relay, await logIn(relay), env, dataDir);
    for (const line of otherWords) console.log(`${name}: ${line}`);
    isHeard &&= otherWords.length === 0;
    const who = world.whoRead(notice);
    await repair();
    const wellMs = await measure(() => isAllWell().catch(() => false), 300_000);
    isHeard &&= stripMs !== undefined && noticeMs !== undefined && wellMs !== undefined;
    const seen = `${inSeconds(stripMs)} | ${inSeconds(noticeMs)} | ${who.join(", ") || "nobody"}`;
    console.log(`| ${name} | ${seen} | ${how} | ${inSeconds(wellMs)} |`);
    if (wellMs === undefined) console.log(`still wrong: ${(await troubles()).join("; ")}`);
  }
  await load.end();
  const isDone = ({ counts }: Status["destinations"][number]) => !counts.queued && !counts.waiting;
  await until(async () => (await status()).destinations.every(isDone), 180_000);
  const { destinations } = await status();
  const sums = destinations.map(({ name, counts }) => [name, (counts.sent ?? 0) + (counts.digested ?? 0)]);
  const arrived = Object.fromEntries(sums) as Record<string, number>;
  const lost = destinations.flatMap(({ name, counts: { sent = 0, digested = 0, ...others } }) =>
    Object.entries(others).flatMap(([state, count]) => (count > 0 ? [`${name}: ${count} ${state}`] : [])),
  );
  const { accepted, refused } = load.sent;
  console.log(`${accepted} alerts were accepted, after ${refused} refusals; they arrived: ${JSON.stringify(arrived)}.`);
  console.log(lost.length === 0 ? "Nothing was lost." : `Not arrived: ${lost.join(", ")}.`);
  const areAllThere = ["desk", "risk-mail", "team"].every((name) => (arrived[name] ?? 0) >= accepted);
  return isHeard && lost.length === 0 && areAllThere;
}
