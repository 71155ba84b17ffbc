import { cut } from "../text/graphemes.ts";

const unreadable = "an address that cannot be read";

/** An address as people may read it who must not learn how to send to it: each part of its path may be a secret. */
export function showAddress(url: string): string {
  if (!URL.canParse(url)) return unreadable;
  const { protocol, host } = new URL(url);
  return host === "" ? unreadable : `${protocol}//${cut(host, 120)}/…`;
}

/** The same, but of a hook of Tocsin the path up to its secret: `https://alerts.example/hooks/***`. */
export function maskWebhookUrl(url: string): string {
  const { origin, pathname } = URL.canParse(url) ? new URL(url) : { origin: "null", pathname: "" };
  // Before it PUBLIC_URL may have a path of its own, made of words.
  const path = /^(?:\/[^/]{1,15})*?\/hooks\/(?=.)/.exec(pathname)?.[0];
  return path === undefined || origin === "null" ? showAddress(url) : `${origin}${path}***`;
}
