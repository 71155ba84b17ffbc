import type { ServerResponse } from "node:http";
import { type DoorRefusal, type DoorRefusalView, doorRefusals } from "../../contract/operations.ts";
import type { Now } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import { bodyRoomFull } from "../../ground/net/body-room.ts";
import { answer, closeUnlessComplete } from "./answer.ts";

/** Counts since the start, for `/metrics`. */
export class DoorCounters {
  accepted = 0;
  alerts = 0;
  duplicates = 0;
  tooLarge = 0;
  compressed = 0;
  notStored = 0;
  /** Requests that the store did not take. */
  storeRefused = 0;
  unknownSecret = 0;
  /** Requests that did not pass their source's check. */
  senderRefused = 0;
  aborted = 0;
}

/** Fields of a head. Senders and their proxies send 50. An empty field of six bytes takes fifty times its length in memory. */
export const mostFields = 200;

interface Row extends Effects {
  status: number;
  code: string;
  /** For the sender. */
  says: string;
}

interface Effects {
  /** Seconds. Default: no Retry-After, unless the caller gives one. */
  retryAfter?: number;
  counters?: readonly (keyof DoorCounters)[];
  /** The reason in the counts on pages. Default: not counted there. */
  shownAs?: DoorRefusal;
  /** Default: not logged. */
  log?: readonly ["warn" | "error", event: string];
  /** Keeps the connection and drops the rest of the body: a sender that is cut off while it writes may never see the answer. */
  keepsConnection?: true;
}

const row = (status: number, code: string, says: string, effects: Effects = {}): Row => ({
  status,
  code,
  says,
  ...effects,
});
const unstored: Effects = { counters: ["notStored"], shownAs: "not_stored" };
const full: Effects = { ...unstored, retryAfter: 1, keepsConnection: true };
const log = ["warn", "alert.refused"] as const;
const wrong = "invalid_request";
const away = "store_unavailable";

/** All answers of the door except 2xx. The caller replaces `…`. */
const table = {
  unknown_secret: row(404, "not_found", "There is nothing here.", {
    counters: ["unknownSecret"],
    shownAs: "unknown_secret",
  }),
  /** A question for the proof of another relay. It does not count as a guess. */
  unknown_question: row(404, "not_found", "There is nothing here."),
  unknown_yet: row(503, away, "Tocsin waits for its database, which has the secrets of its hooks; send it again.", {
    ...unstored,
    retryAfter: 5,
  }),
  wrong_method: row(405, wrong, "This is the hook: send alerts to it with POST."),
  too_many_fields: row(431, wrong, `The request has more than ${mostFields} header fields.`, {
    shownAs: "too_many_fields",
    log,
  }),
  compressed: row(415, "unsupported_encoding", "Send the body uncompressed, or with gzip or deflate alone.", {
    counters: ["compressed"],
    shownAs: "compressed",
    log,
  }),
  too_large: row(413, "too_large", "…", { counters: ["tooLarge"], shownAs: "too_large", log }),
  /** No alert, so it is not counted. */
  proof_too_large: row(413, "too_large", "…"),
  no_room: row(503, away, bodyRoomFull, full),
  too_many_waiting: row(503, away, "Too many alerts are waiting for the disk; send it again.", full),
  too_many_compressed: row(503, away, "Too many compressed bodies of this source are waiting; send it again.", full),
  sender_refused: row(401, "sender_refused", "This source checks who sends: ….", { counters: ["senderRefused"] }),
  not_stored: row(503, away, "The alert could not be stored; send it again.", {
    ...{ ...unstored, counters: ["notStored", "storeRefused"] },
    ...{ retryAfter: 10, log: ["error", "alert.not_stored"] },
  }),
  stopping: row(
    503,
    "relay_stopping",
    "Tocsin is being stopped and has not read the alert to its end; send it again.",
    {
      ...unstored,
      retryAfter: 2,
    },
  ),
};

export type Refusal = keyof typeof table;

export interface RefusalDetails {
  /** In place of `…`. */
  detail?: string;
  /** Default: the table's. */
  retryAfterMs?: number;
  /** Logged next to the reason. */
  logged?: Readonly<Record<string, unknown>>;
}

export class Refusals {
  readonly counts: RefusalCounts;

  constructor(
    private readonly counters: DoorCounters,
    private readonly deps: { now: Now; log: Log },
  ) {
    this.counts = new RefusalCounts(deps.now);
  }

  refuse(response: ServerResponse, why: Refusal, { detail = "", retryAfterMs, logged }: RefusalDetails = {}): void {
    const { status, code, says, retryAfter, counters = [], shownAs, log, keepsConnection = false } = table[why];
    for (const counter of counters) this.counters[counter] += 1;
    if (shownAs !== undefined) this.counts.note(shownAs);
    if (log !== undefined) this.deps.log[log[0]](log[1], { reason: why, ...logged });
    const seconds = retryAfterMs === undefined ? retryAfter : retryAfterMs / 1000;
    if (seconds !== undefined) response.setHeader("retry-after", Math.max(1, Math.ceil(seconds)));
    if (!keepsConnection) closeUnlessComplete(response);
    const message = says.replace("…", () => detail);
    answer(response, status, JSON.stringify({ error: { code, message } }));
  }
}

const hourMs = 3_600_000;
const dayHours = 24;

/** Counts refused requests by reason and hour. Keeps only numbers and times, so guesses fill nothing. */
export class RefusalCounts {
  readonly #counts = new Map(
    doorRefusals.map((reason) => [
      reason,
      { total: 0, lastAt: undefined as number | undefined, hours: new Map<number, number>() },
    ]),
  );

  constructor(private readonly now: Now) {}

  note(reason: DoorRefusal): void {
    const entry = this.#counts.get(reason);
    if (entry === undefined) return;
    const at = this.now();
    const hour = Math.floor(at / hourMs);
    entry.total += 1;
    entry.lastAt = at;
    entry.hours.set(hour, (entry.hours.get(hour) ?? 0) + 1);
    for (const old of entry.hours.keys()) if (old <= hour - dayHours) entry.hours.delete(old);
  }

  view(): DoorRefusalView[] {
    const hour = Math.floor(this.now() / hourMs);
    return [...this.#counts].map(([reason, { total, lastAt, hours }]) => {
      const ofDay = [...hours].filter(([one]) => one > hour - dayHours && one <= hour);
      return { reason, total, day: ofDay.reduce((sum, [, count]) => sum + count, 0), lastAt };
    });
  }
}
