/** 22 characters of a url-safe alphabet of 64 carry 132 bits. */
export const leastTokenLength = 22;

const placeholders =
  /change[-_]?me|replace[-_]?(me|this)|your[-_]|example|placeholder|password|default|12345678/i;

/** Why a token could be guessed, in words that go after its name; `undefined` when it is strong enough. */
export function findTokenWeakness(token: string): string | undefined {
  if (token.length < leastTokenLength) {
    return `has ${token.length} characters; ${leastTokenLength} are needed so that nobody can guess it`;
  }
  if (placeholders.test(token)) return "looks like a placeholder out of an example";
  if (new Set(token).size < 8) return "repeats the same few characters";
  return undefined;
}

/** Said wherever a token is refused. */
export const howToMakeToken =
  "make one with `openssl rand -base64 32 | tr '+/' '-_' | tr -d '='`, or leave it out: then one is made and kept";
