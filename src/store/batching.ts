import { setImmediate as nextTurn } from "node:timers/promises";
import { countWithin } from "../ground/count-within.ts";

/** Below this number a batch waits up to `mostTurns` turns of the event loop, for calls still being read from sockets. */
const enoughCalls = 16;
const mostTurns = 2;

/** A batch that is handed over ahead has at least this many calls, and this share of the most calls in hand lately. */
const fewestAhead = 8;
const shareAhead = 0.45;
/** With each batch the remembered maximum of calls in hand falls by this factor: after some 350 batches half is left. */
const fading = 0.998;

export interface Waiting<Call, Answer> {
  call: Call;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export interface BatchingOptions<Call, Answer> {
  /** The limit of one batch. More waits for the next one, so that a flood delays no commit for long. */
  most: { items?: number; weight: number };
  weightOf(call: Call): number;
  /** Resolves when all calls of the batch are answered. Never rejects. `answered` is called before the first answer. */
  send(batch: Waiting<Call, Answer>[], answered: () => void): Promise<void>;
  /** Cores that this process may use. A number that is too large costs a few hundredths of the rate. */
  cores: number;
  /** Whether calls of one turn leave together even when nothing is under way. Default: the first leaves at once. */
  waitsForOthers?: boolean;
}

/**
 * Gathers calls into batches, sent in the order of the calls. One batch is under way at a time. Where the thread has a core of
 * its own, the next one may be handed over ahead, so that the thread need not wait for it (docs/adr/0001-database-thread.md).
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
    /** Sends the call at once when nothing is under way. */
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
