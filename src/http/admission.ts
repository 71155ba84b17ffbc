import type { Socket } from "node:net";
import type { Now } from "../core/clock.ts";
import { neighbourhoodOf, unknownNetwork } from "../ground/net/client-address.ts";
import { turns } from "../ground/turns.ts";

/** Let in at one turn of the event loop, at most: as many requests as it may have to read before the next. */
const mostAtATurn = 4;
/** Let in and without an answer yet, at most: what they send takes memory. */
const mostBeginning = 64;
/** After this time a connection counts no more: one that never sends a request keeps no other waiting. Milliseconds. */
const beginningMs = 50;
const lookEveryMs = 10;
/** Connections that wait, at most. Each costs its socket, and the kernel what came over it. */
const mostWaiting = 4_096;
/** A network is known for this long after each alert of its own. Milliseconds. */
const knownForMs = 24 * 60 * 60 * 1000;
const mostKnown = 10_000;

const comeAgain =
  "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

interface Waiting {
  socket: Socket;
  letIn(): void;
}

export interface AdmissionDeps {
  now: Now;
  /** A connection got 503 without being read: too many wait. */
  onTurnedAway(): void;
}

/**
 * Which of the new connections is read next. Those of a network from which an alert was accepted never wait. All others
 * are let in a few at each turn of the event loop, in turn by network, and share places until their first answer:
 * thousands of connections of one attacker stand behind each other, and a quiet relay lets each in at once. One that its
 * client has left meanwhile keeps its place.
 *
 * Behind a proxy all have the proxy's network, which its first alert makes known: there the proxy's own limits hold.
 */
export class Admission {
  /** Until when a network counts as known. */
  readonly #known = new Map<string, number>();
  /** Waiting connections by network; the network whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCount = 0;
  /** Connections, the oldest first, with when each began by the process's own clock. */
  readonly #beginning = new Map<Socket, number>();
  #isLooking = false;
  #isOpen = false;
  #hasTurn = false;

  constructor(private readonly deps: AdmissionDeps) {}

  /** @param letIn is called once, now or later, or never when too many wait. */
  enter(socket: Socket, letIn: () => void): void {
    turns.noteConnection();
    const network = neighbourhoodOf(socket.remoteAddress);
    if (this.#isOpen || (this.#known.get(network) ?? 0) > this.deps.now()) letIn();
    else this.#wait(network, { socket, letIn });
  }

  /** The connection has had an answer, or has ended. */
  leave(socket: Socket): void {
    if (this.#beginning.delete(socket)) this.#askForTurn();
  }

  /** An alert came over this connection, and was accepted. */
  know(socket: Socket): void {
    const network = neighbourhoodOf(socket.remoteAddress);
    if (network === unknownNetwork) return;
    // Deleted first, so that the network that sent nothing for longest stands first.
    this.#known.delete(network);
    this.#known.set(network, this.deps.now() + knownForMs);
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

  #wait(network: string, waiting: Waiting): void {
    const ofNetwork = this.#waiting.get(network);
    if (ofNetwork === undefined) this.#waiting.set(network, [waiting]);
    else ofNetwork.push(waiting);
    this.#waitingCount += 1;
    if (this.#waitingCount > mostWaiting) this.#turnAwayFromLongestQueue();
    this.#askForTurn();
  }

  #askForTurn(): void {
    if (this.#hasTurn || this.#waitingCount === 0) return;
    if (this.#beginning.size >= mostBeginning) {
      this.#lookAgain();
      return;
    }
    this.#hasTurn = true;
    turns.takeUrgent(() => {
      this.#hasTurn = false;
      for (let count = 0; count < mostAtATurn; count += 1) {
        const [next] = this.#waiting;
        const first = next && this.#shift(...next);
        if (first === undefined) break;
        this.#beginning.set(first.socket, performance.now());
        first.letIn();
      }
      this.#askForTurn();
    });
  }

  #lookAgain(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    setTimeout(() => {
      this.#isLooking = false;
      const now = performance.now();
      for (const [socket, since] of this.#beginning) {
        if (now - since < beginningMs) break;
        this.#beginning.delete(socket);
      }
      this.#askForTurn();
    }, lookEveryMs).unref();
  }

  /** The network's next turn comes after those of all others. */
  #shift(network: string, queue: Waiting[]): Waiting | undefined {
    const first = queue.shift();
    if (first !== undefined) this.#waitingCount -= 1;
    this.#waiting.delete(network);
    if (queue.length > 0) this.#waiting.set(network, queue);
    return first;
  }

  /** When several queues are equally long, the one whose turn is last loses a connection. */
  #turnAwayFromLongestQueue(): void {
    let longest: [string, Waiting[]] | undefined;
    for (const entry of this.#waiting)
      if (longest === undefined || entry[1].length >= longest[1].length) longest = entry;
    const turnedAway = longest && this.#shift(...longest);
    if (turnedAway === undefined) return;
    turnedAway.socket.on("error", () => {});
    turnedAway.socket.end(comeAgain, () => turnedAway.socket.destroy());
    this.deps.onTurnedAway();
  }
}
