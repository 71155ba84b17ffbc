import { isIP } from "node:net";
import { createIpRanges, readIpAddress } from "./ip-ranges.ts";

export interface ProxyTrust {
  /** Addresses and CIDR ranges of proxies whose `X-Forwarded-For` and `Forwarded` are trusted. */
  trustedProxies: readonly string[];
  /** Whether the relay runs on Fly.io. `Fly-Client-IP` then counts when Fly's proxy sends it. */
  behindFly: boolean;
}

/** The address that a request came from. IPv4 is never written as IPv6. `unknown` when the connection (`peer`) is gone. */
export type ClientAddressOf = (peer: string | undefined, header: HeaderOf) => string;

/**
 * Fly's proxy reaches a machine by its private IPv4 address (https://fly.io/docs/networking/app-services/). Users
 * report 172.16.0.0/16 and 172.19.0.0/16. Other machines use IPv6 (fdaa::/16), which is not trusted. Fly's edge
 * replaces a `Fly-Client-IP` of the client (https://fly.io/docs/networking/request-headers/).
 */
const flyProxies = ["172.16.0.0/12"];

/** Only the end of a longer list is read. */
const maxHops = 32;

export type HeaderOf = (name: string) => string | undefined;

/** @param trust ranges for `createIpRanges`; throws as it does */
export function createClientAddress({ trustedProxies, behindFly }: ProxyTrust): ClientAddressOf {
  const trusted = createIpRanges(trustedProxies);
  const fly = createIpRanges(behindFly ? flyProxies : []);

  /** Follows the hops from the nearest on, while each is trusted. A client can make up the hops beyond. */
  function follow(from: string, hops: readonly string[]): string {
    let client = from;
    for (const hop of hops.toReversed()) {
      const next = trusted.includes(client) ? readAddress(hop) : undefined;
      if (next === undefined) break;
      client = next;
    }
    return client;
  }

  function findClient(peer: string, header: HeaderOf): string {
    const forwardedFor = header("x-forwarded-for")?.split(",").slice(-maxHops);
    const named = fly.includes(peer) ? readAddress(header("fly-client-ip") ?? "") : undefined;
    if (named !== undefined) {
      // Fly adds its own address after the client's.
      const hops = forwardedFor ?? [];
      const place = hops.findLastIndex((hop) => readAddress(hop) === named);
      return follow(named, hops.slice(0, Math.max(0, place)));
    }
    // A proxy writes one of the two headers and passes on the other, which a client may have made up. If they differ,
    // neither counts.
    const lists = [forwardedFor, readForwarded(header("forwarded"))].filter((hops) => hops !== undefined);
    const clients = lists.map((hops) => follow(peer, hops));
    const [client = peer] = clients;
    return clients.every((other) => other === client) ? client : peer;
  }

  return (connected, header) => {
    const peer = readAddress(connected ?? "");
    return peer === undefined ? "unknown" : findClient(peer, header);
  };
}

/**
 * The network that a limit counts a request for. An IPv6 subscriber's /64 counts as one. `unknown`: the connection is gone.
 * @param trust ranges for `createIpRanges`; throws as it does
 */
export function createRequestNetwork(trust: ProxyTrust): ClientAddressOf {
  const addressOf = createClientAddress(trust);
  return (...from) => networkOf(addressOf(...from));
}

function networkOf(address: string): string {
  return isIP(address) === 6 ? firstGroups(address, 4) : address;
}

export const unknownNetwork = "unknown";

/** An organisation's network: a /24 of IPv4, a /48 of IPv6. `unknown` when the connection is gone. */
export function neighbourhoodOf(peer: string | undefined): string {
  const address = readAddress(peer ?? "") ?? unknownNetwork;
  return isIP(address) === 6 ? firstGroups(address, 3) : address.replace(/\.\d+$/, ".0/24");
}

function firstGroups(address: string, count: number): string {
  const [head = "", tail = ""] = address.split("::", 2);
  const front = head === "" ? [] : head.split(":");
  const back = tail === "" ? [] : tail.split(":");
  const zeros = Math.max(0, 8 - front.length - back.length);
  const groups = [...front, ...Array<string>(zeros).fill("0"), ...back].slice(0, count);
  return `${groups.join(":")}::/${16 * count}`;
}

/** Reads an address with or without port and brackets. Undefined for `unknown` and the made-up names of RFC 7239 (6.3). */
function readAddress(text: string): string | undefined {
  const [, bracketed, withPort] = /^(?:\[([^\]]*)\](?::[\w.-]*)?|([\d.]+):[\w.-]*)$/.exec(text.trim()) ?? [];
  return readIpAddress(bracketed ?? withPort ?? text.trim());
}

/** The `for` of each element of a `Forwarded` header (RFC 7239). Empty when a part of the header is unreadable. */
function readForwarded(header: string | undefined): string[] | undefined {
  if (header === undefined) return undefined;
  const elements = splitUnquoted(header, ",") ?? [];
  return elements.slice(-maxHops).map((element) => {
    const values = (splitUnquoted(element, ";") ?? [])
      .map((pair) => /^\s*for\s*=(.*)$/is.exec(pair)?.[1]?.trim())
      .filter((value) => value !== undefined);
    return values.length === 1 ? (values[0] ?? "").replace(/^"(.*)"$/s, "$1") : "";
  });
}

/** Undefined when a quotation does not end, since it would include the next proxy's part. */
function splitUnquoted(text: string, separator: "," | ";"): string[] | undefined {
  const parts: string[] = [];
  let from = 0;
  let isQuoted = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (isQuoted && character === "\\") index += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(from, index));
      from = index + 1;
    }
  }
  return isQuoted ? undefined : [...parts, text.slice(from)];
}
