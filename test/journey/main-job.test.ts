import { expect, it } from "vitest";
import { createFailingProxy } from "../support/failing-proxy.ts";
import { createJourneyWorld, deskChat, mailAddress, opsChat, waitForState } from "../support/journey-world.ts";

const alert = {
  eventId: "evt-1",
  metric: "eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
  chain: "eth",
  token: { symbol: "USDC", address: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48" },
  title: "USDC total TVL fell below 5,000,000",
  severity: "critical",
  status: "firing",
  value: 4912345.6,
  threshold: 5000000,
  timestamp: "2026-11-20T12:00:00Z",
  link: "https://metrics.example.com/usdc",
};

it("an alert that comes in by webhook goes to every chat and mailbox, and the API says sent", async () => {
  const world = await createJourneyWorld();
  const relay = await world.start();
  const { status, ids } = await relay.post(JSON.stringify(alert));
  expect(status).toBe(202);
  const stored = await waitForState(relay, ids[0] ?? "", "sent");
  expect(stored.deliveries.map(({ channel }) => channel).sort()).toEqual(["email", "telegram", "telegram"]);
  for (const chatId of [deskChat, opsChat]) {
    const [message, ...more] = world.chat.messages(chatId);
    expect(more).toEqual([]);
    for (const words of ["USDC TVL 4.912 M, below 5 M (eth)", "4,912,346"]) expect(message?.text).toContain(words);
    expect(JSON.stringify(message?.entities)).toContain(`/alerts/${ids[0]}`);
  }
  const mails = world.mailbox.mails(mailAddress);
  expect(mails).toHaveLength(1);
  expect(mails[0]?.subject).toContain("USDC TVL, limit 5 M (eth)");
  expect(mails[0]?.text).toContain("4,912,346");
  expect(await relay.stop()).toBe(0);
});

it("sends mail on time while the Bot API is down, and each chat message once when it is back", async () => {
  const world = await createJourneyWorld({ yaml: "delivery: { breaker: { failures: 3, pause: 1s } }\n" });
  const proxy = await createFailingProxy(world.chat.url);
  await proxy.down();
  const relay = await world.start({ TELEGRAM_API_ROOT: proxy.url });
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) {
    const body = JSON.stringify({ title: `During the outage ${index}`, eventId: `outage-${index}` });
    ids.push(...(await relay.post(body)).ids);
  }
  await expect.poll(() => world.mailbox.mails(mailAddress).length).toBeGreaterThanOrEqual(5);
  expect(world.chat.messages(deskChat)).toHaveLength(0);
  await proxy.up();
  for (const id of ids) await waitForState(relay, id, "sent");
  for (const chatId of [deskChat, opsChat]) {
    const texts = world.chat.messages(chatId).map(({ text }) => text);
    for (let index = 0; index < 5; index += 1)
      expect(texts.filter((text) => text.includes(`During the outage ${index}`))).toHaveLength(1);
  }
});
