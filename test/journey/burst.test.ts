import { expect, it } from "vitest";
import { type ApiAlert, createJourneyWorld, deskChat, mailAddress } from "../support/journey-world.ts";
import { type RelayProcess, waitUntil } from "../support/relay-process.ts";

/** P9 with the vendor's limits: one message a second for a chat, twenty a minute for a group. */
it("sends 1,000 alerts of one second as a few digests, floods nobody, and accounts for each", async () => {
  const world = await createJourneyWorld({
    yaml: `
destinations:
  desk: { type: telegram, chatId: "${deskChat}" }
  mail: { type: email, to: ["${mailAddress}"] }
routes:
  - { name: urgent, match: { severity: critical }, to: [mail], continue: true }
  - { name: everything, to: [desk] }
`,
  });
  const relay = await world.start({ TELEGRAM_CHAT_IDS: "", EMAIL_TO: "" });
  const bodies = Array.from({ length: 1000 }, (_, index) =>
    JSON.stringify({ title: `Burst ${index}`, severity: "warning", eventId: `burst-${index}` }),
  );
  for (let start = 0; start < bodies.length; start += 100) {
    const answers = await Promise.all(bodies.slice(start, start + 100).map((body) => relay.post(body)));
    expect(answers.every(({ status }) => status === 202)).toBe(true);
  }
  // However slowly the alerts came in: from here on the chat has a backlog for a while.
  world.chat.faults.next({ kind: "flood", chat: deskChat, method: "sendMessage", retryAfterSeconds: 15 });
  const urgent = await relay.post(
    JSON.stringify({ title: "Look at this one", severity: "critical", eventId: "urgent-1" }),
  );
  const mail = { destination: "mail", state: "sent" };
  const found = async () => (await relay.getJson<{ data: ApiAlert }>(`/api/alerts/${urgent.ids[0]}`)).data.deliveries;
  await expect.poll(found).toContainEqual(expect.objectContaining(mail));
  const { queued = 0, waiting = 0, sending = 0 } = await readDeskCounts(relay);
  expect(queued + waiting + sending, "a backlog that has not held up the mail").toBeGreaterThan(0);

  const counts = await waitUntil(
    () => readDeskCounts(relay),
    (found) => (found.sent ?? 0) + (found.digested ?? 0) === 1001,
    "an end for every delivery",
  );
  expect(counts.digested).toBeGreaterThan(900);
  const refused = world.chat.calls().filter((call) => call.status === 429);
  // One is the test's own.
  expect(refused.length).toBeLessThanOrEqual(2);
  const messages = world.chat.messages(deskChat);
  // Twenty a minute are allowed, so that many take a minute at most.
  expect(messages.length).toBeLessThanOrEqual(20);
  expect(messages.some(({ text }) => /\d+ (?:alerts|warnings) in /.test(text))).toBe(true);
});

async function readDeskCounts(relay: RelayProcess): Promise<Record<string, number>> {
  const { data } = await relay.getJson<{ data: { name: string; counts: Record<string, number> }[] }>(
    "/api/destinations",
  );
  return data.find(({ name }) => name === "desk")?.counts ?? {};
}
