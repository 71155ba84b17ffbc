import { connect, type Socket } from "node:net";
import { createRequest, type Target } from "./requests.ts";

export interface SenderOptions {
  target: Target;
  connections: number;
  /** Default true. False: each request has its own connection. */
  keepAlive?: boolean;
  /** Asked whenever a connection is free. `false` makes it wait for `wake`. Default: always true. */
  mayStart?(): boolean;
  sent?(serial: number): void;
  /** Status 0: the connection ended without an answer. */
  answered?(serial: number, status: number, tookMs: number): void;
}

export interface Senders {
  wake(): void;
  /** Stops sending, and resolves when all requests are answered. */
  end(): Promise<void>;
}

let nextSerial = 1;

/** Raw sockets with one request in flight on each, every alert different. */
export function startSenders(options: SenderOptions): Senders {
  const { target, connections, keepAlive = true, mayStart = () => true } = options;
  const { hostname, port } = new URL(target.url);
  let waiting: (() => void)[] = [];
  let ended = false;
  let underWay = 0;
  let allAnswered = () => {};

  function runOne(): void {
    const request = createRequest(target, keepAlive);
    let socket: Socket | undefined;
    let isUnderWay = false;
    let answer = Buffer.alloc(0);
    let serial = 0;
    let sentAt = 0;

    function next(): void {
      if (ended) socket?.destroy();
      else if (mayStart()) send();
      else waiting.push(next);
    }
    function send(): void {
      serial = nextSerial;
      nextSerial += 1;
      request.stamp(serial);
      isUnderWay = true;
      underWay += 1;
      answer = Buffer.alloc(0);
      sentAt = performance.now();
      socket ??= open();
      options.sent?.(serial);
      socket.write(request.bytes);
    }
    function settle(status: number): void {
      isUnderWay = false;
      underWay -= 1;
      if (!keepAlive || status === 0) {
        socket?.destroy();
        socket = undefined;
      }
      options.answered?.(serial, status, performance.now() - sentAt);
      next();
      if (ended && underWay === 0) allAnswered();
    }
    function open(): Socket {
      const opened = connect(Number(port), hostname);
      opened.setNoDelay(true);
      opened.on("data", (chunk) => {
        answer = answer.length === 0 ? chunk : Buffer.concat([answer, chunk]);
        if (isUnderWay && isComplete(answer)) settle(statusOf(answer));
      });
      opened.on("error", () => {});
      opened.on("close", () => {
        if (socket !== opened) return;
        socket = undefined;
        // Delayed, or a server that is gone would get requests without end.
        if (isUnderWay) setTimeout(settle, 20, 0);
      });
      return opened;
    }
    next();
  }

  for (let index = 0; index < connections; index += 1) runOne();
  const wake = () => {
    const woken = waiting;
    waiting = [];
    for (const next of woken) next();
  };
  return {
    wake,
    end: () =>
      new Promise((resolve) => {
        ended = true;
        allAnswered = resolve;
        wake();
        if (underWay === 0) resolve();
      }),
  };
}

let lengthBefore = 0;

/** Accepted answers have one length, which is read from their headers once. */
function isComplete(answer: Buffer): boolean {
  if (answer.length === lengthBefore) return true;
  const end = answer.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const length = Number(/content-length: (\d+)/i.exec(answer.toString("latin1", 0, end))?.[1] ?? 0);
  const isWhole = answer.length >= end + 4 + length;
  if (isWhole && isAccepted(statusOf(answer))) lengthBefore = answer.length;
  return isWhole;
}

function statusOf(answer: Buffer): number {
  return Number(answer.toString("latin1", 9, 12));
}

/** Tocsin answers 202, Alertmanager 200. */
export function isAccepted(status: number): boolean {
  return status >= 200 && status < 300;
}
