import { expect, test } from "vitest";
import type { PastAlert, Position } from "../../src/core/ports/alert-log.ts";
import type { BodyReader, StoredBody } from "../../src/core/ports/body-reader.ts";
import { createTryRules } from "../../src/explain/backtest.ts";
import { chat, noon, route, rules } from "../routing/sample.ts";
import { createLocalReader } from "../support/reader.ts";

const tried = rules({ destinations: [chat("desk")], routes: [route("all", ["desk"])] });
const body = { body: Buffer.from('{"title":"low"}'), contentType: undefined };

/** A log of as many alerts as are asked for, a second apart. */
function createTry({ reader = createLocalReader(), past = {} }: { reader?: BodyReader; past?: Partial<PastAlert> }) {
  let given = 0;
  const listPast = async ({ limit }: { limit: number }) =>
    Array.from({ length: limit }, () => {
      given += 1;
      const at = noon - given * 1_000;
      const routed = { id: `${given}`, receivedAt: at, routedAt: at, wasUnreadable: false, dropped: false };
      return { ...routed, decisions: [], deliveries: [], body, item: 0, position: `${given}` as Position, ...past };
    });
  return createTryRules({ store: { listPast }, reader, listMutes: async () => [] });
}

test("compares one file at a time, the newest 10,000 alerts, and says back to when", async () => {
  const tryRules = createTry({});
  const first = tryRules(tried, 0);
  await expect(tryRules(tried, 0)).rejects.toMatchObject({ code: "conflict", hint: "Send it again in some seconds." });
  expect(await first).toMatchObject({ alerts: 10_000, comparedFrom: new Date(noon - 10_000_000).toISOString() });
  expect(await tryRules(tried, 0)).toMatchObject({ alerts: 10_000 });
});

test("does not read again what could not be read when it came", async () => {
  const read: StoredBody[] = [];
  const local = createLocalReader();
  const reader: BodyReader = {
    read(bodies) {
      read.push(...bodies);
      return local.read(bodies);
    },
  };
  expect(await createTry({ reader, past: { wasUnreadable: true } })(tried, 0)).toMatchObject({ alerts: 10_000 });
  expect(read).toEqual([]);
});
