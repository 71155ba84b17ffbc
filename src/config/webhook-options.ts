import { Secret } from "../core/secret.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import type { ConfigPath, ProblemList } from "./shape/problem-list.ts";

/** Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
export function readSigningSecret(text: string): Secret | Refusal {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const bytes = encoded === undefined ? 0 : Buffer.from(encoded, "base64").length;
  if (bytes >= 24 && bytes <= 64) return new Secret(text);
  return new Refusal(
    "is not a signing secret of Standard Webhooks (it is not shown)",
    "write whsec_ and 24 to 64 bytes in base64; make one with: echo whsec_$(openssl rand -base64 32)",
  );
}

/** Names and values that cannot end a header line (RFC 9110, 5.6.2 and 5.5), and none that the sender itself sets. */
export function readHeaders(
  headers: Record<string, string>,
  path: ConfigPath,
  problems: ProblemList,
): Record<string, Secret> {
  const own =
    /^(host|content-length|content-type|transfer-encoding|connection|webhook-(id|timestamp|signature))$/i;
  const good: Record<string, Secret> = {};
  for (const [name, value] of Object.entries(headers)) {
    const at = [...path, "headers", name];
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      problems.add(at, "is not a header's name", "use letters, digits and -", "key");
    else if (own.test(name)) problems.add(at, "is set by Tocsin itself", "remove it", "key");
    else if (!/^[\x20-\x7e]*$/.test(value))
      problems.add(at, "has a character that a header cannot carry", "use ASCII without line breaks");
    else good[name] = new Secret(value);
  }
  return good;
}
