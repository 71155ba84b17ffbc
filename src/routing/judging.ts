import type { AlertFacts, AlertOrigin, Translation } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { RecordedAlert, RoutingDraft, UnroutedRequest } from "../core/ports/routing-desk.ts";
import type { Mute, PlannedDelivery } from "../core/rules.ts";
import type { SeenShape } from "../core/shape.ts";
import { accountHook } from "../core/source.ts";
import { Histogram } from "../ground/numbers/figures.ts";
import type { MatchInput } from "../matching/judge.ts";
import { vendorOf } from "../vendors/index.ts";
import { mostReadAgainBytes } from "./kept-routes.ts";
import type { Router, RoutingResult } from "./router.ts";

export interface JudgingDeps {
  router: Router;
  /** See `Router.route`. */
  keptRoutes?(): string | undefined;
  /** How long a body that names its own event is remembered, milliseconds. */
  repeatWindowMs: number;
  /** Whether the keys of this source's requests are not signed. Its repeats are then found only by bodies that name their own event. */
  hasUnsignedKeys(source: string): boolean;
  /** Mutes made at run time that are active. */
  activeMutes(): Mute[];
  /** Called for each alert that was judged or sent unjudged. Called twice for an alert that could not be recorded the first time. */
  onJudged?(alert: JudgedAlert): void;
  /** Called once for each request that was read and routed, with the shapes of its alerts. Absent: shapes are not collected. */
  noteShapes?(alerts: readonly SeenShape[], receivedAt: number, hook?: string): void;
  clock: Clock;
  log: Log;
}

/** What is known of an alert before it is read. */
export type ArrivedAlert = Pick<UnroutedRequest["alerts"][number], "id" | "origin" | "receivedAt">;

export interface JudgedAlert extends ArrivedAlert, Pick<RoutingDraft, "facts" | "decisions"> {
  source?: string;
}

/** A larger lag is left out: the sender's time says when something began, or is no time at all. */
const largestLagS = 86_400;

/** Asks the rules about alerts that were read, and tells the listeners the result. */
export class Judging {
  /** Counts since the start that the rules' decisions do not show. */
  readonly counters = {
    /** Went out without being read or routed. */
    givenUp: 0,
    /** Were not sent, since an earlier alert had the very same body. */
    repeats: 0,
    /** Seconds from the time that the sender names until the alert came, by `source` (`hook` is the account's). */
    senderLag: new Histogram([0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600]),
  };

  constructor(private readonly deps: JudgingDeps) {}

  /** @throws when a rule cannot be asked, for a bug in it. */
  judge(
    { origin }: ArrivedAlert,
    translation: Translation,
    { source, body }: Pick<UnroutedRequest, "source" | "body">,
  ): RoutingDraft {
    const { router, keptRoutes, activeMutes, clock, repeatWindowMs, hasUnsignedKeys } = this.deps;
    const { facts } = translation;
    const now = clock.now();
    const keptAs = body.byteLength > mostReadAgainBytes ? undefined : keptRoutes?.();
    const input = new TranslatedInput(translation, origin, body);
    const mutes = activeMutes();
    const draft = toDraft(origin, facts, router.route(input, mutes, now, keptAs), now);
    if (facts.status === "resolved" && origin === "hook") draft.endEdits = changeable(draft.deliveries);
    draft.countsIn = countsIn(draft.deliveries);
    const others = mutes.filter(({ untilOver }) => untilOver !== facts.alertKey);
    if (others.length < mutes.length && draft.deliveries.some(({ state }) => state === "muted")) {
      const planned = router.route(input, others, now, keptAs);
      draft.ifOver = { ...planned, countsIn: countsIn(planned.deliveries) };
    }
    if (translation.namesItself) {
      draft.repeatWindowMs = repeatWindowMs;
      if (source !== undefined && hasUnsignedKeys(source)) draft.isRepeatDespiteKey = true;
    }
    return draft;
  }

