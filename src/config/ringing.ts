import { z } from "zod";
import type { RingRule, Step } from "../core/ring.ts";
import type { Route } from "../core/rules.ts";
import { duration, field } from "../ground/shape/field.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";

/** More than this is a slip: no value comes back by so much. */
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

/** YAML has more words for a flag; this option takes two of them. */
function readSwitch(value: unknown): boolean | Refusal {
  if (value === "on" || value === true) return true;
  if (value === "off" || value === false) return false;
  return new Refusal(`${showValue(value)} is neither on nor off`, "write on or off");
}

/** What a route says of ringing again. */
export const ringingOptions = {
  again: z
    .strictObject({ furtherBy: step })
    .optional()
    .meta({
      description:
        "`furtherBy`: without an end a key rings again only for a value that is so much " +
        "further than the last that rang, `5%` or `0.5` ([more](ringing.md#what-rings))",
      otherwise: "the value decides nothing",
    }),
  rearm: z.strictObject({ backBy: step }).optional().meta({
    description: "`backBy`: after an end a key rings again only when the value came back by so much, `2%` or `0.1`",
    otherwise: "each end re-arms",
  }),
  cooldown: duration("10s", "7d").optional().meta({
    description: "a key does not ring again within this time",
    otherwise: "none",
  }),
  flapping: field(readSwitch, { enum: ["on", "off", true, false] })
    .optional()
    .meta({
      description: "`on`: a key that fires often, or again and again, is held back; `off`",
      otherwise: "`on` where people read",
    }),
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
