import { describe, expect, it } from "vitest";
import { noon, type OpenStore, openScene, planned } from "../scene.ts";

const fallback = { to: "mail", at: noon + 600_000 };

export function describeFallbacks(open: OpenStore): void {
  describe("fallbacks", () => {
    it("lists what has not succeeded by its time, held or being sent alike", async () => {
      const { store, route, claim, attempt } = await openScene(open);
      for (const destination of ["one", "two", "three"]) await route({ to: [planned(destination, { fallback })] });
      await route({ to: ["no-fallback"] });
      await claim("two", "t2");
      await attempt({
        token: "t2",
        outcome: "ambiguous",
        next: { state: "held", reason: "" },
      });
      await claim("three", "t3");
      expect(await store.listFallbacksDue(fallback.at - 1)).toEqual([]);
      const due = await store.listFallbacksDue(fallback.at);
      expect(due.map(({ destination, state }) => `${destination} ${state}`)).toEqual([
        "one queued",
        "two held",
        "three sending",
      ]);
      expect(due.every(({ fallbackTo }) => fallbackTo === "mail")).toBe(true);
    });

    it("does not call upon one for what was sent or muted", async () => {
      const { store, route, claim, attempt } = await openScene(open);
      await route({ to: [planned("chat", { fallback }), planned("ops", { fallback, state: "muted" })] });
      await claim("chat", "t1");
      await attempt({ token: "t1" });
      expect(await store.listFallbacksDue(Number.MAX_SAFE_INTEGER)).toEqual([]);
    });

    it("makes the deliveries once, whoever asks: time, failed attempt or end without one", async () => {
      const { store, lane, route, claim, attempt, due } = await openScene(open);
      const { id } = await route({ to: [planned("chat", { fallback })] });
      const [delivery] = await claim("chat", "t1");
      const deliverySeq = delivery?.seq ?? 0;
      const call = {
        deliverySeq,
        planned: [
          planned("mail", { insteadBecause: "chat refused it" }),
          planned("mail", { recipient: "b@example.com" }),
        ],
      };
      await store.callFallbacks([call], noon + 600_000);
      await store.callFallbacks([call], noon + 600_000);
      await attempt({
        token: "t1",
        deliverySeqs: [deliverySeq],
        outcome: "rejected",
        reason: "kicked",
        next: { state: "failed", reason: "kicked" },
        fallbacks: [call],
      });
      await store.finishDeliveries(lane, [deliverySeq], { state: "failed", reason: "" }, noon, [call]);
      const made = (await store.getAlert(id))?.deliveries.slice(1);
      expect(made).toMatchObject([
        { destination: "mail", purpose: "fallback", insteadOf: "chat", state: "queued" },
        { destination: "mail", recipient: "b@example.com", purpose: "fallback", insteadOf: "chat" },
      ]);
      expect(await due("mail")).toMatchObject([
        { insteadOf: "chat", insteadBecause: "chat refused it" },
        { insteadOf: "chat" },
      ]);
      expect(await store.listFallbacksDue(Number.MAX_SAFE_INTEGER)).toEqual([]);
    });

    it("makes them once for all mailboxes of one destination", async () => {
      const { store, route, due } = await openScene(open);
      const mailbox = (recipient: string) => planned("mail", { recipient, fallback: { ...fallback, to: "chat" } });
      const { id } = await route({ to: [mailbox("a@example.com"), mailbox("b@example.com")] });
      const calls = (await due("mail")).map(({ seq }) => ({ deliverySeq: seq, planned: [planned("chat")] }));
      await store.callFallbacks(calls, noon);
      expect((await store.getAlert(id))?.deliveries.map(({ destination }) => destination)).toEqual([
        "mail",
        "mail",
        "chat",
      ]);
    });

    it("makes them in the same step as the failed attempt", async () => {
      const { route, claim, attempt, states } = await openScene(open);
      const { id } = await route({ to: [planned("chat", { fallback })] });
      const [delivery] = await claim("chat", "t1");
      const deliverySeq = delivery?.seq ?? 0;
      await attempt({
        token: "t1",
        deliverySeqs: [deliverySeq],
        outcome: "rejected",
        reason: "kicked",
        next: { state: "failed", reason: "kicked" },
        fallbacks: [{ deliverySeq, planned: [planned("mail")] }],
      });
      expect(await states(id)).toEqual(["failed", "queued"]);
    });

    it("makes them in the same step as an end without an attempt", async () => {
      const { store, lane, route, due, states } = await openScene(open);
      const { id } = await route({ to: [planned("chat", { fallback })] });
      const [{ seq } = { seq: 0 }] = await due("chat");
      const call = { deliverySeq: seq, planned: [planned("mail")] };
      await store.finishDeliveries(lane, [seq], { state: "failed", reason: "dead" }, noon, [call]);
      expect(await states(id)).toEqual(["failed", "queued"]);
    });
  });
}
