import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createJourneyWorld } from "../support/journey-world.ts";
import { type RelayProcess, waitUntil } from "../support/relay-process.ts";

const rounds = 16;
const signingKey = Buffer.from("canary-standard-webhooks-key");
const secrets = {
  STANDARD: `whsec_${signingKey.toString("base64")}`,
  FORGE: "canary-forge-signing-secret",
  FORGE_OLD: "canary-forge-former-secret",
  PAYMENTS: "canary-payments-signing-secret",
};

const yaml = `
sources:
  standard: { check: { type: standard-webhooks, secret: "\${STANDARD}" } }
  forge: { check: [{ type: addresses, ranges: [127.0.0.0/8] }, { type: github, secret: ["\${FORGE}", "\${FORGE_OLD}"] }] }
  payments: { check: { type: stripe, secret: "\${PAYMENTS}" }, idempotency: payload.id }
destinations:
  desk: { type: telegram, chatId: "-1001700000001" }
  ops: { type: telegram, chatId: "-1001700000002" }
routes:
  - { name: money, match: { source: payments }, to: desk }
  - { name: rest, default: true, to: ops }
`;

interface Sent {
  body: string;
  headers: Record<string, string>;
}
const hex = (secret: string | Buffer, text: string) => createHmac("sha256", secret).update(text).digest("hex");

/** Each signs as its kind of sender does, with this key. */
const senders: Record<string, { key: string; sign(body: string, id: string, seconds: number, key: string): Sent }> = {
  standard: {
    key: signingKey.toString("latin1"),
    sign(body, id, seconds, key) {
      const mac = createHmac("sha256", Buffer.from(key, "latin1")).update(`${id}.${seconds}.${body}`).digest("base64");
      const headers = { "webhook-id": id, "webhook-timestamp": String(seconds), "webhook-signature": `v1,${mac}` };
      return { body, headers };
    },
  },
  forge: {
    key: secrets.FORGE_OLD,
    sign: (body, id, _seconds, key) => ({
      body,
      headers: { "x-github-delivery": id, "x-hub-signature-256": `sha256=${hex(key, body)}` },
    }),
  },
  payments: {
    key: secrets.PAYMENTS,
    sign: (body, _id, seconds, key) => ({
      body,
      headers: { "stripe-signature": `t=${seconds},v1=${hex(key, `${seconds}.${body}`)}` },
    }),
  },
};

interface ListedAlert {
  id: string;
  title: string;
  source?: string;
  facts: { source?: string };
  deliveries: { destination: string }[];
}

it("relays each alert of three sources once, and none that their senders did not sign, over a kill", async () => {
  const world = await createJourneyWorld({ yaml });
  const env = { ...secrets, TELEGRAM_CHAT_IDS: "", EMAIL_TO: "" };
  let relay: RelayProcess = await world.start(env);
  const addressOf = (source: string) => {
    const secret = readFileSync(join(world.dataDir, "secrets", `source-${source}`), "utf8").trim();
    return `${relay.url}/hooks/${secret}`;
  };

  /** As a sender that repeats until it is answered. */
  async function send(source: string, { body, headers }: Sent): Promise<{ status: number; id?: string }> {
    const answered = await waitUntil(
      async () => {
        const response = await fetch(addressOf(source), { method: "POST", body, headers }).catch(() => undefined);
        const answer = (await response?.json().catch(() => undefined)) as { data?: { id: string } } | undefined;
        return answer && response && { status: response.status, id: answer.data?.id };
      },
      (answer) => answer !== undefined && answer.status !== 503,
      { what: "an answer of the relay" },
    );
    return answered ?? { status: 0 };
  }

  const accepted = new Map<string, string>();
  const isRefused: Record<string, number> = {};
  let killed: Promise<void> | undefined;
  async function killAndStart(): Promise<void> {
    await relay.kill();
    relay = await world.start(env);
  }

  async function runSender(source: string): Promise<void> {
    const { key, sign } = senders[source] as (typeof senders)[string];
    for (let round = 0; round < rounds; round += 1) {
      const seconds = Math.floor(Date.now() / 1000);
      const id = `${source}-${round}`;
      const body = JSON.stringify({ id, title: id, source: "somebody else" });
      const good = sign(body, id, seconds, key);
      const first = await send(source, good);
      expect(first.status).toBe(202);
      accepted.set(id, first.id ?? "");
      if (source === "standard" && round === rounds / 2) killed ??= killAndStart();
      expect(await send(source, good)).toEqual(first);
      const forged = [sign(body, `${id}-forged`, seconds, "canary-of-a-stranger"), { ...good, body: `${body} ` }];
      const old = source === "forge" ? [] : [sign(body, `${id}-old`, seconds - 3_600, key)];
      for (const bad of [...forged, ...old]) {
        expect((await send(source, bad)).status).toBe(401);
        isRefused[source] = (isRefused[source] ?? 0) + 1;
      }
    }
  }
  await Promise.all(Object.keys(senders).map(runSender));
  await killed;

  // GitHub's kind signs no id: a stranger who has seen a request can send it under another one.
  const event = JSON.stringify({ title: "replayed", timestamp: Math.floor(Date.now() / 1000) });
  for (const delivery of ["delivery-1", "delivery-2"]) {
    const signed = senders.forge?.sign(event, delivery, 0, secrets.FORGE) as Sent;
    expect((await send("forge", signed)).status).toBe(202);
  }
  const [replayed] = await waitUntil(
    async () => (await relay.getJson<{ data: ListedAlert[] }>("/api/alerts?state=repeat")).data,
    (repeats) => repeats.length === 1,
    { what: "the second of the two as a repeat" },
  );
  expect(replayed).toMatchObject({ title: "replayed", source: "forge", deliveries: [] });

  const all = (await relay.getJson<{ data: ListedAlert[] }>("/api/alerts?limit=200")).data;
  const alerts = all.filter(({ title }) => title !== "replayed");
  const { data } = await relay.getJson<{ data: ListedAlert[] }>("/api/alerts?limit=200&source=payments");
  expect(alerts.map(({ title }) => title).sort()).toEqual([...accepted.keys()].sort());
  expect(data).toHaveLength(rounds);
  for (const { id, title, source, facts, deliveries } of alerts) {
    expect(accepted.get(title)).toBe(id);
    expect([source, facts?.source]).toEqual([title.split("-")[0], title.split("-")[0]]);
    expect(deliveries.map(({ destination }) => destination)).toEqual([source === "payments" ? "desk" : "ops"]);
  }
  for (const [source, count] of Object.entries(isRefused)) {
    const kept = (await relay.getJson<{ data: { reason: string }[] }>(`/api/refused?limit=200&source=${source}`)).data;
    // One whose answer was lost by the kill was sent, and refused, again.
    expect(kept.length).toBeGreaterThanOrEqual(count);
    const reasons = new Set(kept.map(({ reason }) => reason));
    expect(reasons).toEqual(new Set(source === "forge" ? ["wrong_signature"] : ["wrong_signature", "too_old"]));
  }
  expect(relay.log()).not.toContain("canary");
  expect(await relay.stop()).toBe(0);
});
