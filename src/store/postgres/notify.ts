import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Hearing } from "../../core/ports/signals.ts";
import { addNotes, emitNotes, hasNews, type Notes, newNotes, type SignalHub } from "../signals.ts";

export interface NoticesDeps {
  /** Opens the connection that tells, and listens where it can. */
  open(): Promise<pg.Client>;
  /** Opens one that listens alone. Absent: no address was given for it. */
  openListener?(): Promise<pg.Client>;
  /** See `Connections`. */
  isPooled(): boolean;
  hub: SignalHub;
  /** Tells the relays of one database apart. */
  self: string;
  /** Once it is known, and with each change. Default: nobody hears of it. */
  onHearing?(hearing: Hearing): void;
}

export interface Notices {
  /** Says to this process at once, and to the other relays soon, what was committed. */
  tell(notes: Notes): void;
  /** Resolves when it listens, or the first try to has failed. */
  ready: Promise<void>;
  hearing(): Hearing;
  close(): Promise<void>;
}

const channel = "tocsin";
/** Of what is committed meanwhile, the others hear in one message. */
const tellEveryMs = 20;
/** Where nothing waits for it but pages that people look at. */
const tellChangesEveryMs = 100;
/** The server refuses 8000 bytes. */
const mostBytes = 7_500;
/** So long a connection that says nothing counts as well, and so long it is then waited for. */
const lookEveryMs = 3_000;
const lookWithinMs = 4_000;
/** So often whoever hears nothing takes it that all may have changed. */
const unheardMs = 2_000;
const shortestPauseMs = 100;
const longestPauseMs = 5_000;

/** What others hear of: not what was accepted, since whoever accepts an alert routes it, but for what it leaves to them. */
const flags = ["changed", "mutes", "secrets", "lanes", "requests", "left"] as const;

interface Message extends Partial<Record<(typeof flags)[number], true>> {
  from: string;
  due?: string[];
}

/**
 * Carries what a commit has to say to the other relays. It is told outside the transaction, on a connection of its own: NOTIFY
 * within one has all that do so commit one after another. What is lost, because either side was away just then, others find
 * by looking; after an interruption all are told to look.
 */
