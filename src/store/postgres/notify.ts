import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Hearing } from "../../core/ports/signals.ts";
import { readJson } from "../../ground/text/read-json.ts";
import { addNotes, emitNotes, hasNews, type Notes, newNotes, type SignalHub } from "../signals.ts";

export interface NoticesDeps {
  send(channel: string, text: string): Promise<unknown>;
  /** Rejects while the database is away. */
  look(): Promise<unknown>;
  /** Opens a connection that listens. Absent: none can be opened. */
  openListener?(): Promise<pg.Client>;
  /** Whether the listener has an address of its own (`DATABASE_LISTEN_URL`). */
  hasListenUrl: boolean;
  hub: SignalHub;
  /** This relay's name among the relays of the database. */
  self: string;
  /** Called when the way of hearing is known, and with each change. */
  onHearing?(hearing: Hearing): void;
}

const channel = "tocsin";
/** Commits within this time reach the other relays in one message. */
const tellEveryMs = 20;
/** Commits that only pages wait for share a message for longer. */
const tellChangesEveryMs = 100;
/** The server refuses 8000 bytes and more. */
const mostBytes = 7_500;
/** The pause before a failed message is sent again. */
const tellAgainMs = 1_000;
/** How often the listening connection is asked whether it answers, and for how long. */
const lookEveryMs = 3_000;
const lookWithinMs = 4_000;
/** While nothing is heard, the relay looks at everything once in this time. */
const unheardMs = 2_000;
const shortestPauseMs = 100;
const longestPauseMs = 5_000;

/**
 * The signals that other relays get. Accepted alerts are routed by the relay that accepts them. `left`: alerts left to others.
 */
const flags = ["changed", "mutes", "secrets", "lanes", "mail", "left"] as const;

interface Message extends Partial<Record<(typeof flags)[number], true>> {
  from: string;
  due?: string[];
}

/** Carries signals of commits to other relays, outside the transaction: those with a NOTIFY commit one after another. */
export class Notices {
  readonly #ending = new AbortController();
  readonly #running: Promise<void>[];
  #waiting = newNotes();
  #telling?: NodeJS.Timeout;
  #tellAt = Number.POSITIVE_INFINITY;
  #lastTold = Number.NEGATIVE_INFINITY;
  #hearing: Hearing = { by: "polls", why: "nothing was tried yet" };
  #isListening = false;
  #noteEcho = () => {};
  #noteReady = () => {};
  /** Resolves when the relay listens, or the first try has failed. */
  readonly ready = new Promise<void>((resolve) => {
    this.#noteReady = resolve;
  });

  constructor(private readonly deps: NoticesDeps) {
    this.#running = [this.#lookUnheard()];
    if (deps.openListener !== undefined) this.#running.push(this.#keepListening(deps.openListener));
    else {
      this.#note({ by: "polls", why: "DATABASE_URL leads through a pooler, and DATABASE_LISTEN_URL is not set" });
      this.#noteReady();
    }
  }

  hearing(): Hearing {
    return this.#hearing;
  }

  /** Signals a commit in this process at once, and to the other relays soon. */
  tell(notes: Notes): void {
    emitNotes(this.deps.hub, notes);
    const waiting = this.#waiting;
    addNotes(waiting, { ...notes, accepted: false });
    if (hasNews(waiting)) this.#tellFrom(this.#lastTold + (isAwaited(waiting) ? tellEveryMs : tellChangesEveryMs));
  }

