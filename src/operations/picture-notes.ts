import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import {
  type PicturedMessage,
  type PictureNotes,
  type PictureOf,
  type PictureOutcome,
  type PictureResult,
  pictureResults,
} from "../core/picture-outcome.ts";
import { createPoll } from "../core/poll.ts";
import type { WatchStore } from "../core/ports/watch.ts";

export interface KeptPictureNotes extends PictureNotes {
  /** A message got the address of a picture, and somebody has fetched it. */
  noteLinked(message: PicturedMessage): void;
  noteFetched(message: PicturedMessage): void;
  ofDelivery: PictureOf;
  /** Since the start. Who fetches an address twice counts once. */
  counts(): Readonly<Record<PictureResult, number>>;
  /** Reads what was kept before, and keeps what comes until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
  /** Keeps what came since. Never rejects. */
  save(): Promise<void>;
}

export interface PictureNotesDeps {
  store: Pick<WatchStore, "loadWatchState" | "saveWatchState">;
  /** Names of those whose messages have pictures. */
  destinations: readonly string[];
  clock: Clock;
  log: Log;
}

/** Of one destination: more than the pages of a day's alerts ask for. */
const mostOfOne = 200;
/** What a kill may cost, and so how often the store is written to at most. */
const saveEveryMs = 60_000;

interface Noted {
  at: number;
  outcome: PictureOutcome;
}

const savedSchema = z.object({
  outcomes: z.array(
    z.object({
      id: z.string(),
      at: z.number(),
      outcome: z.object({
        result: z.enum(pictureResults),
        afterMs: z.number().optional(),
        times: z.number().optional(),
        reason: z.string().optional(),
      }),
    }),
  ),
});

/**
 * What became of pictures, over restarts: in memory, and once a minute in the store, in one piece a destination and behind
 * all deliveries. A piece has one writer, whoever sends there, so several relays take nothing from each other.
 */
export function createPictureNotes({ store, destinations, clock, log }: PictureNotesDeps): KeptPictureNotes {
  /** What was noted last stands last. */
  const noted = new Map(destinations.map((name) => [name, new Map<string, Noted>()]));
  const changed = new Set<string>();
  const counts = Object.fromEntries(pictureResults.map((result) => [result, 0])) as Record<PictureResult, number>;
  let isLoaded = false;

  function put({ destination, id }: PicturedMessage, one: Noted): void {
    const ofOne = noted.get(destination);
    if (ofOne === undefined) return;
    ofOne.delete(id);
    ofOne.set(id, one);
    changed.add(destination);
    for (const oldest of ofOne.keys()) {
      if (ofOne.size <= mostOfOne) break;
      ofOne.delete(oldest);
    }
  }

  function note(message: PicturedMessage, outcome: PictureOutcome): void {
    counts[outcome.result] += 1;
    put(message, { at: clock.now(), outcome });
  }

  function find({ destination, id }: PicturedMessage): PictureOutcome | undefined {
    return noted.get(destination)?.get(id)?.outcome;
  }

  async function load(): Promise<void> {
    for (const [name, ofOne] of noted) {
      const saved = savedSchema.safeParse(await store.loadWatchState(stateNameOf(name)));
      const before = saved.success ? saved.data.outcomes : [];
      const since = [...ofOne];
      ofOne.clear();
      for (const { id, ...one } of before) ofOne.set(id, one);
      for (const [id, one] of since) put({ destination: name, id }, one);
    }
    isLoaded = true;
  }

  async function save(): Promise<void> {
    // It would take the place of what was kept before.
    if (!isLoaded) await load();
    for (const name of [...changed]) {
      changed.delete(name);
      const outcomes = [...(noted.get(name) ?? [])].map(([id, one]) => ({ id, ...one }));
      await store.saveWatchState({ name: stateNameOf(name), state: { outcomes } }).catch((error: unknown) => {
        changed.add(name);
        throw error;
      });
    }
  }

  const onFailed = (error: unknown) => log.warn("picture_notes.not_kept", { error: String(error).slice(0, 300) });
  const poll = createPoll({ look: save, everyMs: saveEveryMs, clock, onFailed });

  return {
    note,
    find,
    ofDelivery: ({ id, destination, state }, alertId) =>
      find({ destination, id }) ?? (state === "sent" ? find({ destination, id: alertId }) : undefined),
    noteLinked(message) {
      // It is composed again for another try, and whoever showed the first has fetched the same picture.
      const isKnown = noted.get(message.destination)?.has(message.id) ?? false;
      if (!isKnown) note(message, { result: "linked" });
    },
    noteFetched(message) {
      const before = noted.get(message.destination)?.get(message.id);
      const { times, afterMs } = before?.outcome ?? {};
      if (times === undefined) counts.fetched += 1;
      const at = before?.at ?? clock.now();
      const first = before?.outcome.result === "linked" ? Math.max(0, clock.now() - at) : afterMs;
      put(message, { at, outcome: { result: "fetched", times: (times ?? 0) + 1, afterMs: first } });
    },
    counts: () => counts,
    run: (stop) => poll.run(stop),
    save: () => save().catch(onFailed),
  };
}

function stateNameOf(destination: string): string {
  return `pictures:${destination}`;
}
