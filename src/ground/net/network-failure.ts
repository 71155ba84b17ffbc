import { findNetworkError, isTlsCode } from "./network-code.ts";

export interface NetworkFailure {
  /** `no` is certain: nothing of the request left this machine. `maybe`: it may have been carried out. */
  sent: "no" | "maybe";
  /** `connection refused`; of what is not known in words, with its code. */
  words: string;
  hint: string;
}

const checkAddress = "check the address and this machine's network";

/** System and undici error codes that a failed `fetch` carries in its cause. */
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

/** What a rejected `fetch` means. The error itself is dropped: what it says may hold headers. */
export function nameNetworkFailure(error: unknown): NetworkFailure {
  const cause = findNetworkError(error);
  if (cause === undefined) return unknown;
  const kind = kindOf(cause.code, cause.message);
  // A failure that is named in words needs no code; the code of any other helps a search.
  return cause.code in kinds ? kind : { ...kind, words: `${kind.words} (${cause.code})` };
}

function kindOf(code: string, message: string): NetworkFailure {
  if (isTlsCode(code)) return tls;
  if (message.includes("before secure TLS connection was established")) return tls;
  return kinds[code] ?? unknown;
}
