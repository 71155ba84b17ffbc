import { setImmediate as nextTurn } from "node:timers/promises";
import type { AlertFacts } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { isStoreAway } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { BodyReader, BodyReading, ReadingJournal } from "../core/ports/body-reader.ts";
import type { RoutingDesk, RoutingDraft, RoutingRecord, UnroutedRequest } from "../core/ports/routing-desk.ts";
import { groupBy } from "../ground/group-by.ts";
import { errorMessage } from "../ground/text/error-text.ts";
import type { Judging } from "./judging.ts";
import { isOrdinary } from "./ordinary.ts";
import { describeContained, describeUnreadable } from "./unreadable.ts";

export interface RoundDeps {
  store: Pick<RoutingDesk, "recordRouting" | "recordRoutingFailure">;
  judging: Judging;
  reader: BodyReader;
  journal: ReadingJournal;
  clock: Clock;
  log: Log;
}

/** Requests that are being read. Either `finish` or `drop` must be called, once. */
export interface Reading {
  /** Routes their alerts. Rejects as the store does, and when the reader cannot work. The rest must be listed again. */
  finish(): Promise<void>;
  drop(): Promise<void>;
}

type UnroutedAlert = UnroutedRequest["alerts"][number];

interface Failed {
  request: UnroutedRequest;
  alert: UnroutedAlert;
  reason: string;
  /** Present when only routing has failed. */
  facts?: AlertFacts;
}

/** An alert that has failed this often is sent as it came. One failure may be an accident of a busy machine. */
const mostFailures = 2;
/** After this many failures a request is not read again. Beyond two, only ends of the process count. */
const mostEnds = 3;
/**
 * For an ordinary body the ends are a chance: kills of a busy machine hit the same alert again and again. As it came, a firing would be
 * the last word behind its own end. The bound is there for a body that would end each process.
 */
const mostEndsOfOrdinary = 10;
const firstRetryMs = 5_000;
const longestRetryMs = 5 * 60_000;
/** Alerts in one commit. Intake shares the database's thread, and must not wait long. */
const commitSize = 100;
/** Requests that are judged before the door gets its turn, in about a millisecond. */
const stretch = 25;

/**
 * Takes requests through reading, the rules, and T2.
 *
 *     read ──▶ routed ──▶ recorded
 *       │         │          │
 *       └─────────┴──────────┴─ fails ──▶ flagged, tried again in 5 s, behind all others and alone
 *                                            └─ fails again ──▶ goes out as it came, to the default destinations, once
 *
 * The journal names the requests that are being read, until they are judged. If the process is killed meanwhile, that
 * counts as a failure of each. A request that was being read when three processes ended is not read again, an
 * ordinary one after ten.
 */
export class Round {
  /** Alerts that are being read, or have failed and are not flagged yet. */
  readonly #noted = new Map<Reading, readonly number[]>();

  constructor(private readonly deps: RoundDeps) {}

  /** Reads requests in their order, after those that are being read. */
  begin(requests: UnroutedRequest[], stop: AbortSignal): Reading {
    const readable = requests.filter((request) => !isGivenUp(request));
    const reading: Reading = {
      finish: async () => {
        try {
          await this.#route(reading, readable, await readings, requests.filter(isGivenUp).flatMap(failAgain), stop);
        } finally {
          this.#noted.delete(reading);
        }
      },
      drop: async () => {
        await readings;
        this.#note(reading, []);
      },
    };
    this.#note(reading, seqsOf(readable));
    const readings = this.deps.reader.read(readable, stop);
    return reading;
  }

