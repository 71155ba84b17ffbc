import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startClockedRelay } from "../support/clocked-relay.ts";
import { createJourneyWorld, deskChat, waitForState } from "../support/journey-world.ts";
import { waitUntil } from "../support/relay-process.ts";
import { createHttpVendor } from "../support/vendors/http-vendor.ts";

const second = 1_000;
const minute = 60 * second;

it("ends while the database hangs, and comes again with it: the alert that came meanwhile is stored, answered, sent", async () => {
  const service = await createHttpVendor(() => ({ status: 200 }));
  onTestFinished(service.close);
  const path = "/ping/5f3a1c9e-canary";
  const signs = (word = "") => service.requests.filter((request) => request.path === `${path}${word}`).length;
  const world = await createJourneyWorld({
    yaml: `heartbeat: { url: "\${HEARTBEAT_URL}", every: 10s, allowInternal: ["127.0.0.1"] }\n`,
  });
  const env = { TELEGRAM_CHAT_IDS: deskChat, EMAIL_TO: "", HEARTBEAT_URL: `${service.origin}${path}` };
  const relay = await startClockedRelay(world, { ...env, STORE_THREAD: "rough" }, Date.UTC(2026, 10, 21, 12));
  await relay.until(
    () => signs(),
    (count) => count >= 3,
    "three signs",
  );

  const hang = join(world.dataDir, "hang");
  writeFileSync(hang, "");
  const [hungAt, before] = [await relay.now(), signs()];
  let isAnswered = false;
  const posting = relay.post('{"title":"Came while it hung"}').finally(() => {
    isAnswered = true;
  });
  /** Moves the clock of a relay whose store does not answer until the answer is as wished. */
  const whilePassing = (ask: () => number, wished: (value: number) => boolean, what: string) =>
    waitUntil(
      async () => {
        await relay.pass(second);
        return ask();
      },
      wished,
      { what },
    );
  await whilePassing(
    () => signs("/fail"),
    (count) => count > 0,
    "the word that it fails",
  );
  expect((await relay.now()) - hungAt).toBeLessThan(1.5 * minute);
  for (let seconds = 0; seconds < 120; seconds += 1) await relay.pass(second);
  expect([signs(), signs("/fail"), isAnswered]).toEqual([before, 1, false]);
  let readiness = 0;
  void relay.api("/readyz").then((answer) => {
    readiness = answer.status;
  });
  await whilePassing(
    () => readiness,
    (status) => status > 0,
    "a word of its readiness",
  );
  expect(readiness).toBe(503);

  rmSync(hang);
  const { status, ids } = await posting;
  expect(status).toBe(202);
  await relay.until(
    () => signs(),
    (count) => count > before,
    "the next sign",
  );
  await relay.until(
    () => world.chat.messages(deskChat).length,
    (count) => count > 0,
    "the message",
  );
  await waitForState(relay, ids[0] ?? "", "sent");
  expect(signs("/fail")).toBe(1);
  expect(relay.log()).not.toContain("canary");
});
