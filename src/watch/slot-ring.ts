/** The length of a slot. Only whether anything came in a slot is remembered. */
export const slotMs = 5 * 60_000;
export const slotsPerDay = (24 * 60 * 60_000) / slotMs;
/** Six weeks: each hour of the week six times. */
export const slotsKept = 6 * 7 * slotsPerDay;

export interface SavedRing {
  head: number;
  /** Base64. */
  bits: string;
}

export type SlotRing = ReturnType<typeof createSlotRing>;

/** One bit for each slot of five minutes since 1970, for six weeks. @param saved anything else: an empty ring */
export function createSlotRing(saved?: unknown) {
  const bits = new Uint8Array(slotsKept / 8);
  let head = readSaved(saved, bits);

  function clear(from: number, to: number): void {
    if (to - from >= slotsKept) bits.fill(0);
    else for (let slot = from; slot <= to; slot += 1) put(slot, false);
  }

  function put(slot: number, value: boolean): void {
    const place = slot % slotsKept;
    const mask = 1 << (place & 7);
    const byte = bits[place >> 3] ?? 0;
    bits[place >> 3] = value ? byte | mask : byte & ~mask;
  }

  const has = (slot: number): boolean =>
    slot <= head &&
    slot > head - slotsKept &&
    ((bits[(slot % slotsKept) >> 3] ?? 0) & (1 << ((slot % slotsKept) & 7))) !== 0;

  return {
    /** A slot more than six weeks before the newest is ignored. Adding a slot twice changes nothing. */
    add(slot: number): void {
      if (slot <= head - slotsKept) return;
      if (slot > head) {
        clear(head + 1, slot);
        head = slot;
      }
      put(slot, true);
    },
    has,
    first(): number | undefined {
      for (let slot = head - slotsKept + 1; slot <= head; slot += 1) if (has(slot)) return slot;
      return undefined;
    },
    /** Forgets slots after this one, since the clock was wrong. */
    cutAfter(slot: number): void {
      if (slot >= head) return;
      clear(slot + 1, head);
      head = slot;
    },
    save: (): SavedRing => ({ head, bits: Buffer.from(bits).toString("base64") }),
  };
}

function readSaved(saved: unknown, into: Uint8Array): number {
  const { head, bits } = (saved ?? {}) as Partial<SavedRing>;
  if (!Number.isSafeInteger(head) || typeof bits !== "string") return 0;
  const bytes = Buffer.from(bits, "base64");
  if (bytes.byteLength !== into.byteLength) return 0;
  into.set(bytes);
  return head as number;
}
