import { smallBodyBytes } from "./body-room.ts";

const nothing: Buffer<ArrayBuffer> = Buffer.alloc(0);

/** Gathers a body in one piece of memory. A list of tiny pieces would take a hundred times its length. */
export class GatheredBody {
  #memory = nothing;
  #length = 0;

  /** @param expected the body's length in bytes if known, otherwise the longest allowed */
  constructor(private readonly expected: number) {}

  get length(): number {
    return this.#length;
  }

  /** The memory that the body takes with this piece, in bytes. */
  sizeWith(piece: Uint8Array): number {
    const needed = this.#length + piece.length;
    if (needed <= this.#memory.length || this.#length === 0) return Math.max(needed, this.#memory.length);
    // A small body never grows beyond the bound of small ones by doubling. It would then need the room of large ones.
    const most = needed <= smallBodyBytes ? Math.min(this.expected, smallBodyBytes) : this.expected;
    return Math.max(needed, Math.min(2 * needed, most));
  }

  add(piece: Buffer<ArrayBuffer>): void {
    const size = this.sizeWith(piece);
    if (this.#length === 0) this.#memory = piece;
    else {
      if (size > this.#memory.length) this.#move(size);
      piece.copy(this.#memory, this.#length);
    }
    this.#length += piece.length;
  }

  bytes(): Buffer<ArrayBuffer> {
    return this.#memory.subarray(0, this.#length);
  }

  drop(): void {
    this.#memory = nothing;
    this.#length = 0;
  }

  #move(size: number): void {
    const memory = Buffer.allocUnsafeSlow(size);
    this.#memory.copy(memory, 0, 0, this.#length);
    this.#memory = memory;
  }
}
