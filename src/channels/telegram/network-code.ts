/**
 * The code of a network error (`ECONNREFUSED`, `UND_ERR_SOCKET`) anywhere in its chain of causes, and nothing else of
 * it: the messages of such errors may hold the address, and the address holds the bot's token.
 */
export function networkCodeOf(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < 6 && typeof current === "object" && current !== null; depth++) {
    const { code } = current as { code?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
    const { cause, error: inner } = current as { cause?: unknown; error?: unknown };
    current = cause ?? inner;
  }
  return undefined;
}
