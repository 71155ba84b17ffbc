import type { WebContext } from "./web-env.ts";

/**
 * Whom the login limit counts: the peer's address or, behind Fly's proxy, the client that the proxy names. One IPv6
 * subscriber has a whole /64, so that is one address.
 */
export function clientAddressOf(c: WebContext, behindFly: boolean): string {
  const named = behindFly ? c.req.header("fly-client-ip")?.trim() : undefined;
  return networkOf(named || (c.env?.incoming?.socket?.remoteAddress ?? "unknown"));
}

function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.toLowerCase().split("%", 1)[0]?.split("::", 2) ?? [];
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  return [...front, ...Array<string>(zeros).fill("0"), ...back].slice(0, 4).join(":");
}
