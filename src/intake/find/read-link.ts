const maxLength = 2_000;

/** The text itself when it is an http or https address that a reader can open, without white space; else undefined. */
export function readLink(text: string): string | undefined {
  const link = text.trim();
  if (link.length > maxLength || !/^https?:\/\/[^\s<>"\\\p{C}]+$/iu.test(link)) return undefined;
  try {
    const { username, password } = new URL(link);
    // An address with a password in it must not be spread, and one with a name in it usually lies about its host.
    return username === "" && password === "" ? link : undefined;
  } catch {
    return undefined;
  }
}

/** The first address in a text, without the punctuation that follows it in a sentence. */
export function findLink(text: string): string | undefined {
  const found = /https?:\/\/[^\s<>"'|\\]{1,2000}/i.exec(text)?.[0];
  if (found === undefined) return undefined;
  let end = found.length;
  while (".,;:!?)]}".includes(found.charAt(end - 1)) && end > 0) end -= 1;
  return readLink(found.slice(0, end));
}
