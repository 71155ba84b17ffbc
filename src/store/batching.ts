import { setImmediate as nextTurn } from "node:timers/promises";
import { countWithin } from "../ground/count-within.ts";

/**
 * While fewer calls than this wait behind a batch, those that are being read from their sockets are let in first, for
 * this many turns of the event loop and only as long as each brings more: on one core the thread would else commit by
 * threes and fours while the rest stands in line for the same core.
 */
const enoughCalls = 16;
const mostTurns = 2;

/**
 * A batch that is handed over while another is under way holds at least this many calls, and at least this share of the
 * most that were in hand at once lately. With less, batches would become small, and each costs a sync; with half or
 * more they would hardly ever come about.
 */
const fewestAhead = 8;
const shareAhead = 0.45;
/** The share of "the most lately" that each batch leaves: half is left after some 350 batches. */
const fading = 0.998;

/** A call, and the way to its caller. */
export interface Waiting<Call, Answer> {
  call: Call;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export interface BatchingOptions<Call, Answer> {
  /** What one batch holds at most; more waits for the next, so that a flood delays no commit for long. */
  most: { items?: number; weight: number };
  weightOf(call: Call): number;
  /**
   * Resolves when all of the batch have been answered; never rejects. `answered` is called before the first of them
   * is.
   */
  send(batch: Waiting<Call, Answer>[], answered: () => void): Promise<void>;
  /**
   * Cores that this process may use. More than its share (a container's quota may be less) costs a few hundredths of
   * the rate.
   */
  cores: number;
  /**
   * Calls that are made in one go leave together, also where nothing is under way: for a page that asks several things
   * at once. Default: the first leaves at once, and the others behind it.
   */
  waitsForOthers?: boolean;
}

/**
 * Gathers calls into batches, which are sent in the order in which the calls came. One is under way at a time; with a
 * core for the thread besides this one's, the next may be handed over ahead, so that the thread does not wait
 * until this one has time for it (docs/adr/0001-database-thread.md).
 */
export function createBatching<Call, Answer>(options: BatchingOptions<Call, Answer>) {
  const { most, weightOf, send, cores, waitsForOthers = false } = options;
  const mostUnderWay = cores > 1 ? 2 : 1;
  const running = new Set<Promise<void>>();
  let waiting: Waiting<Call, Answer>[] = [];
  let isGathering = false;
  let batchesUnderWay = 0;
  let callsUnderWay = 0;
  let mostInHand = 0;

  /** How many of the waiting go into the next batch, at least one. */
  const nextSize = () => countWithin(waiting, most, ({ call }) => weightOf(call));

  function start(work: Promise<void>): void {
    running.add(work);
    void work.then(() => running.delete(work));
  }

  function sendBatch(): Promise<void> {
    isGathering = false;
    const inHand = callsUnderWay + waiting.length;
    mostInHand = Math.max(mostInHand * fading, inHand);
    const batch = waiting.slice(0, nextSize());
    waiting = waiting.slice(batch.length);
    batchesUnderWay += 1;
    callsUnderWay += batch.length;
    return send(batch, () => {
      batchesUnderWay -= 1;
      callsUnderWay -= batch.length;
      sendNext();
    });
  }

  /** Called after a batch has been answered. */
  function sendNext(): void {
    if (batchesUnderWay === 0 && waiting.length > 0)
      start(waiting.length < enoughCalls ? gather().then(sendBatch) : sendBatch());
    sendAhead();
  }

  async function gather(): Promise<void> {
    isGathering = true;
    let before = 0;
    for (let turn = 0; turn < mostTurns; turn += 1) {
      if (waiting.length === before || waiting.length >= enoughCalls) break;
      before = waiting.length;
      await nextTurn();
    }
  }

  function sendAhead(): void {
    if (batchesUnderWay === 0 || batchesUnderWay >= mostUnderWay || waiting.length < fewestAhead) return;
    const isEnough = waiting.length >= mostInHand * shareAhead || nextSize() < waiting.length;
    if (isEnough) start(sendBatch());
  }

  return {
    /** Its answer. It is sent at once when nothing is under way. */
    make: (call: Call): Promise<Answer> =>
      new Promise((resolve, reject) => {
        waiting.push({ call, resolve, reject });
        if (batchesUnderWay > 0) sendAhead();
        else if (!isGathering) {
          isGathering = waitsForOthers;
          start(waitsForOthers ? Promise.resolve().then(sendBatch) : sendBatch());
        }
      }),
    /** Resolves when nothing waits and nothing is under way. */
    async settled(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
