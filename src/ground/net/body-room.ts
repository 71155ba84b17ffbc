/** The sender of a body, as far as shares go. */
export interface BodySender {
  /** What it is sent to, e.g. the hook of one source. */
  to: string;
  /** Asked for only where room is short. */
  network(): string;
}

/** As in Node's `IncomingMessage`. */
export interface RequestHead {
  url?: string | undefined;
  /** Names and values in turn. */
  rawHeaders: readonly string[];
}

/** What one body holds of a room, from its beginning until it was processed. */
export interface BodyPlace {
  readonly sender: BodySender;
  /** Called when this body has to go for others; its room is free by then. */
  onEnded(): void;
  /** What the head of its request takes, which it also holds. Bytes. */
  readonly head: number;
  /** Bytes that it holds. */
  held: number;
  network?: string | undefined;
}

/** Bytes. */
export interface BodyRoomLimits {
  /** For all bodies together. */
  all: number;
  /** For bodies over `smallBodyBytes`. Only small ones can have the rest of `all`. */
  large: number;
}

/** What the sender reads of a body that has no room. */
export const bodyRoomFull = "The memory for bodies is full; send it again.";
export const smallBodyBytes = 64 * 1024;
/** What a request holds at least. It also bounds how many tiny ones have to go for a larger one. */
const leastBytes = 4 * 1024;
/** What Node and the pages hold of a field, apart from its letters: measured, with 500 of them. Bytes for each name and value. */
const bytesOfString = 80;
/** This part of all room is freed at once, so that it is not asked anew for each piece of a body who has to go. */
const freedAtOnce = 1 / 64;
/** A network that holds more than this part of all room holds too much, and so does what is sent to one hook. */
const shareOfNetwork = 1 / 4;
const shareOfHook = 1 / 2;

/**
 * Memory for the bodies of requests with their heads, bounded for all of them together, however many addresses they come from and however
 * many hooks they are sent to.
 *
 * Where room lacks, bodies that are under way are ended for the new one, the longest under way first: those of a network and for a hook
 * that both hold too much; then those where one of the two does; then any. A share refuses nothing while there is room. A body that
 * stalls thus makes room for one that does not, whether all come from the one address of a proxy or each from its own. Large bodies have
 * a bound of their own, for which only large ones are ended: small ones find room unless more of them are being stored than fit.
 */
export class BodyRoom {
  /** Since room lacked the last time, in the order in which they began; their shares are not counted yet. */
  readonly #begun = new Set<BodyPlace>();
  /** All older ones, in the same order. */
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
   * A request begins. It holds nothing until it grows, by 0 for its head alone.
   * @param head as Node gives it; default: none
   */
  enter(sender: BodySender, head?: RequestHead): BodyPlace {
    const place = { sender, onEnded() {}, head: head === undefined ? 0 : bytesOf(head), held: 0 };
    this.#begun.add(place);
    return place;
  }

  /** Whether the body may hold this many bytes in all, besides its head. Where it may not, it holds what it held. */
  grow(place: BodyPlace, bytes: number): boolean {
    const wanted = Math.max(place.head + bytes, leastBytes);
    if (!this.#fits(place, wanted) && !this.#makeRoom(place, wanted)) return false;
    this.#set(place, wanted);
    return true;
  }

  /** The body came whole: it is not ended for others any more. */
  finish(place: BodyPlace): void {
    this.#begun.delete(place);
    this.#underWay.delete(place);
    this.#share(place, -place.held);
    place.network = undefined;
  }

  /** Nothing of the body is held any more. */
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
      // One that holds nothing frees nothing, and a small one no room for large ones.
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

/** What those that share room hold, and who holds too much. Kept, since to add it up takes milliseconds for 20,000. */
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

/** Whether a body is large does not depend on its head. */
function largePart({ head }: BodyPlace, held: number): number {
  return held - head > smallBodyBytes ? held : 0;
}

function bytesOf({ url = "", rawHeaders }: RequestHead): number {
  return rawHeaders.reduce((sum, text) => sum + text.length + bytesOfString, url.length);
}
