import { isIP } from "node:net";
import { createClientAddress, type ProxyTrust } from "../../ground/net/client-address.ts";
import type { WebContext } from "../web-env.ts";

/**
 * Whom a limit counts: the network that a request came from. One IPv6 subscriber has a whole /64, so that is one
 * network. `unknown` when the connection is gone.
 */
export type ClientNetworkOf = (c: WebContext) => string;

/** @param trust ranges as `createIpRanges` takes them; throws what that throws. */
export function createClientNetwork(trust: ProxyTrust): ClientNetworkOf {
  const addressOf = createClientAddress(trust);
  return (c) => networkOf(addressOf(c.env?.incoming?.socket?.remoteAddress, (name) => c.req.header(name)));
}

function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail = ""] = address.split("::", 2);
  const front = head === "" ? [] : head.split(":");
  const back = tail === "" ? [] : tail.split(":");
  const zeros = Math.max(0, 8 - front.length - back.length);
  return `${[...front, ...Array<string>(zeros).fill("0"), ...back].slice(0, 4).join(":")}::/64`;
}
