import { createRequestNetwork, type ProxyTrust } from "../../ground/net/client-address.ts";
import type { WebContext } from "../web-env.ts";

/** The network that a request came from, see `createRequestNetwork`. */
export type ClientNetworkOf = (c: WebContext) => string;

/** @param trust ranges as `createIpRanges` takes them; throws what that throws. */
export function createClientNetwork(trust: ProxyTrust): ClientNetworkOf {
  const networkOf = createRequestNetwork(trust);
  return (c) => networkOf(c.env?.incoming?.socket?.remoteAddress, (name) => c.req.header(name));
}
