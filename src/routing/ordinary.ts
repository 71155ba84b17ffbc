/** Senders send one or two KiB. */
const mostBytes = 16 * 1024;
const mostDepth = 16;

const [openBrace, closeBrace, openBracket, closeBracket, quote, backslash] = [0x7b, 0x7d, 0x5b, 0x5d, 0x22, 0x5c];

/**
 * Whether reading this body can harm nothing: a form, or JSON no deeper than 16 levels, of at most 16 KiB. JSON is known by its
 * first character.
 */
export function isOrdinary(body: Uint8Array, contentType = ""): boolean {
  if (body.length > mostBytes) return false;
  let first = 0;
  while (isSpace(body[first])) first += 1;
  if (body[first] !== openBrace && body[first] !== openBracket)
    return contentType.startsWith("application/x-www-form-urlencoded");
  let depth = 0;
  let isText = false;
  for (let at = first; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === quote) isText = !isText;
    else if (isText && byte === backslash) at += 1;
    else if (!isText && (byte === openBrace || byte === openBracket)) depth += 1;
    else if (!isText && (byte === closeBrace || byte === closeBracket)) depth -= 1;
    if (depth > mostDepth) return false;
  }
  return true;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
