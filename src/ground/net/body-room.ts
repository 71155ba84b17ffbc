export interface BodySender {
  /** The hook that gets the body. */
  to: string;
  /** Called only when room is short. */
  network(): string;
}

/** As in Node's `IncomingMessage`. */
export interface RequestHead {
  url?: string | undefined;
  /** Names and values in turn. */
  rawHeaders: readonly string[];
}

/** The room of one body, until the body is processed. */
export interface BodyPlace {
  readonly sender: BodySender;
  /** Called when this body must end for another one. Its room is already free. */
  onEnded(): void;
  /** The size of the request's head. It counts as held. Bytes. */
  readonly head: number;
  /** Bytes. */
  held: number;
  network?: string | undefined;
}

/** Bytes. */
export interface BodyRoomLimits {
  /** For all bodies together. */
  all: number;
  /** For bodies over `smallBodyBytes`. Only small ones may use the rest of `all`. */
  large: number;
}

export const bodyRoomFull = "The memory for bodies is full; send it again.";
export const smallBodyBytes = 64 * 1024;
/** The least that a request counts. It bounds how many tiny bodies must end for a larger one. */
const leastBytes = 4 * 1024;
/** What Node and the pages hold for each name and value, without its letters. Measured with 500 fields. Bytes. */
const bytesOfString = 80;
/** The part of all room that is freed at once. Without it, bodies would be chosen anew for each piece of a body. */
const freedAtOnce = 1 / 64;
/** A network holds too much above this part of all room, a hook above `shareOfHook`. */
const shareOfNetwork = 1 / 4;
const shareOfHook = 1 / 2;

/**
 * The memory for bodies of requests and their heads. It is bounded for all together, whatever the number of addresses and hooks.
 *
 * When room is short, unfinished bodies end for the new one, the longest under way first. Those come first whose network and hook
 * both hold too much, then those where one does, then any. A body that stalls thus makes room for one that moves, behind one
 * proxy or from many addresses. Large bodies have a bound of their own, and only large ones end for it.
 */
export class BodyRoom {
  /** Bodies that began since room was last short, in order. Shares do not count them yet. */
  readonly #begun = new Set<BodyPlace>();
  /** All older bodies, in the same order. */
  readonly #underWay = new Set<BodyPlace>();
  readonly #networks: Shares;
  readonly #hooks: Shares;
  #all = 0;
  #large = 0;

  constructor(private readonly limits: BodyRoomLimits) {
    this.#networks = new Shares(limits.all * shareOfNetwork);
    this.#hooks = new Shares(limits.all * shareOfHook);
  }

  /** The request holds nothing until `grow`, which is called with 0 for the head alone. `head`: as Node gives it. */
  enter(sender: BodySender, head?: RequestHead): BodyPlace {
    const place = { sender, onEnded() {}, head: head === undefined ? 0 : bytesOf(head), held: 0 };
    this.#begun.add(place);
    return place;
  }

  /** Whether the body may hold so much besides its head. If not, it keeps its size. */
  grow(place: BodyPlace, bytes: number): boolean {
    const wanted = Math.max(place.head + bytes, leastBytes);
    if (!this.#fits(place, wanted) && !this.#makeRoom(place, wanted)) return false;
    this.#set(place, wanted);
    return true;
  }

  /** A complete body no longer ends for others. */
  finish(place: BodyPlace): void {
    this.#begun.delete(place);
    this.#underWay.delete(place);
    this.#share(place, -place.held);
    place.network = undefined;
  }

  leave(place: BodyPlace): void {
    this.finish(place);
    this.#set(place, 0);
  }

  #set(place: BodyPlace, bytes: number): void {
    this.#all += bytes - place.held;
    this.#large += largePart(place, bytes) - largePart(place, place.held);
    this.#share(place, bytes - place.held);
    place.held = bytes;
  }

  #share({ network, sender }: BodyPlace, bytes: number): void {
    if (network === undefined) return;
    this.#networks.add(network, bytes);
    this.#hooks.add(sender.to, bytes);
  }

  #fits(place: BodyPlace, wanted: number, spare = 0): boolean {
    const all = this.#all - place.held + wanted + spare;
    return all <= this.limits.all && this.#fitsLarge(place, wanted, spare);
  }

  #fitsLarge(place: BodyPlace, wanted: number, spare = 0): boolean {
    if (largePart(place, wanted) === 0) return true;
    return this.#large - largePart(place, place.held) + wanted + spare <= this.limits.large;
  }

  #makeRoom(asking: BodyPlace, wanted: number): boolean {
    const spare = this.limits.all * freedAtOnce;
    for (const place of this.#inOrderOfEnding()) {
      if (place === asking || this.#fits(asking, wanted, spare)) break;
      // A small body frees no room for large ones.
      const freed = this.#fitsLarge(asking, wanted, spare) ? place.held : largePart(place, place.held);
      if (freed === 0) continue;
      this.leave(place);
      place.onEnded();
    }
    return this.#fits(asking, wanted);
  }

  *#inOrderOfEnding(): Generator<BodyPlace> {
    for (const place of this.#begun) {
      place.network = place.sender.network();
      this.#share(place, place.held);
      this.#underWay.add(place);
    }
    this.#begun.clear();
    const networks = new Set(this.#networks.tooMuch);
    const hooks = new Set(this.#hooks.tooMuch);
    for (let excess = Number(networks.size > 0) + Number(hooks.size > 0); excess >= 0; excess -= 1) {
      for (const place of this.#underWay) {
        const { network = "", sender } = place;
        if (Number(networks.has(network)) + Number(hooks.has(sender.to)) === excess) yield place;
      }
    }
  }
}

/** How much room each network or hook holds. The sums are kept: adding up 20,000 bodies takes milliseconds. */
class Shares {
  readonly tooMuch = new Set<string>();
  readonly #held = new Map<string, number>();

  constructor(private readonly most: number) {}

  add(name: string, bytes: number): void {
    const held = (this.#held.get(name) ?? 0) + bytes;
    if (held === 0) this.#held.delete(name);
    else this.#held.set(name, held);
    if (held > this.most) this.tooMuch.add(name);
    else this.tooMuch.delete(name);
  }
}

/** The head does not make a body large. */
function largePart({ head }: BodyPlace, held: number): number {
  return held - head > smallBodyBytes ? held : 0;
}

function bytesOf({ url = "", rawHeaders }: RequestHead): number {
  return rawHeaders.reduce((sum, text) => sum + text.length + bytesOfString, url.length);
}
