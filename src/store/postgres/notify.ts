import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Hearing } from "../../core/ports/signals.ts";
import { addNotes, emitNotes, hasNews, type Notes, newNotes, type SignalHub } from "../signals.ts";

export interface NoticesDeps {
  /** Says something to all that listen on the channel. */
  send(channel: string, text: string): Promise<unknown>;
  /** Rejects while the database is away. */
  look(): Promise<unknown>;
  /** Opens a connection that listens. Absent: there is no way to one. */
  openListener?(): Promise<pg.Client>;
  /** It listens at an address of its own. */
  hasListenUrl: boolean;
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
  /** Says what is still to be said. */
  close(): Promise<void>;
}

const channel = "tocsin";
/** Of what is committed meanwhile, the others hear in one message. */
const tellEveryMs = 20;
/** Where nothing waits for it but pages that people look at. */
const tellChangesEveryMs = 100;
/** The server refuses 8000 bytes. */
const mostBytes = 7_500;
/** What could not be told is told again after this. */
const tellAgainMs = 1_000;
/** So long a connection that says nothing counts as well, and so long it is then waited for. */
const lookEveryMs = 3_000;
const lookWithinMs = 4_000;
/** Where nothing is heard, everything is looked at once in this time. */
const unheardMs = 2_000;
const shortestPauseMs = 100;
const longestPauseMs = 5_000;

/** What others hear of: not what was accepted, since the relay that accepts an alert routes it, but for what it leaves to them. */
const flags = ["changed", "mutes", "secrets", "lanes", "requests", "left"] as const;

interface Message extends Partial<Record<(typeof flags)[number], true>> {
  from: string;
  due?: string[];
}

/**
 * Carries what a commit has to say to the other relays. It is told outside the transaction: transactions with a NOTIFY commit one after
 * another. What a listener misses while it is away is found by looking; after an interruption it looks at everything.
 */
export function createNotices(deps: NoticesDeps): Notices {
  const { send, look, openListener, hasListenUrl, hub, self, onHearing = () => {} } = deps;
  const ending = new AbortController();
  let waiting = newNotes();
  let telling: NodeJS.Timeout | undefined;
  let tellAt = Number.POSITIVE_INFINITY;
  let lastTold = Number.NEGATIVE_INFINITY;
  let hearing: Hearing = { by: "polls", why: "nothing was tried yet" };
  let isListening = false;
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
  const emitAll = () => emit({ ...Object.fromEntries(flags.map((flag) => [flag, true])), due: new Set() });

  function tellFrom(at: number): void {
    if (at >= tellAt) return;
    clearTimeout(telling);
    tellAt = at;
    telling = setTimeout(() => void tellOthers(), Math.max(0, at - performance.now())).unref();
  }

  async function tellOthers(): Promise<void> {
    clearTimeout(telling);
    telling = undefined;
    tellAt = Number.POSITIVE_INFINITY;
    const told = waiting;
    waiting = newNotes();
    lastTold = performance.now();
    try {
      for (const text of writeMessages(self, told)) await send(channel, text);
    } catch {
      // Who writes says what is wrong with the database.
      addNotes(waiting, told);
      if (!ending.signal.aborted) tellFrom(performance.now() + tellAgainMs);
    }
  }

  /** Ends early when all ends. */
  const pause = (ms: number): Promise<false> =>
    sleep(ms, false as const, { signal: ending.signal, ref: false }).catch(() => false as const);

  function hear(payload: string | undefined): void {
    const message = parseMessage(payload);
    if (message?.from === self) noteEcho();
    else if (message !== undefined) emit({ ...message, due: new Set(message.due) });
  }

  /** What is told is heard here, or else both lead to two databases, or to a pooler that hears nothing. */
  async function hearEcho(): Promise<void> {
    const echo = new Promise<true>((resolve) => {
      noteEcho = () => resolve(true);
    });
    const until = performance.now() + lookWithinMs;
    let isHeard = false;
    while (!isHeard && performance.now() < until && !ending.signal.aborted) {
      await send(channel, JSON.stringify({ from: self })).catch(() => {});
      isHeard = await Promise.race([echo, pause(200)]);
    }
    if (!isHeard) throw new Error("what is told over DATABASE_URL is not heard there");
  }

  const isThere = () =>
    look().then(
      () => true,
      () => false,
    );

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

  async function listen(opened: pg.Client, isFirst: boolean): Promise<void> {
    opened.on("notification", ({ payload }) => hear(payload));
    await opened.query(`LISTEN ${channel}`);
    await hearEcho();
    note({ by: "listen" });
    noteReady();
    // What was told meanwhile is lost.
    if (!isFirst) emitAll();
    isListening = true;
    await untilLost(opened);
  }

  /** Opens the listener again whenever it is lost. */
  async function keepListening(open: () => Promise<pg.Client>): Promise<void> {
    let pauseMs = shortestPauseMs;
    for (let isFirst = true; !ending.signal.aborted; isFirst = false) {
      let opened: pg.Client | undefined;
      const since = performance.now();
      try {
        opened = await open();
        await listen(opened, isFirst);
      } catch (error) {
        // Where nothing can be asked either, it is the database that is away.
        if (hasListenUrl && !ending.signal.aborted && (await isThere()))
          note({ by: "polls", why: `DATABASE_LISTEN_URL: ${(error as Error).message}` });
      }
      isListening = false;
      noteReady();
      void opened?.end().catch(() => {});
      if (performance.now() - since > longestPauseMs) pauseMs = shortestPauseMs;
      await pause(pauseMs);
      pauseMs = Math.min(longestPauseMs, pauseMs * 2);
    }
  }

  async function lookUnheard(): Promise<void> {
    while (!ending.signal.aborted) {
      await pause(unheardMs);
      if (!isListening && !ending.signal.aborted && (await isThere())) emitAll();
    }
  }

  const running = [lookUnheard()];
  if (openListener !== undefined) running.push(keepListening(openListener));
  else {
    note({ by: "polls", why: "DATABASE_URL leads through a pooler, and DATABASE_LISTEN_URL is not set" });
    noteReady();
  }

  return {
    ready,
    hearing: () => hearing,
    tell(notes) {
      emit(notes);
      addNotes(waiting, { ...notes, accepted: false });
      if (hasNews(waiting)) tellFrom(lastTold + (isAwaited(waiting) ? tellEveryMs : tellChangesEveryMs));
    },
    async close() {
      ending.abort();
      if (telling !== undefined) await tellOthers();
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
