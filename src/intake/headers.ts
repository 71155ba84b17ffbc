/**
 * Names whose values are credentials of the sender's; they are kept as `***`. A key counts as one where its name says what it
 * opens: an `idempotency-key` or `x-event-key` opens nothing.
 */
const credential =
  /authori[sz]ation|(^|[-_])auth([-_]|$)|cookie|token|secret|passw|credential|session|jwt|(access|account|admin|api|app|auth|client|functions?|integration|license|private|routing|service|shared|signing|subscription|write)[-_]?key/i;

/** The hook's address as a proxy repeats it (`X-Original-URI`, `X-Forwarded-Uri`) or a browser does (`Referer`). */
const hookAddress = /((?:\/|%2f)hooks(?:\/|%2f))[^/?#&\s"',;%]+/gi;

/**
 * Header pairs in their order as JSON, with credentials and the hook's own secret masked. `rawHeaders` is Node's flat list of
 * names and values.
 */
export function keepHeaders(rawHeaders: string[]): string {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    const value = rawHeaders[index + 1] as string;
    pairs.push([name, credential.test(name) ? "***" : value.replace(hookAddress, "$1***")]);
  }
  return JSON.stringify(pairs);
}
