/**
 * Names whose values are credentials of the sender's; they are kept as `***`. A key counts as one where its name says what it
 * opens: an `idempotency-key` or `x-event-key` opens nothing.
 */
const credential =
  /authori[sz]ation|(^|[-_])auth([-_]|$)|cookie|token|secret|passw|credential|session|jwt|(access|account|admin|api|app|auth|client|functions?|integration|license|private|routing|service|shared|signing|subscription|write)[-_]?key/i;

/** The hook's address as a proxy repeats it (`X-Original-URI`, `X-Forwarded-Uri`) or a browser does (`Referer`). */
const hookAddress = /((?:\/|%2f)hooks(?:\/|%2f))[^/?#&\s"',;%]+/gi;

const mostJudged = 1_000;

/**
 * Keeps header pairs in their order as JSON, with credentials and the hook's own secret masked. `rawHeaders` is Node's flat
 * list of names and values. Senders use the same few names over and over, so the verdict on a name is remembered.
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
    if (isCredential(name)) return "***";
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
