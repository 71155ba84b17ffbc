/** Replaces every form in which the token may come back (an address, a quoted description), and cuts to what a page shows. */
export function createRedactor(token: string): (detail: string) => string {
  const secretPart = token.slice(token.indexOf(":") + 1);
  const forms = [token, encodeURIComponent(token), secretPart].filter((form) => form.length > 3);
  return (detail) => {
    let clean = detail;
    for (const form of forms) clean = clean.replaceAll(form, "***");
    return clean.length <= 300 ? clean : `${clean.slice(0, 299).replace(/[\uD800-\uDBFF]$/, "")}…`;
  };
}
