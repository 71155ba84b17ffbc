/** Where to go after the login: a path of this site, or the log. Anything that a browser could read as another site is the log. */
export function safeNext(next: string | undefined): string {
  if (next === undefined || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(next)) return "/";
  const base = "http://tocsin.invalid";
  if (!URL.canParse(next, base)) return "/";
  const url = new URL(next, base);
  if (url.origin !== base || url.pathname.startsWith("//")) return "/";
  return url.pathname === "/login" || url.pathname === "/logout" ? "/" : `${url.pathname}${url.search}`;
}
