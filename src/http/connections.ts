import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../core/clock.ts";

export interface Connection {
  readonly socket: Socket;
  latest?: ServerResponse;
  /** The response to the last request for a page. `pagesWaiting`: how many such requests wait for earlier ones. */
  page?: ServerResponse;
  pagesWaiting: number;
  isHook: boolean;
  /** Whether an answer ends the connection. Then nothing that comes after it is processed. */
  isEnding: boolean;
}

/** How long a running request for a page may take at a stop, milliseconds. */
const requestMs = 750;
/**
 * How long an idle connection is kept at a stop, milliseconds. A busy sender uses it once more, and reads in the answer
 * that the connection ends. An earlier end would cross an alert that is on its way.
 */
const idleMs = { alerts: 1_000, pages: 250 };
/** How long the other side may take to end a connection, milliseconds: as long as a packet may be on its way. */
const crossingMs = 250;
const drainMs = idleMs.alerts + crossingMs;

/** Resolves after everything that has arrived was read, also new connections. */
export const nextTurn = (): Promise<void> => setImmediate();

const key: unique symbol = Symbol("connection");
/** Kept on the socket: a weak map with an entry for each connection cost a third of all time in garbage collection. */
type Known = Duplex & { [key]?: Connection };

/** The open connections, and their end when the relay is stopped. */
export class Connections {
  readonly #open = new Set<Connection>();
  /** Called with the socket as its `this`: a function for each connection would cost memory. */
  readonly #forget: (this: Known) => void;
  #isWindingDown = false;

  constructor(private readonly clock: Clock) {
    const open = this.#open;
    this.#forget = function () {
      if (this[key]) open.delete(this[key]);
    };
  }

  /** Called once for each connection that the server accepts. */
  add(socket: Socket): void {
    const connection: Connection = { socket, latest: undefined, pagesWaiting: 0, isHook: false, isEnding: false };
    (socket as Known)[key] = connection;
    if (this.#isWindingDown) this.#lingerAtEnd(connection);
    this.#open.add(connection);
    socket.on("close", this.#forget);
  }

  of(socket: Duplex): Connection {
    return (socket as Known)[key] as Connection;
  }

  /** Each answer is then the last of its connection. */
  get isWindingDown(): boolean {
    return this.#isWindingDown;
  }

  /**
   * First part of a stop. Ends idle connections. Resolves when the pages' requests have ended, or after `requestMs`.
   */
  async windDown(): Promise<void> {
    this.#isWindingDown = true;
    const connections = [...this.#open];
    for (const connection of connections) this.#lingerAtEnd(connection);
    const busy = connections.filter(isBusy);
    for (const connection of busy) endAfterAnswer(connection);
    const pages = busy.filter(({ isHook }) => !isHook);
    await Promise.all([this.#untilClosed(pages, requestMs), this.#closeIdle(connections)]);
    for (const { socket } of pages) socket.destroy();
  }

  /** Second part. Resolves when all are closed, or after `drainMs`. Then `refuse` gets each alert that is not whole. */
  async drain(refuse: (response: ServerResponse) => void): Promise<void> {
    const connections = [...this.#open];
    await Promise.all([this.#untilClosed(connections, drainMs), this.#closeIdle(connections)]);
    refuseUnread(this.#open, refuse);
    await nextTurn();
  }

  /** Like `drain`, but connections stay open. Requests for pages are awaited for `requestMs` at most. */
  async settle(refuse: (response: ServerResponse) => void): Promise<void> {
    const busy = [...this.#open].filter(isBusy);
    const pages = busy.filter(({ isHook }) => !isHook);
    const alerts = busy.filter(({ isHook }) => isHook);
    await Promise.all([this.#untilAnswered(pages, requestMs), this.#untilAnswered(alerts, drainMs)]);
    for (const { socket } of pages.filter(isBusy)) socket.destroy();
    refuseUnread(alerts, refuse);
  }

  destroy(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  async #within(limitMs: number, ends: Promise<void>[]): Promise<void> {
    const all = new AbortController();
    void Promise.all(ends).then(() => all.abort());
    await this.clock.sleep(limitMs, all.signal);
  }

  #untilClosed(connections: Connection[], limitMs: number): Promise<void> {
    const ends = connections.map(({ socket }) => closed(socket));
    return this.#within(limitMs, ends);
  }

  #untilAnswered(connections: Connection[], limitMs: number): Promise<void> {
    const ends = connections.flatMap(({ latest }) => (latest === undefined ? [] : answered(latest)));
    return this.#within(limitMs, ends);
  }

  /**
   * Node closes a connection right after its last answer. The next alert of a pipeline would meet a reset, which may
   * overtake the answer to a stored alert (RFC 9112, 9.6). Here the sender's own end comes first, or `crossingMs`.
   */
  #lingerAtEnd(connection: Connection): void {
    const { socket } = connection;
    socket.destroySoon = () => {
      if (socket.writableEnded) return;
      socket.end();
      void this.#untilClosed([connection], crossingMs).then(() => socket.destroy());
    };
  }

  /** A sender may never repeat a request that is on its way to an ended connection. The request is still processed. */
  async #closeIdle(connections: Connection[]): Promise<void> {
    const idle = connections.filter((connection) => !isBusy(connection));
    const ofPages = idle.filter(({ latest, isHook }) => latest !== undefined && !isHook);
    const ofAlerts = idle.filter((connection) => !ofPages.includes(connection));
    await Promise.all([this.#closeUnused(ofPages, idleMs.pages), this.#closeUnused(ofAlerts, idleMs.alerts)]);
  }

  async #closeUnused(connections: Connection[], afterMs: number): Promise<void> {
    let idle = connections;
    await this.#untilClosed(idle, afterMs);
    // Reads data that has arrived, before the connection counts as unused.
    await nextTurn();
    idle = idle.filter((connection) => !isBusy(connection));
    for (const { socket } of idle) socket.end();
    await this.#untilClosed(idle, crossingMs);
    await nextTurn();
    for (const connection of idle) if (!isBusy(connection)) connection.socket.destroy();
  }
}

/** Whether an answer is being made or sent. */
export function isBusy({ latest }: Connection): boolean {
  return latest !== undefined && !latest.writableFinished;
}

/** Ends the connection after the latest answer that it waits for. */
function endAfterAnswer(connection: Connection): void {
  const { latest, socket } = connection;
  connection.isEnding = true;
  if (latest?.headersSent === false) latest.setHeader("connection", "close");
  else latest?.once("finish", () => socket.destroySoon());
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
}

function answered(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.writableFinished || response.closed) resolve();
    else response.once("close", () => resolve());
  });
}

function refuseUnread(connections: Iterable<Connection>, refuse: (response: ServerResponse) => void): void {
  for (const { latest, isHook } of connections)
    if (isHook && latest && !latest.req.complete && !latest.headersSent) refuse(latest);
}
