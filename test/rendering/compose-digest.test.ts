import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Alert, severities } from "../../src/core/alert.ts";
import type { DigestContext } from "../../src/core/message-context.ts";
import { readableText } from "../../src/vendors/index.ts";
import { createRendering } from "../support/rendering.ts";
import { makeAlert, minuteMs, publicUrl, receivedAt } from "./sample.ts";

const rendering = createRendering({ publicUrl });

function textOf(alerts: Alert[], context: Partial<DigestContext> = {}): string {
  const document = rendering.composeDigest(alerts, {
    now: receivedAt + minuteMs,
    reason: "burst",
    possibleRepeat: false,
    ...context,
  });
  const [message] = rendering.renderDocument("apprise", document, { form: "rich", timeZone: "UTC" });
  return message === undefined ? "" : readableText(message);
}

function makeOne(seq: number, facts: Partial<Alert["facts"]>): Alert {
  const at = receivedAt + seq * 1000;
  return makeAlert({
    id: `id-${seq}`,
    seq,
    receivedAt: at,
    facts: { alertKey: `key-${seq}`, title: `Alert ${seq}`, ...facts },
  });
}

const linesOf = (text: string): string[] => text.split("\n").filter((line) => line.startsWith("• "));

describe("a digest", () => {
  it("accounts for every alert: the counts, and the lines and the rest, add up", () => {
    const anyAlert = fc.record({
      severity: fc.constantFrom(...severities),
      status: fc.constantFrom("firing" as const, "resolved" as const, "unknown" as const),
      alertKey: fc.integer({ min: 0, max: 40 }).map(String),
      title: fc.constant("T"),
    });
    fc.assert(
      fc.property(fc.array(anyAlert, { minLength: 1, maxLength: 120 }), (facts) => {
        const text = textOf(facts.map((one, seq) => makeOne(seq, one)));
        const [first = ""] = text.split("\n");
        const [total = 0, ...counts] = [...first.replace(/ in \d+ [a-z]+/, "").matchAll(/\d+/g)].map(Number);
        expect(total).toBe(facts.length);
        if (counts.length > 0) expect(counts.reduce((sum, one) => sum + one, 0)).toBe(total);
        const shown = linesOf(text).reduce((sum, line) => sum + Number(/ ×(\d+)/.exec(line)?.[1] ?? 1), 0);
        const rest = Number(/^and (\d+) more: /m.exec(text)?.[1] ?? 0);
        expect(shown + rest).toBe(total);
        expect(linesOf(text).length).toBeLessThanOrEqual(15);
      }),
    );
  });

  it("of what did not ring says of how many keys it is, and what still fires", () => {
    const keys = Array.from({ length: 40 }, (_, seq) =>
      makeOne(seq, { severity: "warning", status: seq < 3 ? "firing" : "resolved" }),
    );
    const text = textOf(keys, { reason: "calm" });
    expect(text).toMatch(/^Calm: 40 keys, 3 still firing \(3 warnings\)\n/);
    expect(text).toContain("These did not ring. Received");
  });

  it("puts the worst first, then the newest, and what is resolved last", () => {
    const text = textOf([
      makeOne(1, { severity: "info" }),
      makeOne(2, { severity: "critical" }),
      makeOne(3, { severity: "critical", status: "resolved" }),
      makeOne(4, { severity: "unknown" }),
      makeOne(5, { severity: "critical" }),
      makeOne(6, { severity: "warning" }),
    ]);
    expect(linesOf(text).map((line) => line.replace(/ · .*/, ""))).toEqual([
      "• 🚨 Alert 5",
      "• 🚨 Alert 2",
      "• ⚠️ Alert 6",
      "• 🔔 Alert 4",
      "• ℹ️ Alert 1",
      "• ✅ Alert 3",
    ]);
  });

  it("tells one key on one line by its worst, unless it is over", () => {
    const same = { alertKey: "same" };
    const open = [makeOne(1, { ...same, severity: "critical" }), makeOne(2, { ...same, severity: "info" })];
    expect(linesOf(textOf(open))).toEqual(["• Alert 1 ×2"]);
    const over = [...open, makeOne(3, { ...same, status: "resolved" })];
    expect(linesOf(textOf(over))).toEqual(["• Alert 3 ×3 · over after 2 s"]);
    expect(textOf(over)).toMatch(/^3 alerts in 2 s: 1 critical, 1 info, 1 resolved/);
  });

  it("after quiet hours counts as firing only what is not over, and says of the rest how long it lasted", () => {
    const key = (alertKey: string) => ({ alertKey });
    const alerts = [
      makeOne(0, key("a")),
      makeOne(480, { ...key("a"), status: "resolved" }),
      makeOne(500, { ...key("b"), severity: "warning" }),
      makeOne(600, { ...key("c"), status: "resolved" }),
    ];
    const quietHours = { from: "22:00", to: "07:00" };
    const text = textOf(alerts, { reason: "quiet_hours", quietHours });
    expect(text).toMatch(/^While quiet \(22:00 to 07:00\): 4 alerts, 1 still firing \(1 warning\)\n/);
    expect(linesOf(text)).toEqual([
      "• Worst: 🚨 Alert 0 · 02:02 UTC; over",
      "• ⚠️ Alert 500 · 02:10 UTC",
      "• ✅ Alert 600 · 02:12 UTC",
      "• ✅ Alert 480 ×2 · over after 8 min · 02:10 UTC",
    ]);
    expect(textOf(alerts.slice(0, 2), { reason: "quiet_hours" })).toMatch(
      /^While quiet: 2 alerts, none still firing\n/,
    );
  });

  it("after quiet hours names the worst of all, and of each key the latest", () => {
    const of = (seq: number, alertKey: string, facts: Partial<Alert["facts"]>) =>
      makeOne(seq, { alertKey, threshold: "20", severity: "warning", ...facts });
    const night = [
      of(10, "a", { value: "19" }),
      of(20, "a", { value: "9" }),
      of(30, "b", { severity: "critical" }),
      of(40, "b", { severity: "info", status: "resolved" }),
      of(50, "a", { value: "18" }),
    ];
    expect(linesOf(textOf(night, { reason: "quiet_hours" }))).toEqual([
      "• Worst: 🚨 Alert 30 · 02:02 UTC; over",
      "• ⚠️ Alert 50: 18, below 20 ×3",
      "• ✅ Alert 40 ×2 · over after 10 s",
    ]);
    const warnings = night.filter(({ facts }) => facts.alertKey === "a");
    expect(linesOf(textOf(warnings, { reason: "quiet_hours" }))).toEqual([
      "• Worst: ⚠️ Alert 20 · 9 · 02:02 UTC",
      "• Alert 50: 18, below 20 ×3",
    ]);
    expect(textOf([...night, of(60, "c", { severity: "critical" })], { reason: "quiet_hours" })).not.toContain("Worst");
  });

  it("names what was critical though it is over, and none that still fires gives way to it", () => {
    const warnings = Array.from({ length: 80 }, (_, index) => makeOne(index + 10, { severity: "warning" }));
    const over = [
      makeOne(1, { alertKey: "margin", severity: "critical", title: "Margin call" }),
      makeOne(2, { alertKey: "margin", severity: "unknown", status: "resolved", title: "Margin call" }),
    ];
    const lines = linesOf(textOf([...warnings, ...over]));
    expect(lines).toHaveLength(15);
    expect(lines.at(-1)).toMatch(/^• ✅ Margin call ×2 · over/);
    const criticals = warnings.map((one) => ({ ...one, facts: { ...one.facts, severity: "critical" as const } }));
    expect(linesOf(textOf([...criticals, ...over])).join()).not.toContain("Margin call");
  });

  it("counts how long it lasted from the last time that it fired anew", () => {
    const statuses = ["firing", "resolved", "firing", "firing", "resolved"] as const;
    const alerts = statuses.map((status, index) => makeOne(index * 60, { alertKey: "a", status }));
    expect(linesOf(textOf(alerts))).toEqual(["• Alert 240 ×5 · over after 2 min · 02:06 UTC"]);
  });

  it("says since when, why, and how late", () => {
    const alerts = [makeOne(0, {}), makeOne(600, {})];
    expect(
      textOf(alerts, { reason: "outage", late: { byMs: 11 * minuteMs, why: "Telegram did not answer" } }),
    ).toContain(
      "Sent as one message: they could not be delivered when they arrived. Received 02:02 UTC to 02:12 UTC. Up to 11 min late: Telegram did not answer",
    );
    // What is not late has what it is about in the first lines of a locked phone.
    expect(textOf(alerts, { reason: "burst" })).toMatch(
      /^2 critical in 10 min\n\n• .*\n• .*\nSent as one message\. Received 02:02 UTC to 02:12 UTC/,
    );
    const old = textOf(alerts, { reason: "burst", late: { byMs: 11 * minuteMs, why: "queue" } });
    expect(old).toMatch(/^2 critical in 10 min\n+Sent as one message\. .* late: queue\n/);
    const late = { byMs: 11 * minuteMs, why: "quiet hours" };
    expect(textOf(alerts, { reason: "quiet_hours", late })).not.toContain("late");
    expect(textOf(alerts, { reason: "quiet_hours", late: { ...late, why: "queue" } })).toContain("late: queue");
    expect(textOf(alerts, { reason: "stale" })).toContain("too old by now");
  });

  it("says of what and where they are, and puts the largest of the worst first", () => {
    const one = (seq: number, token: string, measure: string, chain: string, value: string) =>
      makeOne(seq, {
        title: `${token} ${measure}`,
        metric: `${chain}_pool_${measure}_0x0b92aaaabbbbccccddddeeeeffff00001111c1e0`,
        token,
        chain,
        value,
        unit: "USD",
      });
    const text = textOf([
      one(1, "WBTC", "total_tvl", "eth", "96000000"),
      one(2, "KITE", "price", "bsc", "2e-7"),
      one(3, "ARB", "total_tvl", "eth", "1500000"),
    ]);
    expect(text).toMatch(/^3 critical in 2 s: 2 pool TVL, 1 pool price \(eth 2, bsc 1\)\n/);
    expect(linesOf(text)).toEqual([
      "• WBTC pool TVL 96 M USD (eth)",
      "• ARB pool TVL 1.5 M USD (eth)",
      "• KITE pool price 2e-7 USD (bsc)",
    ]);
  });

  it("puts money before other units, however large their numbers are", () => {
    const one = (seq: number, value: string, unit?: string) =>
      makeOne(seq, { title: `T${seq}`, metric: "TVL", value, unit });
    const text = textOf([
      one(1, "1500000000000000000", "wei"),
      one(2, "96,000,000.5", "USD"),
      one(3, "5000000"),
      one(4, "99", "%"),
    ]);
    expect(linesOf(text).map((line) => /TVL (\S+)/.exec(line)?.[1])).toEqual(["96.00", "5", "1.5e18", "99"]);
  });

  it("leads to exactly its alerts, as far as the log can tell them from others", () => {
    const text = textOf([makeOne(0, {}), makeOne(600, {})], { destination: "desk & co" });
    const link = new URL(/Show these 2: (\S+)/.exec(text)?.[1] ?? "");
    expect(Object.fromEntries(link.searchParams)).toEqual({
      destination: "desk & co",
      state: "digested",
      from: "2026-11-21T02:02:05.000Z",
      to: "2026-11-21T02:12:05.000Z",
    });
  });

  it("keeps one line for each alert whatever its title holds", () => {
    const text = textOf([makeOne(1, { title: `a\n• ✅ all is well\u2028${"long ".repeat(60)}`, value: "1\n2" })]);
    expect(linesOf(text)).toHaveLength(1);
    expect(linesOf(text)[0]?.length).toBeLessThan(180);
  });

  it("is resolved only when everything in it is", () => {
    const resolved = makeOne(1, { status: "resolved" });
    const context: DigestContext = { now: receivedAt, reason: "burst", possibleRepeat: false };
    expect(rendering.composeDigest([resolved], context)).toMatchObject({ status: "resolved" });
    expect(rendering.composeDigest([resolved, makeOne(2, { severity: "warning" })], context)).toMatchObject({
      status: "firing",
      severity: "warning",
    });
  });
});
