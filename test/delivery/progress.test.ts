import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import type { DeliveryProgress } from "../../src/core/delivery-job.ts";
import { advance } from "../../src/delivery/plan/progress.ts";
import { lost, refused } from "./outcomes.ts";

const refusedMessage = {
  kind: "rejected",
  scope: "message",
  reason: "markup_refused",
  detail: "",
} as const;
const late = { byMs: 90_000, why: "queue" };
const underWay: DeliveryProgress = { refs: ["1", null], madeAt: 5, late, digestReason: "burst" };
const anew: DeliveryProgress = { refs: [], digestReason: "burst" };

describe("how far a delivery has come", () => {
  it("counts each part that was sent, whether or not the vendor gives it an id", () => {
    const first = advance({ refs: [] }, { kind: "called", outcome: { kind: "sent", ref: "1" } });
    expect(advance(first, { kind: "called", outcome: { kind: "sent" } })).toEqual({ refs: ["1", null] });
  });

  it.each<[string, Outcome, DeliveryProgress]>([
    ["stays where it was when the rest of the parts is only sent later", refused, underWay],
    ["begins anew in another form after the message was refused", refusedMessage, anew],
    ["begins anew when all of it is marked as a repeat", lost, anew],
    ["begins anew in another chat, and counts the move", { ...refused, movedTo: "-1" }, { ...anew, moves: 1 }],
  ])("%s", (_name, outcome, expected) => {
    expect(advance(underWay, { kind: "called", outcome })).toEqual(expected);
    expect(underWay.refs).toHaveLength(2);
  });

  it("says of time what it said first, until it begins anew", () => {
    const composed = { kind: "composed", at: 9, late: undefined } as const;
    expect(advance(underWay, composed)).toEqual(underWay);
    expect(advance(advance(underWay, { kind: "abandoned" }), composed)).toEqual({ ...anew, madeAt: 9 });
  });

  it("remembers why its alerts are sent together", () => {
    expect(advance({ refs: [] }, { kind: "digest", reason: "outage" }).digestReason).toBe("outage");
  });
});
