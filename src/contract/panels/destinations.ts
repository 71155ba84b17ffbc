import type { DeliveryState } from "../../core/delivery.ts";
import type { DestinationHealth } from "../../core/destination-status.ts";
import type { DestinationView } from "../../core/operations.ts";
import { adviseOn } from "../../vendors/advice.ts";
import { type DestinationVerdict, judgeDestination, provenAt, takesNothing } from "../../vendors/verdict.ts";
import { type Cell, type Panel, say, type Tone } from "./panel.ts";

const verdictWords: Record<DestinationVerdict, string> = {
  proven: "proven",
  untried: "not tried yet",
  failing: "failing",
};
const failingWords: Record<DestinationHealth, string> = {
  ok: "nothing has arrived",
  degraded: "at times",
  down: "down",
  dead: "dead",
  paused: "refused",
};
const verdictTones: Record<Exclude<DestinationVerdict, "failing">, Tone> = { proven: "good", untried: "off" };

/** Whether it takes messages: three things that never look alike. */
export function verdictChip(destination: DestinationView): { chip: string; tone: Tone } {
  const verdict = judgeDestination(destination);
  if (verdict !== "failing") return { chip: verdictWords[verdict], tone: verdictTones[verdict] };
  const how = takesNothing(destination) ? "no message taken" : failingWords[destination.health];
  return { chip: `failing: ${how}`, tone: destination.health === "degraded" ? "busy" : "bad" };
}

/** It refused, and can be reached again: nothing but a message can show more. */
export function isTriedNext({ health, nextTryAt }: Pick<DestinationView, "health" | "nextTryAt">): boolean {
  return (health === "dead" || health === "paused") && nextTryAt === undefined;
}

/** Deliveries in any of these states. */
export function countIn({ counts }: Pick<DestinationView, "counts">, ...states: DeliveryState[]): number {
  return states.reduce((total, state) => total + (counts[state] ?? 0), 0);
}

export function describePauser({ by }: NonNullable<DestinationView["paused"]>): string {
  return by === "page" ? "somebody on the page" : "a command or the API";
}

/** A line for each destination, and below what is wrong with each and what to do. */
export function destinationsTable(destinations: readonly DestinationView[]): Panel {
  const notes = destinations.flatMap(notesOf);
  return [
    destinations.length > 0 && {
      kind: "table",
      title: "Destinations",
      columns: [
        { title: "destination", keep: true },
        { title: "type" },
        { title: "state" },
        { title: "sent", align: "right" },
        { title: "waiting", align: "right" },
        { title: "held", align: "right" },
        { title: "failed", align: "right" },
        { title: "oldest waiting", optional: true },
        { title: "proven", optional: true },
      ],
      rows: destinations.map((one) => [
        one.name,
        one.channel,
        one.paused ? { chip: "paused", tone: "busy" } : verdictChip(one),
        countIn(one, "sent", "digested"),
        countIn(one, "queued", "waiting", "sending"),
        countIn(one, "held"),
        countIn(one, "failed", "expired"),
        ageOf(one.oldestWaitingAt),
        ageOf(provenAt(one)),
      ]),
    },
    notes.length > 0 && { kind: "list", items: notes },
  ];
}

const ageOf = (at: number | undefined): Cell => at !== undefined && { age: at };

function notesOf(destination: DestinationView): Cell[] {
  const { name, health, reason, since, nextTryAt, paused, movedTo, definedAt } = destination;
  const failed = countIn(destination, "failed", "expired");
  const where = `, or run: tocsin destinations try ${name}`;
  const advice = adviseOn(destination, { isTriedNext: isTriedNext(destination), where });
  const began = since !== undefined && say` since ${{ at: since }}`;
  const next = nextTryAt !== undefined && say` Next try ${{ age: nextTryAt, isComing: true }}.`;
  return [
    paused &&
      say`${name} is paused since ${{ at: paused.at }} by ${describePauser(paused)}. Resume with: ${{ code: `tocsin destinations resume ${name}` }}`,
    health !== "ok" &&
      say`${name} is ${verdictChip(destination)}${began}: ${reason.replace(/\.$/, "") || "no reason is known"}. ${advice}${next}`,
    movedTo !== undefined &&
      say`${name}: the group was upgraded and has the new id ${{ code: movedTo }}. Messages go there already; write it into ${{ code: definedAt }} when you can.`,
    failed > 0 &&
      say`${name}: ${failed} failed. Resend with: ${{ code: `tocsin alerts resend --failed --destination ${name}` }}`,
  ].filter((cell) => cell !== undefined && cell !== false);
}
