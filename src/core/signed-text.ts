/** A part of the text that a sender signs. Header names in lower case. */
export type SignedPart = { text: string } | { header: string } | { body: BodyPart };

/** `body`: after decompression. `body:open`: without its closing brace. `sent`: before decompression. */
export type BodyPart = (typeof bodyParts)[number];

const bodyParts = ["body", "body:open", "sent"] as const;
const known = /(\{(?:header:[\w!#$%&'*+.^`|~-]+|body|body:open|sent)\})/;

/** Reads e.g. `{header:X-Nonce}.{body}`. Text outside of braces is literal. A string describes a mistake, for people. */
export function parseSignedText(text: string): SignedPart[] | string {
  const parts = text.split(known).flatMap((piece): SignedPart[] => {
    if (piece === "") return [];
    if (!known.test(piece)) return [{ text: piece }];
    const name = piece.slice(1, -1);
    const body = bodyParts.find((one) => one === name);
    return [body === undefined ? { header: name.slice("header:".length).toLowerCase() } : { body }];
  });
  const texts = parts.flatMap((part) => ("text" in part ? part.text : []));
  const [unknown] = texts.flatMap((one) => /\{[a-z][\w:-]*\}/i.exec(one) ?? []);
  if (unknown !== undefined) return `${unknown} is no part of a request`;
  const [unended] = texts.flatMap((one) => /\{(?:header:|body|sent)[^{}]*$/.exec(one) ?? []);
  if (unended !== undefined) return `${unended} has no } at its end`;
  if (!parts.some((part) => "body" in part)) return "leaves the body out, so anybody could change it";
  return parts;
}
