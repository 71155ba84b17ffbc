import type { JsonObject } from "../../core/json.ts";

/** As many as JSON may have names. */
const maxFields = 10_000;

export interface ReadForm {
  fields: JsonObject;
  /** Set when it has more fields than are read, in words. */
  note?: string;
}

/**
 * A URL-encoded form as an object of strings; undefined when the text is none. The header alone proves nothing, since
 * `curl -d` calls everything a form: the text has to begin with `name=`, and without the header it also needs a second
 * pair and no raw white space. A repeated name keeps all its values, joined by line breaks. Of more than 10,000 fields the
 * first are read.
 */
export function readForm(text: string, contentType: string | undefined): ReadForm | undefined {
  const saysForm = /^\s*application\/x-www-form-urlencoded/i.test(contentType ?? "");
  const body = text.trim();
  if (!/^[\w.\-[\]%+$]{1,100}=/.test(body)) return undefined;
  if (!saysForm && (/\s/.test(body) || !/^[^&]*&[\w.\-[\]%+$]{1,100}=/.test(body))) return undefined;
  const fields = Object.create(null) as JsonObject;
  const end = endOfFields(body);
  for (const [name, value] of new URLSearchParams(body.slice(0, end))) addField(fields, name, value);
  if (end === body.length) return { fields };
  return {
    fields,
    note: `the form has more than ${maxFields.toLocaleString("en")} fields, and only these are read`,
  };
}

function endOfFields(body: string): number {
  let end = -1;
  for (let count = 0; count < maxFields; count += 1) {
    end = body.indexOf("&", end + 1);
    if (end === -1) return body.length;
  }
  return end;
}

export function addField(fields: JsonObject, name: string, value: string): void {
  const earlier = fields[name];
  fields[name] = typeof earlier === "string" ? `${earlier}\n${value}` : value;
}
