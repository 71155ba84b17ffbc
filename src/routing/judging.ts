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
  /** How long the bytes of a body that identifies its event are remembered. */
  repeatWindowMs: number;
  /** Whether a key of this source may be unsigned. Then only a body that identifies its event can be a repeat. */
  hasUnsignedKeys(source: string): boolean;
  /** Active mutes that were made at run time. */
  activeMutes(): Mute[];
  /** Called for each alert that was judged, or sent unjudged. Called again if it could not be recorded. */
  onJudged?(alert: JudgedAlert): void;
  /** Called once for each request that was read and routed. Absent: shapes are not collected. */
  noteShapes?(alerts: readonly SeenShape[], receivedAt: number, hook?: string): void;
  clock: Clock;
  log: Log;
}

export type ArrivedAlert = Pick<UnroutedRequest["alerts"][number], "id" | "origin" | "receivedAt">;

export interface JudgedAlert extends ArrivedAlert, Pick<RoutingDraft, "facts" | "decisions"> {
  source?: string;
}

/** A larger lag is left out: the sender's time may be when something began, or no time at all. */
const largestLagS = 86_400;

/** Asks the rules about alerts that were read, and passes the result to the listeners. */
export class Judging {
  /** Counts since the start. */
  readonly counters = {
    /** Sent without being read or routed. */
    givenUp: 0,
    /** Not sent, since an earlier alert had the same body. */
    repeats: 0,
    /** Seconds from the sender's time of an alert to its arrival, by `source` (`hook` is the account's). */
    senderLag: new Histogram([0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600]),
  };

  constructor(private readonly deps: JudgingDeps) {}

  /** @throws when a rule has a bug */
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

  sendUnjudged({ origin }: ArrivedAlert, facts: AlertFacts, what: "reading" | "routing", reason: string): RoutingDraft {
    const now = this.deps.clock.now();
    return toDraft(origin, facts, this.deps.router.routeUnjudged(what, reason, now), now);
  }

  /** The alert goes nowhere by itself. The message of another alert shows it. */
  contain({ origin }: ArrivedAlert, facts: AlertFacts, reason: string): RoutingDraft {
    const decision = { route: "(none)", result: "contained", reason } as const;
    return toDraft(origin, facts, { decisions: [decision], deliveries: [] }, this.deps.clock.now());
  }

  /** To be called for each alert that was judged, sent unjudged or contained. */
  noteJudged({ id, origin, receivedAt }: ArrivedAlert, { facts, decisions }: RoutingDraft): void {
    this.deps.onJudged?.({ id, origin, receivedAt, source: facts.source, decisions, facts });
  }

  /** To be called once for each request that was read and recorded. Leaves out tests, which the relay itself makes. */
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

/** What the rules look at. The payload is parsed when the first rule asks for it. */
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
    // The text may have the word with escaped letters, or be in UTF-16.
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

/** The destinations whose messages can be changed, where the route wants that. */
function changeable(deliveries: PlannedDelivery[]): string[] {
  return deliveries.flatMap(({ destination, channel, updates }) => {
    const { edits, joinsByKey } = vendorOf(channel).can;
    return edits && !joinsByKey && (updates === "auto" || updates === "edit") ? [destination] : [];
  });
}
