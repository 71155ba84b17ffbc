import type {
  CanaryView,
  DestinationView,
  HealthView,
  Operations,
  SilenceView,
  SpoolView,
  Trouble,
  WatchView,
} from "../contract/operations.ts";
import { type Clock, within } from "../core/clock.ts";
import { describeResending } from "../core/delivery.ts";
import type { StoreHealth } from "../core/ports/administration.ts";
import { waitsInSpool } from "../core/ports/relays.ts";
import { isActive, type Mute } from "../core/rules.ts";
import { countOf } from "../ground/text/count-of.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { takesNothing } from "../vendors/verdict.ts";
import { judgeRelays } from "./relays.ts";

/** Without `spool`, alerts are refused while the store is away. Without `relays`, this relay runs alone. */
export interface TroublesDeps
  extends Pick<Operations, "watches" | "silence" | "canary">,
    Partial<Pick<Operations, "spool" | "relays">> {
  destinations(): Promise<DestinationView[]>;
  lastAlertAt(): Promise<number | undefined>;
  canPutBack(source?: string): boolean;
  /** Like `Administration.health`, but some seconds old: each look commits. */
  health(): Promise<StoreHealth>;
  /** Why alerts cannot be read. Undefined: they can. */
  readerProblem(): string | undefined;
  /** The lane groups that no relay has had for a while. Default: none. */
  unheld?(now: number): Trouble[];
  mutes?(): readonly Mute[];
  clock: Clock;
}

const keptMs = 1_000;
/** The longest wait of a page's reader for a store that hangs. */
const longestLookMs = 1_000;
/** For this long single failures of messages count as chance. */
const degradedForMs = 5 * 60_000;
/** A pace, or some retries, may take this long. A longer wait is a backlog. */
const waitsForMs = 10 * 60_000;
const unroutedForMs = 60_000;
/** Nobody resends older failures. They are only on the destination's card, as they would stay here for ever. */
const undeliveredForMs = 24 * 60 * 60_000;

export function createTroubles(deps: TroublesDeps) {
  const { clock } = deps;
  let kept: { at: number; view: Promise<HealthView> } | undefined;

  /** Undefined: the store does not answer, or refuses. */
  const ask = <T>(asked: Promise<T>) => within(asked, longestLookMs, clock).catch(() => undefined);

  async function look(): Promise<HealthView> {
    const [store, destinations, lastAlertAt] = await Promise.all([
      ask(deps.health()),
      ask(deps.destinations()),
      ask(deps.lastAlertAt().then((at) => at ?? null)),
    ]);
    const now = clock.now();
    const watches = deps.watches();
    const troubles = [
      ...judgeStore(store, now, deps.spool?.()),
      ...judgeReading(deps.readerProblem()),
      ...(destinations ?? []).flatMap((destination) => judgeDestinationNow(destination, now)),
      ...watches
        // The trouble of the store already reports a full disk.
        .filter(({ name }) => !(name === "disk" && store?.full))
        .flatMap((watch) => judgeWatch(watch, deps.canPutBack)),
      ...judgeCanary(deps.canary()),
      ...judgeRelays(deps.relays?.() ?? []),
      ...(deps.unheld?.(now) ?? []),
      ...(deps.mutes?.() ?? []).flatMap((mute) => judgeMute(mute, now)),
      ...deps.silence().flatMap((watch) => judgeSilence(watch)),
    ].sort((one, other) => ranks[one.kind] - ranks[other.kind] || (one.since ?? now) - (other.since ?? now));
    return { troubles, destinations, watches, lastAlertAt };
  }

  return {
    /** The present troubles and the parts that work. Never rejects, and asks the store three times a second at most. */
    look(): Promise<HealthView> {
      const now = clock.now();
      if (kept === undefined || now < kept.at || now - kept.at >= keptMs) kept = { at: now, view: look() };
      return kept.view;
    },
    /** Called when a person has changed something and looks at the effect. */
    forget(): void {
      kept = undefined;
    },
  };
}

/** Worst first: lost alerts, messages that reach nobody, alerts that may be missing, late alerts. */
const ranks: Record<Trouble["kind"], number> = {
  store: 0,
  spool: 1,
  reading: 2,
  muted: 3,
  lane: 4,
  destination: 5,
  undelivered: 6,
  resending: 7,
  watch: 8,
  canary: 9,
  silence: 10,
  backlog: 11,
  paused: 12,
  relay: 13,
  unsteady: 14,
};

const trouble = (kind: Trouble["kind"], what: string, more: Partial<Trouble> = {}): Trouble => ({
  kind,
  level: "bad",
  what,
  notes: [],
  ...more,
});

function judgeStore(health: StoreHealth | undefined, now: number, spool: SpoolView | undefined): Trouble[] {
  const keepsThem = spool !== undefined && spool.problem === undefined;
  const effect = keepsThem ? "new alerts wait in the spool" : "new alerts are answered 503";
  const troubles = spool === undefined ? [] : judgeSpool(spool);
  if (health === undefined) return [trouble("store", "The database does not answer", { notes: [effect] }), ...troubles];
  const { full, writable, damage, unrouted, oldestUnroutedAt: since } = health;
  if (full) troubles.push(trouble("store", "The disk is full", { notes: [`${effect} until there is room`] }));
  else if (!writable) troubles.push(trouble("store", "The database cannot be written", { notes: [effect] }));
  if (damage !== undefined)
    troubles.push(trouble("store", "The database is damaged", { notes: ["repeats may be sent"], reason: damage }));
  if (since !== undefined && now - since > unroutedForMs)
    troubles.push(trouble("backlog", `${countOf(unrouted, "alert is", "alerts are")} not routed yet`, { since }));
  return troubles;
}

