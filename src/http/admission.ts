import type { Socket } from "node:net";
import type { Now } from "../core/clock.ts";
import { neighbourhoodOf, unknownNetwork } from "../ground/net/client-address.ts";
import { RecentMap } from "../ground/recent-map.ts";
import { turns } from "../ground/turns.ts";

/** The most connections let in per turn of the event loop, which may have to read all before the next turn. */
const mostAtATurn = 4;
/** The most connections that are let in and have no answer yet: their requests take memory. */
const mostBeginning = 64;
/** Milliseconds. Later a connection no longer counts, so one that never sends a request does not block others. */
const beginningMs = 50;
const lookEveryMs = 10;
/** Each waiting connection takes a socket, and memory of the kernel for what it has sent. */
const mostWaiting = 4_096;
/** How long a network is known after each of its alerts, milliseconds. */
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
  /** Called when a connection got 503 unread, since too many wait. */
  onTurnedAway(): void;
}

/**
 * Chooses the new connection that is read next. Connections of a network from which an alert was accepted never wait.
 * All others are let in a few per turn of the event loop, in turn by network, and share places until their first
 * answer. An attacker's thousands of connections thus wait in one queue, and a quiet relay lets each connection in at
 * once. A connection keeps its place even if its client has left.
 * Behind a proxy all connections have the proxy's network, which is known after its first alert. There the proxy's own
 * limits apply.
 */
export class Admission {
  /** The end of the time in which each network is known. */
  readonly #known = new RecentMap<string, number>(mostKnown);
  /** Waiting connections by network. The network with the next turn is first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCount = 0;
  /** Oldest first, with the time of each beginning by the process's monotonic clock. */
  readonly #beginning = new Map<Socket, number>();
  #isLooking = false;
  #isOpen = false;
  #hasTurn = false;

  constructor(private readonly deps: AdmissionDeps) {}

  /** @param letIn is called once, now or later, or never when too many wait */
  enter(socket: Socket, letIn: () => void): void {
    turns.noteConnection();
    const network = neighbourhoodOf(socket.remoteAddress);
    if (this.#isOpen || (this.#known.get(network) ?? 0) > this.deps.now()) letIn();
    else this.#wait(network, { socket, letIn });
  }

  /** Called when the connection has had an answer, or has ended. */
  leave(socket: Socket): void {
    if (this.#beginning.delete(socket)) this.#askForTurn();
  }

  /** Called when an alert came over this connection, and was accepted. */
  know(socket: Socket): void {
    const network = neighbourhoodOf(socket.remoteAddress);
    if (network === unknownNetwork) return;
    this.#known.set(network, this.deps.now() + knownForMs);
    const waiting = this.#waiting.get(network) ?? [];
    this.#waiting.delete(network);
    this.#waitingCount -= waiting.length;
    for (const { letIn } of waiting) letIn();
  }

  /** Lets all waiting connections in, and later ones at once. */
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

  /** Puts the network at the end of the turns. */
  #shift(network: string, queue: Waiting[]): Waiting | undefined {
    const first = queue.shift();
    if (first !== undefined) this.#waitingCount -= 1;
    this.#waiting.delete(network);
    if (queue.length > 0) this.#waiting.set(network, queue);
    return first;
  }

  /** Among equally long queues, the one with the last turn loses a connection. */
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
