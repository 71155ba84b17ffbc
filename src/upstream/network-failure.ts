import { AppError } from "../core/errors.ts";
import { findNetworkError, isTlsCode } from "../ground/net/network-code.ts";

/**
 * No answer came. `sent: "no"` is certain: nothing of the request left this machine, so it may be repeated whatever it
 * does. `maybe`: it may have been carried out.
 */
export class UpstreamUnreachable extends AppError {
  readonly sent: "no" | "maybe";

  constructor(message: string, options: { sent: "no" | "maybe"; hint?: string }) {
    super("upstream_unreachable", message, { hint: options.hint });
    this.name = "UpstreamUnreachable";
    this.sent = options.sent;
  }
}

interface FailureKind {
  sent: "no" | "maybe";
  words: string;
  hint: string;
}

const checkAddress = "check the address and this machine's network";

/** System and undici error codes that a failed `fetch` carries in its cause. */
const kinds: Record<string, FailureKind> = {
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
  ECONNRESET: { sent: "maybe", words: "the connection was reset", hint: "try again" },
  EPIPE: { sent: "maybe", words: "the connection broke", hint: "try again" },
  UND_ERR_SOCKET: { sent: "maybe", words: "the connection was closed without an answer", hint: "try again" },
  UND_ERR_HEADERS_TIMEOUT: { sent: "maybe", words: "no answer in time", hint: "try again" },
  UND_ERR_BODY_TIMEOUT: { sent: "maybe", words: "the answer stopped half-way", hint: "try again" },
};

const tls: FailureKind = {
  sent: "no",
  words: "no secure connection could be made",
  hint: "check the certificate and that the address should begin with https://",
};

const unknown: FailureKind = { sent: "maybe", words: "the request failed", hint: checkAddress };

/** What a rejected `fetch` means. The error itself is dropped: what it says may hold headers. */
export function describeNetworkFailure(error: unknown, where: string): UpstreamUnreachable {
  const cause = findNetworkError(error);
  const kind = cause === undefined ? unknown : kindOf(cause.code, cause.message);
  // Whatever is named in words needs no code; the rest is for a search.
  const code = cause === undefined || cause.code in kinds ? "" : ` (${cause.code})`;
  return new UpstreamUnreachable(`${where}: ${kind.words}${code}`, { sent: kind.sent, hint: kind.hint });
}

function kindOf(code: string, message: string): FailureKind {
  if (isTlsCode(code)) return tls;
  if (message.includes("before secure TLS connection was established")) return tls;
  return kinds[code] ?? unknown;
}
