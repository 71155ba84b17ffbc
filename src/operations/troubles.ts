import {
  type CanaryView,
  type DestinationView,
  type HealthView,
  type RunningRelay,
  type SilenceView,
  type SpoolView,
  type Trouble,
  type WatchView,
  waitsInSpool,
} from "../contract/operations.ts";
import { type Clock, within } from "../core/clock.ts";
import { describeResending } from "../core/delivery.ts";
import type { StoreHealth } from "../core/ports/administration.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { takesNothing } from "../vendors/verdict.ts";
import { judgeRelays } from "./relays.ts";

export interface TroublesDeps {
  destinations(): Promise<DestinationView[]>;
  lastAlertAt(): Promise<number | undefined>;
  watches(): WatchView[];
  silence(): SilenceView[];
  canary(): CanaryView | undefined;
  /** Whether what the account sends to is to be put back. */
  canPutBack(source?: string): boolean;
  /** As `Administration.health`: it commits, so it is asked for once in a while only. */
  health(): Promise<StoreHealth>;
  /** Why alerts cannot be read; undefined: they can. */
  readerProblem(): string | undefined;
  /** Absent: alerts that the store does not take are refused. */
  spool?(): SpoolView;
  /** Default: this one runs alone. */
  relays?(): readonly RunningRelay[];
  /** What no relay has had for a while. Default: nothing. */
  unheld?(now: number): Trouble[];
  clock: Clock;
}

/** Any number of readers ask the store this often. */
const keptMs = 1_000;
/** Each look at the store's health commits. */
const healthKeptMs = 10_000;
/** Whoever waits for a page does not wait for a store that hangs. */
const longestLookMs = 1_000;
/** Some messages fail at first, now and then. */
const degradedForMs = 5 * 60_000;
/** A pace, or a tail of retries: what takes longer is a backlog. */
const waitsForMs = 10 * 60_000;
const unroutedForMs = 60_000;
/** What failed longer ago and was not resent is on the card alone: nobody resends it any more, and it would stand here for ever. */
const undeliveredForMs = 24 * 60 * 60_000;

export interface Troubles {
  /** What is wrong now and what is well. Never rejects, and asks the store three times a second at most. */
  look(): Promise<HealthView>;
  /** A person has changed something, and looks at once what it did. */
  forget(): void;
}

export function createTroubles(deps: TroublesDeps): Troubles {
  const { clock } = deps;
  let kept: { at: number; view: Promise<HealthView> } | undefined;
  let health: { at: number; answer: Promise<StoreHealth | undefined> } | undefined;

  const isFresh = (at: number, forMs: number) => clock.now() >= at && clock.now() - at < forMs;

  /** Undefined: it does not answer, or refuses. */
  const ask = <T>(asked: Promise<T>) => within(asked, longestLookMs, clock).catch(() => undefined);

  async function look(): Promise<HealthView> {
    if (health === undefined || !isFresh(health.at, healthKeptMs)) {
      health = { at: clock.now(), answer: ask(deps.health()) };
    }
    const [store, destinations, lastAlertAt] = await Promise.all([
      health.answer,
      ask(deps.destinations()),
      ask(deps.lastAlertAt().then((at) => at ?? null)),
    ]);
    const now = clock.now();
    const watches = deps.watches();
    const troubles = [
      ...judgeStore(store, now, deps.spool?.()),
      ...(deps.readerProblem() === undefined ? [] : [unreadable(deps.readerProblem() as string)]),
      ...(destinations ?? []).flatMap((destination) => judgeDestinationNow(destination, now)),
      ...watches
        // The store says it first.
        .filter(({ name }) => !(name === "disk" && store?.full))
        .flatMap((watch) => judgeWatch(watch, deps.canPutBack)),
      ...judgeCanary(deps.canary()),
      ...judgeRelays(deps.relays?.() ?? []),
      ...(deps.unheld?.(now) ?? []),
      ...deps.silence().flatMap((watch) => judgeSilence(watch)),
    ].sort((one, other) => ranks[one.kind] - ranks[other.kind] || (one.since ?? now) - (other.since ?? now));
    return { troubles, destinations, watches, lastAlertAt };
  }

  return {
    look() {
      if (kept === undefined || !isFresh(kept.at, keptMs)) kept = { at: clock.now(), view: look() };
      return kept.view;
    },
    forget() {
      kept = undefined;
    },
  };
}

/** Worst first: what loses alerts now, what reaches nobody, what may be missing, what is late. */
const ranks: Record<Trouble["kind"], number> = {
  store: 0,
  spool: 1,
  reading: 2,
  lane: 3,
  destination: 4,
  undelivered: 5,
  resending: 6,
  watch: 7,
  canary: 8,
  silence: 9,
  backlog: 10,
  paused: 11,
  relay: 12,
  unsteady: 13,
};

function judgeStore(health: StoreHealth | undefined, now: number, spool: SpoolView | undefined): Trouble[] {
  const trouble = (what: string, notes: string[] = []): Trouble => ({ kind: "store", level: "bad", what, notes });
  const keepsThem = spool !== undefined && spool.problem === undefined;
  const effect = keepsThem ? "new alerts wait in the spool" : "new alerts are answered 503";
  const troubles = spool === undefined ? [] : judgeSpool(spool);
  if (health === undefined) return [trouble("The database does not answer", [effect]), ...troubles];
  if (health.full) troubles.push(trouble("The disk is full", [`${effect} until there is room`]));
  else if (!health.writable) troubles.push(trouble("The database cannot be written", [effect]));
  if (health.damage !== undefined) {
    troubles.push({ ...trouble("The database is damaged", ["repeats may be sent"]), reason: health.damage });
  }
  const { unrouted, oldestUnroutedAt } = health;
  if (oldestUnroutedAt !== undefined && now - oldestUnroutedAt > unroutedForMs) {
    const what = `${count(unrouted, "alert is", "alerts are")} not routed yet`;
    troubles.push({ kind: "backlog", level: "bad", what, since: oldestUnroutedAt, notes: [] });
  }
  return troubles;
}

