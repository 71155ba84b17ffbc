import { expect, it } from "vitest";
import { type ClockedRelay, startClockedRelay } from "../support/clocked-relay.ts";
import { deskChat, opsChat } from "../support/journey-world.ts";
import { openRingingWorld } from "../support/ringing-world.ts";

const minute = 60_000;
const followers = 40;

interface Found {
  data: {
    deliveries: { destination: string; state: string; reason: string; updates?: string }[];
    decisions: { result: string; reason: string }[];
  };
}

const cause = { title: "Bridge of eth halted", severity: "critical", alertKey: "bridge", chain: "eth" };
const follower = (index: number) => ({
  ...{ title: `Pool ${index} of eth is stale`, severity: "warning", alertKey: `pool ${index}`, chain: "eth" },
});

/** Within 20 seconds. */
async function send(relay: ClockedRelay, bodies: object[]): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, body] of bodies.entries()) {
    ids.push(...(await relay.post(JSON.stringify({ status: "firing", ...body }))).ids);
    if (index % 10 === 0) await relay.advance(4_000);
  }
  await relay.advance(1_000);
  return ids;
}

const all = Array.from({ length: followers }, (_, index) => follower(index));
const everyTitle = [cause, ...all].map(({ title }) => title);

it("mutes what waits in a group and in quiet hours when a mute begins, counts it in the receipt, and releases it", async () => {
  const quietHours = 'timeZone: UTC, quietHours: { from: "22:00", to: "22:10" }';
  const destinations = `  ops: { type: telegram, chatId: "${opsChat}", chart: false, ${quietHours} }`;
  const rules = "routes: [{ name: all, to: [desk, ops], group: { by: [chain], wait: 2m } }]";
  const { world, relay } = await openRingingWorld({ rules, destinations }, Date.UTC(2026, 10, 21, 22, 0, 0));
  for (const body of all.slice(0, 3)) await relay.post(JSON.stringify({ status: "firing", ...body }));
  const headers = { "content-type": "application/json" };
  const send = (path: string, body: object) => relay.api(path, { method: "POST", headers, body: JSON.stringify(body) });
  const made = await send("/api/mutes", { all: true, for: "30m", reason: "migration" });
  const { id } = ((await made.json()) as { data: { id: string } }).data;
  const texts = () =>
    [deskChat, opsChat]
      .flatMap((chat) => world.chat.messages(chat).map(({ text }) => text))
      .filter((text) => text.includes("Pool"));
  await relay.advance(20 * minute);
  expect(texts()).toEqual([]);
  await relay.advance(11 * minute);
  await relay.until(texts, (all) => all.length >= 2, "receipts");
  for (const text of texts()) expect(text).toContain("While muted: 3 alerts, 3 still firing");
  await send("/api/resend", { mute: id });
  await relay.until(texts, (all) => all.filter((text) => text.includes("late: muted")).length >= 2, "what is released");
  await relay.stop();
});

it("41 alerts in 20 s with their cause are one message that rings and lists all, though it is killed while they wait", async () => {
  const group = "group: { by: [chain], wait: 30s, waitCritical: 30s }";
  const rules = `routes: [{ name: all, to: [desk, mail, work], ${group} }]`;
  const { world, slack, inChat, mails, rings, ...started } = await openRingingWorld({ rules });
  const ids = await send(started.relay, [cause, ...all]);
  const at = await started.relay.now();
  await started.relay.kill();
  expect(inChat()).toHaveLength(0);
  const relay = await startClockedRelay(world, {}, at);
  await relay.until(
    () => inChat().length + mails().length,
    (count) => count >= 2,
    "a message in the chat and a mail",
  );
  await relay.advance(minute);
  expect([rings(), inChat().length, slack.seen.length, mails().length]).toEqual([1, 1, 1, 1]);
  for (const title of everyTitle) {
    expect(inChat()[0]?.text).toContain(title);
    expect(mails()[0]?.text).toContain(title);
  }
  const found = await Promise.all(ids.map((id) => relay.getJson<Found>(`/api/alerts/${id}`)));
  for (const { data } of found) expect(data.deliveries.map(({ state }) => state)).toEqual(Array(3).fill("digested"));
  expect(found[1]?.data.decisions[0]?.reason).toMatch(/told with the group chain eth in 2[56] s$/);
  await relay.stop();
});

it("holds back what follows a cause, counts it in place, and tells what still fires when the cause is over", async () => {
  const inhibit = "[{ name: bridge down, while: title~*halted, hold: 'title~Pool*', equal: [chain] }]";
  const rules = `routes: [{ name: all, to: [desk, mail, work] }]\ninhibit: ${inhibit}`;
  const { relay, inChat, mails, rings } = await openRingingWorld({ rules });
  await send(relay, [cause, ...all, ...all.slice(0, 30).map((body) => ({ ...body, status: "resolved" }))]);
  expect([rings(), inChat().length, mails().length]).toEqual([1, 1, 1]);
  for (const words of [`With it: ${followers}`, ...everyTitle]) expect(inChat()[0]?.text).toContain(words);
  await send(relay, [{ ...cause, status: "resolved" }]);
  await relay.advance(minute);
  expect(rings()).toBe(2);
  const last = mails().find(({ text }) => text.includes("held back while bridge down (chain eth) fired"))?.text ?? "";
  for (const [index, { title }] of all.entries()) expect(last.includes(title), title).toBe(index >= 30);
  await relay.stop();
});
