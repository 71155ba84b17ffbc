import { expect, it } from "vitest";
import type { ClockedRelay } from "../support/clocked-relay.ts";
import { openRingingWorld } from "../support/ringing-world.ts";

const minute = 60_000;
const noon = Date.parse("2026-11-21T12:00:00Z");

async function openWorld() {
  const rules = `
routes:
  - { name: notes, match: { chain: base }, to: [work], flapping: off }
  - { name: all, to: [desk, mail, work], flapping: off }
`;
  const { relay, inChat, mails, slack } = await openRingingWorld({ rules }, noon, {
    PUBLIC_URL: "https://tocsin.example",
  });
  return { relay, inChat, mails, slack: () => slack.seen.map((one) => JSON.stringify(one)) };
}

type World = Awaited<ReturnType<typeof openWorld>>;

async function fire(relay: ClockedRelay, key: string, severity = "warning", changes: object = {}) {
  const body = {
    title: `${key} price`,
    severity,
    status: "firing",
    value: 24,
    threshold: 25,
    alertKey: key,
    ...changes,
  };
  await relay.post(JSON.stringify(body));
  await relay.advance(1_000);
}

async function send<T = object>(relay: ClockedRelay, path: string, body: object): Promise<T> {
  const headers = { "content-type": "application/json" };
  const answer = await relay.api(path, { method: "POST", headers, body: JSON.stringify(body) });
  return ((await answer.json()) as { data: T }).data;
}

async function muteFor(relay: ClockedRelay, span: string): Promise<string> {
  const asked = { all: true, for: span, reason: "pool migration" };
  return (await send<{ id: string }>(relay, "/api/mutes", asked)).id;
}

const receipts = ({ inChat, mails, slack }: Omit<World, "relay">) => ({
  chat: inChat().filter(({ text }) => text.includes("While muted")),
  mails: mails().filter(({ subject }) => subject.includes("While muted")),
  slack: slack().filter((text) => text.includes("While muted")),
});

it("tells each destination once at the end of a mute what was held back, and releases what still fires", async () => {
  const { relay, ...world } = await openWorld();
  const id = await muteFor(relay, "1h");
  await fire(relay, "ONYX");
  await fire(relay, "ONYX", "warning", { value: 22 });
  await fire(relay, "USDC");
  await fire(relay, "USDC", "info", { status: "resolved", value: 26 });
  await fire(relay, "BASE", "info", { chain: "base" });
  await fire(relay, "ONYX", "warning", { value: 23 });
  await relay.advance(minute);
  expect(world.inChat()).toEqual([]);
  await relay.set(60 * minute);
  await relay.advance(minute);
  const told = receipts(world);
  expect([told.chat.length, told.mails.length, told.slack.length]).toEqual([1, 1, 1]);
  expect(told.chat[0]).toMatchObject({ silent: true });
  expect(told.chat[0]?.text).toMatch(/While muted: 5 alerts, 1 still firing \(1 warning\)/);
  for (const words of ["pool migration", `tocsin mutes release ${id}`]) expect(told.chat[0]?.text).toContain(words);
  expect(told.chat[0]?.text.indexOf("ONYX")).toBeLessThan(told.chat[0]?.text.indexOf("USDC") ?? 0);
  expect(told.slack[0]).toContain("6 alerts, 2 still firing (1 warning, 1 info)");

  const ask = { mute: id };
  const preview = await relay.getJson<{ data: { deliveries: number; over: number } }>(`/api/resend?mute=${id}`);
  expect(preview.data).toMatchObject({ deliveries: 4, over: 3 });
  expect(await send(relay, "/api/resend", ask)).toMatchObject({ resent: 4, left: [] });
  expect(await send(relay, "/api/resend", ask)).toMatchObject({ resent: 0, left: [] });
  await relay.advance(minute);
  const released = world.inChat().filter(({ text }) => text.includes("Released"));
  expect(released).toHaveLength(1);
  expect(released[0]?.text).toMatch(/ONYX.*23.*1 h 2 min late: muted until 13:00 UTC/s);
  expect(released[0]?.text).toMatch(/Before it, 2 since .*, from 22 to 24, did not ring/);
  // What is over was not asked for.
  type Listed = { data: { silenced?: number }[] };
  expect((await relay.getJson<Listed>("/api/mutes?ended=true")).data).toMatchObject([{ silenced: 2 }]);
  await send(relay, "/api/resend", { mute: id, over: "true" });
  expect((await relay.getJson<Listed>("/api/mutes?ended=true")).data[0]?.silenced).toBeUndefined();
  await relay.stop();
});
