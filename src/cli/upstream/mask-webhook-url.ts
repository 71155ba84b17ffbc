/**
 * A webhook's address without what opens it: the part after `/hooks/` (Tocsin's own secret), credentials, and the
 * values of a query. Of an address that is no Tocsin hook, the last part of the path is hidden too when it is long
 * enough to be a secret, as chat services put theirs there.
 */
export function maskWebhookUrl(text: string): string {
  if (!URL.canParse(text)) return "*** (not an address)";
  const url = new URL(text);
  const credentials = url.username !== "" || url.password !== "" ? "***@" : "";
  const query = [...url.searchParams.keys()].map((name) => `${encodeURIComponent(name)}=***`).join("&");
  return `${url.protocol}//${credentials}${url.host}${maskPath(url.pathname)}${query === "" ? "" : `?${query}`}`;
}

const leastSecretLength = 16;

function maskPath(path: string): string {
  const hook = /^(.*\/hooks\/)./.exec(path)?.[1];
  if (hook !== undefined) return `${hook}***`;
  return path
    .split("/")
    .map((part) => (part.length >= leastSecretLength ? "***" : part))
    .join("/");
}