  #note(reading: Reading, alertSeqs: readonly number[]): void {
    if (alertSeqs.length > 0) this.#noted.set(reading, alertSeqs);
    else this.#noted.delete(reading);
    this.deps.journal.write([...this.#noted.values()].flat());
  }

  async #route(
    reading: Reading,
    readable: UnroutedRequest[],
    readings: BodyReading[],
    failed: Failed[],
    stop: AbortSignal,
  ): Promise<void> {
    const records: RoutingRecord[] = [];
    let whyNotRead: string | undefined;
    for (const [index, request] of readable.entries()) {
      if (index > 0 && index % stretch === 0) await nextTurn();
      const read = readings[index] as BodyReading;
      if (read.kind === "not_read") {
        // Later alerts wait too: one of them may be a repeat of this one.
        whyNotRead = read.reason;
        break;
      }
      const judged = this.#judge(request, read);
      records.push(...judged.records);
      failed.push(...judged.failed);
    }
    this.#note(
      reading,
      failed.map(({ alert }) => alert.seq),
    );
    const refused = await this.#recordAll(records);
    for (const request of readable)
      for (const alert of request.alerts) {
        const reason = refused.get(alert.seq);
        if (reason !== undefined) failed.push({ request, alert, reason });
      }
    // Noted only after storing: a request that could not be stored is read again, and would be noted twice.
    const unsettled = new Set(failed.map(({ request }) => request));
    for (const [index, request] of readable.entries()) {
      const read = readings[index] as BodyReading;
      if (read.kind === "not_read") break;
      if (read.kind === "read" && !unsettled.has(request))
        this.deps.judging.noteRead(request.alerts, read.translations, request.source);
    }
    if (failed.length > 0) {
      await this.#settle(failed);
      this.#note(reading, []);
    }
    if (whyNotRead !== undefined && !stop.aborted) throw new Error(whyNotRead);
  }

  /** Judges each alert by itself, so one that cannot be routed delays no other. */
  #judge(request: UnroutedRequest, reading: Exclude<BodyReading, { kind: "not_read" }>) {
    const records: RoutingRecord[] = [];
    const failed: Failed[] = [];
    const { translations = [] } = reading.kind === "read" ? reading : {};
    for (const alert of request.alerts) {
      const translation = translations[alert.item];
      if (translation === undefined) {
        const tooFew = `the body has ${translations.length} alerts, not ${alert.item + 1}`;
        failed.push({ request, alert, reason: reading.kind === "read" ? tooFew : reading.reason });
        continue;
      }
      try {
        records.push(this.#toRecord(alert, this.deps.judging.judge(alert, translation, request)));
      } catch (error) {
        failed.push({ request, alert, reason: errorMessage(error), facts: translation.facts });
      }
    }
    return { records, failed };
  }

  /** Rejects when nothing can be stored at all. Returns for each refused alert the reason. */
  async #recordAll(records: RoutingRecord[]): Promise<Map<number, string>> {
    const refused = new Map<number, string>();
    for (let start = 0; start < records.length; start += commitSize) {
      await this.#recordTogether(records.slice(start, start + commitSize), refused);
    }
    return refused;
  }

  async #recordTogether(records: RoutingRecord[], refused: Map<number, string>): Promise<void> {
    const bySeq = new Map(records.map((record) => [record.alertSeq, record]));
    try {
      for (const recorded of await this.deps.store.recordRouting(records))
        this.deps.judging.noteRecorded(recorded, bySeq.get(recorded.alertSeq)?.facts.severity);
    } catch (error) {
      if (isStoreAway(error)) throw error;
      const [only, ...others] = records;
      if (only !== undefined && others.length === 0) refused.set(only.alertSeq, errorMessage(error));
      else for (const one of records) await this.#recordTogether([one], refused);
    }
  }

  async #settle(failed: Failed[]): Promise<void> {
    const again = failed.filter(({ alert }) => alert.failures + 1 < mostFailures);
    for (const [reason, those] of groupBy(again, (one) => one.reason)) {
      const seqs = those.map(({ alert }) => alert.seq);
      await this.#flag(seqs, reason, firstRetryMs);
    }
    const last = failed.filter(({ alert }) => alert.failures + 1 >= mostFailures);
    for (const ofRequest of groupBy(last, ({ request }) => request).values()) await this.#giveUp(ofRequest);
  }

  async #flag(seqs: number[], reason: string, waitMs: number): Promise<void> {
    const { store, clock, log } = this.deps;
    log.error("alert.routing_failed", { alertSeqs: seqs.slice(0, 10), alerts: seqs.length, error: reason });
    await store.recordRoutingFailure(seqs, reason, clock.now() + waitMs);
  }

  /** Gives up alerts of one request. An alert that was read keeps its facts. One message shows the rest as it came. */
  async #giveUp(failed: Failed[]): Promise<void> {
    const { judging, log } = this.deps;
    const unread = failed.filter(({ facts }) => facts === undefined);
    const [shown, ...contained] = unread;
    const records = failed.flatMap(({ alert, reason, facts }) =>
      facts === undefined
        ? []
        : [this.#toRecord(alert, judging.sendUnjudged(alert, withRow(facts, reason), "routing", reason))],
    );
    if (shown !== undefined) {
      const { request, alert, reason } = shown;
      const { id } = alert;
      const { body, source } = request;
      const facts = { ...describeUnreadable({ id, body, reason, alerts: unread.length }), ...(source && { source }) };
      records.push(this.#toRecord(alert, judging.sendUnjudged(alert, facts, "reading", reason)));
      records.push(...contained.map((one) => this.#contain(one, id)));
    }
    const refused = await this.#recordAll(records);
    for (const { alert, reason } of failed) {
      const problem = refused.get(alert.seq);
      if (problem === undefined) {
        judging.counters.givenUp += 1;
        log.error("alert.unreadable", { alert: alert.id, reason });
      } else await this.#flag([alert.seq], problem, Math.min(firstRetryMs * 2 ** alert.failures, longestRetryMs));
    }
  }

  #contain({ alert, reason }: Failed, shownBy: string): RoutingRecord {
    const facts = describeContained(alert.id, reason, shownBy);
    const why = `could not be read: ${reason}; the message of alert ${shownBy} shows the whole request as received`;
    return this.#toRecord(alert, this.deps.judging.contain(alert, facts, why));
  }

  #toRecord(alert: UnroutedAlert, draft: RoutingDraft): RoutingRecord {
    this.deps.judging.noteJudged(alert, draft);
    return { alertSeq: alert.seq, ...draft };
  }
}

function isGivenUp({ alerts, body, contentType }: UnroutedRequest): boolean {
  const hasFailed = (times: number) => alerts.some(({ failures }) => failures >= times);
  return hasFailed(mostEndsOfOrdinary) || (hasFailed(mostEnds) && !isOrdinary(body, contentType));
}

function failAgain(request: UnroutedRequest): Failed[] {
  return request.alerts.map((alert) => ({ request, alert, reason: alert.error ?? "routing it failed" }));
}

function withRow(facts: AlertFacts, reason: string): AlertFacts {
  const row = { name: "Tocsin", value: `sent without asking the rules, which failed: ${reason}` };
  return { ...facts, fields: [row, ...facts.fields].slice(0, 40) };
}

export function seqsOf(requests: UnroutedRequest[]): number[] {
  return requests.flatMap(({ alerts }) => alerts.map(({ seq }) => seq));
}
