import { cut } from "../text/graphemes.ts";

const unreadable = "an address that cannot be read";

/** An address for people who must not be able to send to it. Any part of the path may be a secret, so the path is hidden. */
export function showAddress(url: string): string {
  if (!URL.canParse(url)) return unreadable;
  const { protocol, host } = new URL(url);
  return host === "" ? unreadable : `${protocol}//${cut(host, 120)}/…`;
}

/** Like `showAddress`, but a Tocsin hook keeps its path up to the secret: `https://alerts.example/hooks/***`. */
export function maskWebhookUrl(url: string): string {
  const { origin, pathname } = URL.canParse(url) ? new URL(url) : { origin: "null", pathname: "" };
  // PUBLIC_URL may have a path of words before `/hooks/`.
  const path = /^(?:\/[^/]{1,15})*?\/hooks\/(?=.)/.exec(pathname)?.[0];
  return path === undefined || origin === "null" ? showAddress(url) : `${origin}${path}***`;
}
