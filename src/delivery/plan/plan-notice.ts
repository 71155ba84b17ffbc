import { adviseOn } from "../../core/advice.ts";
import type { AlertFacts } from "../../core/alert.ts";
import type { DestinationHealth, DestinationStatus } from "../../core/destination-status.ts";
import type { Destination } from "../../core/rules.ts";
import { explainReason } from "./explain-reason.ts";

/** What people are to be told about a destination or an account, and what to remember of it. */
export interface DueNotice {
  /** Absent: nobody was told that it was bad, so nobody needs to know that it is over. */
  tell?: "worse" | "better";
  announced: NonNullable<DestinationStatus["announced"]>;
}

/** After one pair of notices the next of the same kind waits this long: a destination that flaps is told of once. */
const quietMs = 10 * 60_000;

/**
 * Compares what is with what was told, so that nothing depends on catching the moment of a change: a restart, a store
 * that refused, or a time without anybody to tell only delays a notice. Pure.
 *
 *     bad, not told ──▶ told worse ──well──▶ told better        well, never told ──▶ nothing
 *     told worse ──another kind of bad──▶ told worse again      told better ──the same again within 10 min──▶ waits
 */
export function planNotice(status: DestinationStatus, canTell: boolean, now: number): DueNotice | undefined {
  const { announced, health } = status;
  if (isBad(health)) {
    const isNew = announced === undefined || announced.health !== health;
    const isAgain = announced?.over === true && now - announced.at >= quietMs;
    const wasUnheard = announced !== undefined && !announced.told && !announced.over && canTell;
    if (!isNew && !isAgain && !wasUnheard) return undefined;
    return { tell: "worse", announced: { health, at: now, told: canTell, over: false } };
  }
  if (health !== "ok" || announced === undefined || announced.over) return undefined;
  const over = { ...announced, over: true };
  return announced.told ? { tell: "better", announced: over } : { announced: over };
}

function isBad(health: DestinationHealth): boolean {
  return health === "down" || health === "dead" || health === "paused";
}

/**
 * @param concerned the destinations that the status is about; several share an account
 * @param link where people see it, and can do something about it
 */
export function writeNotice(
  tell: "worse" | "better",
  status: DestinationStatus,
  concerned: Pick<Destination, "name" | "type" | "definedAt">[],
  link: string | undefined,
): AlertFacts {
  const what = concerned.map(({ name }) => name).join(", ");
  const isWorse = tell === "worse";
  return {
    title: isWorse
      ? titleOf(status, what, concerned.length > 1)
      : `${what} ${concerned.length > 1 ? "work" : "works"} again`,
    text: isWorse
      ? describeTrouble(status, concerned[0])
      : "What did not arrive meanwhile can be resent at Destinations on the page.",
    severity: isWorse ? "critical" : "info",
    status: isWorse ? "firing" : "resolved",
    format: "empty",
    alertKey: `tocsin:destination:${status.name}`,
    source: "Tocsin",
    link,
    fields: [],
    notes: [],
  };
}

function titleOf(status: DestinationStatus, what: string, several: boolean): string {
  switch (status.health) {
    case "dead":
      return `${what} ${several ? "get" : "gets"} no alerts`;
    case "paused":
      return `${what} ${several ? "are" : "is"} paused: the account was refused`;
    case "down":
      return `${what} ${several ? "do" : "does"} not answer`;
    case "ok":
    case "degraded":
      return `${what} ${several ? "work" : "works"} again`;
  }
}

/** What is wrong in plain words, and what can be done about it. */
function describeTrouble(
  { health, reasonCode }: DestinationStatus,
  destination: Pick<Destination, "type" | "definedAt"> | undefined,
): string {
  if (destination === undefined) return "";
  const { type: channel, definedAt } = destination;
  const cause = reasonCode === undefined ? "" : `${sentence(explainReason(reasonCode, channel))}. `;
  return cause + adviseOn({ health, reasonCode, channel, definedAt }, " at Destinations on the page");
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Alerts that waited for a destination which a change of the configuration has removed. */
export function writeOrphanNotice(destination: string, count: number): AlertFacts {
  const alerts = count === 1 ? "1 delivery" : `${count} deliveries`;
  return {
    title: `${alerts} waited for ${destination}, which is no longer configured`,
    text: "They have failed, or went to their fallback. If the destination has another name now, open them on the page and resend them to it.",
    severity: "warning",
    status: "firing",
    format: "empty",
    alertKey: `tocsin:orphans:${destination}`,
    source: "Tocsin",
    fields: [{ name: "destination", value: destination }],
    notes: [],
  };
}
