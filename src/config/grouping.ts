import { z } from "zod";
import type { RingRule, Step } from "../core/ring.ts";
import type { GroupOptions, Inhibition, Route } from "../core/rules.ts";
import { acrossOptions, duration, field, listOf, oneOf, optional, refuseAt, text } from "../ground/shape/field.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { writeDuration } from "../ground/time/duration.ts";
import { factFields } from "../matching/path.ts";
import { match } from "./sections.ts";
import type { ProblemList } from "./shape/problem-list.ts";
import { listEntries, readShape } from "./shape/read-shape.ts";

const facts = listOf(oneOf(factFields), "[token, chain]").transform((names) => [...new Set(names)]);

/** The options of a route for grouped alerts. */
export const groupSchema = z
  .strictObject({
    by: facts.describe("facts: alerts with the same values are a group"),
    wait: duration("0s", "10m").prefault("20s").describe("how long the first of a group waits for others"),
    again: duration("0s", "24h")
      .prefault("5m")
      .describe(
        "how long after a message of a group the next one goes out, with all that came until then; no effect where `wait` is longer",
      ),
    waitCritical: duration("0s", "10m")
      .prefault("0s")
      .describe("how long a critical alert waits at most; it takes along what waits"),
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

/** The options in the configuration's form. */
export function writeGrouping({ by, waitMs, againMs, waitCriticalMs }: GroupOptions): string {
  const critical = waitCriticalMs === 0 ? "" : `, waitCritical: ${writeDuration(waitCriticalMs)}`;
  return `by: [${by.join(", ")}], wait: ${writeDuration(waitMs)}, again: ${writeDuration(againMs)}${critical}`;
}

export const inhibitSchema = z
  .strictObject({
    name: text("bridge down").describe("for messages and decisions"),
    while: match.describe("the cause, as in a route"),
    hold: match.describe("what waits while the cause fires, as in a route"),
    equal: optional(facts, "facts that must be the same in both; an alert without one of them is neither", "none"),
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

export function buildInhibit(values: unknown, problems: ProblemList): Inhibition[] {
  const names = new Set<unknown>();
  const causeOf = new Map<string, string>();
  return listEntries(values, "inhibit", "rule", problems).flatMap((value, index): Inhibition[] => {
    const read = readShape(inhibitSchema, value, ["inhibit", index], problems);
    // The name as in the file, so an entry with other mistakes is compared too.
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

/** A higher percentage is a mistake: no value returns by as much. */
const mostPercent = 1000;

/** `5%` or `0.5`, in the unit of the values. */
function readStep(value: unknown): Step | Refusal {
  const instead = "write a percentage or a number of the values' unit, above 0, e.g. 5% or 0.5";
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : "";
  const [, written, sign] = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(%)?$/i.exec(text) ?? [];
  const number = Number(written);
  if (!Number.isFinite(number)) return new Refusal(`${showValue(value)} is neither a percentage nor a number`, instead);
  if (number <= 0) return new Refusal(`${showValue(value)} is not above 0`, instead);
  if (sign === undefined) return { absolute: number };
  if (number <= mostPercent) return { percent: number };
  return new Refusal(`${showValue(value)} is more than ${mostPercent} %`, `write at most ${mostPercent}%`);
}

const step = field(readStep, {
  anyOf: [
    { type: "number", exclusiveMinimum: 0 },
    { type: "string", pattern: "^\\s*[\\d.]+([eE][+-]?\\d+)?\\s*%?\\s*$|\\$\\{", examples: ["5%"] },
  ],
});

/** YAML has more words for a flag. This option accepts two. */
function readSwitch(value: unknown): boolean | Refusal {
  if (value === "on" || value === true) return true;
  if (value === "off" || value === false) return false;
  return new Refusal(`${showValue(value)} is neither on nor off`, "write on or off");
}

/** The options of a route for ringing again. */
export const ringingOptions = {
  again: optional(
    z.strictObject({ furtherBy: step }),
    "`furtherBy`: without an end a key rings again only for a value that is so much " +
      "further than the last that rang, `5%` or `0.5` ([more](ringing.md#what-rings))",
    "the value decides nothing",
  ),
  rearm: optional(
    z.strictObject({ backBy: step }),
    "`backBy`: after an end a key rings again only when the value came back by so much, `2%` or `0.1`",
    "each end re-arms",
  ),
  cooldown: optional(duration("10s", "7d"), "a key does not ring again within this time", "none"),
  flapping: optional(
    field(readSwitch, { enum: ["on", "off", true, false] }),
    "`on`: a key that fires often, or again and again, is held back; `off`",
    "`on` where people read",
  ),
};

type Written = { [Name in keyof typeof ringingOptions]?: z.output<(typeof ringingOptions)[Name]> };

export function toRinging({ again, rearm, cooldown, flapping }: Written): Pick<Route, "ringing"> {
  const ringing: Partial<RingRule> = {
    ...(again && { again }),
    ...(rearm && { rearm }),
    ...(cooldown !== undefined && { cooldownMs: cooldown }),
    ...(flapping !== undefined && { flapping }),
  };
  return Object.keys(ringing).length === 0 ? {} : { ringing };
}
