import { expect, it } from "vitest";
import { createJourneyWorld, deskChat } from "../support/journey-world.ts";
import { openRaw } from "../support/raw-http.ts";
import { adminToken, type RelayProcess, waitUntil, webhookSecret } from "../support/relay-process.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { fuzzRequest } from "./fuzzed-requests.ts";

/**
 * More of it, and other requests: `TOCSIN_FUZZ_EXCHANGES=20000 TOCSIN_FUZZ_SEED=7 npx vitest run test/security/fuzz`.
 */
const exchanges = Number(process.env.TOCSIN_FUZZ_EXCHANGES ?? 400);
const seed = Number(process.env.TOCSIN_FUZZ_SEED ?? 20261121);
const atOnce = 8;

const yaml = `
destinations:
  desk: { type: telegram, chatId: "${deskChat}", pace: { perSecond: 1000 } }
  mail: { type: email, to: [risk@desk.example] }
`;

/**
 * Items 5 and 6, P3 and P4: whatever comes over the wire, the relay lives, explains nothing away, and rings afterwards.
 */
it(`survives ${exchanges} requests of garbage, and relays the alert that comes after them`, async () => {
  const world = await createJourneyWorld({ yaml, chat: { limited: false } });
  const relay = await world.start({ TELEGRAM_CHAT_IDS: "", EMAIL_TO: "" });
  const random = createSeededRandom(seed);
  let left = exchanges;
  async function sendSome(): Promise<void> {
    while (left > 0) {
      left -= 1;
      await sendOnce(relay, random);
    }
  }
  await Promise.all(Array.from({ length: atOnce }, sendSome));

  const { status, ids } = await relay.post(`{"title":"after the garbage","severity":"critical"}`);
  expect(status).toBe(202);
  await waitUntil(
    () => relay.getJson<{ data: unknown[] }>("/api/alerts?state=unrouted&limit=1"),
    ({ data }) => data.length === 0,
    "a decision for every alert",
  );
  await waitUntil(
    () => relay.getJson<{ data: { deliveries: { state: string }[] } }>(`/api/alerts/${ids[0]}`),
    ({ data }) => data.deliveries.length === 2 && data.deliveries.every(({ state }) => /^(sent|digested)$/.test(state)),
    "the good alert at both destinations",
  );
  expect(relay.process.exitCode).toBeNull();
  expect(await relay.stop()).toBe(0);
  expectQuietLog(relay.log());
}, 1_200_000);

/** The connection is half closed behind the bytes, so that the relay ends it whatever it has understood. */
async function sendOnce(relay: RelayProcess, random: SeededRandom): Promise<void> {
  const targets = { hookPath: `/hooks/${webhookSecret}`, adminToken };
  const bytes = fuzzRequest(random, targets);
  const connection = await openRaw(relay.url);
  await connection.write(bytes);
  connection.socket.end();
  const answers = await connection.readToEnd();
  // 505 is about the sender's version of HTTP.
  const faults = answers.filter(({ status }) => status >= 500 && status !== 505);
  expect(faults, JSON.stringify(bytes.toString("latin1"))).toEqual([]);
}

function expectQuietLog(log: string): void {
  const events = log
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { level: string; event: string });
  expect(events.filter(({ level }) => level === "error")).toEqual([]);
  expect(log).not.toContain(webhookSecret);
  expect(log).not.toContain(adminToken);
}
