import { expect, it } from "vitest";
import type { AlertStatus } from "../../src/core/alert.ts";
import type { Inline } from "../../src/core/message.ts";
import type { MessageContext } from "../../src/core/message-context.ts";
import { writeDamped } from "../../src/rendering/damped-line.ts";
import { factsOf, noon } from "../conformance/store/scene-samples.ts";

const minute = 60_000;
const worst = { id: "1", at: noon, severity: "warning" } as const;
const some = { count: 12, sinceAt: noon - 30 * minute, worst, lowest: 24.1, highest: 26, why: "it fired often" };

function say(damped: Partial<MessageContext["damped"]>, status: AlertStatus = "firing"): string[] {
  const context = { now: noon, purpose: "alert", possibleRepeat: false } as const;
  const said = { ...some, isSummary: false, ...damped };
  const alert = { id: "7", receivedAt: noon - minute, facts: factsOf({ status }) };
  const blocks = writeDamped(alert, { ...context, damped: said }, "https://tocsin.example");
  const wordsOf = (inline: Inline) =>
    inline.kind === "time"
      ? new Date(inline.at).toISOString().slice(11, 16)
      : inline.kind === "link"
        ? `${inline.text}: ${inline.href}`
        : inline.text;
  return blocks.map((block) => ("inlines" in block ? block.inlines.map(wordsOf).join("") : ""));
}

it.each([
  ["why it does not ring, and how many do not", { by: "flapping" }, "firing"],
  ["the first that does not ring", { by: "again", count: 1, why: "1.8 % further than 1,003.2, 5 % needed" }, "firing"],
  ["what an end ends", { by: "its_end" }, "resolved"],
  ["an end of which nothing is counted", { by: "its_end", count: 0, why: "what it ends did not ring" }, "resolved"],
  ["a summary of what is over", { by: "its_end", isSummary: true }, "resolved"],
  ["a summary of what still fires", { by: "floor", isSummary: true, highest: 24.1, advice: "again: 3%" }, "firing"],
  ["what did not ring before a ring", { highest: undefined }, "firing"],
  ["a ring behind nothing", { count: 0 }, "firing"],
] as const)("says %s", (_, damped, status) => {
  expect(say(damped, status)).toMatchSnapshot();
});
