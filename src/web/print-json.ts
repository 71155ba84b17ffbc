/** Deeper levels are not indented further, so that a deeply nested body cannot grow a thousandfold. */
const deepestIndent = 32;

export interface PrintedJson {
  text: string;
  /** Printing stopped where `maxUnits` was reached. */
  isCut: boolean;
}

/**
 * JSON laid out for reading, token by token as it was sent: no number loses a digit, no key its order or its double. At
 * least `maxUnits` of it where there is as much, cut after a token. Undefined when the text is not JSON.
 */
export function printJson(text: string, maxUnits = Number.POSITIVE_INFINITY): PrintedJson | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const printed: string[] = [];
  let units = 0;
  const put = (piece: string): void => {
    printed.push(piece);
    units += piece.length;
  };
  let depth = 0;
  let before = "";
  const newLine = (): string => `\n${"  ".repeat(Math.min(depth, deepestIndent))}`;
  for (let at = skipSpace(text, 0); at < text.length; ) {
    if (units > maxUnits) return { text: printed.join(""), isCut: true };
    const end = endOfToken(text, at);
    const token = text.slice(at, end);
    at = skipSpace(text, end);
    if (closes(token)) {
      depth -= 1;
      if (!opens(before)) put(newLine());
    }
    put(token === ":" ? ": " : token);
    if (opens(token)) depth += 1;
    if (token === "," || (opens(token) && !closes(text.charAt(at)))) put(newLine());
    before = token;
  }
  return { text: printed.join(""), isCut: false };
}

function opens(token: string): boolean {
  return token === "{" || token === "[";
}

function closes(token: string): boolean {
  return token === "}" || token === "]";
}

function skipSpace(text: string, at: number): number {
  let next = at;
  while (" \n\r\t".includes(text.charAt(next)) && next < text.length) next += 1;
  return next;
}

/** A string, one structural character, or a run of anything else. It is valid JSON by now. */
function endOfToken(text: string, at: number): number {
  const first = text.charAt(at);
  if ("{}[],:".includes(first)) return at + 1;
  let end = at + 1;
  if (first !== '"') {
    while (end < text.length && !'{}[],:" \n\r\t'.includes(text.charAt(end))) end += 1;
    return end;
  }
  while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
  return end + 1;
}
