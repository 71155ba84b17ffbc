/** Whether a name or address always means this machine. It may have the brackets of IPv6. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

/** The host by which this machine reaches its own server at `host`: `127.0.0.1`, `[::1]`. */
export function localHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