export function createNotices(deps: NoticesDeps): Notices {
  const { open, openListener, isPooled, hub, self, onHearing = () => {} } = deps;
  const ending = new AbortController();
  let client: pg.Client | undefined;
  let waiting = newNotes();
  let telling: NodeJS.Timeout | undefined;
  let tellAt = Number.POSITIVE_INFINITY;
  let lastTold = Number.NEGATIVE_INFINITY;
  let hearing: Hearing = { by: "polls", why: "nothing was tried yet" };
  let isListening = false;
  let wasAway = false;
  let noteEcho = () => {};
  let noteReady = () => {};
  const ready = new Promise<void>((resolve) => {
    noteReady = resolve;
  });

  function note(next: Hearing): void {
    if (whyOf(next) === whyOf(hearing)) return;
    hearing = next;
    onHearing(next);
  }

  const emit = (notes: Notes): void => emitNotes(hub, notes);

  const emitAll = () =>
    emit({ changed: true, mutes: true, secrets: true, lanes: true, requests: true, left: true, due: new Set() });

  function hear(payload: string | undefined): void {
    const message = parseMessage(payload);
    if (message?.from === self) noteEcho();
    else if (message !== undefined) emit({ ...message, due: new Set(message.due) });
  }

  /** One message; through a pooler as well. */
  async function send(payload: string): Promise<void> {
    const text = client?.escapeLiteral(payload);
    // Nothing rests on it being on disk.
    await client?.query(`BEGIN; SET LOCAL synchronous_commit = off; NOTIFY ${channel}, ${text}; END`).catch(() => {});
  }

  async function tellOthers(): Promise<void> {
    clearTimeout(telling);
    telling = undefined;
    tellAt = Number.POSITIVE_INFINITY;
    // It is told when there is a connection again.
    if (client === undefined) return;
    const payloads = writeMessages(self, waiting);
    waiting = newNotes();
    lastTold = performance.now();
    for (const payload of payloads) await send(payload);
  }

  async function listen(opened: pg.Client): Promise<void> {
    opened.on("notification", ({ payload }) => hear(payload));
    await opened.query(`LISTEN ${channel}`);
  }

  function noteListening(): void {
    isListening = true;
    note({ by: "listen" });
    noteReady();
    // What was told meanwhile is lost.
    if (wasAway) emitAll();
  }

  /** Over the connection that tells, where both go to the server itself. */
  async function useForBoth(opened: pg.Client): Promise<void> {
    const listensHere = openListener === undefined && !isPooled();
    if (listensHere) await listen(opened);
    client = opened;
    if (hasNews(waiting)) void tellOthers();
    if (listensHere) noteListening();
    else if (openListener === undefined) {
      note({ by: "polls", why: "DATABASE_URL leads through a pooler, and DATABASE_LISTEN_URL is not set" });
      noteReady();
    }
    await untilLost(opened);
  }

  /** What is told over the one is heard over the other, or else they lead to two databases, or to a pooler that hears nothing. */
  async function useListener(opened: pg.Client): Promise<void> {
    await listen(opened);
    const echo = new Promise<true>((resolve) => {
      noteEcho = () => resolve(true);
    });
    const until = performance.now() + lookWithinMs;
    let isHeard = false;
    while (!isHeard && performance.now() < until && !ending.signal.aborted) {
      await send(JSON.stringify({ from: self }));
      isHeard = await Promise.race([echo, pause(200)]);
    }
    if (!isHeard) throw new Error("what is told over DATABASE_URL is not heard there");
    noteListening();
    await untilLost(opened);
  }

  async function untilLost(opened: pg.Client): Promise<void> {
    const isOver = new Promise<true>((resolve) => {
      opened.once("end", () => resolve(true));
      opened.once("error", () => resolve(true));
    });
    while (!ending.signal.aborted) {
      if (await Promise.race([isOver, pause(lookEveryMs)])) return;
      await opened.query({ text: "SELECT 1", query_timeout: lookWithinMs } as pg.QueryConfig);
    }
  }

  /** Ends early when all ends. */
  const pause = (ms: number): Promise<false> =>
    sleep(ms, false as const, { signal: ending.signal, ref: false }).catch(() => false as const);

  /** Opens it again whenever it is lost. */
  async function keep(
    openOne: () => Promise<pg.Client>,
    use: (opened: pg.Client) => Promise<void>,
    lost: (error: unknown) => void,
  ): Promise<void> {
    let pauseMs = shortestPauseMs;
    while (!ending.signal.aborted) {
      let opened: pg.Client | undefined;
      let failure: unknown;
      try {
        opened = await openOne();
        opened.on("error", () => {});
        const since = performance.now();
        await use(opened).finally(() => {
          if (performance.now() - since > longestPauseMs) pauseMs = shortestPauseMs;
        });
      } catch (error) {
        // Whoever writes says what is wrong with the database.
        failure = error;
      }
      lost(failure);
      void opened?.end().catch(() => {});
      await pause(pauseMs);
      pauseMs = Math.min(longestPauseMs, pauseMs * 2);
    }
  }

  function loseListener(error: unknown): void {
    isListening = false;
    wasAway = true;
    // While nothing can be told either, it is the database that is away.
    if (client !== undefined && error !== undefined && !ending.signal.aborted)
      note({ by: "polls", why: `DATABASE_LISTEN_URL: ${(error as Error).message}` });
    noteReady();
  }

  async function lookUnheard(): Promise<void> {
    while (!ending.signal.aborted) {
      await pause(unheardMs);
      if (!isListening && client !== undefined) emitAll();
    }
  }

  const running = [
    keep(open, useForBoth, () => {
      client = undefined;
      if (openListener !== undefined) return;
      isListening = false;
      wasAway = true;
      noteReady();
    }),
    ...(openListener === undefined ? [] : [keep(openListener, useListener, loseListener)]),
    lookUnheard(),
  ];

  return {
    ready,
    hearing: () => hearing,
    tell(notes) {
      emit(notes);
      addNotes(waiting, { ...notes, accepted: false });
      if (!hasNews(waiting)) return;
      const at = lastTold + (isAwaited(waiting) ? tellEveryMs : tellChangesEveryMs);
      if (at >= tellAt) return;
      clearTimeout(telling);
      tellAt = at;
      telling = setTimeout(() => void tellOthers(), Math.max(0, at - performance.now())).unref();
    },
    async close() {
      if (telling !== undefined) await tellOthers();
      ending.abort();
      await Promise.all(running);
    },
  };
}

const whyOf = (hearing: Hearing): string => (hearing.by === "polls" ? hearing.why : "");

const isAwaited = (notes: Notes): boolean =>
  notes.due.size > 0 || flags.some((flag) => flag !== "changed" && notes[flag]);

/** As many as the names need. */
function writeMessages(from: string, notes: Notes): string[] {
  const first: Message = { from };
  for (const flag of flags) if (notes[flag]) first[flag] = true;
  const messages: Message[] = [first];
  let bytes = 0;
  for (const name of notes.due) {
    const size = Buffer.byteLength(JSON.stringify(name)) + 1;
    if (bytes + size > mostBytes - 200) {
      messages.push({ from });
      bytes = 0;
    }
    const last = messages.at(-1) as Message;
    last.due = [...(last.due ?? []), name];
    bytes += size;
  }
  return messages.map((message) => JSON.stringify(message));
}

/** Undefined for what no relay has written. */
function parseMessage(payload: string | undefined): Message | undefined {
  try {
    const message = JSON.parse(payload ?? "") as Message;
    return typeof message?.from === "string" && Array.isArray(message.due ?? []) ? message : undefined;
  } catch {
    return undefined;
  }
}
