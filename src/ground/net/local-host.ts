/**
 * Whether a name or an address, with or without an IPv6 address's brackets, is this machine's own and nobody else's.
 */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

/** How this machine reaches a server of its own that listens at `host`, as part of an address: `127.0.0.1`, `[::1]`. */
export function localHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
