/** The system's, Node's or undici's word for what went wrong: `ECONNREFUSED`, `UND_ERR_SOCKET`. */
export interface NetworkError {
  code: string;
  /** Not for people: it may hold the address, and the address a secret. */
  message: string;
}

/**
 * The first error with a code in a chain of causes. `fetch` and grammY wrap the reason, and a connection that failed to
 * several addresses wraps one reason for each.
 */
export function findNetworkError(error: unknown): NetworkError | undefined {
  let current = error;
  for (let depth = 0; depth < 6 && typeof current === "object" && current !== null; depth++) {
    const { code, message, cause, error: inner, errors } = current as Record<string, unknown>;
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code))
      return { code, message: typeof message === "string" ? message : "" };
    // What `fetch` says of a port that the Fetch standard blocks, as browsers do: https://fetch.spec.whatwg.org/#port-blocking.
    if (message === "bad port") return { code: "BAD_PORT", message };
    current = cause ?? inner ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return undefined;
}

/** The code alone, which holds no secret. */
export function networkCodeOf(error: unknown): string | undefined {
  return findNetworkError(error)?.code;
}

const words: Record<string, string> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection broke",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no network",
  ETIMEDOUT: "no connection in time",
  UND_ERR_CONNECT_TIMEOUT: "no connection in time",
  UND_ERR_SOCKET: "connection closed without an answer",
};

/** A code in words that a person knows; a code without any, as it is. */
export function nameNetworkCode(code: string): string {
  return words[code] ?? code;
}

/** Whether the name could not be resolved (`getaddrinfo`, c-ares, nodemailer). */
export function isDnsCode(code: string): boolean {
  return /^(ENOTFOUND|EAI_|ENODATA|ESERVFAIL|EDNS)/.test(code);
}

const beginningsOfTls =
  `EPROTO ETLS ERR_TLS ERR_SSL ERR_OSSL CERT_ CRL_ ERROR_IN_C UNABLE_TO_ DEPTH_ZERO SELF_SIGNED HOSTNAME_
  INVALID_CA INVALID_PURPOSE PATH_LENGTH_`.split(/\s+/);

/**
 * Whether no secure connection could be made. The codes of a certificate that does not pass have no common prefix: they
 * are OpenSSL's (nodejs.org/api/tls.html#x509-certificate-error-codes).
 */
export function isTlsCode(code: string): boolean {
  return beginningsOfTls.some((beginning) => code.startsWith(beginning));
}
