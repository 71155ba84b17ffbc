import type { JsonObject } from "../core/json.ts";

/**
 * A URL-encoded form as an object of strings; undefined when the text is none. The header alone proves nothing, since
 * `curl -d` calls everything a form: the text has to begin with `name=`, and without the header it also needs a second
 * pair and no raw white space. A repeated name keeps all its values, joined by line breaks.
 */
export function readForm(text: string, contentType: string | undefined): JsonObject | undefined {
  const saysForm = /^\s*application\/x-www-form-urlencoded/i.test(contentType ?? "");
  const body = text.trim();
  if (!/^[\w.\-[\]%+$]{1,100}=/.test(body)) return undefined;
  if (!saysForm && (/\s/.test(body) || !/^[^&]*&[\w.\-[\]%+$]{1,100}=/.test(body))) return undefined;
  const fields = Object.create(null) as JsonObject;
  for (const [name, value] of new URLSearchParams(body)) addField(fields, name, value);
  return fields;
}

export function addField(fields: JsonObject, name: string, value: string): void {
  const earlier = fields[name];
  fields[name] = typeof earlier === "string" ? `${earlier}\n${value}` : value;
}
