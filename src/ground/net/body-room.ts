/** The sender of a body, for its share of the room. */
export interface BodySender {
  /** The destination of the body, e.g. the hook of one source. */
  to: string;
  /** Called only where room is short. */
  network(): string;
}

/** As in Node's `IncomingMessage`. */
export interface RequestHead {
  url?: string | undefined;
  /** Names and values in turn. */
  rawHeaders: readonly string[];
}

/** The room that one body holds, from its beginning until it was processed. */
export interface BodyPlace {
  readonly sender: BodySender;
  /** Called when this body has to end for others. Its room is free already. */
  onEnded(): void;
  /** The size of its request's head, which counts as held. Bytes. */
  readonly head: number;
  /** Bytes that the body holds. */
  held: number;
  network?: string | undefined;
}

/** Bytes. */
export interface BodyRoomLimits {
  /** For all bodies together. */
  all: number;
  /** For bodies over `smallBodyBytes`. The rest of `all` is only for small ones. */
  large: number;
}

/** The answer to the sender of a body without room. */
export const bodyRoomFull = "The memory for bodies is full; send it again.";
export const smallBodyBytes = 64 * 1024;
/** The least that a request holds. It also bounds how many tiny bodies have to end for a larger one. */
const leastBytes = 4 * 1024;
/** The memory of Node and the pages for each name and value, without its letters. Measured with 500 fields. Bytes. */
const bytesOfString = 80;
/** The part of all room that is freed at once, so bodies are not chosen anew for each piece of a body. */
const freedAtOnce = 1 / 64;
/** A network that holds more than this part of all room holds too much. `shareOfHook` is the same for one hook. */
const shareOfNetwork = 1 / 4;
const shareOfHook = 1 / 2;

/**
 * Memory for the bodies of requests with their heads, bounded for all together, however many addresses send them and however
 * many hooks get them.
 *
 * When room is short, unfinished bodies are ended for the new one, the longest under way first. First come bodies whose network
 * and hook both hold too much, then those where one of them does, then any. A share refuses nothing while there is room. A body
 * that stalls thus makes room for one that does not, whether all come from a proxy's one address or each from its own. Large
 * bodies have a bound of their own, and only large ones are ended for it. Small ones find room unless more of them are being
 * stored than fit.
 */
export class BodyRoom {
  /** Bodies that began since room was last short, in order. Their shares are not counted yet. */
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

  /**
   * Begins a request. It holds nothing until it grows, by 0 for its head alone.
   * @param head as Node gives it. Default: none
   */
  enter(sender: BodySender, head?: RequestHead): BodyPlace {
    const place = { sender, onEnded() {}, head: head === undefined ? 0 : bytesOf(head), held: 0 };
    this.#begun.add(place);
    return place;
  }

  /** Whether the body may hold this many bytes in all, besides its head. If not, it keeps its previous size. */
  grow(place: BodyPlace, bytes: number): boolean {
    const wanted = Math.max(place.head + bytes, leastBytes);
    if (!this.#fits(place, wanted) && !this.#makeRoom(place, wanted)) return false;
    this.#set(place, wanted);
    return true;
  }

  /** Marks the body as complete. It is no longer ended for others. */
  finish(place: BodyPlace): void {
    this.#begun.delete(place);
    this.#underWay.delete(place);
    this.#share(place, -place.held);
    place.network = undefined;
  }

  /** Frees the room of the body. */
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
      // A body that holds nothing frees nothing, and a small one frees no room for large ones.
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

/**
 * Adds up the room of senders with one name, and knows which names hold too much. Kept, since adding up takes milliseconds for
 * 20,000 bodies.
 */
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