function judgeSpool(spool: SpoolView): Trouble[] {
  const { alerts, since, oldestAt, problem, stuck } = spool;
  const damaged = judgeDamaged(spool);
  if (alerts === 0) return damaged;
  const what = waitsInSpool(alerts);
  const notes = ["they are sent when the database is back"];
  if (stuck > 0) notes.push(`${count(stuck, "request is", "requests are")} refused by the database; the log says why`);
  return [{ kind: "spool", level: "bad", what, since: oldestAt ?? since, notes, reason: problem }, ...damaged];
}

function judgeDamaged({ unreadable, damagedFiles }: SpoolView): Trouble[] {
  if (unreadable === 0 && damagedFiles.length === 0) return [];
  const many = unreadable === 0 ? "Alerts" : count(unreadable, "alert", "alerts");
  const what = `${many} in the spool of this relay cannot be read: the disk is damaged`;
  const notes = damagedFiles.map((file) => `what is left is in ${file}: look there, then move it away`);
  return [{ kind: "spool", level: "bad", what, notes }];
}

function unreadable(problem: string): Trouble {
  return {
    kind: "reading",
    level: "bad",
    what: `Alerts cannot be read: ${problem}`,
    notes: ["they are sent as received"],
  };
}

function judgeDestinationNow(destination: DestinationView, now: number): Trouble[] {
  const { name, health, since, reason, counts, oldestWaitingAt, resending } = destination;
  const { expired = 0 } = counts;
  const failed = (counts.failed ?? 0) + expired;
  const waiting = (counts.queued ?? 0) + (counts.waiting ?? 0);
  const notes = [
    ...(failed > 0 ? [`${failed} not delivered`] : []),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(resending === undefined ? [] : [describeResending(resending)]),
  ];
  const about = { name, failed, expired, since, notes, reason: reason === "" ? undefined : reason };
  const { paused } = destination;
  if (paused !== undefined) {
    const isWell = health === "ok" || health === "degraded";
    const what = `${name} is paused${isWell ? "" : `, and ${health === "paused" ? "refused" : health}`}`;
    return [{ ...about, kind: "paused", level: "warn", what, since: paused.at }];
  }
  switch (health) {
    case "dead":
    case "down":
      return [{ ...about, kind: "destination", level: "bad", what: `${name} is ${health}` }];
    case "paused":
      return [{ ...about, kind: "destination", level: "bad", what: `${name} is refused` }];
    case "ok":
    case "degraded": {
      const troubles: Trouble[] = [];
      if (failed > 0 && now - (destination.lastFailedAt ?? now) < undeliveredForMs) {
        const what = `${count(failed, "message was", "messages were")} not delivered to ${name}`;
        const none = destination.verdict === "failing" && health === "ok" ? ["nothing has arrived there yet"] : [];
        troubles.push({ ...about, kind: "undelivered", level: "bad", what, since: undefined, notes: none });
      }
      if (resending !== undefined) {
        const what = `${describeResending(resending)} to ${name}`;
        const { since } = resending;
        troubles.push({ ...about, kind: "resending", level: "warn", what, since, notes: [], reason: undefined });
      }
      if (waiting > 0 && oldestWaitingAt !== undefined && now - oldestWaitingAt > waitsForMs) {
        const what = `${count(waiting, "message waits", "messages wait")} for ${name}`;
        troubles.push({ ...about, kind: "backlog", level: "warn", what, since: oldestWaitingAt, notes: [] });
      }
      if (health === "degraded" && since !== undefined && now - since > degradedForMs) {
        const what = takesNothing(destination) ? `${name} has taken no message` : `${name} fails at times`;
        troubles.push({ ...about, kind: "unsteady", level: "warn", what });
      }
      return troubles;
    }
    default:
      return health satisfies never;
  }
}

function judgeWatch(view: WatchView, canPutBack: TroublesDeps["canPutBack"]): Trouble[] {
  const { name, verdict, summary, since, reason, level = "bad", note } = view;
  if (verdict !== "trouble") return [];
  const source = name.startsWith("account:") ? name.slice("account:".length) : undefined;
  const isAccount = name === "account" || source !== undefined;
  return [
    {
      kind: "watch",
      name,
      source,
      level,
      what: summary,
      since,
      notes: note === undefined ? [] : [note],
      reason,
      canPutBack: isAccount && canPutBack(source) ? true : undefined,
    },
  ];
}

function judgeCanary(canary: CanaryView | undefined): Trouble[] {
  if (canary?.state !== "fails") return [];
  const what = "Tests do not get through the public address";
  return [{ kind: "canary", level: "bad", what, since: canary.since, notes: [], reason: canary.detail }];
}

function judgeSilence({ of, name, state, quietMs }: SilenceView): Trouble[] {
  if (state !== "silent") return [];
  const from = of === "hook" ? "" : ` ${of === "route" ? "for the route" : "from"} ${name}`;
  return [
    { kind: "silence", name, level: "bad", what: `Nothing has come${from} for ${formatDuration(quietMs)}`, notes: [] },
  ];
}

function count(number: number, one: string, several: string): string {
  return `${number.toLocaleString("en-US")} ${number === 1 ? one : several}`;
}
