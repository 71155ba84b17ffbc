import type { JsonObject } from "../../core/json.ts";

const maxElements = 200;
const declaration = /^\s{0,100}<\?xml\s[^<>]{0,200}\?>\s{0,100}/;
const element = /<(?:[\w.-]{1,80}:)?([A-Za-z_][\w.-]{0,80})(?:\s[^<>]{0,1000})?>([^<]{1,20000})<\//g;
const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/**
 * What the elements of an XML text say that hold nothing but text, the first of each name; undefined without a
 * declaration or such an element. `text` lacks the declaration. Linear in the text.
 */
export function readXml(sent: string): { elements?: JsonObject; text: string } {
  const text = sent.replace(declaration, "");
  if (text.length === sent.length) return { text };
  const elements = Object.create(null) as JsonObject;
  let count = 0;
  for (const [, name = "", value = ""] of text.matchAll(element)) {
    if (value.trim() === "" || elements[name] !== undefined) continue;
    elements[name] = value.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity] ?? "").trim();
    count += 1;
    if (count === maxElements) break;
  }
  return count === 0 ? { text } : { elements, text };
}
