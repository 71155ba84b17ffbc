import type { AlertFacts } from "../core/alert.ts";
import type { DestinationHealth, DestinationStatus } from "../core/store.ts";

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

/** `concerned`: the destinations that the status is about; several share an account. */
export function writeNotice(
  tell: "worse" | "better",
  status: DestinationStatus,
  concerned: string[],
): AlertFacts {
  const what = concerned.join(", ");
  return {
    title:
      tell === "worse"
        ? titleOf(status, what, concerned.length > 1)
        : `${what} ${concerned.length > 1 ? "work" : "works"} again`,
    text:
      tell === "worse"
        ? adviceOf(status)
        : "Alerts are delivered there again. What failed meanwhile can be resent at Destinations on the page.",
    severity: tell === "worse" ? "critical" : "info",
    status: tell === "worse" ? "firing" : "resolved",
    format: "empty",
    alertKey: `tocsin:destination:${status.name}`,
    source: "Tocsin",
    fields: [
      { name: "destination", value: what },
      ...(status.reason === "" ? [] : [{ name: "reason", value: status.reason }]),
    ],
    notes: [],
  };
}

function titleOf(status: DestinationStatus, what: string, several: boolean): string {
  switch (status.health) {
    case "dead":
      return `${what} cannot be reached: alerts for it fail`;
    case "paused":
      return `${what} ${several ? "are" : "is"} paused: the account was refused, alerts wait`;
    case "down":
      return `${what} does not answer: alerts wait`;
    case "ok":
    case "degraded":
      return `${what} works again`;
  }
}

function adviceOf(status: DestinationStatus): string {
  switch (status.health) {
    case "dead":
      return "Add the bot (or the address) again and give it the right to write, then press Try now at Destinations on the page. Tocsin asks by itself once a day. What failed meanwhile can be resent there at once.";
    case "paused":
      return "Put right what the reason says: the token or password in the configuration, or the server. Then restart Tocsin; if it was put right elsewhere, press Try now at Destinations on the page. Alerts wait meanwhile, until their retry schedule gives them up.";
    case "down":
      return "Tocsin goes on trying; what waits is told as a digest when it answers again.";
    case "ok":
    case "degraded":
      return "";
  }
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
