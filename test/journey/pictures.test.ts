import { expect, it } from "vitest";
import { createJourneyWorld, deskChat, opsChat, waitForState } from "../support/journey-world.ts";
import { type RelayProcess, waitUntil } from "../support/relay-process.ts";

const yaml = `
destinations:
  desk: { type: telegram, chatId: ${deskChat}, pace: { perSecond: 20, perMinute: 600 } }
  plain: { type: telegram, chatId: ${opsChat}, chart: false, pace: { perSecond: 20, perMinute: 600 } }
routes:
  - { name: all, to: [desk, plain], updates: new, flapping: off }
`;
const alertOf = (value: number) => ({
  metric: "eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
  title: "USDC total TVL fell below 5,000,000",
  severity: "critical",
  status: "firing",
  value,
  threshold: 5_000_000,
});

type Delivery = { destination: string; picture?: { result: string; afterMs?: number; reason?: string } };

async function send(relay: RelayProcess, value: number): Promise<string> {
  const { ids } = await relay.post(JSON.stringify(alertOf(value)));
  const [id = ""] = ids;
  await waitForState(relay, id, "sent");
  return id;
}

async function pictureOf(relay: RelayProcess, id: string): Promise<Delivery["picture"]> {
  const { data } = await relay.getJson<{ data: { deliveries: Delivery[] } }>(`/api/alerts/${id}`);
  return data.deliveries.find(({ destination }) => destination === "desk")?.picture;
}

const waitForPicture = (relay: RelayProcess, id: string): Promise<Delivery["picture"]> =>
  waitUntil(
    () => pictureOf(relay, id),
    (picture) => picture !== undefined,
    "what became of the picture",
  );

/**
 * Sends alerts until one ends so. On a machine that is busy a picture may be late; a chat gets pictures for five texts a
 * minute.
 */
async function sendUntil(relay: RelayProcess, isWanted: (picture: Delivery["picture"]) => boolean): Promise<number> {
  for (let sent = 1; sent <= 4; sent += 1) {
    if (isWanted(await waitForPicture(relay, await send(relay, 4_900_000 - sent * 10_000)))) return sent;
  }
  throw new Error("no picture of four ended as it should");
}

const isJoined = (picture: Delivery["picture"]) => picture?.result === "joined";

it("the picture of an alert costs no text when the relay is killed while it joins: nothing is sent twice", async () => {
  const world = await createJourneyWorld({ yaml });
  const relay = await world.start();
  await send(relay, 4_900_000);
  world.chat.faults.next({ kind: "hang", method: "editMessageMedia" });
  const isUnderWay = () => world.chat.calls().some(({ method }) => method === "editMessageMedia");
  let more = 0;
  while (!isUnderWay() && more < 4) {
    more += 1;
    const id = await send(relay, 4_900_000 - more * 10_000);
    const isDecided = async () => isUnderWay() || (await pictureOf(relay, id)) !== undefined;
    await waitUntil(isDecided, Boolean, "the picture's call");
  }
  expect(isUnderWay()).toBe(true);
  await relay.kill();
  const again = await world.start();
  const afterKill = await sendUntil(again, isJoined);
  const messages = world.chat.messages(deskChat);
  expect(messages).toHaveLength(1 + more + afterKill);
  expect(messages.at(-1)?.picture).toMatchObject({ isTextFirst: true });
  expect(messages.at(-1)?.picture?.width).toBeGreaterThan(400);
  const plain = world.chat.calls().filter(({ parameters }) => parameters.chat_id === opsChat);
  expect(plain.filter(({ method }) => method.startsWith("edit"))).toEqual([]);
  expect(await (await again.api("/metrics")).text()).toContain('tocsin_pictures_total{result="joined"} 1\n');
  expect(await again.stop()).toBe(0);
});
