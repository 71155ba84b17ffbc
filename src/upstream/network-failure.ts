import { AppError } from "../core/errors.ts";

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
  const cause = firstCauseWithCode(error);
  const kind = cause === undefined ? unknown : kindOf(cause.code, cause.message);
  const code = cause === undefined ? "" : ` (${cause.code})`;
  return new UpstreamUnreachable(`${where}: ${kind.words}${code}`, { sent: kind.sent, hint: kind.hint });
}

function kindOf(code: string, message: string): FailureKind {
  if (/^(CERT_|ERR_TLS_|ERR_SSL_|EPROTO|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(code)) return tls;
  if (message.includes("before secure TLS connection was established")) return tls;
  return kinds[code] ?? unknown;
}

/** `fetch` wraps the reason, and a failed connection to several addresses wraps one reason for each. */
function firstCauseWithCode(error: unknown, depth = 0): { code: string; message: string } | undefined {
  if (!(error instanceof Error) || depth > 5) return undefined;
  if ("code" in error && typeof error.code === "string") return { code: error.code, message: error.message };
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return firstCauseWithCode(inner, depth + 1);
}