  /** To the destinations of the default routes. */
  sendUnjudged({ origin }: ArrivedAlert, facts: AlertFacts, what: "reading" | "routing", reason: string): RoutingDraft {
    const now = this.deps.clock.now();
    return toDraft(origin, facts, this.deps.router.routeUnjudged(what, reason, now), now);
  }

  /** The alert goes nowhere by itself: the message of another alert shows it. */
  contain({ origin }: ArrivedAlert, facts: AlertFacts, reason: string): RoutingDraft {
    const decision = { route: "(none)", result: "contained", reason } as const;
    return toDraft(origin, facts, { decisions: [decision], deliveries: [] }, this.deps.clock.now());
  }

  /** Has to be called for each alert that was judged, sent unjudged or contained. */
  noteJudged({ id, origin, receivedAt }: ArrivedAlert, { facts, decisions }: RoutingDraft): void {
    this.deps.onJudged?.({ id, origin, receivedAt, source: facts.source, decisions, facts });
  }

  /** Has to be called once for each request that was read and recorded. Tests are left out: the relay itself makes them. */
  noteRead(
    alerts: readonly (Pick<ArrivedAlert, "origin" | "receivedAt"> & { item: number })[],
    translations: Translation[],
    hook?: string,
  ): void {
    const [first] = alerts;
    if (first?.origin !== "hook") return;
    const seen = alerts.flatMap(({ item }) => translations[item] ?? []);
    const { receivedAt } = first;
    for (const { facts } of seen) {
      const lagS = facts.occurredAt === undefined ? Number.NaN : (receivedAt - facts.occurredAt) / 1000;
      if (lagS <= largestLagS) this.counters.senderLag.observe({ source: hook ?? accountHook }, Math.max(0, lagS));
    }
    this.deps.noteShapes?.(seen, receivedAt, hook);
  }

  noteRecorded({ alertSeq, repeatOf, deliveries }: RecordedAlert, severity: AlertFacts["severity"] | undefined): void {
    const { log } = this.deps;
    if (repeatOf === undefined) {
      log.info("alert.routed", { alertSeq, severity, deliveries: deliveries.filter(Boolean).length });
      return;
    }
    this.counters.repeats += 1;
    log.info("alert.repeated", { alertSeq, repeatOf });
  }
}

/** The input of the rules. The payload is parsed when the first rule asks for it. */
export class TranslatedInput implements MatchInput {
  readonly facts: AlertFacts;

  constructor(
    private readonly translation: Translation,
    readonly origin: AlertOrigin,
    private readonly body: Uint8Array,
  ) {
    this.facts = translation.facts;
  }

  mayName(word: string): boolean {
    const { buffer, byteOffset, byteLength } = this.body;
    const bytes = Buffer.from(buffer, byteOffset, byteLength);
    // The word may be written with escaped letters, or in UTF-16.
    return [word, "\\u", "\0"].some((part) => bytes.includes(part, "latin1"));
  }

  get payload(): Translation["payload"] {
    return this.translation.payload;
  }
}

function toDraft(
  origin: AlertOrigin,
  facts: AlertFacts,
  { decisions, deliveries }: RoutingResult,
  routedAt: number,
): RoutingDraft {
  return { facts, decisions, deliveries, purpose: origin === "test" ? "test" : "alert", routedAt };
}

function countsIn(deliveries: PlannedDelivery[]): string[] | undefined {
  return deliveries.some(({ ring }) => ring !== undefined) ? changeable(deliveries) : undefined;
}

/** The destinations whose messages can be changed and whose route wants that. */
function changeable(deliveries: PlannedDelivery[]): string[] {
  return deliveries.flatMap(({ destination, channel, updates }) => {
    const { edits, joinsByKey } = vendorOf(channel).can;
    return edits && !joinsByKey && (updates === "auto" || updates === "edit") ? [destination] : [];
  });
}