function judgeSpool({ alerts, since, oldestAt, problem, stuck, unreadable, damagedFiles }: SpoolView): Trouble[] {
  const many = unreadable === 0 ? "Alerts" : countOf(unreadable, "alert");
  const lost = trouble("spool", `${many} in the spool of this relay cannot be read: the disk is damaged`, {
    notes: damagedFiles.map((file) => `what is left is in ${file}: look there, then move it away`),
  });
  const notes = ["they are sent when the database is back"];
  if (stuck > 0)
    notes.push(`${countOf(stuck, "request is", "requests are")} refused by the database; the log says why`);
  return [
    ...(alerts === 0
      ? []
      : [trouble("spool", waitsInSpool(alerts), { notes, since: oldestAt ?? since, reason: problem })]),
    ...(unreadable === 0 && damagedFiles.length === 0 ? [] : [lost]),
  ];
}

function judgeReading(problem: string | undefined): Trouble[] {
  if (problem === undefined) return [];
  return [trouble("reading", `Alerts cannot be read: ${problem}`, { notes: ["they are sent as received"] })];
}

function judgeDestinationNow(destination: DestinationView, now: number): Trouble[] {
  const { name, health, verdict, since, reason, counts, paused, lastFailedAt, oldestWaitingAt, resending } =
    destination;
  const { expired = 0 } = counts;
  const failed = (counts.failed ?? 0) + expired;
  const waiting = (counts.queued ?? 0) + (counts.waiting ?? 0);
  const notes = [
    ...(failed > 0 ? [`${failed} not delivered`] : []),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(resending === undefined ? [] : [describeResending(resending)]),
  ];
  const said = { since, notes, reason: reason === "" ? undefined : reason };
  const about = { name, failed, expired };
  const isWell = health === "ok" || health === "degraded";
  const word = health === "paused" ? "refused" : health;
  if (paused !== undefined) {
    const what = `${name} is paused${isWell ? "" : `, and ${word}`}`;
    return [trouble("paused", what, { ...about, ...said, level: "warn", since: paused.at })];
  }
  if (!isWell) return [trouble("destination", `${name} is ${word}`, { ...about, ...said })];
  const troubles: Trouble[] = [];
  if (failed > 0 && now - (lastFailedAt ?? now) < undeliveredForMs) {
    const what = `${countOf(failed, "message was", "messages were")} not delivered to ${name}`;
    const none = verdict === "failing" && health === "ok" ? ["nothing has arrived there yet"] : [];
    troubles.push(trouble("undelivered", what, { ...about, notes: none, reason: said.reason }));
  }
  if (resending !== undefined) {
    const what = `${describeResending(resending)} to ${name}`;
    troubles.push(trouble("resending", what, { ...about, level: "warn", since: resending.since }));
  }
  if (waiting > 0 && oldestWaitingAt !== undefined && now - oldestWaitingAt > waitsForMs) {
    const what = `${countOf(waiting, "message waits", "messages wait")} for ${name}`;
    troubles.push(trouble("backlog", what, { ...about, level: "warn", since: oldestWaitingAt, reason: said.reason }));
  }
  if (health === "degraded" && since !== undefined && now - since > degradedForMs) {
    const what = takesNothing(destination) ? `${name} has taken no message` : `${name} fails at times`;
    troubles.push(trouble("unsteady", what, { ...about, ...said, level: "warn" }));
  }
  return troubles;
}

function judgeWatch(view: WatchView, canPutBack: TroublesDeps["canPutBack"]): Trouble[] {
  const { name, verdict, summary, since, reason, level = "bad", note } = view;
  if (verdict !== "trouble") return [];
  const source = name.startsWith("account:") ? name.slice("account:".length) : undefined;
  const isAccount = name === "account" || source !== undefined;
  const notes = note === undefined ? [] : [note];
  const mend = isAccount && canPutBack(source) ? true : undefined;
  return [trouble("watch", summary, { name, source, level, since, notes, reason, canPutBack: mend })];
}

function judgeCanary(canary: CanaryView | undefined): Trouble[] {
  if (canary?.state !== "fails") return [];
  const { since, detail: reason } = canary;
  return [trouble("canary", "Tests do not get through the public address", { since, reason })];
}

function judgeSilence({ of, name, state, quietMs }: SilenceView): Trouble[] {
  if (state !== "silent") return [];
  const from = of === "hook" ? "" : ` ${of === "route" ? "for the route" : "from"} ${name}`;
  return [trouble("silence", `Nothing has come${from} for ${formatDuration(quietMs)}`, { name })];
}

/** A mute of everything is easily forgotten. */
function judgeMute(mute: Mute, now: number): Trouble[] {
  if (mute.matchers.length > 0 || !isActive(mute, now)) return [];
  const { id: name, endsAt: until, createdBy, reason } = mute;
  return [trouble("muted", "Everything is muted", { name, until, notes: [`made by ${createdBy}`], reason })];
}
