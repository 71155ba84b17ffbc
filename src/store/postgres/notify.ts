import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { SignalHub } from "../signals.ts";
import type { Notes } from "./database.ts";

export interface NoticesDeps {
  /** Opens the connection that listens and tells, and nothing else. */
  open(): Promise<pg.Client>;
  hub: SignalHub;
  /** Tells the relays of one database apart. */
  self: string;
}

export interface Notices {
  /** Says to this process at once, and to the other relays soon, what was committed. */
  tell(notes: Notes): void;
  /** Resolves when it listens, or the first try to has failed. */
  ready: Promise<void>;
  close(): Promise<void>;
}

const channel = "tocsin";
/** Of what is committed meanwhile, the others hear in one message. */
const tellEveryMs = 20;
/** The server refuses 8000 bytes. */
const mostBytes = 7_500;
/** So long a connection that says nothing counts as well. */
const lookEveryMs = 4_000;
const shortestPauseMs = 100;
const longestPauseMs = 5_000;

/** What others hear of: not what was accepted, since whoever accepts an alert routes it, and the others find out when it does not. */
const flags = ["changed", "mutes", "secrets", "lanes"] as const;

interface Message extends Partial<Record<(typeof flags)[number], true>> {
  from: string;
  due?: string[];
}

/**
 * Carries what a commit has to say to the other relays. It is told outside the transaction, on a connection of its own: NOTIFY
 * within one has all that do so commit one after another. What is lost, because either side was away just then, others find
 * by looking; after an interruption all are told to look.
 */
export function createNotices({ open, hub, self }: NoticesDeps): Notices {
  const ending = new AbortController();
  let client: pg.Client | undefined;
  let waiting = newNotes();
  let isWaiting = false;
  let wasAway = false;
  let noteReady = () => {};
  const ready = new Promise<void>((resolve) => {
    noteReady = resolve;
  });
  let lastTold = Number.NEGATIVE_INFINITY;

  function emit(notes: Notes): void {
    if (notes.accepted) hub.emit("accepted", undefined);
    if (notes.due.size > 0) hub.emit("due", [...notes.due]);
    for (const flag of flags) if (notes[flag]) hub.emit(flag, undefined);
  }

  function hear(payload: string | undefined): void {
    const message = parseMessage(payload);
    if (message === undefined || message.from === self) return;
    emit({ ...message, due: new Set(message.due) });
  }

  async function tellOthers(): Promise<void> {
    const payloads = writeMessages(self, waiting);
    waiting = newNotes();
    isWaiting = false;
    lastTold = performance.now();
    for (const payload of payloads) {
      await client?.query("SELECT pg_notify($1, $2)", [channel, payload]).catch(() => {});
    }
  }

  /** Listens until the connection ends. */
  async function listen(opened: pg.Client): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      opened.once("end", resolve);
      opened.once("error", () => resolve());
    });
    opened.on("notification", ({ payload }) => hear(payload));
    // Nothing rests on it being on disk.
    await opened.query("SET synchronous_commit = off");
    await opened.query(`LISTEN ${channel}`);
    client = opened;
    noteReady();
    // What was told meanwhile is lost.
    if (wasAway) emit({ changed: true, mutes: true, secrets: true, lanes: true, due: new Set() });
    const isOver = ended.then(() => true);
    while (!ending.signal.aborted) {
      if (await Promise.race([isOver, pause(lookEveryMs)])) return;
      await opened.query("SELECT 1");
    }
  }

  /** Ends early when all ends. */
  const pause = (ms: number): Promise<false> =>
    sleep(ms, false as const, { signal: ending.signal, ref: false }).catch(() => false as const);

  async function run(): Promise<void> {
    let pauseMs = shortestPauseMs;
    while (!ending.signal.aborted) {
      let opened: pg.Client | undefined;
      try {
        opened = await open();
        pauseMs = shortestPauseMs;
        await listen(opened);
      } catch {
        // Whoever writes says what is wrong with the database.
      } finally {
        client = undefined;
        wasAway = true;
        noteReady();
        void opened?.end().catch(() => {});
      }
      await pause(pauseMs);
      pauseMs = Math.min(longestPauseMs, pauseMs * 2);
    }
  }

  const running = run();

  return {
    ready,
    tell(notes) {
      emit(notes);
      for (const flag of flags) waiting[flag] ||= notes[flag];
      for (const name of notes.due) waiting.due.add(name);
      if (isWaiting || !hasNews(waiting)) return;
      isWaiting = true;
      const inMs = Math.max(0, lastTold + tellEveryMs - performance.now());
      setTimeout(() => void tellOthers(), inMs).unref();
    },
    async close() {
      if (isWaiting) await tellOthers();
      ending.abort();
      await running;
    },
  };
}

const newNotes = (): Notes => ({ due: new Set() });

const hasNews = (notes: Notes): boolean => notes.due.size > 0 || flags.some((flag) => notes[flag]);

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
