import { z } from "zod";
import type { GroupOptions, Inhibition } from "../core/rules.ts";
import { acrossOptions, duration, listOf, oneOf, refuseAt, text } from "../ground/shape/field.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { writeDuration } from "../ground/time/duration.ts";
import { factFields } from "../matching/path.ts";
import { match } from "./sections.ts";
import type { ProblemList } from "./shape/problem-list.ts";
import { listEntries, readShape } from "./shape/read-shape.ts";

const facts = listOf(oneOf(factFields), "[token, chain]").transform((names) => [...new Set(names)]);

/** What a route says of alerts that go out together. */
export const groupSchema = z
  .strictObject({
    by: facts.describe("facts: alerts with the same values are a group"),
    wait: duration("0s", "10m").prefault("20s").describe("so long the first of a group waits for others"),
    again: duration("0s", "24h")
      .prefault("5m")
      .describe(
        "so long behind a message of a group the next one goes out, with all that came until then; no effect where `wait` is longer",
      ),
    waitCritical: duration("0s", "10m")
      .prefault("0s")
      .describe("so long a critical alert waits at most; it takes along what waits"),
  })
  .check(
    acrossOptions((context, isRefused) => {
      const { wait = 0, again = 0, waitCritical = 0 } = context.value;
      if (isRefused("wait") || isRefused("again") || isRefused("waitCritical")) return;
      if (wait === 0 && again === 0)
        refuseAt(context, ["wait"], "0s makes no group, as again is 0s as well", "write e.g. wait: 20s");
      if (waitCritical > Math.max(wait, again))
        refuseAt(context, ["waitCritical"], "is longer than wait and again", "write at most what they say");
    }),
  )
  .transform(
    ({ by, wait, again, waitCritical }): GroupOptions => ({
      by,
      waitMs: wait,
      againMs: again,
      waitCriticalMs: waitCritical,
    }),
  );

/** Options as the configuration has them. */
export function writeGrouping({ by, waitMs, againMs, waitCriticalMs }: GroupOptions): string {
  const critical = waitCriticalMs === 0 ? "" : `, waitCritical: ${writeDuration(waitCriticalMs)}`;
  return `by: [${by.join(", ")}], wait: ${writeDuration(waitMs)}, again: ${writeDuration(againMs)}${critical}`;
}

/** One entry of `inhibit:`. */
export const inhibitSchema = z
  .strictObject({
    name: text("bridge down").describe("for messages and decisions"),
    while: match.describe("the cause, as in a route"),
    hold: match.describe("what waits while the cause fires, as in a route"),
    equal: facts.optional().meta({
      description: "facts that must be the same in both; an alert without one of them is neither",
      otherwise: "none",
    }),
    atMost: duration("1m", "7d").prefault("24h").describe("the longest that a cause holds back, from its first alert"),
  })
  .check(
    acrossOptions((context, isRefused) => {
      const { while: cause, hold } = context.value;
      if (isRefused("while") || isRefused("hold")) return;
      if (JSON.stringify(cause) !== JSON.stringify(hold)) return;
      refuseAt(context, ["hold"], "is the same as while, so it holds back nothing", "name what follows");
    }),
  );

/** The list `inhibit:`. */
export function buildInhibit(values: unknown, problems: ProblemList): Inhibition[] {
  const names = new Set<unknown>();
  const causeOf = new Map<string, string>();
  return listEntries(values, "inhibit", "rule", problems).flatMap((value, index): Inhibition[] => {
    const read = readShape(inhibitSchema, value, ["inhibit", index], problems);
    // As it stands in the file, so that an entry with other mistakes is compared, too.
    const { name: written } = Object(value) as { name?: unknown };
    if (typeof written === "string" && names.has(written))
      problems.add(["inhibit", index, "name"], `${showValue(written)} is also the name of another rule`, "rename one");
    names.add(written);
    if (read === undefined) return [];
    const { name, equal = [], atMost } = read;
    const [cause, hold] = [JSON.stringify(read.while), JSON.stringify(read.hold)];
    const other = causeOf.get(JSON.stringify([hold, cause]));
    if (other !== undefined)
      problems.warn(
        problems.whereIs(["inhibit", index]),
        `${showValue(name)} and ${showValue(other)} hold back each other: what fires first holds the other`,
        "keep the one whose while is the cause",
      );
    causeOf.set(JSON.stringify([cause, hold]), name);
    return [{ name, while: read.while, hold: read.hold, equal, atMostMs: atMost }];
  });
}
