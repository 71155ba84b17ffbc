import { performance } from "node:perf_hooks";
import type { Translation } from "../core/alert.ts";
import type { Log } from "../core/log.ts";
import type { ArrivalJournal, StoredBody } from "../core/ports/body-reader.ts";
import type { Acceptance, ArrivalInbox, Inbox, IncomingRequest } from "../core/ports/inbox.ts";
import type { RecordedAlert, RoutingDraft } from "../core/ports/routing-desk.ts";
import { errorText } from "../ground/text/error-text.ts";
import type { Judging } from "./judging.ts";
import { isOrdinary } from "./ordinary.ts";
import type { RoutingLoop } from "./routing-loop.ts";

export interface RoutingOnArrivalDeps {
  inbox: ArrivalInbox;
  /** Reads in this thread, with the same result as the reading thread. */
  translate(body: StoredBody): Translation[];
  judging: Judging;
  journal: ArrivalJournal;
  /** Routes the requests that are stored without a routing. */
  loop: Pick<RoutingLoop, "isCaughtUp" | "wake">;
  log: Log;
  /** Whether alerts come too fast for routing. Accepting then must not wait for it. */
  isFlooded(): boolean;
  /** Milliseconds of a clock that nobody sets. Default: the process's. */
  now?(): number;
}

const mostAlerts = 16;
/** The payload of a larger body is not kept for its message but read again: hundreds may wait for their call. */
const mostKeptBytes = 4 * 1024;
/** How much of the thread's time reading may take at once, and in the long run. */
const mostCreditMs = 250;
const share = 1 / 2;

/**
 * Routes an ordinary alert while it is accepted, so there is one commit between its arrival and its message
 * (docs/adr/0021-one-commit.md). Other bodies take the long way: they are stored as they came, and read in a thread
 * that can be ended (docs/adr/0009-reading-behind-a-fence.md). These are large, deep, unreadable, neither JSON nor a
 * form, or come in a flood or while others wait for routing.
 */
export class RoutingOnArrival implements Inbox {
  readonly #now: () => number;
  /** Requests on the long way that are not stored yet. */
  #onLongWay = 0;
  #creditMs = mostCreditMs;
  #creditAt: number;

  constructor(private readonly deps: RoutingOnArrivalDeps) {
    this.#now = deps.now ?? (() => performance.now());
    this.#creditAt = this.#now();
  }

  acceptRequest = async (request: IncomingRequest): Promise<Acceptance> => {
    const { inbox } = this.deps;
    const read = this.#mayRoute(request) ? this.#read(request) : undefined;
    if (read === undefined) return this.#goLongWay(request);
    const { translations, drafts } = read;
    const payloads = request.body.length <= mostKeptBytes ? translations.map(({ payload }) => payload) : undefined;
    const acceptance = await inbox.acceptRequest(request, drafts, payloads);
    if (acceptance.kind === "duplicate") return acceptance;
    if (acceptance.recorded === undefined) this.deps.loop.wake();
    else this.#tell(request, translations, drafts, acceptance.recorded);
    return acceptance;
  };

  async #goLongWay(request: IncomingRequest): Promise<Acceptance> {
    this.#onLongWay += 1;
    try {
      const acceptance = await this.deps.inbox.acceptRequest(request);
      // The next request may only be routed when the loop knows of this one.
      if (acceptance.kind === "accepted") this.deps.loop.wake();
      return acceptance;
    } finally {
      this.#onLongWay -= 1;
    }
  }

  #mayRoute({ body, contentType, ids, mayBeStored }: IncomingRequest): boolean {
    const { loop, journal, isFlooded } = this.deps;
    return (
      this.#onLongWay === 0 &&
      loop.isCaughtUp() &&
      !isFlooded() &&
      ids.length <= mostAlerts &&
      mayBeStored !== true &&
      isOrdinary(body, contentType) &&
      this.#hasCredit() &&
      !journal.isSuspect(body)
    );
  }

  /** Undefined: the request takes the long way, where the failure is counted and reported. */
  #read(request: IncomingRequest): { translations: Translation[]; drafts: RoutingDraft[] } | undefined {
    const { translate, judging, journal } = this.deps;
    const { body, ids, origin, receivedAt } = request;
    const startedAt = this.#now();
    journal.noteArrival(body);
    try {
      const translations = translate(request);
      if (translations.length !== ids.length) return undefined;
      const drafts = translations.map((translation, item) =>
        judging.judge({ id: ids[item] as string, origin, receivedAt }, translation, request),
      );
      return { translations, drafts };
    } catch {
      return undefined;
    } finally {
      this.#creditMs -= this.#now() - startedAt;
    }
  }

  #hasCredit(): boolean {
    const now = this.#now();
    this.#creditMs = Math.min(mostCreditMs, this.#creditMs + (now - this.#creditAt) * share);
    this.#creditAt = now;
    return this.#creditMs > 0;
  }

  /** The alerts are already stored, so a failure here changes nothing for them. */
  #tell(
    { ids, source, origin, receivedAt }: IncomingRequest,
    translations: Translation[],
    drafts: RoutingDraft[],
    recorded: RecordedAlert[],
  ): void {
    const { judging, log } = this.deps;
    const alerts = ids.map((id, item) => ({ id, item, origin, receivedAt }));
    try {
      for (const [item, one] of recorded.entries()) judging.noteRecorded(one, drafts[item]?.facts.severity);
      for (const alert of alerts) judging.noteJudged(alert, drafts[alert.item] as RoutingDraft);
      judging.noteRead(alerts, translations, source);
    } catch (error) {
      log.error("alert.not_noted", { ids, error: errorText(error) });
    }
  }
}
