import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createRequest, type Target } from "./requests.ts";
import { hearArrivals, takeParts } from "./stand-ins.ts";

export interface SendingOptions {
  target: Target;
  connections: number;
  /** The number of alerts to send, which may grow later. Default: no end. */
  due?: number;
  /** The most alerts that are accepted, or under way, and have not come through. Default: any number. */
  window?: number;
}

type Sending = Required<SendingOptions> & { isOver: boolean };

let nextSerial = 1;

/** Sends alerts, every one different, and hears of their arrival: both by one clock. */
export class Load {
  /** Milliseconds to the answer. */
  readonly answerMs: number[] = [];
  /** Milliseconds from the first byte of the POST to the last byte of the message. */
  readonly arrivalMs: number[] = [];
  /** The number that has come through. Default: those that the stand-in has seen. */
  arrived = () => this.#seen.size;
  readonly accepted = () => this.#accepted.size;
  /** Answered 503: not accepted, so the sender must send again. */
  #refused = 0;
  /** Answers with other statuses, or missing ones. */
  #unexpected = 0;
  #doubled = 0;
  readonly #sentAt = new Map<number, number>();
  readonly #accepted = new Set<number>();
  readonly #seen = new Set<number>();
  #sendings: Sending[] = [];
  #senders: Promise<void>[] = [];
  /** Wakes the senders that may not send yet. */
  #waiting: (() => void)[] = [];

  /** Runs with a load, which is ended afterwards. */
  static run<T>(measure: (load: Load) => Promise<T>): Promise<T> {
    const load = new Load();
    hearArrivals((serial, at) => load.#hear(serial, at));
    return measure(load).finally(() => load.end());
  }

  #hear(serial: number, at: number): void {
    if (this.#seen.has(serial)) this.#doubled += 1;
    this.#seen.add(serial);
    this.arrivalMs.push(at - (this.#sentAt.get(serial) ?? Number.NaN));
    this.wake();
  }

  /** One request is in flight on each connection. `due` of the result is the number to send. */
  send(options: SendingOptions): { due: number } {
    const endless = { due: Number.POSITIVE_INFINITY, window: Number.POSITIVE_INFINITY };
    const sending = { ...endless, isOver: false, ...options };
    this.#sendings.push(sending);
    for (let index = 0; index < options.connections; index += 1) this.#senders.push(this.#sendOn(sending));
    return sending;
  }

  async #sendOn(sending: Sending): Promise<void> {
    const request = createRequest(sending.target);
    const connection = createConnection(sending.target);
    while (!sending.isOver) {
      if (sending.due <= 0 || this.underWay >= sending.window) {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
        continue;
      }
      sending.due -= 1;
      const serial = nextSerial;
      nextSerial += 1;
      request.stamp(serial);
      const sentAt = performance.now();
      this.#sentAt.set(serial, sentAt);
      const status = await connection.post(request.bytes);
      this.answerMs.push(performance.now() - sentAt);
      if (isAccepted(status)) this.#accepted.add(serial);
      else {
        this.#sentAt.delete(serial);
        if (status === 503) this.#refused += 1;
        else this.#unexpected += 1;
      }
    }
    connection.close();
  }

  get underWay(): number {
    return this.#sentAt.size - this.arrived();
  }

  wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Stops sending, and resolves when all requests are answered. */
  async end(): Promise<void> {
    for (const sending of this.#sendings.splice(0)) sending.isOver = true;
    this.wake();
    await Promise.all(this.#senders.splice(0));
  }

  /** Counts as come through what is routed, until the end. @throws when the number cannot be read */
  async followRouting(countUnrouted: () => Promise<number>): Promise<void> {
    let routed = 0;
    this.arrived = () => routed;
    while (this.#sendings.length > 0) {
      const before = this.accepted();
      // Alerts that were answered before the question and no longer wait are routed.
      routed = Math.max(routed, before - (await countUnrouted()));
      this.wake();
      await sleep(50);
    }
  }

  get answers() {
    return { accepted: this.#accepted.size, refused: this.#refused, unexpected: this.#unexpected };
  }

  /**
   * Waits for sent alerts, as long as one arrives within ten seconds. Returns the faults. All must be 0, except for
   * alerts that a door refuses in time.
   */
  async close() {
    for (let waited = 0, before = 0; this.underWay > 0 && waited < 100; waited += 1) {
      if (this.#seen.size > before) waited = 0;
      before = this.#seen.size;
      await sleep(100);
    }
    // A double may come after all alerts have come once.
    await sleep(200);
    const missing = [...this.#accepted].filter((serial) => !this.#seen.has(serial)).length;
    return { ...this.answers, doubled: this.#doubled, missing };
  }
}

/** A raw socket, which is opened when it is needed. */
function createConnection({ url }: Target) {
  const { hostname, port } = new URL(url);
  let socket: Socket | undefined;
  let answered = (_status: number) => {};

  function open(): Socket {
    const opened = connect(Number(port), hostname);
    opened.setNoDelay(true);
    takeParts(opened, (answer) => {
      if (!isComplete(answer)) return 0;
      answered(statusOf(answer));
      return answer.length;
    });
    opened.on("error", () => {});
    opened.on("close", () => {
      if (socket !== opened) return;
      socket = undefined;
      // Delayed, or a server that is gone would get requests without end.
      setTimeout(answered, 20, 0);
    });
    return opened;
  }
  return {
    /** Resolves with the status of the answer. 0: the connection ended without one. */
    post: (bytes: Buffer) =>
      new Promise<number>((resolve) => {
        answered = resolve;
        socket ??= open();
        socket.write(bytes);
      }),
    close(): void {
      socket?.destroy();
      socket = undefined;
    },
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

const statusOf = (answer: Buffer) => Number(answer.toString("latin1", 9, 12));

/** Tocsin answers 202, Alertmanager 200. */
const isAccepted = (status: number) => status >= 200 && status < 300;
