/**
 * Secrets that occur nowhere by chance, each with the characters that its place allows and that change their look in
 * JSON, HTML and addresses. The name is in the value, so that a failing test says whose secret got out.
 */
export interface Canary {
  name: string;
  /** As the configuration has it. */
  value: string;
}

/** `odd` goes behind the part that is looked for. */
export const makeCanary = (name: string, odd = ""): Canary => ({ name, value: `${coreOf(name)}${odd}` });

const end = "q7Zk3Vx9";

const coreOf = (name: string): string => `CANARY${name}${end}`;

/** Each form of a canary has the same form of its end in it. */
const marks = formsOf(end);

/** The names of the canaries that show in these bytes: plain, in base64 at any offset, or in hexadecimal. */
export function findCanaries(bytes: Uint8Array | string, names: readonly string[]): string[] {
  const text = typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("latin1");
  // Megabytes without any are searched for a few texts, instead of for eight of each name.
  if (!marks.some((mark) => text.includes(mark))) return [];
  return names.filter((name) => formsOf(coreOf(name)).some((form) => text.includes(form)));
}

function formsOf(core: string): string[] {
  const bytes = Buffer.from(core);
  const base64 = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset, "x"), bytes]).toString("base64");
    // The first and the last group also hold bits of the neighbours.
    return text.slice(offset === 0 ? 0 : 4, -4);
  });
  const hex = bytes.toString("hex");
  return [core, core.toLowerCase(), core.toUpperCase(), ...base64, hex, hex.toUpperCase()];
}
