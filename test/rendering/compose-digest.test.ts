import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Alert, severities } from "../../src/core/alert.ts";
import type { DigestContext } from "../../src/core/message-context.ts";
import { readableText } from "../../src/vendors/index.ts";
import { createRendering } from "../support/rendering.ts";
import { makeAlert, minuteMs, publicUrl, receivedAt } from "./sample.ts";
import { expectScenes } from "./scenes.ts";

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

type Facts = Partial<Alert["facts"]>;
const critical = { severity: "critical" } as const;
const warning = { severity: "warning" } as const;
const resolved = { status: "resolved" } as const;
/** An alert each of these seconds after the first, newest first. */
const at = (all: Record<number, Facts>) =>
  Object.entries(all)
    .map(([seq, facts]) => makeOne(Number(seq), facts))
    .reverse();
const many = (count: number, factsOf: (seq: number) => Facts, from = 0) =>
  Array.from({ length: count }, (_, index) => makeOne(from + index, factsOf(index))).reverse();

const key = (alertKey: string, facts: Facts = {}) => ({ alertKey, ...facts });
const same = at({ 1: key("same", critical), 2: key("same", { severity: "info" }) });
const quiet = { reason: "quiet_hours" } as const;
const afterQuiet = at({ 0: key("a"), 480: key("a", resolved), 500: key("b", warning), 600: key("c", resolved) });
const of = (alertKey: string, facts: Facts) => key(alertKey, { threshold: "20", ...warning, ...facts });
const night = at({
  10: of("a", { value: "19" }),
  20: of("a", { value: "9" }),
  30: of("b", critical),
  40: of("b", { severity: "info", ...resolved }),
  50: of("a", { value: "18" }),
});
const margin = at({
  1: key("margin", { ...critical, title: "Margin call" }),
  2: key("margin", { severity: "unknown", ...resolved, title: "Margin call" }),
});
const twice = at({ 0: {}, 600: {} });
const late = (why: string) => ({ byMs: 11 * minuteMs, why });
const measure = (token: string, measure: string, chain: string, value: string): Facts => ({
  ...{ title: `${token} ${measure}`, token, chain, value, unit: "USD" },
  metric: `${chain}_pool_${measure}_0x0b92aaaabbbbccccddddeeeeffff00001111c1e0`,
});
const amount = (value: string, unit?: string): Facts => ({ title: "T", metric: "TVL", value, unit });
const fromFiring = ["firing", "resolved", "firing", "firing", "resolved"] as const;

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

  it("says what it should", () =>
    expectScenes("digest-texts", [
      [
        "of what did not ring, of how many keys it is, and what still fires",
        textOf(
          many(40, (seq) => ({ ...warning, status: seq < 3 ? "firing" : "resolved" })),
          { reason: "calm" },
        ),
      ],
      [
        "ends that have no line by name, as earlier messages still show them firing",
        textOf(
          many(40, (seq) => ({
            ...of(`key-${seq}`, seq > 34 ? { ...amount("21", "USD"), token: `T${seq}` } : {}),
            ...(seq === 36 && { title: "TVL" }),
            status: seq < 12 ? "firing" : "resolved",
          })),
          { reason: "outage", extras: new Map([["id-34", { title: "Titled by a route" }]]) },
        ),
      ],
      [
        "the worst first, then the newest, and what is resolved last",
        textOf(
          at({
            1: { severity: "info" },
            2: critical,
            3: { ...critical, ...resolved },
            4: { severity: "unknown" },
            5: critical,
            6: warning,
          }),
        ),
      ],
      ["one key on one line by its worst", textOf(same)],
      ["unless it is over", textOf([...at({ 3: key("same", resolved) }), ...same])],
      [
        "after quiet hours, as firing only what is not over, and of the rest how long it lasted",
        textOf(afterQuiet, { ...quiet, quietHours: { from: "22:00", to: "07:00" } }),
      ],
      ["after quiet hours, that nothing fires", textOf(afterQuiet.slice(2), quiet)],
      ["after quiet hours, the worst of all, and of each key the latest", textOf(night, quiet)],
      [
        "the worst of one key",
        textOf(
          night.filter(({ facts }) => facts.alertKey === "a"),
          quiet,
        ),
      ],
      ["no worst where something as bad fires", textOf([...at({ 60: of("c", critical) }), ...night], quiet)],
      ["what was critical though it is over", textOf([...many(80, () => warning, 10), ...margin])],
      ["and not in place of one that still fires", textOf([...many(80, () => critical, 10), ...margin])],
      [
        "how long it lasted from the last time that it fired anew",
        textOf(fromFiring.map((status, index) => makeOne(index * 60, key("a", { status }))).reverse()),
      ],
      ["since when, why, and how late", textOf(twice, { reason: "outage", late: late("Telegram did not answer") })],
      // On a locked phone.
      ["what it is about in its first lines, where it is not late", textOf(twice, { reason: "burst" })],
      ["how late in its first lines", textOf(twice, { reason: "burst", late: late("queue") })],
      ["not late because of quiet hours", textOf(twice, { ...quiet, late: late("quiet hours") })],
      ["late behind quiet hours", textOf(twice, { ...quiet, late: late("queue") })],
      ["too old", textOf(twice, { reason: "stale" })],
      [
        "of what and where they are, the largest of the worst first",
        textOf(
          at({
            1: measure("WBTC", "total_tvl", "eth", "96000000"),
            2: measure("KITE", "price", "bsc", "2e-7"),
            3: measure("ARB", "total_tvl", "eth", "1500000"),
          }),
        ),
      ],
      [
        "money before other units, however large their numbers are",
        textOf(
          at({
            1: amount("1500000000000000000", "wei"),
            2: amount("96,000,000.5", "USD"),
            3: amount("5000000"),
            4: amount("99", "%"),
          }),
        ),
      ],
      ["its alerts alone, as far as the log can tell them from others", textOf(twice, { destination: "desk & co" })],
      [
        "one line for each alert whatever its title holds",
        textOf(at({ 1: { title: `a\n• ✅ all is well\u2028${"long ".repeat(60)}`, value: "1\n2" } })),
      ],
    ]));

  it("shows a beginning that was stored behind its end as over", () => {
    const [begun, over] = at({ 1: key("same", resolved), 2: key("same", warning) }) as [Alert, Alert];
    expect(linesOf(textOf([over, begun]))).toEqual(["• Alert 1 ×2 · over at once"]);
  });

  it("is resolved only when everything in it is", () => {
    const context: DigestContext = { now: receivedAt, reason: "burst", possibleRepeat: false };
    const digest = (facts: Record<number, Facts>) => rendering.composeDigest(at(facts), context);
    expect(digest({ 1: resolved })).toMatchObject({ status: "resolved" });
    expect(digest({ 1: resolved, 2: warning })).toMatchObject({ status: "firing", severity: "warning" });
  });
});
