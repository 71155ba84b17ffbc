import type { Socket } from "node:net";
import type { Clock } from "./core/clock.ts";
import { neighbourhoodOf } from "./ground/net/client-address.ts";
import { turns } from "./ground/turns.ts";

/** Connections of unknown networks that are let in and have no answer yet, at most. */
const mostBeginning = 64;
/** As long as there are so few, the next needs no turn. */
const fewBeginning = 8;
/** From then on one counts no more: others need not wait for who never asks for anything. Milliseconds. */
const beginningMs = 1_000;
/** Let in at one turn of the event loop, at most. */
const mostAtATurn = 4;
/** A connection that has waited so long is told to come again. Milliseconds. */
const longestWaitMs = 10_000;
/** Connections that wait, at most. One costs some 10 KB. */
const mostWaiting = 4_096;
/** A network is known for so long after each alert of its own. Milliseconds. */
const knownForMs = 24 * 60 * 60 * 1000;
const mostKnown = 10_000;
/** How often it is looked at who has waited or counted long enough. Milliseconds. */
const lookEveryMs = 100;

const comeAgain =
  "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

interface Waiting {
  socket: Socket;
  since: number;
  letIn(): void;
}

/**
 * Which of the new connections is read next. A network from which an alert was accepted never waits. All others share a
 * few places until their first answer, in turn by network, so that thousands of connections of one attacker stand behind
 * each other and never before a sender of alerts. What waits is not read: it costs its socket and no more.
 *
 * Behind a proxy all have the proxy's network, which its first alert makes known: there the proxy's own limits hold.
 */
export class Admission {
  readonly #clock: Clock;
  /** Until when, by network. */
  readonly #known = new Map<string, number>();
  /** By network; the one whose turn is next stands first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCount = 0;
  /** Since when, the oldest first. */
  readonly #beginning = new Map<Socket, number>();
  #isOpen = false;
  #isLooking = false;
  #hasTurn = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param letIn is called once, now or later, or never when the connection ends before its turn. */
  enter(socket: Socket, letIn: () => void): void {
    turns.noteConnection();
    if (this.#isOpen) letIn();
    else if (this.#waitingCount === 0 && this.#beginning.size < fewBeginning) this.#begin(socket, letIn);
    else {
      const network = neighbourhoodOf(socket.remoteAddress);
      if (this.#isKnown(network)) letIn();
      else this.#wait(network, { socket, since: this.#clock.now(), letIn });
    }
  }

  /** The connection has had an answer, or has ended. */
  leave(socket: Socket): void {
    if (this.#beginning.delete(socket)) this.#takeTurn();
  }

  /** An alert came over this connection, and was accepted. */
  know(socket: Socket): void {
    const network = neighbourhoodOf(socket.remoteAddress);
    // Deleted first, so that the network that sent nothing for longest stands first.
    this.#known.delete(network);
    this.#known.set(network, this.#clock.now() + knownForMs);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostKnown && oldest !== undefined) this.#known.delete(oldest);
    const waiting = this.#waiting.get(network) ?? [];
    this.#waiting.delete(network);
    this.#waitingCount -= waiting.length;
    for (const { letIn } of waiting) letIn();
  }

  /** Lets all in, and from now on each at once. */
  open(): void {
    this.#isOpen = true;
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#waitingCount = 0;
    for (const { letIn } of all) letIn();
  }

  #isKnown(network: string): boolean {
    return (this.#known.get(network) ?? 0) > this.#clock.now();
  }

  #begin(socket: Socket, letIn: () => void): void {
    this.#beginning.set(socket, this.#clock.now());
    letIn();
  }

  #wait(network: string, waiting: Waiting): void {
    const ofNetwork = this.#waiting.get(network);
    if (ofNetwork === undefined) this.#waiting.set(network, [waiting]);
    else ofNetwork.push(waiting);
    this.#waitingCount += 1;
    if (this.#waitingCount > mostWaiting) this.#turnAwayFromLongestQueue();
    if (!this.#isLooking) void this.#lookWhileAnyWaits();
    this.#takeTurn();
  }

  #takeTurn(): void {
    if (this.#hasTurn || this.#waitingCount === 0 || this.#beginning.size >= mostBeginning) return;
    this.#hasTurn = true;
    turns.takeFirst(() => {
      this.#hasTurn = false;
      this.#letInNext();
      this.#takeTurn();
    });
  }

  #letInNext(): void {
    for (let count = 0; count < mostAtATurn && this.#beginning.size < mostBeginning; count += 1) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const [network, queue] = next;
      const waiting = this.#takeFirst(network, queue);
      this.#begin(waiting.socket, waiting.letIn);
    }
  }

  /** The network's next turn comes after those of all others. */
  #takeFirst(network: string, queue: Waiting[]): Waiting {
    const first = queue.shift() as Waiting;
    this.#waitingCount -= 1;
    this.#waiting.delete(network);
    if (queue.length > 0) this.#waiting.set(network, queue);
    return first;
  }

  #turnAwayFromLongestQueue(): void {
    let longest: [string, Waiting[]] | undefined;
    for (const entry of this.#waiting)
      if (longest === undefined || entry[1].length > longest[1].length) longest = entry;
    if (longest !== undefined) turnAway(this.#takeFirst(...longest));
  }

  async #lookWhileAnyWaits(): Promise<void> {
    this.#isLooking = true;
    while (this.#waitingCount > 0) {
      await this.#clock.sleep(lookEveryMs);
      const now = this.#clock.now();
      for (const [socket, since] of this.#beginning) {
        if (now - since < beginningMs) break;
        this.#beginning.delete(socket);
      }
      for (const [network, queue] of [...this.#waiting]) {
        while (queue[0] !== undefined && now - queue[0].since >= longestWaitMs)
          turnAway(this.#takeFirst(network, queue));
      }
      this.#takeTurn();
    }
    this.#isLooking = false;
  }
}

function turnAway({ socket }: Waiting): void {
  socket.on("error", () => {});
  socket.end(comeAgain, () => socket.destroy());
}
