import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import {
  type PicturedMessage,
  type PictureOf,
  type PictureOutcome,
  type PictureResult,
  pictureResults,
} from "../core/picture-outcome.ts";
import { createPoll } from "../core/poll.ts";
import { type CommonStates, changeTogether } from "../core/ports/watch.ts";
import { RecentMap } from "../ground/recent-map.ts";
import { errorText } from "../ground/text/error-text.ts";

export type KeptPictureNotes = ReturnType<typeof createPictureNotes>;

export interface PictureNotesDeps {
  store: CommonStates;
  /** Other relays note results too: each may know a part of a delivery's result. */
  isShared: boolean;
  /** The names of destinations whose messages have pictures. */
  destinations: readonly string[];
  clock: Clock;
  log: Log;
}

/** For one destination. More than the pages of a day's alerts need. */
const mostOfOne = 200;
/** The store is written to this often at most. A kill may lose the notes of this time. */
const saveEveryMs = 60_000;

type Noted = { at: number; outcome: PictureOutcome };

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

/** The results of pictures, saved once a minute for each destination. Relays exchange theirs. */
export function createPictureNotes({ store, isShared, destinations, clock, log }: PictureNotesDeps) {
  const noted = new Map(destinations.map((name) => [name, new RecentMap<string, Noted>(mostOfOne)]));
  /** Unsaved results, by destination and id, with the number of fetches. */
  const changed = new Map(destinations.map((name) => [name, new RecentMap<string, number>(mostOfOne)]));
  const counts = Object.fromEntries(pictureResults.map((result) => [result, 0])) as Record<PictureResult, number>;
  let isLoaded = false;

  function put({ destination, id }: PicturedMessage, one: Noted, fetches = 0): void {
    const ofOne = noted.get(destination);
    const news = changed.get(destination);
    if (ofOne === undefined || news === undefined) return;
    ofOne.set(id, one);
    news.set(id, (news.get(id) ?? 0) + fetches);
  }

  function note(message: PicturedMessage, outcome: PictureOutcome): void {
    counts[outcome.result] += 1;
    put(message, { at: clock.now(), outcome });
  }

  function find({ destination, id }: PicturedMessage): PictureOutcome | undefined {
    return noted.get(destination)?.get(id)?.outcome;
  }

  /** @returns all known results, with those of other relays */
  function exchange(name: string, mine: readonly News[]): Promise<Map<string, Noted>> {
    return changeTogether(store, `pictures:${name}`, (from) => {
      const together = addTo(readSaved(from), mine);
      const outcomes = [...together].map(([id, one]) => ({ id, ...one }));
      return { given: together, state: mine.length === 0 ? undefined : { outcomes } };
    });
  }

  async function keep(name: string, ofOne: Map<string, Noted>): Promise<void> {
    const newsOf = (news: Map<string, number>): News[] =>
      [...news].flatMap(([id, fetches]) => {
        const one = ofOne.get(id);
        return one === undefined ? [] : [{ id, one, fetches }];
      });
    const news = changed.get(name) ?? new RecentMap<string, number>(mostOfOne);
    const since = new RecentMap<string, number>(mostOfOne);
    changed.set(name, since);
    try {
      const together = addTo(await exchange(name, newsOf(news)), newsOf(since));
      ofOne.clear();
      for (const [id, one] of together) ofOne.set(id, one);
    } catch (error) {
      for (const [id, fetches] of since) news.set(id, (news.get(id) ?? 0) + fetches);
      changed.set(name, news);
      throw error;
    }
  }

  async function save(): Promise<void> {
    for (const [name, ofOne] of noted) {
      if (isShared || !isLoaded || changed.get(name)?.size) await keep(name, ofOne);
    }
    isLoaded = true;
  }

  const onFailed = (error: unknown) => log.warn("picture_notes.not_kept", { error: errorText(error) });
  const poll = createPoll({ look: save, everyMs: saveEveryMs, clock, onFailed });

  const ofDelivery: PictureOf = ({ id, destination, state }, alertId) =>
    find({ destination, id }) ?? (state === "sent" ? find({ destination, id: alertId }) : undefined);

  return {
    note,
    find,
    ofDelivery,
    noteLinked(message: PicturedMessage): void {
      // Another try composes the message again, and the same picture was fetched for the first message.
      const isKnown = noted.get(message.destination)?.has(message.id) ?? false;
      if (!isKnown) note(message, { result: "linked" });
    },
    noteFetched(message: PicturedMessage): void {
      const before = noted.get(message.destination)?.get(message.id);
      const { times, afterMs } = before?.outcome ?? {};
      if (times === undefined) counts.fetched += 1;
      const at = before?.at ?? clock.now();
      const first = before?.outcome.result === "linked" ? Math.max(0, clock.now() - at) : afterMs;
      put(message, { at, outcome: { result: "fetched", times: (times ?? 0) + 1, afterMs: first } }, 1);
    },
    /** Since the start. An address that is fetched twice counts once. */
    counts: (): Readonly<Record<PictureResult, number>> => counts,
    /** Reads the saved results, and saves new ones until `stop` is aborted. Never rejects. */
    run: (stop: AbortSignal): Promise<void> => poll.run(stop),
    save: (): Promise<void> => save().catch(onFailed),
  };
}

type News = { id: string; one: Noted; fetches: number };

function readSaved(state: unknown): RecentMap<string, Noted> {
  const saved = savedSchema.safeParse(state);
  const known = new RecentMap<string, Noted>(mostOfOne);
  for (const { id, ...one } of saved.data?.outcomes ?? []) known.set(id, one);
  return known;
}

function addTo(known: Map<string, Noted>, news: readonly News[]): Map<string, Noted> {
  for (const { id, one, fetches } of news) known.set(id, combine(known.get(id), one, fetches));
  return known;
}

/** One relay may know that an address was given, and another that the picture was fetched. */
function combine(known: Noted | undefined, one: Noted, fetches: number): Noted {
  if (known === undefined) return one;
  const given = [known, one].find(({ outcome }) => outcome.result === "linked");
  const fetched = [known, one].find(({ outcome }) => outcome.result === "fetched");
  if (fetched === undefined) return one.at >= known.at ? one : known;
  const times = (known.outcome.times ?? 0) + fetches;
  const afterMs = known.outcome.afterMs ?? one.outcome.afterMs ?? (given && Math.max(0, fetched.at - given.at));
  return { at: Math.min(known.at, one.at), outcome: { result: "fetched", times, afterMs } };
}
