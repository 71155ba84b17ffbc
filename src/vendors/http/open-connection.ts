import { type LookupAddress, type LookupOptions, lookup as resolveHost } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { buildConnector } from "undici";
import { bareHost } from "../../ground/net/internal-address.ts";
import { isDnsCode, isTlsCode, nameNetworkCode, networkCodeOf } from "../../ground/net/network-code.ts";
import { isTimeout } from "../../ground/net/time-limit.ts";
import type { AddressPolicy } from "./address-policy.ts";

/** Why there is no connection. Nothing of the request has left this machine. */
export interface ConnectFault {
  kind: "forbidden" | "dns" | "refused" | "tls" | "timeout" | "aborted";
  /** A few words, without secrets. */
  detail: string;
  /** The code of the network error, e.g. `ECONNREFUSED`. */
  code?: string;
}

export type Connection = { socket: Socket } | { fault: ConnectFault };

/** Resolves a name to all its addresses, like `dns.lookup`. Tests replace it. */
export type ResolveHost = (
  host: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface ConnectOptions {
  policy: AddressPolicy;
  /** Milliseconds for name, TCP and TLS together. */
  timeoutMs: number;
  signal: AbortSignal;
  resolve?: ResolveHost;
}

/** Checks the address in the socket's own look-up, so no second look-up can answer differently. */
export function openConnection(url: URL, options: ConnectOptions): Promise<Connection> {
  const host = bareHost(url.hostname);
  const { policy, signal, timeoutMs } = options;
  if (signal.aborted) return Promise.resolve({ fault: faultOfAbort(signal) });
  // A literal address is never looked up. The URL parser has already turned odd notations (0x7f.1) into the usual one.
  const refusal = isIP(host) === 0 ? undefined : policy.refuse(host, host);
  if (refusal !== undefined) {
    return Promise.resolve({ fault: { kind: "forbidden", detail: `${host} is ${refusal}` } });
  }

  return new Promise((settle) => {
    const connector = buildConnector({
      lookup: guardedLookup(policy, options.resolve ?? resolveHost),
      timeout: 0,
      maxCachedSessions: 0,
      // Node gives each address 250 ms by default, too little for a far continent.
      autoSelectFamilyAttemptTimeout: 2_000,
    });
    let done = false;
    let failed = false;
    let socket: Socket | undefined;
    const finish = (connection: Connection): void => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      failed = "fault" in connection;
      if (failed) socket?.destroy();
      settle(connection);
    };
    const onAbort = (): void => finish({ fault: faultOfAbort(signal) });
    const timer = setTimeout(() => {
      finish({ fault: { kind: "timeout", detail: `no connection within ${timeoutMs} ms` } });
    }, timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });

    // The connector returns the opening socket, which its types hide.
    const opening: unknown = connector(
      { hostname: host, host: url.host, protocol: url.protocol, port: url.port },
      (error, opened) => {
        if (error !== null) finish({ fault: faultOfError(error) });
        else if (done) opened.destroy();
        else finish({ socket: opened });
      },
    );
    socket = opening as Socket | undefined;
    // A look-up may fail before the connector returns.
    if (failed) socket?.destroy();
  });
}

export function faultOfAbort(signal: AbortSignal): ConnectFault {
  return isTimeout(signal.reason)
    ? { kind: "timeout", detail: "no connection in time" }
    : { kind: "aborted", detail: "stopped before anything was sent" };
}

class ForbiddenAddressError extends Error {}

function guardedLookup(policy: AddressPolicy, resolve: ResolveHost): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "");
      const refusals = new Set<string>();
      const permitted = addresses.filter(({ address }) => {
        const refusal = policy.refuse(host, address);
        if (refusal !== undefined) refusals.add(refusal);
        return refusal === undefined;
      });
      const [first] = permitted;
      if (first === undefined) {
        const kinds = [...refusals].join(", ") || "no";
        return callback(new ForbiddenAddressError(`${host} resolves to a ${kinds} address`), "");
      }
      if (options.all) callback(null, permitted);
      else callback(null, first.address, first.family);
    });
  };
}

function faultOfError(error: Error): ConnectFault {
  if (error instanceof ForbiddenAddressError) return { kind: "forbidden", detail: error.message };
  const code = networkCodeOf(error) ?? "unknown error";
  if (isDnsCode(code)) return { kind: "dns", detail: `name not resolved (${nameNetworkCode(code)})`, code };
  if (isTlsCode(code)) return { kind: "tls", detail: `TLS failed (${code})`, code };
  return { kind: "refused", detail: `no connection (${nameNetworkCode(code)})`, code };
}