  /** Sends the remaining signals. */
  async close(): Promise<void> {
    this.#ending.abort();
    if (this.#telling !== undefined) await this.#tellOthers();
    await Promise.all(this.#running);
  }

  #isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  #note(next: Hearing): void {
    if (whyOf(next) === whyOf(this.#hearing)) return;
    this.#hearing = next;
    this.deps.onHearing?.(next);
  }

  #emitAll(): void {
    emitNotes(this.deps.hub, { ...Object.fromEntries(flags.map((flag) => [flag, true])), due: new Set() });
  }

  #tellFrom(at: number): void {
    if (at >= this.#tellAt) return;
    clearTimeout(this.#telling);
    this.#tellAt = at;
    this.#telling = setTimeout(() => void this.#tellOthers(), Math.max(0, at - performance.now())).unref();
  }

  async #tellOthers(): Promise<void> {
    const { send, self } = this.deps;
    clearTimeout(this.#telling);
    this.#telling = undefined;
    this.#tellAt = Number.POSITIVE_INFINITY;
    const told = this.#waiting;
    this.#waiting = newNotes();
    this.#lastTold = performance.now();
    try {
      for (const text of writeMessages(self, told)) await send(channel, text);
    } catch {
      // Statements that write report the trouble of the database.
      addNotes(this.#waiting, told);
      if (!this.#isEnding()) this.#tellFrom(performance.now() + tellAgainMs);
    }
  }

  /** Ends early when the notices are closed. */
  #pause(ms: number): Promise<false> {
    return sleep(ms, false as const, { signal: this.#ending.signal, ref: false }).catch(() => false as const);
  }

  #hear(payload: string | undefined): void {
    const message = parseMessage(payload);
    if (message?.from === this.deps.self) this.#noteEcho();
    else if (message !== undefined) emitNotes(this.deps.hub, { ...message, due: new Set(message.due) });
  }

  /** Sends a message to itself. If it is not heard, the addresses lead to two databases, or to a pooler that cannot listen. */
  async #hearEcho(): Promise<void> {
    const { send, self } = this.deps;
    const echo = new Promise<true>((resolve) => {
      this.#noteEcho = () => resolve(true);
    });
    const until = performance.now() + lookWithinMs;
    let isHeard = false;
    while (!isHeard && performance.now() < until && !this.#isEnding()) {
      await send(channel, JSON.stringify({ from: self })).catch(() => {});
      isHeard = await Promise.race([echo, this.#pause(200)]);
    }
    if (!isHeard) throw new Error("what is told over DATABASE_URL is not heard there");
  }

  #isThere(): Promise<boolean> {
    return this.deps.look().then(
      () => true,
      () => false,
    );
  }

  async #untilLost(opened: pg.Client): Promise<void> {
    const isOver = new Promise<true>((resolve) => {
      opened.once("end", () => resolve(true));
      opened.once("error", () => resolve(true));
    });
    while (!this.#isEnding()) {
      if (await Promise.race([isOver, this.#pause(lookEveryMs)])) return;
      await opened.query({ text: "SELECT 1", query_timeout: lookWithinMs } as pg.QueryConfig);
    }
  }

  async #listen(opened: pg.Client, isFirst: boolean): Promise<void> {
    opened.on("notification", ({ payload }) => this.#hear(payload));
    await opened.query(`LISTEN ${channel}`);
    await this.#hearEcho();
    this.#note({ by: "listen" });
    this.#noteReady();
    // Signals of the time without a listener are lost.
    if (!isFirst) this.#emitAll();
    this.#isListening = true;
    await this.#untilLost(opened);
  }

  /** Opens the listener again whenever it fails. */
  async #keepListening(open: () => Promise<pg.Client>): Promise<void> {
    let pauseMs = shortestPauseMs;
    for (let isFirst = true; !this.#isEnding(); isFirst = false) {
      let opened: pg.Client | undefined;
      const since = performance.now();
      try {
        opened = await open();
        await this.#listen(opened, isFirst);
      } catch (error) {
        // If statements fail too, the whole database is away.
        if (this.deps.hasListenUrl && !this.#isEnding() && (await this.#isThere()))
          this.#note({ by: "polls", why: `DATABASE_LISTEN_URL: ${(error as Error).message}` });
      }
      this.#isListening = false;
      this.#noteReady();
      void opened?.end().catch(() => {});
      if (performance.now() - since > longestPauseMs) pauseMs = shortestPauseMs;
      await this.#pause(pauseMs);
      pauseMs = Math.min(longestPauseMs, pauseMs * 2);
    }
  }

  async #lookUnheard(): Promise<void> {
    while (!this.#isEnding()) {
      await this.#pause(unheardMs);
      if (!this.#isListening && !this.#isEnding() && (await this.#isThere())) this.#emitAll();
    }
  }
}

const whyOf = (hearing: Hearing): string => (hearing.by === "polls" ? hearing.why : "");

const isAwaited = (notes: Notes): boolean =>
  notes.due.size > 0 || flags.some((flag) => flag !== "changed" && notes[flag]);

/** As many messages as the names need. */
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

/** Undefined for a message that no relay has written. */
function parseMessage(payload: string | undefined): Message | undefined {
  const message = readJson(payload ?? "") as Message | null | undefined;
  return typeof message?.from === "string" && Array.isArray(message.due ?? []) ? message : undefined;
}
