import { describe, expect, it } from "vitest";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import type { Claim } from "../../src/delivery/lane/claim-session.ts";
import { historyOf, leaseOf } from "../../src/delivery/plan/claim-terms.ts";
import { decideNext } from "../../src/delivery/plan/policy.ts";
import { claimedDelivery, now } from "./due-delivery.ts";
import { ntfyTo, telegramTo } from "./engine-fixture.ts";

const hour = 3_600_000;
const chat = telegramTo("chat");
const old = claimedDelivery(1, {
  createdAt: now - 23.9 * hour,
  attempts: 40,
  form: "plain",
  state: "waiting",
});
const young = claimedDelivery(2);

function claim(...deliveries: Claim["deliveries"]): Claim {
  return { token: "t", leaseUntil: now, deliveries, digest: { id: "d", reason: "outage" } };
}

describe("alerts that are told together", () => {
  it("do not give up with the oldest of them, nor with the one that was tried most", () => {
    const history = historyOf(claim(young, old), chat, { refs: [] });
    const next = decideNext(
      { kind: "retry", reason: "connect_failed", detail: "nobody listens" },
      history,
      { ...defaultDeliverySettings(), jitter: 0 },
      now,
      () => 0.5,
    );
    expect(next).toMatchObject({ state: "waiting", dueAt: now + 1_000 });
  });

  it("are refused as they were told: rich, unless all of them had been refused before", () => {
    expect(historyOf(claim(young, old), chat, { refs: [] }).form).toBe("rich");
    expect(historyOf(claim(old), chat, { refs: [] }).form).toBe("plain");
  });

  it("are repeated no more often than the one that was repeated most", () => {
    const repeated = claimedDelivery(3, { ambiguous: 2 });
    expect(historyOf(claim(young, repeated), chat, { refs: [] }).ambiguous).toBe(2);
  });
});

describe("a lease", () => {
  it("outlives the longest call, so that a slow send is not doubled", () => {
    const settings = { ...defaultDeliverySettings(), sendTimeoutMs: 10 * 60_000 };
    expect(leaseOf(ntfyTo("hook"), settings)).toBeGreaterThan(settings.sendTimeoutMs + 5_000);
  });
});
