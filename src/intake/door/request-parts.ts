import type { IncomingMessage } from "node:http";

/** `no_room`: `hold` has refused a part of it. */
export type BodyReading =
  | { kind: "read"; body: Buffer }
  | { kind: "too_large" }
  | { kind: "no_room" }
  | { kind: "aborted" };

/**
 * A body that is too large is read to its end up to this many times the limit, since a sender that is cut off while it
 * writes may never see the answer.
 */
const patience = 8;

/**
 * Reads a body up to `maxBytes`, whatever its headers say of its length. What is over is counted and thrown away.
 *
 * @param hold asked before each part is kept: false when the memory for bodies is spent.
 * @param done called once. A promise would cost more here than the reading does.
 */
export function readRequestBody(
  request: IncomingMessage,
  maxBytes: number,
  hold: (bytes: number) => boolean,
  done: (reading: BodyReading) => void,
): void {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes * patience) {
    done({ kind: "too_large" });
    return;
  }
  let chunks: Buffer[] = [];
  let length = 0;
  let hasNoRoom = false;
  let isDone = false;
  const finish = (reading: BodyReading) => {
    if (isDone) return;
    isDone = true;
    done(reading);
  };
  request.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length > maxBytes || hasNoRoom) chunks = [];
    else if (hold(chunk.length)) chunks.push(chunk);
    else hasNoRoom = true;
    if (length > maxBytes * patience) finish({ kind: "too_large" });
  });
  request.on("end", () => {
    if (length > maxBytes) finish({ kind: "too_large" });
    else if (hasNoRoom) finish({ kind: "no_room" });
    else
      finish({
        kind: "read",
        body: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length),
      });
  });
  // Behind an error comes the close, too.
  request.on("error", ignore);
  request.on("close", () => {
    if (!isDone) finish({ kind: "aborted" });
  });
}

function ignore(): void {}

/**
 * Names whose values are credentials of the sender's; they are kept as `***`. A key counts as one where its name says
 * what it opens: an `idempotency-key` or `x-event-key` opens nothing.
 */
const credential =
  /authori[sz]ation|(^|[-_])auth([-_]|$)|cookie|token|secret|passw|credential|session|jwt|(access|account|admin|api|app|auth|client|functions?|integration|license|private|routing|service|shared|signing|subscription|write)[-_]?key/i;

/** The hook's address as a proxy repeats it (`X-Original-URI`, `X-Forwarded-Uri`) or a browser does (`Referer`). */
const hookAddress = /((?:\/|%2f)hooks(?:\/|%2f))[^/?#&\s"',;%]+/gi;

const mostJudged = 1_000;
const masked = "***";

/**
 * Keeps header pairs in their order as JSON, with credentials and the hook's own secret masked. `rawHeaders` is Node's
 * flat list of names and values. Senders use the same few names over and over, so the verdict on a name is remembered.
 */
export function createHeaderKeeper(): (rawHeaders: string[]) => string {
  const judged = new Map<string, boolean>();

  function isCredential(name: string): boolean {
    const known = judged.get(name);
    if (known !== undefined) return known;
    const verdict = credential.test(name);
    if (judged.size < mostJudged) judged.set(name, verdict);
    return verdict;
  }

  function keepValue(name: string, value: string): string {
    if (isCredential(name)) return masked;
    return value.includes("hooks") ? value.replace(hookAddress, "$1***") : value;
  }

  return (rawHeaders) => {
    const pairs: [string, string][] = [];
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const name = rawHeaders[index] as string;
      pairs.push([name, keepValue(name, rawHeaders[index + 1] as string)]);
    }
    return JSON.stringify(pairs);
  };
}

/** What was kept, as Node gave it: names in lower case, values of one name joined. Masked ones are left out. */
export function readKeptHeaders(pairs: readonly [string, string][]): Record<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of pairs) {
    const key = name.toLowerCase();
    const before = headers.get(key);
    if (value !== masked) headers.set(key, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(headers);
}
