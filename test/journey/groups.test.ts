import { expect, it } from "vitest";
import { type ClockedRelay, startClockedRelay } from "../support/clocked-relay.ts";
import { deskChat, mailAddress, opsChat } from "../support/journey-world.ts";
import { openRingingWorld } from "../support/ringing-world.ts";

const minute = 60_000;
const followers = 40;

interface Found {
  data: {
    deliveries: { destination: string; state: string; reason: string; updates?: string }[];
    decisions: { result: string; reason: string }[];
  };
}

/** @param options of the route to all three destinations */
const openWorld = (options: string, inhibit = "") =>
  openRingingWorld({ rules: `routes: [{ name: all, to: [desk, mail, work]${options} }]\n${inhibit}` });

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

it("loses none of a group when it is killed while they wait", async () => {
  const { world, relay, inChat, mails } = await openWorld(", group: { by: [chain], wait: 30s }");
  await send(relay, all);
  const at = await relay.now();
  await relay.kill();
  expect(inChat()).toHaveLength(0);
  const again = await startClockedRelay(world, {}, at);
  await again.until(
    () => inChat().length + mails().length,
    (count) => count >= 2,
    "a message in the chat and a mail",
  );
  await again.advance(minute);
  expect(inChat()).toHaveLength(1);
  expect(mails()).toHaveLength(1);
  for (const { title } of all) {
    expect(inChat()[0]?.text).toContain(title);
    expect(mails()[0]?.text).toContain(title);
  }
  await again.stop();
});

it("sends a group as one message to the fallback, and behind quiet hours that began while it waited", async () => {
  const destinations = `
  lost: { type: telegram, chatId: "-1009999999999", chart: false }
  night: { type: email, to: [${mailAddress}], chart: false, timeZone: UTC, quietHours: { from: "22:00", to: "07:00" } }
`;
  const rules = "routes: [{ name: all, to: [lost, night], fallback: { to: desk }, group: { by: [chain], wait: 30s } }]";
  const world = await openRingingWorld({ rules, destinations }, Date.UTC(2026, 10, 21, 21, 59, 40));
  const { relay } = world;
  for (const body of all.slice(0, 5)) await relay.post(JSON.stringify({ status: "firing", ...body }));
  const inChat = () => world.inChat().filter(({ text }) => text.includes("Pool"));
  const mails = () => world.mails().filter(({ text }) => text.includes("Pool"));
  await relay.advance(minute);
  expect(inChat()).toHaveLength(1);
  expect(mails()).toHaveLength(0);
  await relay.set(9 * 60 * minute);
  await relay.advance(minute);
  expect(mails()).toHaveLength(1);
  for (const { title } of all.slice(0, 5)) {
    expect(inChat()[0]?.text).toContain(title);
    expect(mails()[0]?.text).toContain(title);
  }
  await relay.stop();
});

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

it.each([
  ["last", [...all, cause], ", group: { by: [chain], wait: 30s }"],
  ["first", [cause, ...all], ", group: { by: [chain], wait: 30s, waitCritical: 30s }"],
])("41 alerts in 20 s with their cause %s are one message that rings and lists all", async (_, bodies, options) => {
  const { relay, slack, inChat, mails, rings } = await openWorld(options);
  const ids = await send(relay, bodies);
  await relay.advance(minute);
  expect(rings()).toBe(1);
  expect(inChat()).toHaveLength(1);
  expect(slack.seen).toHaveLength(1);
  expect(mails()).toHaveLength(1);
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
  const { relay, inChat, mails, rings } = await openWorld(
    "",
    "inhibit: [{ name: bridge down, while: title~*halted, hold: 'title~Pool*', equal: [chain] }]",
  );
  await send(relay, [cause, ...all]);
  const ended = all.slice(0, 30).map((body) => ({ ...body, status: "resolved" }));
  await send(relay, ended);
  expect(rings()).toBe(1);
  expect(mails()).toHaveLength(1);
  expect(inChat()).toHaveLength(1);
  expect(inChat()[0]?.text).toContain(`With it: ${followers}`);
  for (const { title } of all) expect(inChat()[0]?.text).toContain(title);
  await send(relay, [{ ...cause, status: "resolved" }]);
  await relay.advance(minute);
  expect(rings()).toBe(2);
  const last = mails().find(({ text }) => text.includes("held back while bridge down (chain eth) fired"))?.text ?? "";
  for (const [index, { title }] of all.entries()) expect(last.includes(title), title).toBe(index >= 30);
  await relay.stop();
});

it("lists in place what a cause holds back that was told in the digest of its group", async () => {
  const { relay, inChat, mails, rings } = await openWorld(
    ", group: { by: [chain], wait: 30s, waitCritical: 30s, again: 0s }",
    "inhibit: [{ name: bridge down, while: title~*halted, hold: 'title~Pool*', equal: [chain] }]",
  );
  const other = { title: "Sequencer of eth is slow", severity: "warning", alertKey: "sequencer", chain: "eth" };
  await send(relay, [cause, other]);
  await relay.advance(30_000);
  await send(relay, all.slice(0, 5));
  await relay.advance(minute);
  expect(rings()).toBe(1);
  expect(inChat().map(({ silent }) => silent)).toEqual([false, true]);
  expect(inChat()[1]?.text).toContain("With it: 5");
  expect(mails()).toHaveLength(1);
  await send(relay, [{ ...cause, status: "resolved" }]);
  await relay.advance(minute);
  expect(inChat().filter(({ text }) => /Over after.*With it: 5/su.test(text))).toHaveLength(1);
  await relay.stop();
});

it("says last of each key whether it is over, with two causes and ends that say less than their beginnings", async () => {
  const rules = `
routes: [{ name: all, to: desk, flapping: off }]
inhibit:
  - { name: bridge down, while: title~Bridge*, hold: title~Pool*, equal: [chain] }
  - { name: rpc down, while: title~Rpc*, hold: title~Pool*, equal: [chain] }
`;
  const { relay, inChat } = await openRingingWorld({ rules }, Date.UTC(2026, 10, 21, 12));
  const rpc = { title: "Rpc of eth is down", severity: "critical", alertKey: "rpc", chain: "eth" };
  const over = ({ title, alertKey }: typeof cause) => ({ title, alertKey, status: "resolved" });
  const post = async (body: object) => {
    await relay.post(JSON.stringify({ status: "firing", ...body }));
    await relay.advance(minute);
  };
  const last = (title: string) =>
    inChat()
      .findLast(({ text }) => text.includes(title))
      ?.text.split("\n")[0];
  // The first one is told before its causes, the second one waits for both.
  for (const body of [follower(1), rpc, follower(2), cause, follower(1), over(follower(1)), over(rpc)])
    await post(body);
  expect(last("• ⚠️ Pool 2")).toBeUndefined();
  await post(over(cause));
  expect(last("• ✅ Pool 1")).toBeDefined();
  expect(last("• ⚠️ Pool 2")).toBe(last("• ✅ Pool 1"));
  const bridge = inChat().filter(({ text }) => text.includes("Bridge of eth halted"));
  expect(bridge.some(({ text }) => text.includes("it fired") || text.includes("time since"))).toBe(false);
  await relay.stop();
});
