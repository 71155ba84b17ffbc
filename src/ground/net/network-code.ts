/** An error code of the system, Node or undici: `ECONNREFUSED`, `UND_ERR_SOCKET`. */
export interface NetworkError {
  code: string;
  /** Not for people: it may contain an address with a secret. */
  message: string;
}

/** The first error with a code in a chain of causes. `fetch` and grammY wrap the reason. */
export function findNetworkError(error: unknown): NetworkError | undefined {
  let current = error;
  for (let depth = 0; depth < 6 && typeof current === "object" && current !== null; depth++) {
    const { code, message, cause, error: inner, errors } = current as Record<string, unknown>;
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code))
      return { code, message: typeof message === "string" ? message : "" };
    // The message of `fetch` for a blocked port: https://fetch.spec.whatwg.org/#port-blocking.
    if (message === "bad port") return { code: "BAD_PORT", message };
    current = cause ?? inner ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return undefined;
}

/** A code holds no secret. */
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

/** In words for people. An unknown code stays unchanged. */
export function nameNetworkCode(code: string): string {
  return words[code] ?? code;
}

/** Whether a name could not be resolved (`getaddrinfo`, c-ares, nodemailer). */
export function isDnsCode(code: string): boolean {
  return /^(ENOTFOUND|EAI_|ENODATA|ESERVFAIL|EDNS)/.test(code);
}

const beginningsOfTls =
  `EPROTO ETLS ERR_TLS ERR_SSL ERR_OSSL CERT_ CRL_ ERROR_IN_C UNABLE_TO_ DEPTH_ZERO SELF_SIGNED HOSTNAME_
  INVALID_CA INVALID_PURPOSE PATH_LENGTH_`.split(/\s+/);

/** OpenSSL's codes for a bad certificate have no common prefix (nodejs.org/api/tls.html#x509-certificate-error-codes). */
export function isTlsCode(code: string): boolean {
  return beginningsOfTls.some((beginning) => code.startsWith(beginning));
}

interface NetworkFailure {
  /** `no`: surely nothing left this machine. `maybe`: the request may have been carried out. */
  sent: "no" | "maybe";
  /** `connection refused`. An unknown failure includes its code. */
  words: string;
  hint: string;
}

const checkAddress = "check the address and this machine's network";

const kinds: Record<string, NetworkFailure> = {
  ECONNREFUSED: { sent: "no", words: "connection refused", hint: checkAddress },
  ENOTFOUND: { sent: "no", words: "the host name is not known", hint: checkAddress },
  EAI_AGAIN: { sent: "no", words: "the host name could not be looked up", hint: checkAddress },
  EHOSTUNREACH: { sent: "no", words: "no route to the host", hint: checkAddress },
  ENETUNREACH: { sent: "no", words: "no network", hint: checkAddress },
  EADDRNOTAVAIL: {
    sent: "no",
    words: "no free local port",
    hint: "this machine has too many open connections",
  },
  UND_ERR_CONNECT_TIMEOUT: { sent: "no", words: "no connection in time", hint: checkAddress },
  BAD_PORT: { sent: "no", words: "browsers and fetch refuse this port", hint: "choose another port" },
  ECONNRESET: { sent: "maybe", words: "the connection was reset", hint: "try again" },
  EPIPE: { sent: "maybe", words: "the connection broke", hint: "try again" },
  UND_ERR_SOCKET: { sent: "maybe", words: "the connection was closed without an answer", hint: "try again" },
  UND_ERR_HEADERS_TIMEOUT: { sent: "maybe", words: "no answer in time", hint: "try again" },
  UND_ERR_BODY_TIMEOUT: { sent: "maybe", words: "the answer stopped half-way", hint: "try again" },
};

const tls: NetworkFailure = {
  sent: "no",
  words: "no secure connection could be made",
  hint: "check the certificate and that the address should begin with https://",
};

const unknown: NetworkFailure = { sent: "maybe", words: "the request failed", hint: checkAddress };

/** What a rejected `fetch` means. The error is dropped, since its message may contain headers. */
export function nameNetworkFailure(error: unknown): NetworkFailure {
  const cause = findNetworkError(error);
  if (cause === undefined) return unknown;
  const { code, message } = cause;
  const isTls = isTlsCode(code) || message.includes("before secure TLS connection was established");
  const kind = isTls ? tls : (kinds[code] ?? unknown);
  // A code helps people to search for a failure that has no words of its own.
  return code in kinds ? kind : { ...kind, words: `${kind.words} (${code})` };
}
