/** Numbers from a seed and a name alone, so catalogue and history need no storage. Not for secrets. */

/** FNV-1a over the UTF-16 units, then mixed. Unsigned 32 bits. */
export function hashText(seed: number, text: string): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return mixNumbers(hash, seed);
}

/** Mixes two 32-bit numbers into one that looks unrelated (the finaliser of MurmurHash3). */
export function mixNumbers(first: number, second: number): number {
  let hash = (first ^ Math.imul(second | 0, 0x9e3779b1)) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Uniform in [0, 1). */
export function unitOf(hash: number): number {
  return (hash >>> 0) / 0x1_0000_0000;
}

/** `0x` and 40 lower-case hexadecimal digits. */
export function addressOf(hash: number): string {
  let digits = "";
  for (let part = 1; part <= 5; part += 1) {
    digits += mixNumbers(hash, part * 7919)
      .toString(16)
      .padStart(8, "0");
  }
  return `0x${digits}`;
}

export function pickOf<T>(list: readonly T[], hash: number): T {
  const picked = list[hash % list.length];
  if (picked === undefined) throw new Error("pickOf needs a list that is not empty");
  return picked;
}

/** Smooth noise in [-1, 1]: a random height at each whole position, with smooth transitions. */
export function noiseAt(hash: number, position: number): number {
  const whole = Math.floor(position);
  const part = position - whole;
  const left = unitOf(mixNumbers(hash, whole | 0));
  const right = unitOf(mixNumbers(hash, (whole + 1) | 0));
  const eased = part * part * (3 - 2 * part);
  return (left + (right - left) * eased) * 2 - 1;
}
