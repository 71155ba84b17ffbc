import { expect, it } from "vitest";
import type { AlertView } from "../../src/contract/operations.ts";
import { summarizeDeliveries } from "../../src/contract/words.ts";

const damped = { by: "floor" };
const told = {};

it("counts what did not ring apart from what was sent in a digest or waits", () => {
  const deliveries = [
    { state: "sent", damped },
    { state: "digested" },
    { state: "digested", damped },
    { state: "digested", damped: told },
    { state: "held", damped },
    { state: "held" },
  ].map((one, index) => ({
    id: String(index),
    destination: `place-${index}`,
    channel: "telegram",
    purpose: "alert",
    ...one,
  }));
  const alert = { routedAt: 1, unmatched: false, dropped: false, deliveries } as unknown as AlertView;
  expect(summarizeDeliveries(alert)).toBe("1 sent, 1 held, 2 digested, 2 did not ring");
});
